// The log: lines to stderr at a level. The one global of the program (the sink), set once by main.
//
//   FT_LOG(kInfo, "loaded {} of {}", done, total);
#pragma once

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/base/status.h"

namespace ft {

enum class LogLevel : int {
  kTrace = 0,
  kDebug,
  kInfo,
  kWarning,
  kError,
  kOff
};

/// Reads "trace debug info warning error off". Errors: kInvalidArgument with the allowed words.
Result<LogLevel> ParseLogLevel(std::string_view text);

/// Any thread. Lines below `level` are dropped; default kInfo.
void SetLogLevel(LogLevel level);

/// Any thread; cheap.
bool LogEnabled(LogLevel level);

/// Writes one line to stderr. Control characters in `text` are escaped. Any thread.
void LogLine(LogLevel level, std::string_view text);

}  // namespace ft

#define FT_LOG(level, ...)                                            \
  do {                                                                \
    if (::ft::LogEnabled(::ft::LogLevel::level)) {                    \
      ::ft::LogLine(::ft::LogLevel::level, fmt::format(__VA_ARGS__)); \
    }                                                                 \
  } while (false)
