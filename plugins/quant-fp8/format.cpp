#include "plugins/quant-fp8/format.h"

#include <cstring>

#include "core/quant/float_formats.h"
#include "core/quant/kernels/interleave.h"
#include "core/quant/kernels/isa.h"
#include "core/quant/kernels/part_match.h"
#include "core/quant/kernels/weight_format.h"
#include "core/quant/quant_format.h"
#include "plugins/quant-fp8/kernel.h"
#include "plugins/quant-fp8/spelling.h"

namespace ft::fp8 {
namespace {

using kernels::kPanelRows;
using kernels::PackedHeader;

constexpr int64_t kBlockCols = 32;
constexpr int64_t kFloatBytes = sizeof(float);

// fp32 sums in blocks of 32: at most 34 + cols/32 roundings of 2^-24 for one sum; holds to 50,000
// columns.
constexpr double kErrorBound = 1e-4;

int64_t CodeBytes(int64_t cols) {
  return kernels::RoundUp(cols, kBlockCols) * kPanelRows;
}

// Factors behind the codes of one panel.
template <Scaling kScaling>
int64_t ScalesPerPanel(int64_t cols) {
  switch (kScaling) {
    case Scaling::kBlock:
      return kernels::CeilDiv(cols, kFp8BlockExtent);
    case Scaling::kChannel:
      return kPanelRows;
    case Scaling::kTensor:
      return 0;
  }
  return 0;
}

template <Scaling kScaling>
int64_t PanelBytes(int64_t cols) {
  return kernels::RoundUp(CodeBytes(cols) + ScalesPerPanel<kScaling>(cols) * kFloatBytes,
                          kernels::kPackedAlign);
}

// Byte of (row, col) in a panel: see e4m3_inl.h.
int64_t OffsetInPanel(int64_t row, int64_t col) {
  return col / 4 * 32 + col % 4 / 2 * 16 + 2 * row + col % 2;
}

float ScaleAt(const ft_tensor& tensor, int64_t index) {
  const auto* bytes = static_cast<const uint8_t*>(tensor.data);
  if (tensor.dtype == FT_DTYPE_F32) {
    float value = 0;
    std::memcpy(&value, bytes + index * kFloatBytes, sizeof(value));
    return value;
  }
  uint16_t code = 0;
  std::memcpy(&code, bytes + index * 2, sizeof(code));
  return tensor.dtype == FT_DTYPE_BF16 ? Bf16ToFloat(code) : F16ToFloat(code);
}

template <Scaling kScaling>
int64_t NumScales(int64_t rows, int64_t cols) {
  switch (kScaling) {
    case Scaling::kBlock:
      return kernels::CeilDiv(rows, kFp8BlockExtent) * kernels::CeilDiv(cols, kFp8BlockExtent);
    case Scaling::kChannel:
      return rows;
    case Scaling::kTensor:
      return 1;
  }
  return 0;
}

// The factors behind the codes of the panel that starts at `row`.
template <Scaling kScaling>
void PackScales(int64_t row, int64_t rows, int64_t cols, const ft_tensor& scales, uint8_t* to) {
  const int64_t count = ScalesPerPanel<kScaling>(cols);
  for (int64_t i = 0; i < count; ++i) {
    int64_t index = row + i;
    if (kScaling == Scaling::kBlock) {
      index = row / kFp8BlockExtent * count + i;  // 8 rows never straddle a block of 128
    } else if (index >= rows) {
      break;
    }
    const float value = ScaleAt(scales, index);
    std::memcpy(to + i * kFloatBytes, &value, sizeof(value));
  }
}

template <Scaling kScaling>
ft_code CheckParts(int64_t rows, int64_t cols, const ft_matrix_parts& in, ft_error* error) {
  const ft_code weight =
      kernels::CheckRole(kernels::RoleOf(in, 0), {FT_DTYPE_F8_E4M3}, rows * cols, "weight", error);
  return weight != FT_OK ? weight
                         : kernels::CheckRole(kernels::RoleOf(in, 1),
                                              {FT_DTYPE_F32, FT_DTYPE_BF16, FT_DTYPE_F16},
                                              NumScales<kScaling>(rows, cols), "the scale", error);
}

template <Scaling kScaling>
void Pack(
    int64_t rows, int64_t cols, const ft_matrix_parts& in, PackedHeader* header, uint8_t* out) {
  const ft_tensor* weight = kernels::RoleOf(in, 0);
  const ft_tensor* scales = kernels::RoleOf(in, 1);
  if (kScaling == Scaling::kTensor) {
    header->global_scale = ScaleAt(*scales, 0);
  }
  uint8_t* panels = out + sizeof(PackedHeader);
  kernels::InterleaveRows<2>(rows, cols, static_cast<const uint8_t*>(weight->data),
                             header->panel_bytes, panels);
  for (int64_t row = 0; row < rows; row += kPanelRows) {
    PackScales<kScaling>(row, rows, cols, *scales,
                         panels + row / kPanelRows * header->panel_bytes + CodeBytes(cols));
  }
}

template <Scaling kScaling>
void DecodeRow(const uint8_t* matrix, int64_t row, int64_t cols, float* out) {
  PackedHeader header{};
  std::memcpy(&header, matrix, sizeof(header));
  const uint8_t* panel = matrix + sizeof(PackedHeader) + row / kPanelRows * header.panel_bytes;
  for (int64_t col = 0; col < cols; ++col) {
    float scale = header.global_scale;
    if (kScaling != Scaling::kTensor) {
      const int64_t index = kScaling == Scaling::kBlock ? col / kFp8BlockExtent : row % kPanelRows;
      std::memcpy(&scale, panel + CodeBytes(cols) + index * kFloatBytes, sizeof(scale));
    }
    out[col] = kE4m3Table[panel[OffsetInPanel(row % kPanelRows, col)]] * scale;
  }
}

template <Scaling kScaling>
ft_code Match(
    ft_str name, const ft_part_info* parts, uint32_t num_parts, ft_match* out, ft_error* error) {
  return MatchScaling(kScaling, name, parts, num_parts, out, error);
}

kernels::TileFn BlockTile() {
  return kernels::HasAvx2() ? BlockTileAvx2 : BlockTileGeneric;
}

kernels::TileFn ChannelTile() {
  return kernels::HasAvx2() ? ChannelTileAvx2 : ChannelTileGeneric;
}

kernels::TileFn TensorTile() {
  return kernels::HasAvx2() ? TensorTileAvx2 : TensorTileGeneric;
}

template <Scaling kScaling>
constexpr kernels::WeightFormat MakeFormat(const char* name, kernels::TileFn (*tile)()) {
  return {name,
          1,
          kErrorBound,
          Match<kScaling>,
          PanelBytes<kScaling>,
          CheckParts<kScaling>,
          Pack<kScaling>,
          DecodeRow<kScaling>,
          tile};
}

constexpr kernels::WeightFormat kBlock = MakeFormat<Scaling::kBlock>("fp8_block", BlockTile);
constexpr kernels::WeightFormat kChannel =
    MakeFormat<Scaling::kChannel>("fp8_channel", ChannelTile);
constexpr kernels::WeightFormat kTensor = MakeFormat<Scaling::kTensor>("fp8_tensor", TensorTile);

constexpr ft_quantization kBlockTable = kernels::MakeQuantization<&kBlock>(9);
constexpr ft_quantization kChannelTable = kernels::MakeQuantization<&kChannel>(11);
constexpr ft_quantization kTensorTable = kernels::MakeQuantization<&kTensor>(10);

}  // namespace

const ft_quantization* BlockTable() {
  return &kBlockTable;
}

const ft_quantization* ChannelTable() {
  return &kChannelTable;
}

const ft_quantization* TensorTable() {
  return &kTensorTable;
}

}  // namespace ft::fp8
