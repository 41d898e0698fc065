// Helpers for ft_quantization.match and pack: finding tensors by the end of their names, and
// carrying which tensor plays which role from match to pack inside `spelling`.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "ft/plugin/quantization.h"

namespace ft::kernels {

/// The tensors of one matrix as match sees them. Borrows the array.
class PartSet {
 public:
  PartSet(const ft_part_info* parts, uint32_t count) : parts_(parts), count_(count) {}

  /// Index of the part with that suffix, or -1.
  int Find(std::string_view suffix) const;

  const ft_part_info& at(int index) const { return parts_[index]; }

  /// True when every suffix is one of `known`, or known and needed by nobody (input_scale, …).
  bool HasOnly(std::initializer_list<std::string_view> known) const;

  /// Bits of the parts that are known and needed by nobody.
  uint64_t unneeded() const;

 private:
  const ft_part_info* parts_;
  uint32_t count_;
};

/// [] or [1] or [1, 1].
bool IsScalar(const ft_part_info& part);

/// "F8_E4M3 [96, 10]" for messages.
std::string Describe(const ft_part_info& part);

/// Fills a YES: `roles` are part indices in the order in which pack asks for them with RoleOf; at
/// most 4. `id` is the format's number of the spelling, below 256.
void AnswerYes(const PartSet& parts,
               uint32_t id,
               std::initializer_list<int> roles,
               int64_t rows,
               int64_t cols,
               ft_match* out);

/// Fills a BROKEN and the reason, and returns FT_OK: match itself did its work.
ft_code AnswerBroken(ft_match* out,
                     ft_error* error,
                     std::string_view format,
                     ft_str name,
                     const std::string& reason);

/// Role number `role` among the parts handed to pack, or null when `spelling` was made up.
const ft_tensor* RoleOf(const ft_matrix_parts& in, int role);

inline uint32_t SpellingId(uint32_t spelling) {
  return spelling & 0xFFU;
}

/// Elements of a contiguous tensor, or -1 when extents are negative, overflow or disagree with
/// `bytes`.
int64_t CountOf(const ft_tensor& tensor);

/// Checks dtype and number of elements of a role; fails with FT_E_INVALID_ARG and `what`.
ft_code CheckRole(const ft_tensor* tensor,
                  std::initializer_list<uint16_t> dtypes,
                  int64_t count,
                  const char* what,
                  ft_error* error);

}  // namespace ft::kernels
