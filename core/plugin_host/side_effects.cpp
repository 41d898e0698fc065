#include "core/plugin_host/side_effects.h"

#include <climits>
#include <clocale>
#include <cstring>

#include <sys/stat.h>

#include <unistd.h>

namespace ft {
namespace {

// Rounding, masks, flush-to-zero and denormals-are-zero; not the sticky flags of past operations.
constexpr unsigned kMxcsrControl = 0xffc0;

std::string WorkingFolder() {
  std::array<char, PATH_MAX> path = {};
  return getcwd(path.data(), path.size()) != nullptr ? path.data() : "";
}

std::string Locale() {
  const char* locale = std::setlocale(LC_ALL, nullptr);
  return locale != nullptr ? locale : "";
}

mode_t Umask() {
  const mode_t mask = umask(0);
  umask(mask);
  return mask;
}

bool SameHandler(const struct sigaction& a, const struct sigaction& b) {
  // The two handler members share their storage.
  return std::memcmp(&a.sa_sigaction, &b.sa_sigaction, sizeof(a.sa_sigaction)) == 0 &&
         a.sa_flags == b.sa_flags;
}

}  // namespace

ProcessState ProcessState::Take() {
  ProcessState state;
  std::fegetenv(&state.floating_point_);
  for (int i = 1; i < kNumSignals; ++i) {
    sigaction(i, nullptr, &state.handlers_[static_cast<size_t>(i)]);
  }
  state.working_folder_ = WorkingFolder();
  state.locale_ = Locale();
  state.umask_ = Umask();
  return state;
}

std::vector<std::string> ProcessState::CompareAndRestore() const {
  std::vector<std::string> changes;
  std::fenv_t now = {};
  std::fegetenv(&now);
  if ((now.__mxcsr & kMxcsrControl) != (floating_point_.__mxcsr & kMxcsrControl) ||
      now.__control_word != floating_point_.__control_word) {
    changes.emplace_back(kFloatingPointChange);
    std::fesetenv(&floating_point_);
  }
  bool has_new_handler = false;
  for (int i = 1; i < kNumSignals; ++i) {
    struct sigaction current = {};
    const struct sigaction& before = handlers_[static_cast<size_t>(i)];
    if (sigaction(i, nullptr, &current) == 0 && !SameHandler(current, before)) {
      has_new_handler = true;
      sigaction(i, &before, nullptr);
    }
  }
  if (has_new_handler) {
    changes.emplace_back("signal handlers");
  }
  if (WorkingFolder() != working_folder_) {
    changes.emplace_back("working folder");
    static_cast<void>(chdir(working_folder_.c_str()) == 0);
  }
  if (Locale() != locale_) {
    changes.emplace_back("locale");
    static_cast<void>(std::setlocale(LC_ALL, locale_.c_str()));
  }
  if (Umask() != umask_) {
    changes.emplace_back("umask");
    umask(umask_);
  }
  return changes;
}

}  // namespace ft
