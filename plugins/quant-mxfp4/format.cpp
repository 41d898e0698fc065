#include "plugins/quant-mxfp4/format.h"

#include <string>

#include "core/quant/float_formats.h"
#include "core/quant/kernels/e2m1_panel.h"
#include "core/quant/kernels/isa.h"
#include "core/quant/kernels/part_match.h"
#include "core/quant/kernels/weight_format.h"
#include "core/quant/quant_format.h"
#include "plugins/quant-mxfp4/kernel.h"

namespace ft::mxfp4 {
namespace {

using kernels::PackedHeader;

// fp32 sums in blocks of 32: at most 34 + cols/32 roundings of 2^-24 for one sum; holds to 50,000
// columns.
constexpr double kErrorBound = 1e-4;

struct Spelling {
  uint32_t id;
  const char* codes;
  const char* scale;
};

constexpr Spelling kCompressedTensors = {1, ".weight_packed", ".weight_scale"};
constexpr Spelling kGptOss = {2, "_blocks", "_scales"};

bool IsScaleType(uint16_t dtype) {
  return dtype == FT_DTYPE_U8 || dtype == FT_DTYPE_F8_E8M0;
}

// [N, K/2], or [N, K/32, 16] as gpt-oss writes it. Bytes per row, or 0.
int64_t CodeBytesPerRow(const ft_part_info& part) {
  if (part.ndim == 3 && part.shape[2] == kMxfp4BlockSize / 2 && part.shape[1] < (1 << 24)) {
    return part.shape[1] * part.shape[2];
  }
  return part.ndim == 2 && part.shape[1] < (int64_t{1} << 40) ? part.shape[1] : 0;
}

ft_code MatchSpelling(const kernels::PartSet& set,
                      const Spelling& spelling,
                      ft_str name,
                      ft_match* out,
                      ft_error* error) {
  const int codes = set.Find(spelling.codes);
  const int scale = set.Find(spelling.scale);
  if (codes < 0 || scale < 0) {
    const char* missing = codes < 0 ? spelling.codes : spelling.scale;
    return kernels::AnswerBroken(out, error, "mxfp4", name,
                                 std::string("missing: ") + (missing + 1));
  }
  const ft_part_info& code_part = set.at(codes);
  const ft_part_info& scale_part = set.at(scale);
  const int64_t row_bytes = CodeBytesPerRow(code_part);
  const bool fits = row_bytes > 0 && code_part.dtype == FT_DTYPE_U8 &&
                    IsScaleType(scale_part.dtype) && scale_part.ndim == 2 &&
                    code_part.shape[0] > 0 && scale_part.shape[0] == code_part.shape[0] &&
                    scale_part.shape[1] < (int64_t{1} << 40) &&
                    scale_part.shape[1] * kMxfp4BlockSize == row_bytes * 2;
  if (!fits) {
    return kernels::AnswerBroken(out, error, "mxfp4", name,
                                 "want U8 [N, K/2] (or [N, K/32, 16]) and U8 [N, K/32], found " +
                                     kernels::Describe(code_part) + " and " +
                                     kernels::Describe(scale_part));
  }
  kernels::AnswerYes(set, spelling.id, {codes, scale}, code_part.shape[0], row_bytes * 2, out);
  return FT_OK;
}

ft_code Match(
    ft_str name, const ft_part_info* parts, uint32_t num_parts, ft_match* out, ft_error* error) {
  const kernels::PartSet set(parts, num_parts);
  if (set.Find("_blocks") >= 0 || set.Find("_scales") >= 0) {
    return set.HasOnly({"_blocks", "_scales"}) ? MatchSpelling(set, kGptOss, name, out, error)
                                               : FT_OK;
  }
  // Shares its names with NVFP4, which has a global scale and E4M3 scales.
  const int scale = set.Find(".weight_scale");
  const int codes = set.Find(".weight_packed");
  const bool is_mine = scale >= 0 ? IsScaleType(set.at(scale).dtype)
                                  : codes >= 0 && set.at(codes).dtype == FT_DTYPE_U8;
  if (!is_mine || !set.HasOnly({".weight_packed", ".weight_scale"})) {
    return FT_OK;
  }
  return MatchSpelling(set, kCompressedTensors, name, out, error);
}

int64_t PanelBytes(int64_t cols) {
  return kernels::E2m1PanelBytes(cols, kMxfp4BlockSize);
}

ft_code CheckParts(int64_t rows, int64_t cols, const ft_matrix_parts& in, ft_error* error) {
  const ft_code codes = kernels::CheckRole(kernels::RoleOf(in, 0), {FT_DTYPE_U8}, rows * cols / 2,
                                           "the codes", error);
  return codes != FT_OK
             ? codes
             : kernels::CheckRole(kernels::RoleOf(in, 1), {FT_DTYPE_U8, FT_DTYPE_F8_E8M0},
                                  rows * cols / kMxfp4BlockSize, "the scales", error);
}

void Pack(
    int64_t rows, int64_t cols, const ft_matrix_parts& in, PackedHeader* /*header*/, uint8_t* out) {
  kernels::PackE2m1(rows, cols, kMxfp4BlockSize,
                    static_cast<const uint8_t*>(kernels::RoleOf(in, 0)->data),
                    static_cast<const uint8_t*>(kernels::RoleOf(in, 1)->data), out);
}

void DecodeRow(const uint8_t* matrix, int64_t row, int64_t cols, float* out) {
  for (int64_t col = 0; col < cols; ++col) {
    const auto [code, scale] = kernels::E2m1At(matrix, row, col, cols, kMxfp4BlockSize);
    out[col] = kE2m1Table[code] * kE8m0Table[scale];
  }
}

kernels::TileFn Tile() {
  return kernels::HasAvx2() ? TileAvx2 : TileGeneric;
}

constexpr kernels::WeightFormat kFormat = {
    "mxfp4", kMxfp4BlockSize, kErrorBound, Match, PanelBytes, CheckParts, Pack, DecodeRow, Tile};
constexpr ft_quantization kTable = kernels::MakeQuantization<&kFormat>(5);

}  // namespace

const ft_quantization* Table() {
  return &kTable;
}

}  // namespace ft::mxfp4
