#include "core/quant/kernels/part_match.h"

#include <algorithm>
#include <array>

#include "core/quant/kernels/abi_error.h"
#include "core/tensor/dtype.h"

namespace ft::kernels {
namespace {

// Scales of activations and of the KV cache: weights are decoded without them.
constexpr std::array<std::string_view, 7> kUnneeded = {
    ".input_scale", ".input_global_scale", ".k_scale",     ".v_scale",
    ".q_scale",     ".prob_scale",         ".output_scale"};

constexpr int kRoleShift = 8;
constexpr int kRoleBits = 4;

std::string_view SuffixOf(const ft_part_info& part) {
  return part.suffix.ptr == nullptr ? std::string_view()
                                    : std::string_view(part.suffix.ptr, part.suffix.len);
}

bool IsUnneeded(const ft_part_info& part) {
  return std::find(kUnneeded.begin(), kUnneeded.end(), SuffixOf(part)) != kUnneeded.end();
}

const char* NameOf(uint16_t dtype) {
  return dtype <= FT_DTYPE_I16 ? DTypeName(static_cast<DType>(dtype)) : "an unknown type";
}

}  // namespace

int PartSet::Find(std::string_view suffix) const {
  for (uint32_t i = 0; i < count_; ++i) {
    if (SuffixOf(parts_[i]) == suffix) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

bool PartSet::HasOnly(std::initializer_list<std::string_view> known) const {
  return std::all_of(parts_, parts_ + count_, [&](const ft_part_info& part) {
    return IsUnneeded(part) || std::find(known.begin(), known.end(), SuffixOf(part)) != known.end();
  });
}

uint64_t PartSet::unneeded() const {
  uint64_t bits = 0;
  for (uint32_t i = 0; i < count_; ++i) {
    bits |= IsUnneeded(parts_[i]) ? uint64_t{1} << i : 0;
  }
  return bits;
}

bool IsScalar(const ft_part_info& part) {
  return part.ndim <= 2 && std::all_of(part.shape, part.shape + part.ndim,
                                       [](int64_t extent) { return extent == 1; });
}

std::string Describe(const ft_part_info& part) {
  std::string text = std::string(NameOf(part.dtype)) + " [";
  for (uint32_t i = 0; i < part.ndim; ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(part.shape[i]);
  }
  return text + "]";
}

void AnswerYes(const PartSet& parts,
               uint32_t id,
               std::initializer_list<int> roles,
               int64_t rows,
               int64_t cols,
               ft_match* out) {
  out->verdict = FT_MATCH_YES;
  out->spelling = id;
  out->rows = rows;
  out->cols = cols;
  out->unused = parts.unneeded();
  int shift = kRoleShift;
  for (const int role : roles) {
    out->used |= uint64_t{1} << role;
    // Parts reach pack in ascending order: a role's place is the number of roles before it.
    const auto place =
        std::count_if(roles.begin(), roles.end(), [role](int r) { return r < role; });
    out->spelling |= static_cast<uint32_t>(place) << shift;
    shift += kRoleBits;
  }
}

ft_code AnswerBroken(ft_match* out,
                     ft_error* error,
                     std::string_view format,
                     ft_str name,
                     const std::string& reason) {
  out->verdict = FT_MATCH_BROKEN;
  Fail(error, FT_E_DATA, "%.*s: %.*s: %s", FT_STR_ARG(name), static_cast<int>(format.size()),
       format.data(), reason.c_str());
  return FT_OK;
}

const ft_tensor* RoleOf(const ft_matrix_parts& in, int role) {
  const uint32_t place = (in.spelling >> (kRoleShift + role * kRoleBits)) & 0xFU;
  return place < in.n_parts ? &in.parts[place] : nullptr;
}

int64_t CountOf(const ft_tensor& tensor) {
  int64_t count = 1;
  for (int32_t i = 0; i < tensor.ndim; ++i) {
    const int64_t extent = tensor.shape[i];
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count)) {
      return -1;
    }
  }
  int64_t bytes = 0;
  if (tensor.dtype > FT_DTYPE_I16 ||
      __builtin_mul_overflow(
          count, static_cast<int64_t>(DTypeBytes(static_cast<DType>(tensor.dtype))), &bytes) ||
      static_cast<uint64_t>(bytes) != tensor.bytes) {
    return -1;
  }
  return count;
}

ft_code CheckRole(const ft_tensor* tensor,
                  std::initializer_list<uint16_t> dtypes,
                  int64_t count,
                  const char* what,
                  ft_error* error) {
  if (tensor == nullptr) {
    return Fail(error, FT_E_INVALID_ARG, "pack: %s is not among the parts", what);
  }
  if (std::find(dtypes.begin(), dtypes.end(), tensor->dtype) == dtypes.end()) {
    return Fail(error, FT_E_INVALID_ARG, "pack: %s is %s", what, NameOf(tensor->dtype));
  }
  if (CountOf(*tensor) != count) {
    return Fail(error, FT_E_INVALID_ARG, "pack: %s has %llu bytes, want %lld elements of %s", what,
                static_cast<unsigned long long>(tensor->bytes), static_cast<long long>(count),
                NameOf(tensor->dtype));
  }
  return FT_OK;
}

}  // namespace ft::kernels
