// Whole experts: packing, the two-phase threaded product (gate and up of all jobs, then down of all
// jobs) and its reference in double.
#include <cstring>
#include <new>
#include <vector>

#include "core/quant/kernels/abi_error.h"
#include "core/quant/kernels/activation.h"
#include "core/quant/kernels/checks.h"
#include "core/quant/kernels/weight_format.h"

namespace ft::kernels {
namespace {

constexpr int64_t kPieceBytes = 32 * 1024;  // least weights worth handing to another worker

// What both phases need. A unit is one panel pair of one job; units of all jobs are one index
// range. Only made whole.  NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init)
struct ExpertRun {
  const ft_expert_mlp_args* args;
  const ft_expert_kind* kind;
  TileFn tile;
  ExpertOffsets at;
  Activation<float> act;
  int64_t hidden_stride;
  int64_t up_units;    // panels of gate and up, per job
  int64_t down_units;  // pairs of panels of down, per job

  const float* Bias(const ft_expert_job& job, int64_t offset) const {
    const auto* base = static_cast<const uint8_t*>(job.weights);
    return offset < 0 ? nullptr : reinterpret_cast<const float*>(base + offset);
  }

  // Panel `panel` of gate and up for rows [first, first + count) of `job` into scratch.
  void UpTile(
      const ft_expert_job& job, int64_t panel, int64_t first, int64_t count, float* hidden) const {
    alignas(64) float sums[kTileTokens * 16];
    const auto* base = static_cast<const uint8_t*>(job.weights);
    const bool is_gated = IsGated(*kind);
    TileArgs tile_args;
    tile_args.panels[0] = {base + (is_gated ? at.gate : at.up), panel};
    tile_args.panels[1] = {base + at.up, panel};
    tile_args.num_panels = is_gated ? 2 : 1;
    tile_args.cols = kind->hidden_dim;
    tile_args.x = args->x;
    tile_args.x_stride = args->x_stride;
    tile_args.tokens = job.tokens + first;
    tile_args.num_tokens = count;
    tile_args.out = sums;
    tile(tile_args);
    const float* gate_bias = Bias(job, at.gate_bias);
    const float* up_bias = Bias(job, at.up_bias);
    const int64_t column = panel * kPanelRows;
    const int64_t rest = kind->intermediate_dim - column;
    const int64_t columns = rest < kPanelRows ? rest : kPanelRows;
    const bool is_scaled = (kind->flags & FT_EXPERT_WEIGHT_ON_INPUT) != 0;
    for (int64_t t = 0; t < count; ++t) {
      const float weight = is_scaled ? job.route_weights[first + t] : 1.0F;
      const float* gates = sums + t * 16;
      const float* ups = gates + (is_gated ? 8 : 0);
      float* to = hidden + (first + t) * hidden_stride + column;
      for (int64_t i = 0; i < columns; ++i) {
        // x is linear in the sums: the weight of the input may come after them.
        float gate = gates[i] * weight;
        float up = ups[i] * weight;
        gate += gate_bias != nullptr ? gate_bias[column + i] : 0.0F;
        up += up_bias != nullptr ? up_bias[column + i] : 0.0F;
        to[i] = act(gate, up);
      }
    }
  }

