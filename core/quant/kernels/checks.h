// The checks that come before every computation: nothing that a caller hands over is trusted.
#pragma once

#include "core/quant/kernels/weight_format.h"

namespace ft::kernels {

/// Rows and columns that a packed matrix may have: sizes stay far from 64-bit overflow.
inline constexpr int64_t kMaxExtent = int64_t{1} << 28;

ft_code CheckLayout(const WeightFormat& format, uint32_t layout, ft_error* error);
ft_code CheckShape(const WeightFormat& format, int64_t rows, int64_t cols, ft_error* error);
ft_code CheckExec(const ft_exec* exec, ft_error* error);
ft_code CheckMode(uint32_t mode, ft_error* error);

/// Are these bytes a packed matrix of this format and shape? Guards against mixed-up pointers.
ft_code CheckPacked(const WeightFormat& format, int64_t cols, const void* weights, ft_error* error);

ft_code CheckMatmul(const WeightFormat& format,
                    const ft_matmul_args* args,
                    bool needs_exec,
                    ft_error* error);

/// Activation, flags, formats and layouts of an expert; combinations without a meaning are refused.
ft_code CheckExpertKind(const WeightFormat& format, const ft_expert_kind* kind, ft_error* error);

/// `total_rows`: all jobs together.
ft_code CheckExpertMlp(const WeightFormat& format,
                       const ft_expert_mlp_args* args,
                       bool is_reference,
                       int64_t* total_rows,
                       ft_error* error);

int64_t MatrixBytes(const WeightFormat& format, int64_t rows, int64_t cols);

/// Where the parts of one packed expert lie, in bytes from its start. -1: absent.
struct ExpertOffsets {
  int64_t gate = -1;
  int64_t up = 0;
  int64_t down = 0;
  int64_t gate_bias = -1;
  int64_t up_bias = -1;
  int64_t down_bias = -1;
  int64_t total = 0;
};

ExpertOffsets OffsetsOf(const WeightFormat& format, const ft_expert_kind& kind);

/// Floats between two rows of the intermediate values in scratch.
inline int64_t HiddenStride(const ft_expert_kind& kind) {
  return RoundUp(kind.intermediate_dim, 16);
}

inline bool IsGated(const ft_expert_kind& kind) {
  return (kind.flags & FT_EXPERT_GATED) != 0;
}

}  // namespace ft::kernels

/// Returns the ft_code of `expr` from the calling function unless it is FT_OK.
#define FT_RETURN_IF_FAILED(expr)          \
  do {                                     \
    const ft_code ft_failed = (expr);      \
    if (ft_failed != FT_OK) [[unlikely]] { \
      return ft_failed;                    \
    }                                      \
  } while (false)
