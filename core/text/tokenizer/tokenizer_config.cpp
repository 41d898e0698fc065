#include "core/text/tokenizer/tokenizer_config.h"

#include "core/base/errors.h"
#include "core/json/parse.h"
#include "core/text/tokenizer/json_fields.h"

namespace ft::text {
namespace {

// transformers writes int(1e30) for "no limit".
constexpr int64_t kNoLimit = int64_t{1} << 40;

// A token is its text or an object with "content".
Status ReadNamedToken(const json::Value& config,
                      std::string_view key,
                      std::optional<NamedToken>* token) {
  const json::Value* value = config.Find(key);
  if (value != nullptr && value->is_object()) {
    value = value->Find("content");
  }
  if (value == nullptr || value->is_null()) {
    return Status();
  }
  if (!value->is_string()) {
    return DataLoss("\"{}\" is {}, want string", key, json::KindName(value->kind()));
  }
  *token = NamedToken{value->as_string(), std::nullopt};
  return Status();
}

Result<TokenizerConfig> ReadConfig(const json::Value& value) {
  if (!value.is_object()) {
    return DataLoss("is {}, want object", json::KindName(value.kind()));
  }
  TokenizerConfig config;
  FT_RETURN_IF_ERROR(ReadNamedToken(value, "bos_token", &config.bos_token));
  FT_RETURN_IF_ERROR(ReadNamedToken(value, "eos_token", &config.eos_token));
  FT_RETURN_IF_ERROR(ReadNamedToken(value, "pad_token", &config.pad_token));
  FT_RETURN_IF_ERROR(ReadNamedToken(value, "unk_token", &config.unk_token));
  FT_ASSIGN_OR_RETURN(config.add_bos_token, BoolOr(value, "add_bos_token", false));
  FT_ASSIGN_OR_RETURN(config.add_eos_token, BoolOr(value, "add_eos_token", false));
  FT_ASSIGN_OR_RETURN(config.tokenizer_class, StringOr(value, "tokenizer_class", ""));
  if (const json::Value* length = value.Find("model_max_length");
      length != nullptr && length->is_number()) {
    const std::optional<int64_t> tokens = length->ToInt64();
    if (tokens && *tokens > 0 && *tokens < kNoLimit) {
      config.model_max_length = tokens;
    }
  }
  return config;
}

}  // namespace

Result<TokenizerConfig> ParseTokenizerConfig(std::string_view tokenizer_config_json) {
  if (tokenizer_config_json.empty()) {
    return TokenizerConfig();
  }
  json::ParseOptions options;
  options.duplicate_keys = json::ParseOptions::DuplicateKeys::kLastWins;
  FT_ASSIGN_OR_RETURN(const json::Value value, json::Parse(tokenizer_config_json, options));
  return ReadConfig(value);
}

}  // namespace ft::text
