// The portable kernels, and the choice between them and those for this CPU.
#include "core/ops/kernels.h"

#define FT_KERNELS_NAMESPACE generic
#include "core/ops/kernels_inl.h"

namespace ft::ops {

const Kernels& GenericKernels() {
  static constexpr Kernels kKernels = generic::MakeKernels("generic");
  return kKernels;
}

const Kernels& BestKernels() {
  static const Kernels& best = Avx2Kernels() != nullptr ? *Avx2Kernels() : GenericKernels();
  return best;
}

}  // namespace ft::ops