  // Panels 2 · pair and 2 · pair + 1 of down for rows [first, first + count) into y.
  void DownTile(const ft_expert_job& job,
                int64_t pair,
                int64_t first,
                int64_t count,
                const float* hidden) const {
    alignas(64) float sums[kTileTokens * 16];
    const auto* down = static_cast<const uint8_t*>(job.weights) + at.down;
    const int64_t column = pair * 2 * kPanelRows;
    const int64_t rest = kind->hidden_dim - column;
    const int64_t columns = rest < 16 ? rest : 16;
    TileArgs tile_args;
    tile_args.panels[0] = {down, 2 * pair};
    tile_args.panels[1] = {down, 2 * pair + 1};
    tile_args.num_panels = rest > kPanelRows ? 2 : 1;
    tile_args.cols = kind->intermediate_dim;
    tile_args.x = hidden + first * hidden_stride;
    tile_args.x_stride = hidden_stride;
    tile_args.num_tokens = count;
    tile_args.out = sums;
    tile(tile_args);
    const float* bias = Bias(job, at.down_bias);
    const bool is_scaled = (kind->flags & FT_EXPERT_WEIGHT_ON_INPUT) == 0;
    for (int64_t t = 0; t < count; ++t) {
      const float weight = is_scaled ? job.route_weights[first + t] : 1.0F;
      float* to = args->y + job.routes[first + t] * args->y_stride + column;
      for (int64_t i = 0; i < columns; ++i) {
        const float sum = sums[t * 16 + i] + (bias != nullptr ? bias[column + i] : 0.0F);
        to[i] = weight * sum;
      }
    }
  }

