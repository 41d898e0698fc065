#include "core/text/jinja/strftime.h"

#include <array>

#include "core/base/errors.h"
#include "core/text/jinja/unicode.h"

namespace ft::jinja {
namespace {

// One directive is never longer: padding widths are refused.
constexpr size_t kMaxDirectiveBytes = 256;

std::tm Completed(std::tm time) {
  // timegm of a copy fills in the weekday and the day of the year without a time zone.
  std::tm copy = time;
  copy.tm_isdst = 0;
  static_cast<void>(timegm(&copy));
  time.tm_wday = copy.tm_wday;
  time.tm_yday = copy.tm_yday;
  time.tm_isdst = -1;
  time.tm_gmtoff = 0;
  time.tm_zone = "";
  return time;
}

}  // namespace

Result<std::string> FormatTime(std::string_view format, const std::tm& given) {
  const std::tm time = Completed(given);
  std::string out;
  for (size_t at = 0; at < format.size();) {
    if (format[at] != '%') {
      out += format[at++];
      continue;
    }
    size_t end = at + 1;
    while (end < format.size() &&
           std::string_view("-_0^#").find(format[end]) != std::string::npos) {
      ++end;
    }
    if (end < format.size() && (format[end] == 'E' || format[end] == 'O')) {
      ++end;
    }
    if (end >= format.size() || static_cast<unsigned char>(format[end]) >= 0x80) {
      out += format.substr(at, end - at);
      at = end;
      continue;
    }
    ++end;
    const std::string directive(format.substr(at, end - at));
    at = end;
    // A naive datetime has no zone; microseconds are not in std::tm.
    if (directive == "%z" || directive == "%Z" || directive == "%:z") {
      continue;
    }
    if (directive == "%f") {
      out += "000000";
      continue;
    }
    std::array<char, kMaxDirectiveBytes> buffer = {};
    const size_t size = strftime(buffer.data(), buffer.size(), directive.c_str(), &time);
    out.append(buffer.data(), size);
  }
  return out;
}

}  // namespace ft::jinja
