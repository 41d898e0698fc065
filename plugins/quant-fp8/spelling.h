// Which FP8 checkpoint tensors belong to which of the three formats.
#pragma once

#include "ft/plugin/quantization.h"

namespace ft::fp8 {

enum class Scaling {
  kBlock,
  kChannel,
  kTensor,
};

const char* FormatName(Scaling scaling);

/// ft_quantization.match of the format with that scaling. `weight` F8_E4M3 [N, K] with one of
/// `weight_scale_inv` [⌈N/128⌉, ⌈K/128⌉] (block; a multiplier in spite of its name) and
/// `weight_scale` with the blocks' shape (block), [N, 1] or [N] (channel), [] or [1] (tensor).
/// Where no shape fits, fp8_channel says so for all three.
ft_code MatchScaling(Scaling scaling,
                     ft_str name,
                     const ft_part_info* parts,
                     uint32_t num_parts,
                     ft_match* out,
                     ft_error* error);

}  // namespace ft::fp8
