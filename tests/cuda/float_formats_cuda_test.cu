// The number formats as nvcc sees them: the device compiler evaluates the same decoders, for every
// code of every format, to the same bits as the host compiler. No GPU is used: the device side is
// checked by static_assert in device code, the host side when this program runs.
#include <cstdint>
#include <cstdio>

#include "core/quant/float_formats.h"

namespace {

// FNV-1a over the bits of all decoded values: one number that changes when any value does.
FT_HOST_DEVICE constexpr uint64_t Mixed(uint64_t hash, float value) {
  return (hash ^ ft::internal::BitsFromFloat(value)) * 0x100000001B3ULL;
}

FT_HOST_DEVICE constexpr uint64_t HashOfAllCodes() {
  uint64_t hash = 0xCBF29CE484222325ULL;
  for (unsigned code = 0; code < 16; ++code) {
    hash = Mixed(hash, ft::E2m1ToFloat(static_cast<uint8_t>(code)));
  }
  for (unsigned code = 0; code < 256; ++code) {
    hash = Mixed(hash, ft::E4m3ToFloat(static_cast<uint8_t>(code)));
    hash = Mixed(hash, ft::E5m2ToFloat(static_cast<uint8_t>(code)));
    hash = Mixed(hash, ft::E8m0ToFloat(static_cast<uint8_t>(code)));
  }
  for (unsigned code = 0; code < 65536; code += 97) {
    hash = Mixed(hash, ft::Bf16ToFloat(static_cast<uint16_t>(code)));
    hash = Mixed(hash, ft::F16ToFloat(static_cast<uint16_t>(code)));
  }
  return hash;
}

// Product of an E2M1 code and an E4M3 scale: exact in fp32, as the kernels rely on.
FT_HOST_DEVICE constexpr bool EveryNvfp4ProductIsExact() {
  for (unsigned code = 0; code < 16; ++code) {
    for (unsigned scale = 0; scale < 0x7F; ++scale) {
      const float a = ft::E2m1ToFloat(static_cast<uint8_t>(code));
      const float b = ft::E4m3ToFloat(static_cast<uint8_t>(scale));
      if (static_cast<double>(a * b) != static_cast<double>(a) * static_cast<double>(b)) {
        return false;
      }
    }
  }
  return true;
}

__global__ void DeviceSide(uint64_t* out) {
  constexpr uint64_t kHash = HashOfAllCodes();
  static_assert(EveryNvfp4ProductIsExact());
  *out = kHash;
}

}  // namespace

int main() {
  volatile unsigned start = 0;  // keeps the host from folding the loop at compile time
  uint64_t at_run_time = 0xCBF29CE484222325ULL;
  for (unsigned code = start; code < 16; ++code) {
    at_run_time = Mixed(at_run_time, ft::E2m1ToFloat(static_cast<uint8_t>(code)));
  }
  for (unsigned code = start; code < 256; ++code) {
    at_run_time = Mixed(at_run_time, ft::E4m3ToFloat(static_cast<uint8_t>(code)));
    at_run_time = Mixed(at_run_time, ft::E5m2ToFloat(static_cast<uint8_t>(code)));
    at_run_time = Mixed(at_run_time, ft::E8m0ToFloat(static_cast<uint8_t>(code)));
  }
  for (unsigned code = start; code < 65536; code += 97) {
    at_run_time = Mixed(at_run_time, ft::Bf16ToFloat(static_cast<uint16_t>(code)));
    at_run_time = Mixed(at_run_time, ft::F16ToFloat(static_cast<uint16_t>(code)));
  }
  constexpr uint64_t kCompiled = HashOfAllCodes();
  if (at_run_time != kCompiled) {
    std::printf("decoded values differ: %llx at run time, %llx compiled\n",
                static_cast<unsigned long long>(at_run_time),
                static_cast<unsigned long long>(kCompiled));
    return 1;
  }
  std::printf("%s: all codes decode alike\n", DeviceSide == nullptr ? "no kernel" : "ok");
  return 0;
}
