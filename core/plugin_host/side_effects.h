// What code of a plugin may have changed behind ft's back: floating-point control, signal handlers,
// working folder, locale, umask. Taken before and compared after every first contact.
#pragma once

#include <array>
#include <cfenv>
#include <csignal>
#include <string>
#include <vector>

#include <sys/types.h>

namespace ft {

/// The state of the calling thread (floating point) and of the process. Not while other threads
/// create files: reading the umask sets it for an instant.
class ProcessState {
 public:
  static ProcessState Take();

  /// The names of what differs now: "floating-point control", "signal handlers", "working folder",
  /// "locale", "umask". Puts all of it back.
  std::vector<std::string> CompareAndRestore() const;

 private:
  static constexpr int kNumSignals = 32;

  std::fenv_t floating_point_ = {};
  std::array<struct sigaction, kNumSignals> handlers_ = {};
  std::string working_folder_;
  std::string locale_;
  mode_t umask_ = 0;
};

/// The one change that is put back without further fuss: loading code built with -ffast-math by
/// older compilers causes it, and nothing depends on it once it is undone.
inline constexpr const char* kFloatingPointChange = "floating-point control";

}  // namespace ft
