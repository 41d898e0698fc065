// ModulePattern: one entry of a quantization config's target or ignore lists. See QuantMatcher.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace ft {

/// Movable; const calls from any thread.
class ModulePattern {
 public:
  /// Errors: kInvalidArgument for a regular expression that does not compile or is too long.
  static Result<ModulePattern> Compile(std::string_view text);

  ModulePattern(ModulePattern&&) noexcept;
  ModulePattern& operator=(ModulePattern&&) noexcept;
  ~ModulePattern();

  /// Errors: kResourceExhausted when the regular expression takes too long.
  Result<bool> Matches(std::string_view module) const;

 private:
  struct Regex;
  enum class Kind {
    kName,
    kWildcard,
    kRegex
  };
  ModulePattern(Kind kind, std::string text);

  Kind kind_;
  std::string text_;
  std::unique_ptr<Regex> regex_;
};

}  // namespace ft
