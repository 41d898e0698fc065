#include "core/quant/builtin/float_format.h"

#include <cstring>

#include "core/quant/builtin/float_kernels.h"
#include "core/quant/float_formats.h"
#include "core/quant/kernels/interleave.h"
#include "core/quant/kernels/isa.h"
#include "core/quant/kernels/part_match.h"
#include "core/quant/kernels/weight_format.h"

namespace ft {
namespace {

using kernels::PackedHeader;
using kernels::WeightFormat;

constexpr int64_t kBlockCols = 16;

// fp32 sums in blocks of 16: at most 16 + cols/16 roundings of 2^-24 for one sum; holds to 26,000
// columns.
constexpr double kErrorBound = 1e-4;

template <uint16_t kDtype>
constexpr int64_t kElementBytes = kDtype == FT_DTYPE_F32 ? 4 : 2;

// Bytes from a panel's start to element (row, col): see float_decoder_inl.h.
template <uint16_t kDtype>
int64_t OffsetInPanel(int64_t row, int64_t col) {
  if (kDtype == FT_DTYPE_BF16) {
    return (col / 2) * 32 + row * 4 + (col % 2) * 2;
  }
  return (col * 8 + row) * kElementBytes<kDtype>;
}

template <uint16_t kDtype>
int64_t PanelBytes(int64_t cols) {
  return kernels::RoundUp(cols, kBlockCols) * kernels::kPanelRows * kElementBytes<kDtype>;
}

template <uint16_t kDtype>
ft_code MatchFloat(
    ft_str name, const ft_part_info* parts, uint32_t num_parts, ft_match* out, ft_error* error) {
  const kernels::PartSet set(parts, num_parts);
  int weight = set.Find(".weight");
  if (weight < 0) {
    weight = set.Find("");
  }
  if (weight < 0 || !set.HasOnly({".weight", ""}) || set.at(weight).dtype != kDtype) {
    return FT_OK;
  }
  const ft_part_info& part = set.at(weight);
  if (part.ndim != 2 || part.shape[0] <= 0 || part.shape[1] <= 0) {
    return kernels::AnswerBroken(out, error, "a float format", name,
                                 "want a matrix, found " + kernels::Describe(part));
  }
  kernels::AnswerYes(set, 0, {weight}, part.shape[0], part.shape[1], out);
  return FT_OK;
}

template <uint16_t kDtype>
ft_code CheckParts(int64_t rows, int64_t cols, const ft_matrix_parts& in, ft_error* error) {
  return kernels::CheckRole(kernels::RoleOf(in, 0), {kDtype}, rows * cols, "weight", error);
}

template <uint16_t kDtype>
void PackFloat(
    int64_t rows, int64_t cols, const ft_matrix_parts& in, PackedHeader* header, uint8_t* out) {
  // Two columns of bf16 make a unit.
  constexpr size_t kUnitBytes = kDtype == FT_DTYPE_F16 ? 2 : 4;
  kernels::InterleaveRows<kUnitBytes>(rows, cols * kElementBytes<kDtype>,
                                      static_cast<const uint8_t*>(kernels::RoleOf(in, 0)->data),
                                      header->panel_bytes, out + sizeof(PackedHeader));
}

template <uint16_t kDtype>
void DecodeRow(const uint8_t* matrix, int64_t row, int64_t cols, float* out) {
  const uint8_t* panel =
      matrix + sizeof(PackedHeader) + (row / kernels::kPanelRows) * PanelBytes<kDtype>(cols);
  for (int64_t col = 0; col < cols; ++col) {
    const uint8_t* from = panel + OffsetInPanel<kDtype>(row % kernels::kPanelRows, col);
    if (kDtype == FT_DTYPE_F32) {
      std::memcpy(out + col, from, sizeof(float));
    } else {
      uint16_t code = 0;
      std::memcpy(&code, from, sizeof(code));
      out[col] = kDtype == FT_DTYPE_BF16 ? Bf16ToFloat(code) : F16ToFloat(code);
    }
  }
}

template <uint16_t kDtype>
constexpr WeightFormat MakeFormat(const char* name, kernels::TileFn (*tile)()) {
  return {name,
          1,
          kErrorBound,
          MatchFloat<kDtype>,
          PanelBytes<kDtype>,
          CheckParts<kDtype>,
          PackFloat<kDtype>,
          DecodeRow<kDtype>,
          tile};
}

kernels::TileFn Bf16Tile() {
  return kernels::HasAvx2() ? kernels::Bf16TileAvx2 : kernels::Bf16TileGeneric;
}

kernels::TileFn F16Tile() {
  return kernels::HasAvx2() ? kernels::F16TileAvx2 : kernels::F16TileGeneric;
}

kernels::TileFn F32Tile() {
  return kernels::HasAvx2() ? kernels::F32TileAvx2 : kernels::F32TileGeneric;
}

constexpr WeightFormat kBf16 = MakeFormat<FT_DTYPE_BF16>("bf16", Bf16Tile);
constexpr WeightFormat kF16 = MakeFormat<FT_DTYPE_F16>("f16", F16Tile);
constexpr WeightFormat kF32 = MakeFormat<FT_DTYPE_F32>("f32", F32Tile);

constexpr ft_quantization kBf16Table = kernels::MakeQuantization<&kBf16>(4);
constexpr ft_quantization kF16Table = kernels::MakeQuantization<&kF16>(3);
constexpr ft_quantization kF32Table = kernels::MakeQuantization<&kF32>(3);

}  // namespace

const ft_quantization* BuiltinBf16() {
  return &kBf16Table;
}

const ft_quantization* BuiltinF16() {
  return &kF16Table;
}

const ft_quantization* BuiltinF32() {
  return &kF32Table;
}

Status RegisterBuiltinQuantizations(QuantizationRegistry* registry) {
  for (const ft_quantization* table : {BuiltinBf16(), BuiltinF16(), BuiltinF32()}) {
    FT_RETURN_IF_ERROR(registry->Add(Quantization(table, nullptr, "built in")));
  }
  return Status();
}

}  // namespace ft
