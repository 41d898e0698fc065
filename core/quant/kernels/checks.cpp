#include "core/quant/kernels/checks.h"

#include <cstring>
#include <string_view>

#include "core/quant/kernels/abi_error.h"

namespace ft::kernels {
namespace {

using Long = long long;  // NOLINT(google-runtime-int): what printf's %lld wants

constexpr uint32_t kKnownFlags = FT_EXPERT_GATED | FT_EXPERT_WEIGHT_ON_INPUT | FT_EXPERT_BIAS;

bool IsFormat(ft_str name, const WeightFormat& format) {
  return name.ptr != nullptr && std::string_view(name.ptr, name.len) == format.name;
}

}  // namespace

ft_code CheckLayout(const WeightFormat& format, uint32_t layout, ft_error* error) {
  if (layout != 0) {
    return Fail(error, FT_E_UNSUPPORTED, "%s has one layout, 0; asked for %u", format.name, layout);
  }
  return FT_OK;
}

ft_code CheckMode(uint32_t mode, ft_error* error) {
  if (mode != FT_COMPUTE_EXACT && mode != FT_COMPUTE_SERVED) {
    return Fail(error, FT_E_UNSUPPORTED, "compute mode %u is not known", mode);
  }
  return FT_OK;
}

ft_code CheckShape(const WeightFormat& format, int64_t rows, int64_t cols, ft_error* error) {
  if (rows <= 0 || cols <= 0 || rows > kMaxExtent || cols > kMaxExtent) {
    return Fail(error, FT_E_INVALID_ARG, "%s: a matrix of %lld × %lld is out of range", format.name,
                Long{rows}, Long{cols});
  }
  if (cols % format.cols_multiple != 0) {
    return Fail(error, FT_E_INVALID_ARG, "%s: %lld columns are not a multiple of %lld", format.name,
                Long{cols}, Long{format.cols_multiple});
  }
  return FT_OK;
}

ft_code CheckExec(const ft_exec* exec, ft_error* error) {
  if (exec == nullptr || !IsStruct(&exec->hdr, FT_TAG_EXEC, FT_SIZE_THRU(ft_exec, parallel_for)) ||
      exec->parallel_for == nullptr || exec->n_workers == 0) {
    return Fail(error, FT_E_INVALID_ARG, "exec is missing, or its header or workers are zero");
  }
  return FT_OK;
}

ft_code CheckPacked(const WeightFormat& format,
                    int64_t cols,
                    const void* weights,
                    ft_error* error) {
  if (weights == nullptr) {
    return Fail(error, FT_E_INVALID_ARG, "%s: weights are null", format.name);
  }
  PackedHeader header{};
  std::memcpy(&header, weights, sizeof(header));
  if (header.panel_bytes != format.panel_bytes(cols)) {
    return Fail(error, FT_E_INVALID_ARG, "%s: these bytes are no packed matrix with %lld columns",
                format.name, Long{cols});
  }
  return FT_OK;
}

int64_t MatrixBytes(const WeightFormat& format, int64_t rows, int64_t cols) {
  return kPackedAlign + CeilDiv(rows, kPanelRows) * format.panel_bytes(cols);
}

ft_code CheckMatmul(const WeightFormat& format,
                    const ft_matmul_args* args,
                    bool needs_exec,
                    ft_error* error) {
  if (args == nullptr ||
      !IsStruct(&args->hdr, FT_TAG_MATMUL_ARGS, FT_SIZE_THRU(ft_matmul_args, exec))) {
    return Fail(error, FT_E_INVALID_ARG, "matmul: the arguments' size or tag is wrong");
  }
  FT_RETURN_IF_FAILED(CheckLayout(format, args->layout, error));
  FT_RETURN_IF_FAILED(CheckMode(args->mode, error));
  FT_RETURN_IF_FAILED(CheckShape(format, args->rows, args->cols, error));
  if (args->n_tokens < 0 || args->n_tokens > kMaxExtent) {
    return Fail(error, FT_E_INVALID_ARG, "matmul: n_tokens is %lld", Long{args->n_tokens});
  }
  if (args->n_tokens > 0 && (args->x == nullptr || args->y == nullptr)) {
    return Fail(error, FT_E_INVALID_ARG, "matmul: x or y is null");
  }
  if (args->n_tokens > 1 && (args->x_stride < args->cols || args->y_stride < args->rows)) {
    return Fail(error, FT_E_INVALID_ARG, "matmul: strides %lld and %lld are less than a row",
                Long{args->x_stride}, Long{args->y_stride});
  }
  FT_RETURN_IF_FAILED(CheckPacked(format, args->cols, args->weights, error));
  return needs_exec ? CheckExec(args->exec, error) : FT_OK;
}

ft_code CheckExpertKind(const WeightFormat& format, const ft_expert_kind* kind, ft_error* error) {
  if (kind == nullptr ||
      !IsStruct(&kind->hdr, FT_TAG_EXPERT_KIND, FT_SIZE_THRU(ft_expert_kind, down_format))) {
    return Fail(error, FT_E_INVALID_ARG, "expert kind: size or tag is wrong");
  }
  FT_RETURN_IF_FAILED(CheckShape(format, kind->hidden_dim, kind->intermediate_dim, error));
  FT_RETURN_IF_FAILED(CheckShape(format, kind->intermediate_dim, kind->hidden_dim, error));
  FT_RETURN_IF_FAILED(CheckLayout(format, kind->gate_up_layout, error));
  FT_RETURN_IF_FAILED(CheckLayout(format, kind->down_layout, error));
  if (!IsFormat(kind->gate_up_format, format) || !IsFormat(kind->down_format, format)) {
    return Fail(error, FT_E_UNSUPPORTED, "%s: an expert of formats %.*s and %.*s is not one of its",
                format.name, FT_STR_ARG(kind->gate_up_format), FT_STR_ARG(kind->down_format));
  }
  if ((kind->flags & ~kKnownFlags) != 0) {
    return Fail(error, FT_E_UNSUPPORTED, "expert kind: unknown flags 0x%x",
                kind->flags & ~kKnownFlags);
  }
  const uint32_t act = kind->activation;
  if (act < FT_ACT_SILU || act > FT_ACT_SWIGLU_OAI) {
    return Fail(error, FT_E_UNSUPPORTED, "expert kind: activation %u is not known", act);
  }
  if (act == FT_ACT_SWIGLU_OAI && !IsGated(*kind)) {
    return Fail(error, FT_E_UNSUPPORTED, "expert kind: swiglu_oai without a gate has no meaning");
  }
  if (!(kind->act_limit >= 0)) {
    return Fail(error, FT_E_INVALID_ARG, "expert kind: act_limit is %g", kind->act_limit);
  }
  const bool may_limit = act == FT_ACT_SWIGLU_OAI || (act == FT_ACT_SILU && IsGated(*kind));
  if (kind->act_limit > 0 && !may_limit) {
    return Fail(error, FT_E_UNSUPPORTED,
                "expert kind: a limit has no meaning with activation %u and this gating", act);
  }
  return FT_OK;
}

// One list of conditions.  NOLINTNEXTLINE(readability-function-cognitive-complexity)
ft_code CheckExpertMlp(const WeightFormat& format,
                       const ft_expert_mlp_args* args,
                       bool is_reference,
                       int64_t* total_rows,
                       ft_error* error) {
  if (args == nullptr ||
      !IsStruct(&args->hdr, FT_TAG_EXPERT_ARGS, FT_SIZE_THRU(ft_expert_mlp_args, exec))) {
    return Fail(error, FT_E_INVALID_ARG, "expert_mlp: the arguments' size or tag is wrong");
  }
  FT_RETURN_IF_FAILED(CheckExpertKind(format, args->kind, error));
  FT_RETURN_IF_FAILED(CheckMode(args->mode, error));
  if (args->n_jobs > 0 && args->jobs == nullptr) {
    return Fail(error, FT_E_INVALID_ARG, "expert_mlp: %u jobs at null", args->n_jobs);
  }
  const ft_expert_kind& kind = *args->kind;
  const ExpertOffsets at = OffsetsOf(format, kind);
  int64_t total = 0;
  for (uint32_t i = 0; i < args->n_jobs; ++i) {
    const ft_expert_job& job = args->jobs[i];
    if (job.n_rows < 0 || job.n_rows > kMaxExtent ||
        (job.n_rows > 0 &&
         (job.tokens == nullptr || job.routes == nullptr || job.route_weights == nullptr))) {
      return Fail(error, FT_E_INVALID_ARG, "expert_mlp: job %u has %lld rows and null lists", i,
                  Long{job.n_rows});
    }
    for (int64_t row = 0; row < job.n_rows; ++row) {
      if (job.tokens[row] < 0 || job.routes[row] < 0) {
        return Fail(error, FT_E_INVALID_ARG, "expert_mlp: job %u, row %lld has a negative index", i,
                    Long{row});
      }
    }
    if (job.n_rows > 0) {
      FT_RETURN_IF_FAILED(CheckPacked(format, kind.hidden_dim, job.weights, error));
      const auto* expert = static_cast<const uint8_t*>(job.weights);
      FT_RETURN_IF_FAILED(CheckPacked(format, kind.intermediate_dim, expert + at.down, error));
    }
    total += job.n_rows;
    if (total > kMaxExtent) {
      return Fail(error, FT_E_INVALID_ARG, "expert_mlp: more than %lld rows", Long{kMaxExtent});
    }
  }
  *total_rows = total;
  if (total == 0) {
    return FT_OK;
  }
  if (args->x == nullptr || args->y == nullptr || args->x_stride < kind.hidden_dim ||
      args->y_stride < kind.hidden_dim) {
    return Fail(error, FT_E_INVALID_ARG, "expert_mlp: x or y is null or its stride below %lld",
                Long{kind.hidden_dim});
  }
  if (is_reference) {
    return FT_OK;
  }
  const uint64_t need = static_cast<uint64_t>(total * HiddenStride(kind)) * sizeof(float);
  if (args->scratch == nullptr || args->scratch_bytes < need ||
      reinterpret_cast<uintptr_t>(args->scratch) % kPackedAlign != 0) {
    return Fail(error, FT_E_INVALID_ARG,
                "expert_mlp: %llu bytes of scratch, want %llu, aligned to 64",
                static_cast<unsigned long long>(args->scratch_bytes),
                static_cast<unsigned long long>(need));
  }
  return CheckExec(args->exec, error);
}

ExpertOffsets OffsetsOf(const WeightFormat& format, const ft_expert_kind& kind) {
  ExpertOffsets at;
  int64_t end = 0;
  const auto take = [&end](int64_t bytes) {
    const int64_t start = end;
    end += RoundUp(bytes, kPackedAlign);
    return start;
  };
  const int64_t gate_up_bytes = MatrixBytes(format, kind.intermediate_dim, kind.hidden_dim);
  const int64_t float_bytes = sizeof(float);
  if (IsGated(kind)) {
    at.gate = take(gate_up_bytes);
  }
  at.up = take(gate_up_bytes);
  at.down = take(MatrixBytes(format, kind.hidden_dim, kind.intermediate_dim));
  if ((kind.flags & FT_EXPERT_BIAS) != 0) {
    if (IsGated(kind)) {
      at.gate_bias = take(kind.intermediate_dim * float_bytes);
    }
    at.up_bias = take(kind.intermediate_dim * float_bytes);
    at.down_bias = take(kind.hidden_dim * float_bytes);
  }
  at.total = end;
  return at;
}

}  // namespace ft::kernels
