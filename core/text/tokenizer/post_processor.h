// PostProcessor: the `post_processor` of tokenizer.json, as ids in front of and behind a text.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/status.h"
#include "core/json/value.h"

namespace ft::text {

/// What special tokens a text gets, when they are asked for.
struct PostProcessor {
  std::vector<int32_t> prefix;
  std::vector<int32_t> suffix;

  /// Null is nothing. TemplateProcessing (its `single` form), ByteLevel (nothing), Sequence.
  /// Errors: kUnimplemented: another type, by name; kDataLoss: broken, or a token without ids.
  static Result<PostProcessor> FromJson(const json::Value& post_processor);
};

}  // namespace ft::text
