// ModelConfig: config.json, generation_config.json and hf_quant_config.json of a checkpoint, read
// and checked as far as every family shares them. A family reads its own keys with ConfigReader.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/checkpoint/quant_config.h"
#include "core/json/value.h"

namespace ft {

/// generation_config.json: sampling defaults. What is absent (or null) is absent.
struct GenerationConfig {
  bool is_present = false;  ///< the file is there
  std::optional<bool> do_sample;
  std::optional<double> temperature;
  std::optional<double> top_p;
  std::optional<int64_t> top_k;
  std::optional<double> min_p;
  std::optional<double> repetition_penalty;
  std::optional<double> presence_penalty;
  std::optional<double> frequency_penalty;
  std::optional<int64_t> max_new_tokens;
  std::vector<int64_t> eos_token_ids;
};

struct ModelConfig {
  json::Value root;                    ///< config.json as it is
  std::string architecture;            ///< architectures[0]; empty when absent
  std::string model_type;              ///< of the language part: text_config's own, or root's
  bool is_wrapper = false;             ///< the language part is nested in text_config
  std::vector<int64_t> eos_token_ids;  ///< of config.json (root, else text_config)
  std::optional<int64_t> bos_token_id;
  std::string torch_dtype;  ///< "bfloat16", …, from `dtype` or `torch_dtype`; or empty
  std::optional<bool> tie_word_embeddings;  ///< root's, else text_config's
  GenerationConfig generation;
  QuantConfig quant;

  /// The object that holds the language model's keys: text_config, or the root.
  const json::Value& text() const;
  /// "config.json" or "config.json text_config": for ConfigReader.
  const char* text_where() const;
};

/// Reads the three files from `folder`; the last two may be absent.
/// Errors: kNotFound when there is no folder or no config.json, kDataLoss when a file is no JSON,
/// kInvalidArgument with file and key for a value of the wrong kind.
Result<ModelConfig> LoadModelConfig(const std::string& folder);

/// The same from texts; an empty text means that the file is absent. For tests and fuzzing.
Result<ModelConfig> ParseModelConfig(std::string_view config,
                                     std::string_view generation,
                                     std::string_view hf_quant);

}  // namespace ft
