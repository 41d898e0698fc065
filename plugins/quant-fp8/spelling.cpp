#include "plugins/quant-fp8/spelling.h"

#include <string>

#include "core/quant/kernels/panel.h"
#include "core/quant/kernels/part_match.h"
#include "core/quant/quant_format.h"

namespace ft::fp8 {
namespace {

constexpr const char* kWeight = ".weight";
constexpr const char* kScale = ".weight_scale";
constexpr const char* kScaleInv = ".weight_scale_inv";

bool IsScaleType(const ft_part_info& part) {
  return part.dtype == FT_DTYPE_F32 || part.dtype == FT_DTYPE_BF16 || part.dtype == FT_DTYPE_F16;
}

bool HasShape(const ft_part_info& part, int64_t rows, int64_t cols) {
  return part.ndim == 2 && part.shape[0] == rows && part.shape[1] == cols;
}

bool IsBlocks(const ft_part_info& weight, const ft_part_info& scale) {
  return HasShape(scale, kernels::CeilDiv(weight.shape[0], kFp8BlockExtent),
                  kernels::CeilDiv(weight.shape[1], kFp8BlockExtent));
}

bool IsChannel(const ft_part_info& weight, const ft_part_info& scale) {
  return HasShape(scale, weight.shape[0], 1) ||
         (scale.ndim == 1 && scale.shape[0] == weight.shape[0]);
}

// By the shape of a weight_scale; the narrowest reading first where a small matrix allows several
// (they mean the same numbers). False: none fits.
bool ScalingOf(const ft_part_info& weight, const ft_part_info& scale, Scaling* scaling) {
  if (scale.ndim < 2 &&
      kernels::IsScalar(scale)) {  // NOLINT(bugprone-branch-clone): the order counts
    *scaling = Scaling::kTensor;
  } else if (IsChannel(weight, scale)) {
    *scaling = Scaling::kChannel;
  } else if (IsBlocks(weight, scale)) {
    *scaling = Scaling::kBlock;
  } else if (kernels::IsScalar(scale)) {
    *scaling = Scaling::kTensor;
  } else {
    return false;
  }
  return true;
}

// A set that is FP8 by what there is, but not whole. One format speaks for all three.
ft_code MatchIncomplete(
    Scaling scaling, int weight, int scale, ft_str name, ft_match* out, ft_error* error) {
  if (scaling != Scaling::kBlock) {
    return FT_OK;
  }
  const char* missing = weight < 0 ? "missing: weight"
                                   : "missing: weight_scale (per channel or tensor) or "
                                     "weight_scale_inv (per block)";
  return weight < 0 && scale < 0 ? FT_OK : kernels::AnswerBroken(out, error, "fp8", name, missing);
}

}  // namespace

const char* FormatName(Scaling scaling) {
  switch (scaling) {
    case Scaling::kBlock:
      return "fp8_block";
    case Scaling::kChannel:
      return "fp8_channel";
    case Scaling::kTensor:
      return "fp8_tensor";
  }
  return "fp8";
}

ft_code MatchScaling(Scaling scaling,
                     ft_str name,
                     const ft_part_info* parts,
                     uint32_t num_parts,
                     ft_match* out,
                     ft_error* error) {
  const kernels::PartSet set(parts, num_parts);
  const int weight = set.Find(kWeight);
  const int scale_inv = set.Find(kScaleInv);
  const int scale = scale_inv >= 0 ? scale_inv : set.Find(kScale);
  const bool is_fp8_weight = weight >= 0 && set.at(weight).dtype == FT_DTYPE_F8_E4M3;
  const bool is_lone_scale =
      weight < 0 && scale >= 0 && (scale_inv >= 0 || IsScaleType(set.at(scale)));
  if ((!is_fp8_weight && !is_lone_scale) || !set.HasOnly({kWeight, kScale, kScaleInv})) {
    return FT_OK;
  }
  if (weight < 0 || scale < 0) {
    return MatchIncomplete(scaling, weight, scale, name, out, error);
  }
  const ft_part_info& matrix = set.at(weight);
  const ft_part_info& factors = set.at(scale);
  const bool has_matrix = matrix.ndim == 2 && matrix.shape[0] > 0 && matrix.shape[1] > 0;
  Scaling found = Scaling::kBlock;
  bool fits = has_matrix && IsScaleType(factors);
  if (fits && scale_inv >= 0) {
    fits = IsBlocks(matrix, factors) && set.Find(kScale) < 0;
  } else if (fits) {
    fits = ScalingOf(matrix, factors, &found);
  }
  if (!fits) {
    return scaling != Scaling::kChannel
               ? FT_OK
               : kernels::AnswerBroken(
                     out, error, "fp8", name,
                     "the scale " + kernels::Describe(factors) + " of weight " +
                         kernels::Describe(matrix) +
                         " is neither one number, nor one per row, nor one per 128 x 128 block");
  }
  if (found == scaling) {
    kernels::AnswerYes(set, 1, {weight, scale}, matrix.shape[0], matrix.shape[1], out);
  }
  return FT_OK;
}

}  // namespace ft::fp8
