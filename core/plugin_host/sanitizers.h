// Was this program built with a sanitizer or for coverage? Its plugins then export the runtime's
// symbols too, and address limits cannot hold.
#pragma once

namespace ft {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(FT_COVERAGE_BUILD)
inline constexpr bool kIsSanitized = true;
#elif defined(__has_feature)
#  if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kIsSanitized = true;
#  else
inline constexpr bool kIsSanitized = false;
#  endif
#else
inline constexpr bool kIsSanitized = false;
#endif

}  // namespace ft
