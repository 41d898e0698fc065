// Filling ft_error, and reading what callers of the plugin ABI hand over with distrust.
#pragma once

#include <cstdint>

#include "ft/plugin/abi.h"

namespace ft::kernels {

/// Fills `error` (may be null) with a formatted sentence and returns `code`.
ft_code Fail(ft_error* error, ft_code code, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

/// True when `hdr` is not null, has `tag` and at least `min_size` bytes.
inline bool IsStruct(const ft_hdr* hdr, uint32_t tag, uint32_t min_size) {
  return hdr != nullptr && hdr->tag == tag && hdr->size >= min_size;
}

}  // namespace ft::kernels

/// Length and pointer of an ft_str for "%.*s".
#define FT_STR_ARG(s) static_cast<int>((s).len > 200 ? 200 : (s).len), ((s).ptr ? (s).ptr : "")
