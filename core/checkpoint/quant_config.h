// QuantConfig: what config.json or hf_quant_config.json says about the weight formats, in one form.
// Tensor names decide how a tensor is read; this is for cross-checks and for people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/json/value.h"
#include "core/quant/quant_format.h"

namespace ft {

/// One group: the modules it covers and the format it promises.
struct QuantGroup {
  std::vector<std::string> targets;   ///< "Linear", "re:…", names, wildcards with '*'
  std::string spelling;               ///< as written: "nvfp4-pack-quantized", "NVFP4", "fp8"
  std::optional<QuantFormat> format;  ///< nothing: understood as a group, but ft has no such format
};

struct QuantConfig {
  std::string method;  ///< "compressed-tensors", "modelopt", "fp8", "mxfp4"; empty: not quantized
  std::string source;  ///< "config.json" or "hf_quant_config.json"
  std::vector<QuantGroup> groups;
  std::vector<std::string> ignore;   ///< modules left as they are: names, "re:…", wildcards
  std::string kv_cache_algo;         ///< as written; empty: none
  std::vector<int64_t> block_shape;  ///< weight_block_size of "fp8", else empty

  bool is_quantized() const { return !method.empty(); }

  /// The group promised for the linear module `name` ("model.layers.0.mlp.gate"), or null when it
  /// is to be left alone. Errors: kInvalidArgument for a pattern that does not compile or takes
  /// too long. "Linear" covers every module; a more specific target wins over it.
  Result<const QuantGroup*> GroupOf(std::string_view module) const;
};

/// From the value of `quantization_config` (or `compression_config`). null: not quantized.
/// Errors: kInvalidArgument for wrong kinds; unknown methods are kept by name, without a format.
Result<QuantConfig> ParseQuantConfig(const json::Value* config);

/// From a whole hf_quant_config.json (ModelOpt).
Result<QuantConfig> ParseHfQuantConfig(const json::Value& config);

/// True when `pattern` means `module`: "re:" + a regular expression matched from the start (as
/// Python's re.match), a wildcard with '*' over the whole name, or the name itself or one of its
/// parents ("model.layers.0" means "model.layers.0.mlp").
/// Errors: kInvalidArgument when it does not compile, kResourceExhausted when it takes too long.
Result<bool> MatchesModule(std::string_view pattern, std::string_view module);

}  // namespace ft
