// OutputStage: token ids of one sequence to text that may be sent: whole characters, and nothing
// that a stop string could still swallow. Knows no parsers: those sit behind it, in the server.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/engine/engine.h"
#include "core/text/tokenizer/tokenizer.h"

namespace ft {

/// One per sequence; one thread at a time.
class OutputStage {
 public:
  /// `tokenizer` must outlive this. `stop_strings`: none empty.
  OutputStage(const text::Tokenizer* tokenizer,
              std::vector<std::string> stop_strings,
              bool skip_special_tokens);

  /// Takes a generated token (its text not yet filled in), appends to `*out` what may be sent now.
  /// True: a stop string appeared; it is `stop_string()`, the text in front of it is in `*out`, and
  /// the stage is done.
  bool Push(TokenOutput token, std::vector<TokenOutput>* out);

  /// The sequence ends: appends everything held back. Returns as Push does.
  bool Finish(std::vector<TokenOutput>* out);

  const std::string& stop_string() const { return stop_string_; }

 private:
  bool Release(bool is_last, std::vector<TokenOutput>* out);
  void Emit(size_t num_bytes, bool cut, std::vector<TokenOutput>* out);
  size_t HeldFrom() const;

  const text::Tokenizer* tokenizer_;
  text::StreamDecoder decoder_;
  std::vector<std::string> stop_strings_;
  std::vector<TokenOutput> pending_;  // not yet sent, oldest first
  std::string pending_text_;          // their texts joined
  std::string stop_string_;
};

}  // namespace ft
