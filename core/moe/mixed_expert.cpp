#include "core/moe/mixed_expert.h"

#include <algorithm>
#include <cstring>

#include "core/base/errors.h"
#include "core/quant/kernels/activation.h"

namespace ft {
namespace {

constexpr int64_t kTileRows = 32;  // rows of one pass: enough to read weights seldom, small scratch

uint64_t RoundUp64(uint64_t bytes) {
  return (bytes + 63) / 64 * 64;
}

bool IsGated(const ft_expert_kind& kind) {
  return (kind.flags & FT_EXPERT_GATED) != 0;
}

void AddBias(const float* bias, int64_t rows, int64_t width, float* values) {
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < width; ++i) {
      values[row * width + i] += bias[i];
    }
  }
}

}  // namespace

// Bytes from the start of a packed expert.
struct MixedExpert::Offsets {
  uint64_t gate = 0, up = 0, down = 0;
  uint64_t gate_bias = 0, up_bias = 0, down_bias = 0;
  uint64_t gate_up_bytes = 0, down_bytes = 0;  // of one matrix
  uint64_t total = 0;
};

Result<MixedExpert::Offsets> MixedExpert::FindOffsets() const {
  const int64_t hidden = kind->hidden_dim;
  const int64_t intermediate = kind->intermediate_dim;
  Offsets at;
  FT_ASSIGN_OR_RETURN(at.gate_up_bytes,
                      gate_up->PackedBytes(kind->gate_up_layout, intermediate, hidden));
  FT_ASSIGN_OR_RETURN(at.down_bytes, down->PackedBytes(kind->down_layout, hidden, intermediate));
  at.up = IsGated(*kind) ? RoundUp64(at.gate_up_bytes) : 0;
  at.down = at.up + RoundUp64(at.gate_up_bytes);
  at.total = at.down + RoundUp64(at.down_bytes);
  if ((kind->flags & FT_EXPERT_BIAS) != 0) {
    at.gate_bias = at.total;
    at.up_bias = at.gate_bias + RoundUp64(static_cast<uint64_t>(intermediate) * sizeof(float));
    at.down_bias = at.up_bias + RoundUp64(static_cast<uint64_t>(intermediate) * sizeof(float));
    at.total = at.down_bias + RoundUp64(static_cast<uint64_t>(hidden) * sizeof(float));
  }
  return at;
}

Result<uint64_t> MixedExpert::Bytes() const {
  FT_ASSIGN_OR_RETURN(const Offsets at, FindOffsets());
  return at.total;
}

Status MixedExpert::Pack(const ft_expert_parts& parts, void* out) const {
  FT_ASSIGN_OR_RETURN(const Offsets at, FindOffsets());
  auto* bytes = static_cast<std::byte*>(out);
  const int64_t hidden = kind->hidden_dim;
  const int64_t intermediate = kind->intermediate_dim;
  if (IsGated(*kind)) {
    FT_RETURN_IF_ERROR(gate_up->Pack(kind->gate_up_layout, intermediate, hidden, parts.gate,
                                     bytes + at.gate, at.gate_up_bytes));
  }
  FT_RETURN_IF_ERROR(gate_up->Pack(kind->gate_up_layout, intermediate, hidden, parts.up,
                                   bytes + at.up, at.gate_up_bytes));
  FT_RETURN_IF_ERROR(down->Pack(kind->down_layout, hidden, intermediate, parts.down,
                                bytes + at.down, at.down_bytes));
  if ((kind->flags & FT_EXPERT_BIAS) != 0) {
    const auto copy = [&](uint64_t offset, const float* bias, int64_t count) {
      const size_t num_bytes = static_cast<size_t>(count) * sizeof(float);
      if (bias != nullptr) {
        std::memcpy(bytes + offset, bias, num_bytes);
      } else {
        std::memset(bytes + offset, 0, num_bytes);
      }
    };
    copy(at.gate_bias, parts.gate_bias, intermediate);
    copy(at.up_bias, parts.up_bias, intermediate);
    copy(at.down_bias, parts.down_bias, hidden);
  }
  return Status();
}

uint64_t MixedExpert::ScratchBytes() const {
  const auto width = static_cast<uint64_t>(2 * kind->hidden_dim + 2 * kind->intermediate_dim);
  return RoundUp64(width * kTileRows * sizeof(float));
}

