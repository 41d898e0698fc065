// RopeConfig: both spellings of rotary embedding in config.json (rope_theta + rope_scaling, and
// rope_parameters, which may nest per layer kind) brought to one form. The mathematics is layers'.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/checkpoint/config_reader.h"

namespace ft {

enum class RopeType : uint8_t {
  kPlain,    ///< "default", absent, and "mrope" (text only: all three positions are equal)
  kLinear,   ///< inverse frequencies / factor
  kDynamic,  ///< theta grows with the length, or by `alpha` (hunyuan)
  kYarn,
  kLlama3,
  kLongRope,
  kProportional,  ///< gemma4: not the same as a partial rotation
};

/// The word of the new spelling: "default", "linear", "dynamic", "yarn", "llama3", …
const char* RopeTypeName(RopeType type);

/// Numbers as in the config; what is absent is absent, so that layers choose the defaults
/// (../shared/reference/models.md §0.3).
struct RopeConfig {
  RopeType type = RopeType::kPlain;
  double theta = 10000.0;
  double partial_rotary_factor = 1.0;
  double factor = 1.0;
  std::optional<int64_t> original_max_positions;  ///< original_max_position_embeddings
  std::optional<double> attention_factor;
  std::optional<double> beta_fast;
  std::optional<double> beta_slow;
  std::optional<double> mscale;
  std::optional<double> mscale_all_dim;
  bool truncate = true;
  std::optional<double> low_freq_factor;
  std::optional<double> high_freq_factor;
  std::vector<double> short_factor;  ///< longrope, one per frequency
  std::vector<double> long_factor;
  std::optional<double> short_mscale;
  std::optional<double> long_mscale;
  std::optional<double> alpha;
};

struct RopeOptions {
  double default_theta = 10000.0;    ///< where the config names none
  std::string_view layer_kind = {};  ///< "full_attention", …: which of nested rope_parameters
  double default_partial_factor = 1.0;
};

/// Reads rope_theta, rope_scaling, partial_rotary_factor and rope_parameters from `config`. The new
/// spelling wins where both are there.
/// Errors: kInvalidArgument for wrong kinds and missing numbers of a type (yarn without factor),
/// kUnimplemented for a type or a key within that ft does not know.
Result<RopeConfig> ReadRopeConfig(ConfigReader* config, const RopeOptions& options = {});

}  // namespace ft
