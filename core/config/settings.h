// Settings: the value of every option and where it came from. Precedence: flag, environment, config
// file, default. Every explicit value is honoured or refused; none is ignored.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/config/option_spec.h"

namespace ft {

struct Setting {
  std::vector<std::string> values;  ///< one; any number for kList; none when unset
  std::string origin;        ///< "flag --port", "environment FT_PORT", "ft.yaml:3", "default"
  bool is_explicit = false;  ///< not the default
};

/// What the command line said: option name -> texts in order. A switch is "true".
using FlagValues = std::map<std::string, std::vector<std::string>>;

class Settings {
 public:
  /// Resolves every option of `specs`. `environment`: name -> value, as of the process.
  /// `config_file`: a YAML mapping of file keys to scalars or lists; empty: none.
  /// Errors: kInvalidArgument naming option, origin (with file and line) and what was wanted, for
  /// bad values, unknown keys, keys that stand twice; kNotFound when the config file is absent;
  /// kDataLoss when it is no YAML mapping.
  static Result<Settings> Resolve(const std::vector<OptionSpec>& specs,
                                  const FlagValues& flags,
                                  const std::map<std::string, std::string>& environment,
                                  const std::string& config_file);

  // Each requires an option of the matching type (our own mistake otherwise).
  const Setting& Get(std::string_view name) const;

  bool IsExplicit(std::string_view name) const { return Get(name).is_explicit; }

  bool IsSet(std::string_view name) const { return !Get(name).values.empty(); }

  bool Switch(std::string_view name) const;
  std::string String(std::string_view name) const;  ///< "" when unset
  int64_t Int(std::string_view name) const;         ///< requires IsSet
  double Float(std::string_view name) const;        ///< requires IsSet
  uint64_t Size(std::string_view name) const;       ///< requires IsSet
  const std::vector<std::string>& List(std::string_view name) const;

  const std::vector<OptionSpec>& specs() const { return specs_; }

 private:
  Status ApplyFile(const std::string& config_file);

  std::vector<OptionSpec> specs_;
  std::map<std::string, Setting, std::less<>> settings_;
};

/// The closest of `words` to `word` for "did you mean", or "" when none is close.
std::string ClosestWord(std::string_view word, const std::vector<std::string>& words);

}  // namespace ft
