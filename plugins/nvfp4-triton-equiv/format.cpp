#include "plugins/nvfp4-triton-equiv/format.h"

#include <cstring>
#include <string>

#include "core/quant/float_formats.h"
#include "core/quant/kernels/abi_error.h"
#include "core/quant/kernels/e2m1_panel.h"
#include "core/quant/kernels/isa.h"
#include "core/quant/kernels/part_match.h"
#include "core/quant/kernels/weight_format.h"
#include "core/quant/quant_format.h"
#include "plugins/nvfp4-triton-equiv/kernel.h"

namespace ft::nvfp4 {
namespace {

using kernels::PackedHeader;

constexpr uint32_t kCompressedTensors = 1;  // weight_global_scale is a divisor
constexpr uint32_t kModelOpt = 2;           // weight_scale_2 is a multiplier

// fp32 sums in blocks of 16: at most 18 + cols/16 roundings of 2^-24 for one sum; holds to 26,000
// columns.
constexpr double kErrorBound = 1e-4;

struct Spelling {
  uint32_t id;
  const char* codes;
  const char* global;
};

constexpr Spelling kSpellings[] = {{kCompressedTensors, ".weight_packed", ".weight_global_scale"},
                                   {kModelOpt, ".weight", ".weight_scale_2"}};
constexpr const char* kScale = ".weight_scale";

// Both spellings call the scales weight_scale; what tells them apart is the rest. An E4M3 matrix of
// scales alone is NVFP4's too: no other format stores its scales so.
ft_code MatchSpelling(const kernels::PartSet& set,
                      const Spelling& spelling,
                      ft_str name,
                      ft_match* out,
                      ft_error* error) {
  const int codes = set.Find(spelling.codes);
  const int scale = set.Find(kScale);
  const int global = set.Find(spelling.global);
  std::string missing;
  for (const auto& [index, suffix] :
       {std::pair(codes, spelling.codes), {scale, kScale}, {global, spelling.global}}) {
    if (index < 0) {
      missing += (missing.empty() ? "" : ", ") + std::string(suffix).substr(1);
    }
  }
  if (!missing.empty()) {
    return kernels::AnswerBroken(out, error, "nvfp4", name, "missing: " + missing);
  }
  const ft_part_info& code_part = set.at(codes);
  const ft_part_info& scale_part = set.at(scale);
  const ft_part_info& global_part = set.at(global);
  const bool fits = code_part.ndim == 2 && scale_part.ndim == 2 && code_part.shape[0] > 0 &&
                    code_part.shape[1] > 0 && code_part.shape[1] < (int64_t{1} << 40) &&
                    code_part.dtype == FT_DTYPE_U8 && scale_part.dtype == FT_DTYPE_F8_E4M3 &&
                    scale_part.shape[0] == code_part.shape[0] &&
                    scale_part.shape[1] * kNvfp4BlockSize == code_part.shape[1] * 2 &&
                    global_part.dtype == FT_DTYPE_F32 && kernels::IsScalar(global_part);
  if (!fits) {
    return kernels::AnswerBroken(
        out, error, "nvfp4", name,
        "want U8 [N, K/2], F8_E4M3 [N, K/16] and one F32, found " + kernels::Describe(code_part) +
            ", " + kernels::Describe(scale_part) + " and " + kernels::Describe(global_part));
  }
  kernels::AnswerYes(set, spelling.id, {codes, scale, global}, code_part.shape[0],
                     code_part.shape[1] * 2, out);
  return FT_OK;
}

ft_code Match(
    ft_str name, const ft_part_info* parts, uint32_t num_parts, ft_match* out, ft_error* error) {
  const kernels::PartSet set(parts, num_parts);
  const auto has = [&set](const char* suffix, uint16_t dtype) {
    const int index = set.Find(suffix);
    return index >= 0 && set.at(index).dtype == dtype;
  };
  const bool has_global = set.Find(".weight_global_scale") >= 0;
  const bool has_scale_2 = set.Find(".weight_scale_2") >= 0;
  const bool has_packed = set.Find(".weight_packed") >= 0;
  const int scale = set.Find(kScale);
  const bool has_codes = has(".weight_packed", FT_DTYPE_U8) || has(".weight", FT_DTYPE_U8);
  const bool has_own_scale = has(kScale, FT_DTYPE_F8_E4M3);
  const bool is_mine = has_global || has_scale_2 || (has_codes && scale < 0) || has_own_scale;
  if (!is_mine || !set.HasOnly({".weight", ".weight_packed", kScale, ".weight_scale_2",
                                ".weight_global_scale"})) {
    return FT_OK;
  }
  if ((has_global && has_scale_2) || (has_packed && set.Find(".weight") >= 0)) {
    return kernels::AnswerBroken(out, error, "nvfp4", name,
                                 "the tensors of both spellings, compressed-tensors and ModelOpt");
  }
  const bool is_modelopt = has_scale_2 || (!has_packed && set.Find(".weight") >= 0);
  if (!is_modelopt && !has_global && !has_packed) {
    return kernels::AnswerBroken(out, error, "nvfp4", name,
                                 "only weight_scale; missing: weight_packed, weight_global_scale "
                                 "(compressed-tensors) or weight, weight_scale_2 (ModelOpt)");
  }
  return MatchSpelling(set, kSpellings[is_modelopt ? 1 : 0], name, out, error);
}

int64_t PanelBytes(int64_t cols) {
  return kernels::E2m1PanelBytes(cols, kNvfp4BlockSize);
}

ft_code CheckParts(int64_t rows, int64_t cols, const ft_matrix_parts& in, ft_error* error) {
  const uint32_t id = kernels::SpellingId(in.spelling);
  if (id != kCompressedTensors && id != kModelOpt) {
    return kernels::Fail(error, FT_E_INVALID_ARG, "pack: spelling %u is not one of nvfp4's", id);
  }
  const ft_code codes = kernels::CheckRole(kernels::RoleOf(in, 0), {FT_DTYPE_U8}, rows * cols / 2,
                                           "the codes", error);
  if (codes != FT_OK) {
    return codes;
  }
  const ft_code scales = kernels::CheckRole(kernels::RoleOf(in, 1), {FT_DTYPE_F8_E4M3},
                                            rows * cols / kNvfp4BlockSize, "the scales", error);
  return scales != FT_OK ? scales
                         : kernels::CheckRole(kernels::RoleOf(in, 2), {FT_DTYPE_F32}, 1,
                                              "the global scale", error);
}

void Pack(
    int64_t rows, int64_t cols, const ft_matrix_parts& in, PackedHeader* header, uint8_t* out) {
  std::memcpy(&header->global_scale, kernels::RoleOf(in, 2)->data, sizeof(float));
  header->global_divides = kernels::SpellingId(in.spelling) == kCompressedTensors ? 1 : 0;
  kernels::PackE2m1(rows, cols, kNvfp4BlockSize,
                    static_cast<const uint8_t*>(kernels::RoleOf(in, 0)->data),
                    static_cast<const uint8_t*>(kernels::RoleOf(in, 1)->data), out);
}

void DecodeRow(const uint8_t* matrix, int64_t row, int64_t cols, float* out) {
  PackedHeader header{};
  std::memcpy(&header, matrix, sizeof(header));
  for (int64_t col = 0; col < cols; ++col) {
    const auto [code, scale] = kernels::E2m1At(matrix, row, col, cols, kNvfp4BlockSize);
    const float value = kE4m3Table[scale];
    const float factor =
        header.global_divides != 0 ? value / header.global_scale : value * header.global_scale;
    out[col] = kE2m1Table[code] * factor;
  }
}

kernels::TileFn Tile() {
  return kernels::HasAvx2() ? TileAvx2 : TileGeneric;
}

constexpr kernels::WeightFormat kFormat = {
    "nvfp4", kNvfp4BlockSize, kErrorBound, Match, PanelBytes, CheckParts, Pack, DecodeRow, Tile};
constexpr ft_quantization kTable = kernels::MakeQuantization<&kFormat>(5);

}  // namespace

const ft_quantization* Table() {
  return &kTable;
}

}  // namespace ft::nvfp4
