#include "core/plugin_host/probe.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <random>
#include <string_view>
#include <utility>

#include <sys/wait.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/plugin_host/load.h"
#include "core/plugin_host/plugin_host.h"

namespace ft {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxProtocolBytes = size_t{64} << 10;
constexpr size_t kMaxOutputBytes = size_t{64} << 10;
constexpr int kTickMs = 20;  // how soon an exit is seen when a grandchild keeps the pipes open

struct Child {
  pid_t pid = -1;
  FileDescriptor protocol;
  FileDescriptor output;
};

struct Outcome {
  std::string protocol;
  std::string output;
  bool is_timeout = false;
  int wait_status = 0;
  int64_t elapsed_ms = 0;
};

std::string MakeNonce() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

std::string SystemReason(int error) {
  return std::error_code(error, std::generic_category()).message();
}

// Starts the child in its own process group: null input, one pipe for the protocol (fd 3) and one
// for all that it prints. Returns an empty text, or why it could not be started.
std::string Spawn(const std::vector<std::string>& arguments, Child* child) {
  std::array<int, 2> protocol = {};
  std::array<int, 2> output = {};
  if (pipe2(protocol.data(), O_CLOEXEC) != 0) {
    return SystemReason(errno);
  }
  child->protocol = FileDescriptor(protocol[0]);
  const FileDescriptor protocol_end(protocol[1]);
  if (pipe2(output.data(), O_CLOEXEC) != 0) {
    return SystemReason(errno);
  }
  child->output = FileDescriptor(output[0]);
  const FileDescriptor output_end(output[1]);
  // A descriptor that already is 3 would keep its close-on-exec: give it another number.
  const FileDescriptor protocol_high(fcntl(protocol[1], F_DUPFD_CLOEXEC, 16));
  const FileDescriptor output_high(fcntl(output[1], F_DUPFD_CLOEXEC, 16));
  if (!protocol_high.is_open() || !output_high.is_open()) {
    return SystemReason(errno);
  }

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output_high.get(), 1);
  posix_spawn_file_actions_adddup2(&actions, output_high.get(), 2);
  posix_spawn_file_actions_adddup2(&actions, protocol_high.get(), 3);
  posix_spawn_file_actions_addclosefrom_np(&actions, 4);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);

  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));  // NOLINT: exec's own signature
  }
  argv.push_back(nullptr);
  const int error = posix_spawn(&child->pid, argv[0], &actions, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return error == 0 ? std::string() : SystemReason(error);
}

// Reads what is there, keeps the first `limit` bytes; false at the end of the stream.
bool Drain(int fd, size_t limit, std::string* text) {
  std::array<char, 4096> buffer = {};
  const ssize_t got = read(fd, buffer.data(), buffer.size());
  if (got > 0) {
    const size_t room = limit - std::min(limit, text->size());
    text->append(buffer.data(), std::min(room, static_cast<size_t>(got)));
  }
  return got > 0 || (got < 0 && errno == EINTR);
}

bool HasExited(pid_t pid) {
  siginfo_t info = {};
  return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid;
}

// Until the child is gone or out of time, then ends its whole process group.
// NOLINTNEXTLINE(readability-function-cognitive-complexity): one loop over what poll reports
Outcome Watch(const Child& child, int timeout_ms) {
  Outcome outcome;
  const auto start = Clock::now();
  const auto elapsed = [start] {
    return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start).count();
  };
  std::array<pollfd, 2> polled = {pollfd{child.protocol.get(), POLLIN, 0},
                                  pollfd{child.output.get(), POLLIN, 0}};
  const std::array<std::pair<size_t, std::string*>, 2> sinks = {
      std::pair{kMaxProtocolBytes, &outcome.protocol}, std::pair{kMaxOutputBytes, &outcome.output}};
  bool has_exited = false;
  while (true) {
    const bool is_open = polled[0].fd >= 0 || polled[1].fd >= 0;
    // Once it has exited, only what already lies in the pipes is read.
    const int ready = poll(polled.data(), polled.size(), has_exited ? 0 : is_open ? kTickMs : 2);
    for (size_t i = 0; ready > 0 && i < polled.size(); ++i) {
      if (polled[i].revents != 0 && !Drain(polled[i].fd, sinks[i].first, sinks[i].second)) {
        polled[i].fd = -1;
      }
    }
    if (has_exited && (ready <= 0 || !is_open)) {
      break;
    }
    has_exited = has_exited || ((ready <= 0 || !is_open) && HasExited(child.pid));
    if (!has_exited && elapsed() >= timeout_ms) {
      outcome.is_timeout = true;
      break;
    }
    if (has_exited && elapsed() >= timeout_ms) {
      break;  // a grandchild that never stops writing
    }
  }
  outcome.elapsed_ms = elapsed();
  kill(-child.pid, SIGKILL);
  while (waitpid(child.pid, &outcome.wait_status, 0) < 0 && errno == EINTR) {
  }
  return outcome;
}

