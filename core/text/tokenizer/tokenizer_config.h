// What ft takes from tokenizer_config.json: names of special tokens and a few switches. Ids of text
// never depend on it: those come from tokenizer.json alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace ft::text {

/// A token named by tokenizer_config.json. `id` is empty when tokenizer.json has no such token.
struct NamedToken {
  std::string content;
  std::optional<int32_t> id;
};

struct TokenizerConfig {
  std::optional<NamedToken> bos_token;
  std::optional<NamedToken> eos_token;
  std::optional<NamedToken> pad_token;
  std::optional<NamedToken> unk_token;
  bool add_bos_token = false;  ///< as written; Encode follows tokenizer.json instead
  bool add_eos_token = false;
  std::string tokenizer_class;
  std::optional<int64_t> model_max_length;  ///< tokens; absent or absurdly large: empty
};

/// Reads tokenizer_config.json; empty text gives an empty config. Ids are left empty.
/// Errors: kDataLoss: not JSON, or a field of the wrong kind.
Result<TokenizerConfig> ParseTokenizerConfig(std::string_view tokenizer_config_json);

}  // namespace ft::text
