// Text to json::Value, with limits. The only reader of JSON in ft; iterative, so nesting is no
// stack.
#pragma once

#include <cstddef>
#include <string_view>

#include "core/base/status.h"
#include "core/json/value.h"

namespace ft::json {

struct ParseOptions {
  size_t max_bytes = size_t{256} << 20;  ///< longer texts are refused unread
  int max_depth = 64;                    ///< arrays and objects within each other
  enum class DuplicateKeys {
    kError,
    kLastWins
  };
  DuplicateKeys duplicate_keys = DuplicateKeys::kError;
};

/// Parses one strict JSON document (RFC 8259, UTF-8, nothing after it).
/// Errors: kDataLoss with line and column: syntax, encoding, depth, duplicate key, trailing bytes;
/// kResourceExhausted when longer than max_bytes.
Result<Value> Parse(std::string_view text, const ParseOptions& options = {});

}  // namespace ft::json