Status MixedExpert::Mlp(const ft_expert_mlp_args& args, bool is_reference) const {
  if (args.scratch_bytes < ScratchBytes()) {
    return InvalidArgument("mixed expert: {} bytes of scratch, want {}", args.scratch_bytes,
                           ScratchBytes());
  }
  FT_ASSIGN_OR_RETURN(const Offsets at, FindOffsets());
  for (uint32_t i = 0; i < args.n_jobs; ++i) {
    for (int64_t begin = 0; begin < args.jobs[i].n_rows; begin += kTileRows) {
      FT_RETURN_IF_ERROR(RunTile(args, args.jobs[i], at, begin, is_reference));
    }
  }
  return Status();
}

// The steps of one expert, in order.  NOLINTNEXTLINE(readability-function-cognitive-complexity)
Status MixedExpert::RunTile(const ft_expert_mlp_args& args,
                            const ft_expert_job& job,
                            const Offsets& at,
                            int64_t begin,
                            bool is_reference) const {
  const int64_t rows = std::min(kTileRows, job.n_rows - begin);
  const int64_t hidden = kind->hidden_dim;
  const int64_t intermediate = kind->intermediate_dim;
  const bool has_bias = (kind->flags & FT_EXPERT_BIAS) != 0;
  const bool weighs_input = (kind->flags & FT_EXPERT_WEIGHT_ON_INPUT) != 0;
  const auto* weights = static_cast<const std::byte*>(job.weights);
  const auto bias_at = [&](uint64_t offset) {
    return reinterpret_cast<const float*>(weights + offset);
  };
  auto* x = static_cast<float*>(args.scratch);
  float* y = x + kTileRows * hidden;
  float* gate = y + kTileRows * hidden;
  float* up = gate + kTileRows * intermediate;

  for (int64_t row = 0; row < rows; ++row) {
    const float* from = args.x + job.tokens[begin + row] * args.x_stride;
    const float weight = weighs_input ? job.route_weights[begin + row] : 1.0F;
    for (int64_t i = 0; i < hidden; ++i) {
      x[row * hidden + i] = weighs_input ? from[i] * weight : from[i];
    }
  }
  const auto matmul = [&](const Quantization& format, uint32_t layout, uint64_t offset,
                          const float* in, int64_t in_dim, float* out, int64_t out_dim) {
    ft_matmul_args matmul_args = {};
    matmul_args.hdr = {sizeof(matmul_args), FT_TAG_MATMUL_ARGS, nullptr};
    matmul_args.layout = layout;
    matmul_args.mode = args.mode;
    matmul_args.rows = out_dim;
    matmul_args.cols = in_dim;
    matmul_args.n_tokens = rows;
    matmul_args.weights = weights + offset;
    matmul_args.x = in;
    matmul_args.x_stride = in_dim;
    matmul_args.y = out;
    matmul_args.y_stride = out_dim;
    matmul_args.exec = args.exec;
    return is_reference ? format.MatmulReference(matmul_args) : format.Matmul(matmul_args);
  };
  if (IsGated(*kind)) {
    FT_RETURN_IF_ERROR(
        matmul(*gate_up, kind->gate_up_layout, at.gate, x, hidden, gate, intermediate));
  }
  FT_RETURN_IF_ERROR(matmul(*gate_up, kind->gate_up_layout, at.up, x, hidden, up, intermediate));
  if (has_bias) {
    AddBias(bias_at(at.up_bias), rows, intermediate, up);
    if (IsGated(*kind)) {
      AddBias(bias_at(at.gate_bias), rows, intermediate, gate);
    }
  }
  const kernels::Activation<float> activation(*kind);
  for (int64_t i = 0; i < rows * intermediate; ++i) {
    up[i] = activation(IsGated(*kind) ? gate[i] : 0.0F, up[i]);
  }
  FT_RETURN_IF_ERROR(matmul(*down, kind->down_layout, at.down, up, intermediate, y, hidden));
  if (has_bias) {
    AddBias(bias_at(at.down_bias), rows, hidden, y);
  }
  for (int64_t row = 0; row < rows; ++row) {
    float* out = args.y + job.routes[begin + row] * args.y_stride;
    const float weight = weighs_input ? 1.0F : job.route_weights[begin + row];
    for (int64_t i = 0; i < hidden; ++i) {
      out[i] = weighs_input ? y[row * hidden + i] : y[row * hidden + i] * weight;
    }
  }
  return Status();
}

}  // namespace ft
