// The child's side of the probe. Says on fd 3 what it is about to do, so that its end can be
// blamed, and signs at the very end.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sys/prctl.h>
#include <sys/resource.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "core/plugin_host/load.h"
#include "core/plugin_host/plugin_host.h"
#include "core/plugin_host/sanitizers.h"
#include "core/plugin_host/trust.h"

namespace ft {
namespace {

constexpr int kProtocolFd = 3;
constexpr rlim_t kCpuSeconds = 5;  // then SIGXCPU, and SIGKILL a second later
constexpr rlim_t kAddressBytes = rlim_t{4} << 30;
constexpr rlim_t kOpenFiles = 64;

void Say(const std::string& line) {
  const std::string text = line + "\n";
  // A plugin that closed the descriptor is judged by the silence.
  static_cast<void>(write(kProtocolFd, text.data(), text.size()) < 0);
}

void Limit(int what, rlim_t value) {
  const rlimit limit = {value, what == RLIMIT_CPU ? value + 1 : value};
  setrlimit(static_cast<__rlimit_resource_t>(what), &limit);
}

void LimitMyself() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  Limit(RLIMIT_CORE, 0);
  Limit(RLIMIT_CPU, kCpuSeconds);
  Limit(RLIMIT_NOFILE, kOpenFiles);
  if (!kIsSanitized) {  // sanitizers reserve terabytes of addresses
    Limit(RLIMIT_AS, kAddressBytes);
  }
}

std::optional<FileFault> ProbeFile(const std::string& path) {
  // Read again here: the parent's manifest is not handed over, so that the two cannot disagree.
  TrustedFile file;
  std::optional<FileFault> trust = OpenTrusted(path, PluginSource::kBuiltIn, "", &file);
  if (trust.has_value() && file.content.empty()) {
    return trust;
  }
  ElfFacts facts;
  if (auto fault = ReadElf(std::as_bytes(std::span(file.content)),
                           {.allow_other_exports = kIsSanitized}, &facts)) {
    return fault;
  }
  Manifest manifest;
  if (auto fault = ReadManifest(facts.manifests, &manifest)) {
    return fault;
  }
  OpenedPlugin opened;
  auto fault = OpenPlugin(
      path, manifest, FT_MODE_PROBE, [](const char* stage) { Say(fmt::format("stage={}", stage)); },
      &opened);
  if (opened.changed_floating_point) {
    Say("floating-point=changed");
  }
  if (!fault.has_value()) {
    StopPlugin(opened);
  }
  return fault;
}

}  // namespace

int RunPluginProbe(int argc, char** argv) {
  // Only our own parent has a descriptor 3 that is a pipe.
  if (argc < 4 || fcntl(kProtocolFd, F_GETFL) < 0) {
    static_cast<void>(std::fprintf(stderr, "ft: %s is for ft itself\n", kPluginProbeCommand));
    return 2;
  }
  LimitMyself();
  const std::vector<std::string> arguments(argv + 2, argv + argc);
  for (size_t i = 1; i < arguments.size(); ++i) {
    Say(fmt::format("file={}", i));
    if (const auto fault = ProbeFile(arguments[i])) {
      Say(fmt::format("fault={} {}", fault->code,
                      PluginText(fault->message.c_str(), fault->message.size())));
    }
    Say("done=1");
  }
  Say("end=" + arguments[0]);
  // No destructors of a plugin: they are not what was asked, and the verdict is out.
  std::_Exit(0);
}

}  // namespace ft
