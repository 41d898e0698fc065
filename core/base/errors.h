// Short constructors for failures: `return InvalidArgument("{}: want {}, got {}", name, a, b);`
// They return a Status, which converts to any Result<T>.
#pragma once

#include <utility>

#include <fmt/format.h>

#include "core/base/status.h"

namespace ft {

// The one macro behind the functions below: each formats its arguments as fmt::format does.
#define FT_DEFINE_ERROR(name)                                                           \
  template <typename... Args>                                                           \
  Status name(fmt::format_string<Args...> text, Args&&... args) {                       \
    return Status(StatusCode::k##name, fmt::format(text, std::forward<Args>(args)...)); \
  }

FT_DEFINE_ERROR(InvalidArgument)
FT_DEFINE_ERROR(DataLoss)
FT_DEFINE_ERROR(NotFound)
FT_DEFINE_ERROR(Unimplemented)
FT_DEFINE_ERROR(FailedPrecondition)
FT_DEFINE_ERROR(ResourceExhausted)
FT_DEFINE_ERROR(Unavailable)
FT_DEFINE_ERROR(DeadlineExceeded)
FT_DEFINE_ERROR(Cancelled)
FT_DEFINE_ERROR(PermissionDenied)
FT_DEFINE_ERROR(PluginFault)
FT_DEFINE_ERROR(Internal)

#undef FT_DEFINE_ERROR

}  // namespace ft
