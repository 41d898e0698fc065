// Dense matrices: packing, the threaded product and its reference.
#include "core/quant/kernels/weight_format.h"

#include <cstring>
#include <new>
#include <vector>

#include "core/quant/kernels/abi_error.h"
#include "core/quant/kernels/checks.h"

namespace ft::kernels {
namespace {

// Neighbouring panels whose weights stay in the second-level cache while all tokens pass.
constexpr int64_t kGroupBytes = 256 * 1024;
constexpr int64_t kPieceBytes = 32 * 1024;  // least weights worth handing to another worker

struct MatmulRun {
  const ft_matmul_args* args;
  TileFn tile;
  int64_t num_panels;
  int64_t panel_bytes;

  // Two panels × up to 64 tokens.
  void Tile(int64_t panel, int64_t first_token, float* sums) const {
    TileArgs tile_args;
    const auto* matrix = static_cast<const uint8_t*>(args->weights);
    tile_args.panels[0] = {matrix, panel};
    tile_args.panels[1] = {matrix, panel + 1};
    tile_args.num_panels = panel + 1 < num_panels ? 2 : 1;
    tile_args.cols = args->cols;
    tile_args.x = args->x + first_token * args->x_stride;
    tile_args.x_stride = args->x_stride;
    const int64_t rest = args->n_tokens - first_token;
    tile_args.num_tokens = rest < kTileTokens ? rest : kTileTokens;
    tile_args.out = sums;
    tile(tile_args);
    const int64_t first_row = panel * kPanelRows;
    const int64_t rows = args->rows - first_row < 16 ? args->rows - first_row : 16;
    for (int64_t t = 0; t < tile_args.num_tokens; ++t) {
      std::memcpy(args->y + (first_token + t) * args->y_stride + first_row, sums + t * 16,
                  static_cast<size_t>(rows) * sizeof(float));
    }
  }

