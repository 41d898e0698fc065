// The logic of `ft tokenize`: JSON lines in, JSON lines out. No flags and no files here.
#pragma once

#include <istream>
#include <ostream>

#include "core/base/status.h"
#include "core/text/tokenizer/tokenizer.h"

namespace ft::text {

struct TokenizeJsonlOptions {
  bool decode = false;               ///< lines are {"ids": [...]} and answers {"text": "..."}
  bool add_special_tokens = false;   ///< when encoding
  bool skip_special_tokens = false;  ///< when decoding
};

/// Longest line that TokenizeJsonl takes.
inline constexpr size_t kMaxJsonlLineBytes = size_t{256} << 20;

/// Answers each line of `in` with one line on `out`, in order: {"text": t} with {"ids": [...]}, or
/// with `decode` {"ids": [...]} with {"text": t}. A line ends at "\n" only; a last line without it
/// counts; other members are ignored. Answers of the lines before a bad one are on `out`.
/// Errors: kInvalidArgument naming the line number (from 1): not JSON, member missing or of the
/// wrong kind, text that is not UTF-8; kResourceExhausted: a line or text is too long;
/// kUnavailable: `in` cannot be read or `out` not written.
Status TokenizeJsonl(const Tokenizer& tokenizer,
                     const TokenizeJsonlOptions& options,
                     std::istream* in,
                     std::ostream* out);

}  // namespace ft::text
