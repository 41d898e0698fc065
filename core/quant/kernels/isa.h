// Which instruction sets the kernels may use on this CPU.
#pragma once

namespace ft::kernels {

/// AVX2, FMA and F16C, enabled by CPU and operating system.
inline bool HasAvx2() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
         __builtin_cpu_supports("f16c") != 0;
#else
  return false;
#endif
}

}  // namespace ft::kernels
