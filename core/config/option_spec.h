// OptionSpec: one setting that a person may give: its name on the command line, in the environment
// and in the config file, what it may be, and its default. One table drives parsing, help,
// completion and docs.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace ft {

enum class OptionType {
  kSwitch,  ///< on the command line present or absent; elsewhere true or false
  kString,
  kChoice,  ///< one of `choices`
  kInt,
  kFloat,
  kSize,  ///< bytes with a unit: "512M", "12GiB" (powers of 1024)
  kList,  ///< repeatable; in the environment and after one flag separated by commas
};

struct OptionSpec {
  std::string name = {};                  ///< "max-running-requests"; the flag is "--" + name
  std::vector<std::string> aliases = {};  ///< further flags, without dashes
  OptionType type = OptionType::kString;
  std::string default_value = {};  ///< as text; empty: none
  std::string help = {};           ///< one line
  std::string group = {};          ///< heading in --help
  std::vector<std::string> choices = {};
  double min = std::numeric_limits<double>::lowest();  ///< kInt, kFloat
  double max = std::numeric_limits<double>::max();
  bool is_secret = false;       ///< never shown
  std::string value_name = {};  ///< "N", "FILE"; for help

  /// "FT_MAX_RUNNING_REQUESTS".
  std::string EnvironmentName() const;
  /// "max_running_requests".
  std::string FileKey() const;
};

/// Reads `text` as this option's type and range, and gives it in one spelling ("true", "1024").
/// Errors: kInvalidArgument saying what was wanted and what came. Secrets are not quoted.
Result<std::string> CheckValue(const OptionSpec& spec, std::string_view text);

/// "12GiB" -> 12884901888. Units K M G T with or without iB or B, all powers of 1024; none = bytes.
Result<uint64_t> ParseSize(std::string_view text);

}  // namespace ft
