// The kernels of kernels_inl.h for CPUs with AVX2 and FMA.
#include "core/ops/kernels.h"

#if defined(__AVX2__) && defined(__FMA__)
#  define FT_KERNELS_NAMESPACE avx2
#  include "core/ops/kernels_inl.h"
#endif

namespace ft::ops {

const Kernels* Avx2Kernels() {
#if defined(__AVX2__) && defined(__FMA__)
  static constexpr Kernels kKernels = avx2::MakeKernels("avx2");
  static const bool is_usable = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return is_usable ? &kKernels : nullptr;
#else
  return nullptr;
#endif
}

}  // namespace ft::ops