  // Pairs of panels [begin, end).
  void Pairs(int64_t begin, int64_t end) const {
    alignas(64) float sums[kTileTokens * 16];
    const int64_t group = 1 + kGroupBytes / (2 * panel_bytes);
    for (int64_t at = begin; at < end; at += group) {
      const int64_t group_end = at + group < end ? at + group : end;
      for (int64_t token = 0; token < args->n_tokens; token += kTileTokens) {
        for (int64_t pair = at; pair < group_end; ++pair) {
          Tile(2 * pair, token, sums);
        }
      }
    }
  }
};

}  // namespace

ft_code Match(const WeightFormat& format,
              ft_str name,
              const ft_part_info* parts,
              uint32_t num_parts,
              ft_match* out,
              ft_error* error) {
  if (out == nullptr || !IsStruct(&out->hdr, FT_TAG_MATCH, FT_SIZE_THRU(ft_match, unused))) {
    return Fail(error, FT_E_INVALID_ARG, "match: the answer's size or tag is wrong");
  }
  if ((num_parts > 0 && parts == nullptr) || num_parts > 64) {
    return Fail(error, FT_E_INVALID_ARG, "match: %u parts, want up to 64, not null", num_parts);
  }
  for (uint32_t i = 0; i < num_parts; ++i) {
    if ((parts[i].suffix.ptr == nullptr && parts[i].suffix.len > 0) || parts[i].ndim > 8 ||
        (parts[i].ndim > 0 && parts[i].shape == nullptr)) {
      return Fail(error, FT_E_INVALID_ARG, "match: part %u has no name or shape", i);
    }
  }
  ft_match answer = {};
  answer.hdr = out->hdr;
  const ft_code code = format.match(name, parts, num_parts, &answer, error);
  if (code != FT_OK) {
    return code;
  }
  if (answer.verdict == FT_MATCH_YES &&
      CheckShape(format, answer.rows, answer.cols, error) != FT_OK) {
    answer = {};
    answer.verdict = FT_MATCH_BROKEN;  // CheckShape said why
    answer.hdr = out->hdr;
  }
  std::memcpy(out, &answer, FT_SIZE_THRU(ft_match, unused));
  return FT_OK;
}

ft_code Layout(const WeightFormat& format, uint32_t index, ft_layout_info* out, ft_error* error) {
  if (out == nullptr ||
      !IsStruct(&out->hdr, FT_TAG_LAYOUT_INFO, FT_SIZE_THRU(ft_layout_info, reserved0))) {
    return Fail(error, FT_E_INVALID_ARG, "layout: the answer's size or tag is wrong");
  }
  if (index > 0) {
    return Fail(error, FT_E_NOT_FOUND, "%s has one layout, 0; asked for %u", format.name, index);
  }
  static constexpr char kId[] = "panels8";
  out->id = {kId, sizeof(kId) - 1};
  out->align = kPackedAlign;
  out->reserved0 = 0;
  return FT_OK;
}

ft_code ErrorBound(const WeightFormat& format,
                   uint32_t mode,
                   ft_error_bound* out,
                   ft_error* error) {
  if (out == nullptr ||
      !IsStruct(&out->hdr, FT_TAG_ERROR_BOUND, FT_SIZE_THRU(ft_error_bound, relative))) {
    return Fail(error, FT_E_INVALID_ARG, "error_bound: the answer's size or tag is wrong");
  }
  FT_RETURN_IF_FAILED(CheckMode(mode, error));
  out->relative = format.error_bound;  // both modes run the fp32 kernel
  return FT_OK;
}

ft_code PackedBytes(const WeightFormat& format,
                    uint32_t layout,
                    int64_t rows,
                    int64_t cols,
                    uint64_t* bytes,
                    ft_error* error) {
  if (bytes == nullptr) {
    return Fail(error, FT_E_INVALID_ARG, "packed_bytes: the answer is null");
  }
  FT_RETURN_IF_FAILED(CheckLayout(format, layout, error));
  FT_RETURN_IF_FAILED(CheckShape(format, rows, cols, error));
  *bytes = static_cast<uint64_t>(MatrixBytes(format, rows, cols));
  return FT_OK;
}

ft_code Pack(const WeightFormat& format,
             uint32_t layout,
             int64_t rows,
             int64_t cols,
             const ft_matrix_parts* in,
             void* out,
             uint64_t out_bytes,
             ft_error* error) {
  FT_RETURN_IF_FAILED(CheckLayout(format, layout, error));
  FT_RETURN_IF_FAILED(CheckShape(format, rows, cols, error));
  if (in == nullptr || out == nullptr || in->n_parts == 0 || in->parts == nullptr) {
    return Fail(error, FT_E_INVALID_ARG, "pack: parts or destination are null");
  }
  for (uint32_t i = 0; i < in->n_parts; ++i) {
    const ft_tensor& part = in->parts[i];
    if (part.data == nullptr || part.ndim < 0 || part.ndim > 8 ||
        (part.ndim > 0 && part.shape == nullptr)) {
      return Fail(error, FT_E_INVALID_ARG, "pack: part %u has no data or shape", i);
    }
  }
  const auto bytes = static_cast<uint64_t>(MatrixBytes(format, rows, cols));
  if (out_bytes < bytes) {
    return Fail(error, FT_E_INVALID_ARG, "pack: %llu bytes of room, want %llu",
                static_cast<unsigned long long>(out_bytes), static_cast<unsigned long long>(bytes));
  }
  FT_RETURN_IF_FAILED(format.check_parts(rows, cols, *in, error));
  std::memset(out, 0, bytes);
  PackedHeader header = {};
  header.global_scale = 1.0F;
  header.panel_bytes = format.panel_bytes(cols);
  auto* packed = static_cast<uint8_t*>(out);
  format.pack(rows, cols, *in, &header, packed);
  std::memcpy(packed, &header, sizeof(header));
  return FT_OK;
}

ft_code Dequantize(const WeightFormat& format,
                   uint32_t layout,
                   int64_t rows,
                   int64_t cols,
                   const void* weights,
                   float* out,
                   ft_error* error) {
  FT_RETURN_IF_FAILED(CheckLayout(format, layout, error));
  FT_RETURN_IF_FAILED(CheckShape(format, rows, cols, error));
  FT_RETURN_IF_FAILED(CheckPacked(format, cols, weights, error));
  if (out == nullptr) {
    return Fail(error, FT_E_INVALID_ARG, "dequantize: the destination is null");
  }
  for (int64_t row = 0; row < rows; ++row) {
    format.decode_row(static_cast<const uint8_t*>(weights), row, cols, out + row * cols);
  }
  return FT_OK;
}

ft_code Matmul(const WeightFormat& format, const ft_matmul_args* args, ft_error* error) {
  FT_RETURN_IF_FAILED(CheckMatmul(format, args, true, error));
  if (args->n_tokens == 0) {
    return FT_OK;
  }
  MatmulRun run = {args, format.tile(), CeilDiv(args->rows, kPanelRows),
                   format.panel_bytes(args->cols)};
  const int64_t pairs = CeilDiv(run.num_panels, 2);
  const int64_t grain = 1 + kPieceBytes / (2 * run.panel_bytes * args->n_tokens);
  args->exec->parallel_for(
      args->exec->ctx, static_cast<uint64_t>(pairs), static_cast<uint64_t>(grain),
      [](void* arg, uint32_t /*worker*/, uint64_t begin, uint64_t end) {
        static_cast<MatmulRun*>(arg)->Pairs(static_cast<int64_t>(begin), static_cast<int64_t>(end));
      },
      &run);
  return FT_OK;
}

ft_code MatmulReference(const WeightFormat& format, const ft_matmul_args* args, ft_error* error) {
  FT_RETURN_IF_FAILED(CheckMatmul(format, args, false, error));
  try {
    std::vector<float> row(static_cast<size_t>(args->cols));
    for (int64_t r = 0; r < args->rows; ++r) {
      format.decode_row(static_cast<const uint8_t*>(args->weights), r, args->cols, row.data());
      for (int64_t t = 0; t < args->n_tokens; ++t) {
        const float* x = args->x + t * args->x_stride;
        double sum = 0;
        for (int64_t c = 0; c < args->cols; ++c) {
          sum += static_cast<double>(row[static_cast<size_t>(c)]) * static_cast<double>(x[c]);
        }
        args->y[t * args->y_stride + r] = static_cast<float>(sum);
      }
    }
  } catch (const std::bad_alloc&) {
    return Fail(error, FT_E_NO_MEMORY, "matmul_reference: no memory for a row");
  }
  return FT_OK;
}

}  // namespace ft::kernels
