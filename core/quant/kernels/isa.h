// Which instruction sets the kernels may use on this CPU.
#pragma once

#if defined(__x86_64__)
#  include <cpuid.h>
#endif

namespace ft::kernels {

#if defined(__x86_64__)
/// Half conversions. Asked of the CPU itself: clang 14 knows no __builtin_cpu_supports("f16c").
inline bool HasF16c() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}
#endif

/// AVX2, FMA and F16C, enabled by CPU and operating system (which is the same switch for all
/// three).
inline bool HasAvx2() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 && HasF16c();
#else
  return false;
#endif
}

}  // namespace ft::kernels
