#include "core/tensor/dtype.h"

#include <array>

#include "core/base/errors.h"

namespace ft {
namespace {

struct Row {
  DType dtype;
  const char* name;
  size_t num_bytes;
};

constexpr std::array kRows = {
    Row{DType::kF32, "F32", 4},        Row{DType::kF16, "F16", 2},
    Row{DType::kBf16, "BF16", 2},      Row{DType::kF8E4m3, "F8_E4M3", 1},
    Row{DType::kF8E5m2, "F8_E5M2", 1}, Row{DType::kF8E8m0, "F8_E8M0", 1},
    Row{DType::kU8, "U8", 1},          Row{DType::kI8, "I8", 1},
    Row{DType::kI32, "I32", 4},        Row{DType::kI64, "I64", 8},
    Row{DType::kBool, "BOOL", 1},      Row{DType::kF64, "F64", 8},
    Row{DType::kU16, "U16", 2},        Row{DType::kU32, "U32", 4},
    Row{DType::kU64, "U64", 8},        Row{DType::kI16, "I16", 2},
};

const Row& RowOf(DType dtype) {
  const auto index = static_cast<size_t>(dtype);
  FT_CHECK(index < kRows.size() && kRows[index].dtype == dtype);
  return kRows[index];
}

}  // namespace

size_t DTypeBytes(DType dtype) {
  return RowOf(dtype).num_bytes;
}

const char* DTypeName(DType dtype) {
  return RowOf(dtype).name;
}

Result<DType> ParseDType(std::string_view name) {
  for (const Row& row : kRows) {
    if (name == row.name) {
      return row.dtype;
    }
  }
  return Unimplemented("the dtype \"{}\" is not known to ft", name);
}

}  // namespace ft
