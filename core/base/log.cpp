#include "core/base/log.h"

#include <memory>
#include <string>

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "core/base/errors.h"

namespace ft {
namespace {

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kTrace:
      return spdlog::level::trace;
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      return spdlog::level::off;
  }
  return spdlog::level::info;
}

spdlog::logger& Logger() {
  static const std::shared_ptr<spdlog::logger> kLogger = [] {
    auto made = std::make_shared<spdlog::logger>(
        "ft", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    made->set_pattern("%H:%M:%S.%e %^%l%$ %v");
    made->set_level(spdlog::level::info);
    made->flush_on(spdlog::level::info);
    return made;
  }();
  return *kLogger;
}

std::string Escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      out += c == '\n' ? std::string("\\n") : fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

Result<LogLevel> ParseLogLevel(std::string_view text) {
  constexpr std::string_view kNames[] = {"trace", "debug", "info", "warning", "error", "off"};
  for (int i = 0; i < 6; ++i) {
    if (text == kNames[i]) {
      return static_cast<LogLevel>(i);
    }
  }
  return InvalidArgument("log level '{}' is not one of trace, debug, info, warning, error, off",
                         text);
}

void SetLogLevel(LogLevel level) {
  Logger().set_level(ToSpdlog(level));
}

bool LogEnabled(LogLevel level) {
  return Logger().should_log(ToSpdlog(level));
}

void LogLine(LogLevel level, std::string_view text) {
  Logger().log(ToSpdlog(level), "{}", Escaped(text));
}

}  // namespace ft
