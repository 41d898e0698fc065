// Linear: one call of the format, then the bias.
#include "core/layers/linear.h"

namespace ft {
namespace {

constexpr uint64_t kTokensPerPiece = 16;  // a bias is added faster than a worker wakes up

// y is written through Args.  NOLINTNEXTLINE(readability-non-const-parameter)
void AddBias(const std::vector<float>& bias, int64_t num_tokens, float* y, const ft_exec& exec) {
  struct Args {
    const std::vector<float>* bias;
    float* y;
  } args = {&bias, y};

  exec.parallel_for(
      exec.ctx, static_cast<uint64_t>(num_tokens), kTokensPerPiece,
      [](void* arg, uint32_t /*worker*/, uint64_t begin, uint64_t end) {
        const auto& [values, out] = *static_cast<const Args*>(arg);
        const size_t rows = values->size();
        for (uint64_t token = begin; token < end; ++token) {
          for (size_t row = 0; row < rows; ++row) {
            out[token * rows + row] += (*values)[row];
          }
        }
      },
      &args);
}

}  // namespace

Status Linear::Apply(const float* x,
                     int64_t num_tokens,
                     float* y,
                     uint32_t compute_mode,
                     const ft_exec& exec) const {
  ft_matmul_args args = {};
  args.hdr = {sizeof(args), FT_TAG_MATMUL_ARGS, nullptr};
  args.layout = layout;
  args.mode = compute_mode;
  args.rows = rows;
  args.cols = cols;
  args.n_tokens = num_tokens;
  args.weights = packed.data();
  args.x = x;
  args.x_stride = cols;
  args.y = y;
  args.y_stride = rows;
  args.exec = &exec;
  FT_RETURN_IF_ERROR(format->Matmul(args));
  if (!bias.empty()) {
    AddBias(bias, num_tokens, y, exec);
  }
  return {};
}

}  // namespace ft