// What the child said about one file.
struct FileWords {
  std::string stage;
  std::optional<FileFault> fault;
  bool is_done = false;
  bool changed_floating_point = false;
};

std::vector<FileWords> ReadProtocol(std::string_view text) {
  std::vector<FileWords> files;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t split = std::min(line.find('='), line.size());
    const std::string_view key = line.substr(0, split);
    const std::string value(line.substr(std::min(split + 1, line.size())));
    if (key == "file") {
      files.emplace_back();
    } else if (files.empty()) {
      continue;
    } else if (key == "stage") {
      files.back().stage = PluginText(value.c_str(), 32);
    } else if (key == "fault") {
      const size_t space = std::min(value.find(' '), value.size());
      files.back().fault =
          FileFault{value.substr(0, space), value.substr(std::min(space + 1, value.size()))};
    } else if (key == "floating-point") {
      files.back().changed_floating_point = true;
    } else if (key == "done") {
      files.back().is_done = true;
    }
  }
  return files;
}

std::string StageWords(const std::string& stage) {
  if (stage == "open") {
    return "before its entry ran: a static constructor, or a library that it needs";
  }
  return stage == "entry"      ? "in its entry function"
         : stage == "describe" ? "while its table was read"
         : stage == "start"    ? "in its start function"
                               : "before it was opened";
}

std::string LastLine(std::string_view output) {
  while (!output.empty() && output.back() == '\n') {
    output.remove_suffix(1);
  }
  const size_t line = output.rfind('\n');
  return PluginText(
      std::string(line == std::string_view::npos ? output : output.substr(line + 1)).c_str(), 256);
}

// The child did not come back whole: what became of the file it was at.
ProbeVerdict BlameLast(const Outcome& outcome, const std::vector<FileWords>& files) {
  ProbeVerdict verdict;
  const FileWords last = files.empty() ? FileWords() : files.back();
  const std::string where = StageWords(last.stage);
  const int status = outcome.wait_status;
  const bool is_cpu_limit = WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU;
  FileFault fault;
  if (outcome.is_timeout || is_cpu_limit) {
    fault = {"probe.hung",
             fmt::format("did not come back in {} ms, {}", outcome.elapsed_ms, where)};
  } else if (WIFSIGNALED(status)) {
    const char* name = sigabbrev_np(WTERMSIG(status));
    fault = {"probe.crashed", fmt::format("SIG{} {}", name != nullptr ? name : "?", where)};
  } else {
    fault = {"probe.ended",
             fmt::format("ended the process with exit status {} {}", WEXITSTATUS(status), where)};
  }
  if (const std::string words = LastLine(outcome.output); !words.empty()) {
    verdict.detail = fmt::format("last words: \"{}\"", words);
  }
  verdict.fault = std::move(fault);
  verdict.remedy =
      "repair the plugin, or leave it out; nothing else was at risk: this ran in a process of its "
      "own";
  return verdict;
}

}  // namespace

ProbeResult ProbePlugins(const std::vector<std::string>& paths, const ProbeOptions& options) {
  ProbeResult result;
  const std::string nonce = MakeNonce();
  std::vector<std::string> arguments = {
      options.program.empty() ? "/proc/self/exe" : options.program, kPluginProbeCommand, nonce};
  arguments.insert(arguments.end(), paths.begin(), paths.end());
  Child child;
  if (const std::string reason = Spawn(arguments, &child); !reason.empty()) {
    ProbeVerdict verdict;
    verdict.fault = FileFault{"internal.probe", "cannot run " + arguments[0] + ": " + reason};
    result.verdicts.push_back(std::move(verdict));
    return result;
  }
  const Outcome outcome = Watch(child, options.timeout_ms);
  const std::vector<FileWords> files = ReadProtocol(outcome.protocol);
  const bool is_signed = outcome.protocol.ends_with("\nend=" + nonce + "\n");
  const bool is_whole =
      !outcome.is_timeout && WIFEXITED(outcome.wait_status) &&
      WEXITSTATUS(outcome.wait_status) == 0 && is_signed && files.size() == paths.size() &&
      std::all_of(files.begin(), files.end(), [](const FileWords& file) { return file.is_done; });
  if (!is_whole) {
    result.verdicts.push_back(BlameLast(outcome, files));
    return result;
  }
  result.is_whole = true;
  for (const FileWords& file : files) {
    ProbeVerdict verdict;
    verdict.fault = file.fault;
    verdict.detail = fmt::format("{} ms{}", outcome.elapsed_ms,
                                 file.changed_floating_point
                                     ? "; changes floating-point control when loaded (put back)"
                                     : ", nothing changed behind our back");
    result.verdicts.push_back(std::move(verdict));
  }
  return result;
}

}  // namespace ft
