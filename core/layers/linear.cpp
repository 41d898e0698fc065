// Linear: one call of the format, then the bias.
#include "core/layers/linear.h"

namespace ft {

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
    for (int64_t token = 0; token < num_tokens; ++token) {
      for (int64_t row = 0; row < rows; ++row) {
        y[token * rows + row] += bias[static_cast<size_t>(row)];
      }
    }
  }
  return {};
}

}  // namespace ft
