// DType: what one stored element is. The names are those of safetensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/status.h"

namespace ft {

/// Element types that checkpoints hold. Values are part of the plugin ABI: append only.
enum class DType : uint16_t {
  kF32 = 0,
  kF16 = 1,
  kBf16 = 2,
  kF8E4m3 = 3,
  kF8E5m2 = 4,
  kF8E8m0 = 5,
  kU8 = 6,
  kI8 = 7,
  kI32 = 8,
  kI64 = 9,
  kBool = 10,
  kF64 = 11,
  kU16 = 12,
  kU32 = 13,
  kU64 = 14,
  kI16 = 15,
};

/// Bytes of one element.
size_t DTypeBytes(DType dtype);

/// "F32", "BF16", "F8_E4M3", ... as safetensors spells it. Static lifetime.
const char* DTypeName(DType dtype);

/// The opposite of DTypeName. Errors: kUnimplemented for a name that ft does not know.
Result<DType> ParseDType(std::string_view name);

}  // namespace ft