  // Units [begin, end) of a phase with `per_job` units in each job.
  template <typename Tile>
  void Units(int64_t begin, int64_t end, int64_t per_job, const Tile& run_tile) const {
    int64_t unit = 0;
    auto* hidden = static_cast<float*>(args->scratch);
    for (uint32_t i = 0; i < args->n_jobs && unit < end; ++i) {
      const ft_expert_job& job = args->jobs[i];
      if (job.n_rows > 0) {
        const int64_t from = begin > unit ? begin - unit : 0;
        const int64_t to = end - unit < per_job ? end - unit : per_job;
        for (int64_t first = 0; first < job.n_rows; first += kTileTokens) {
          const int64_t rest = job.n_rows - first;
          for (int64_t panel = from; panel < to; ++panel) {
            run_tile(job, panel, first, rest < kTileTokens ? rest : kTileTokens, hidden);
          }
        }
        unit += per_job;
      }
      hidden += job.n_rows * hidden_stride;
    }
  }
};

void RunUp(void* arg, uint32_t /*worker*/, uint64_t begin, uint64_t end) {
  const auto* run = static_cast<const ExpertRun*>(arg);
  run->Units(static_cast<int64_t>(begin), static_cast<int64_t>(end), run->up_units,
             [run](const ft_expert_job& job, int64_t panel, int64_t first, int64_t count,
                   float* hidden) { run->UpTile(job, panel, first, count, hidden); });
}

void RunDown(void* arg, uint32_t /*worker*/, uint64_t begin, uint64_t end) {
  const auto* run = static_cast<const ExpertRun*>(arg);
  run->Units(static_cast<int64_t>(begin), static_cast<int64_t>(end), run->down_units,
             [run](const ft_expert_job& job, int64_t pair, int64_t first, int64_t count,
                   const float* hidden) { run->DownTile(job, pair, first, count, hidden); });
}

// Rows of one packed matrix as floats.
std::vector<float> DecodeAll(const WeightFormat& format,
                             const uint8_t* matrix,
                             int64_t rows,
                             int64_t cols) {
  std::vector<float> all(static_cast<size_t>(rows * cols));
  for (int64_t row = 0; row < rows; ++row) {
    format.decode_row(matrix, row, cols, all.data() + row * cols);
  }
  return all;
}

double Dot(const float* weights, const double* x, int64_t cols) {
  double sum = 0;
  for (int64_t c = 0; c < cols; ++c) {
    sum += static_cast<double>(weights[c]) * x[c];
  }
  return sum;
}

void ReferenceJob(const WeightFormat& format,
                  const ft_expert_mlp_args& args,
                  const ft_expert_job& job) {
  const ft_expert_kind& kind = *args.kind;
  const ExpertOffsets at = OffsetsOf(format, kind);
  const auto* base = static_cast<const uint8_t*>(job.weights);
  const int64_t hidden_dim = kind.hidden_dim;
  const int64_t intermediate_dim = kind.intermediate_dim;
  std::vector<float> gate;
  if (IsGated(kind)) {
    gate = DecodeAll(format, base + at.gate, intermediate_dim, hidden_dim);
  }
  const auto up = DecodeAll(format, base + at.up, intermediate_dim, hidden_dim);
  const auto down = DecodeAll(format, base + at.down, hidden_dim, intermediate_dim);
  const auto bias = [base](int64_t offset, int64_t i) {
    return offset < 0 ? 0.0 : static_cast<double>(reinterpret_cast<const float*>(base + offset)[i]);
  };
  const Activation<double> act(kind);
  const bool is_on_input = (kind.flags & FT_EXPERT_WEIGHT_ON_INPUT) != 0;
  std::vector<double> x(static_cast<size_t>(hidden_dim));
  std::vector<double> hidden(static_cast<size_t>(intermediate_dim));
  for (int64_t row = 0; row < job.n_rows; ++row) {
    const double weight = static_cast<double>(job.route_weights[row]);
    for (int64_t c = 0; c < hidden_dim; ++c) {
      const double value = static_cast<double>(args.x[job.tokens[row] * args.x_stride + c]);
      x[static_cast<size_t>(c)] = is_on_input ? value * weight : value;
    }
    for (int64_t i = 0; i < intermediate_dim; ++i) {
      const double g = gate.empty() ? 0.0
                                    : Dot(gate.data() + i * hidden_dim, x.data(), hidden_dim) +
                                          bias(at.gate_bias, i);
      const double u = Dot(up.data() + i * hidden_dim, x.data(), hidden_dim) + bias(at.up_bias, i);
      hidden[static_cast<size_t>(i)] = act(g, u);
    }
    for (int64_t h = 0; h < hidden_dim; ++h) {
      const double sum = Dot(down.data() + h * intermediate_dim, hidden.data(), intermediate_dim) +
                         bias(at.down_bias, h);
      args.y[job.routes[row] * args.y_stride + h] =
          static_cast<float>(is_on_input ? sum : weight * sum);
    }
  }
}

}  // namespace

ft_code ExpertBytes(const WeightFormat& format,
                    const ft_expert_kind* kind,
                    uint64_t* bytes,
                    ft_error* error) {
  if (bytes == nullptr) {
    return Fail(error, FT_E_INVALID_ARG, "expert_bytes: the answer is null");
  }
  FT_RETURN_IF_FAILED(CheckExpertKind(format, kind, error));
  *bytes = static_cast<uint64_t>(OffsetsOf(format, *kind).total);
  return FT_OK;
}

ft_code PackExpert(const WeightFormat& format,
                   const ft_expert_kind* kind,
                   const ft_expert_parts* parts,
                   void* out,
                   uint64_t out_bytes,
                   ft_error* error) {
  FT_RETURN_IF_FAILED(CheckExpertKind(format, kind, error));
  if (parts == nullptr || out == nullptr ||
      !IsStruct(&parts->hdr, FT_TAG_EXPERT_PARTS, FT_SIZE_THRU(ft_expert_parts, down_bias))) {
    return Fail(error, FT_E_INVALID_ARG, "pack_expert: parts or destination are null or malformed");
  }
  const ExpertOffsets at = OffsetsOf(format, *kind);
  if (out_bytes < static_cast<uint64_t>(at.total)) {
    return Fail(error, FT_E_INVALID_ARG, "pack_expert: %llu bytes of room, want %lld",
                static_cast<unsigned long long>(out_bytes), static_cast<long long>(at.total));
  }
  const bool has_bias = (kind->flags & FT_EXPERT_BIAS) != 0;
  if (has_bias && (parts->up_bias == nullptr || parts->down_bias == nullptr ||
                   (IsGated(*kind) && parts->gate_bias == nullptr))) {
    return Fail(error, FT_E_INVALID_ARG, "pack_expert: the kind has biases, the parts lack one");
  }
  const int64_t wide = kind->hidden_dim;
  const int64_t inner = kind->intermediate_dim;
  auto* base = static_cast<uint8_t*>(out);
  const auto matrix = [&](int64_t offset, int64_t rows, int64_t cols, const ft_matrix_parts& in) {
    return Pack(format, 0, rows, cols, &in, base + offset,
                static_cast<uint64_t>(MatrixBytes(format, rows, cols)), error);
  };
  if (IsGated(*kind)) {
    FT_RETURN_IF_FAILED(matrix(at.gate, inner, wide, parts->gate));
  }
  FT_RETURN_IF_FAILED(matrix(at.up, inner, wide, parts->up));
  FT_RETURN_IF_FAILED(matrix(at.down, wide, inner, parts->down));
  const auto bias = [base](int64_t offset, const float* from, int64_t count) {
    if (offset >= 0) {
      std::memcpy(base + offset, from, static_cast<size_t>(count) * sizeof(float));
    }
  };
  bias(at.gate_bias, parts->gate_bias, inner);
  bias(at.up_bias, parts->up_bias, inner);
  bias(at.down_bias, parts->down_bias, wide);
  return FT_OK;
}

ft_code ExpertScratchBytes(const WeightFormat& format,
                           const ft_expert_kind* kind,
                           int64_t max_rows,
                           uint32_t /*n_workers*/,
                           uint64_t* bytes,
                           ft_error* error) {
  if (bytes == nullptr || max_rows < 0 || max_rows > kMaxExtent) {
    return Fail(error, FT_E_INVALID_ARG, "expert_scratch_bytes: the answer is null or %lld rows",
                static_cast<long long>(max_rows));
  }
  FT_RETURN_IF_FAILED(CheckExpertKind(format, kind, error));
  *bytes = static_cast<uint64_t>(max_rows * HiddenStride(*kind)) * sizeof(float);
  return FT_OK;
}

ft_code ExpertMlp(const WeightFormat& format, const ft_expert_mlp_args* args, ft_error* error) {
  int64_t total_rows = 0;
  FT_RETURN_IF_FAILED(CheckExpertMlp(format, args, false, &total_rows, error));
  if (total_rows == 0) {
    return FT_OK;
  }
  const ft_expert_kind& kind = *args->kind;
  ExpertRun run = {args,
                   &kind,
                   format.tile(),
                   OffsetsOf(format, kind),
                   Activation<float>(kind),
                   HiddenStride(kind),
                   CeilDiv(kind.intermediate_dim, kPanelRows),
                   CeilDiv(kind.hidden_dim, 2 * kPanelRows)};
  int64_t jobs = 0;
  for (uint32_t i = 0; i < args->n_jobs; ++i) {
    jobs += args->jobs[i].n_rows > 0 ? 1 : 0;
  }
  const int64_t rows_per_job = CeilDiv(total_rows, jobs);
  const auto grain = [rows_per_job](int64_t unit_bytes) {
    return static_cast<uint64_t>(1 + kPieceBytes / (unit_bytes * rows_per_job));
  };
  const ft_exec& exec = *args->exec;
  exec.parallel_for(exec.ctx, static_cast<uint64_t>(jobs * run.up_units),
                    grain(2 * format.panel_bytes(kind.hidden_dim)), RunUp, &run);
  exec.parallel_for(exec.ctx, static_cast<uint64_t>(jobs * run.down_units),
                    grain(2 * format.panel_bytes(kind.intermediate_dim)), RunDown, &run);
  return FT_OK;
}

ft_code ExpertMlpReference(const WeightFormat& format,
                           const ft_expert_mlp_args* args,
                           ft_error* error) {
  int64_t total_rows = 0;
  FT_RETURN_IF_FAILED(CheckExpertMlp(format, args, true, &total_rows, error));
  try {
    for (uint32_t i = 0; i < args->n_jobs; ++i) {
      if (args->jobs[i].n_rows > 0) {
        ReferenceJob(format, *args, args->jobs[i]);
      }
    }
  } catch (const std::bad_alloc&) {
    return Fail(error, FT_E_NO_MEMORY, "expert_mlp_reference: no memory for the decoded expert");
  }
  return FT_OK;
}

}  // namespace ft::kernels
