#include "core/quant/kernels/abi_error.h"

#include <cstdarg>
#include <cstdio>

namespace ft::kernels {

ft_code Fail(ft_error* error, ft_code code, const char* format, ...) {
  if (error != nullptr) {
    error->code = code;
    error->native = 0;
    error->remedy[0] = '\0';
    va_list args;
    va_start(args, format);
    static_cast<void>(std::vsnprintf(error->message, sizeof(error->message), format, args));
    va_end(args);
  }
  return code;
}

}  // namespace ft::kernels
