// QuantConfig: what config.json or hf_quant_config.json says about the weight formats, in one form.
// Tensor names decide how a tensor is read; this is for cross-checks and for people.
#pragma once

#include <cstdint>
#include <memory>
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
};

/// From the value of `quantization_config` (or `compression_config`). null: not quantized.
/// Errors: kInvalidArgument for wrong kinds; unknown methods are kept by name, without a format.
Result<QuantConfig> ParseQuantConfig(const json::Value* config);

/// From a whole hf_quant_config.json (ModelOpt).
Result<QuantConfig> ParseHfQuantConfig(const json::Value& config);

/// Which group a module belongs to. Compiles the patterns of a QuantConfig once; owns its copy.
class QuantMatcher {
 public:
  /// Errors: kInvalidArgument that names the pattern that does not compile or is too long.
  static Result<QuantMatcher> Create(const QuantConfig& config);

  QuantMatcher(QuantMatcher&&) noexcept;
  QuantMatcher& operator=(QuantMatcher&&) noexcept;
  ~QuantMatcher();

  /// The group promised for the linear module `module` ("model.layers.0.mlp.gate"), or null when it
  /// is to be left alone. Ignored modules come first, then targets that name modules, then classes
  /// ("Linear"), which are taken to mean every module. Lives as long as the matcher.
  ///
  /// A pattern means a module when it is "re:" + a regular expression that matches from the start
  /// (as Python's re.match), a wildcard with '*' for the name or one of its parents, the name
  /// itself, one of its parents ("model.layers.0"), or its end ("mlp.gate").
  /// Errors: kResourceExhausted when a regular expression takes too long.
  Result<const QuantGroup*> GroupOf(std::string_view module) const;

 private:
  struct State;
  explicit QuantMatcher(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ft
