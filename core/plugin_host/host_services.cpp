// The host's table for entry and start: who we are, and the log. Services of one instance (experts,
// memory, device) come with the call that creates it: core/moe.
#include "ft/plugin/host_services.h"

#include <cstdint>
#include <string_view>

#include "core/base/log.h"
#include "core/plugin_host/load.h"

namespace ft {
namespace {

constexpr uint64_t kMaxLogBytes = 4096;

LogLevel ToLevel(int32_t level) {
  switch (level) {
    case FT_LOG_TRACE:
      return LogLevel::kTrace;
    case FT_LOG_DEBUG:
      return LogLevel::kDebug;
    case FT_LOG_INFO:
      return LogLevel::kInfo;
    case FT_LOG_WARNING:
      return LogLevel::kWarning;
    default:
      return LogLevel::kError;
  }
}

std::string_view ToText(ft_str text) {
  return text.ptr == nullptr ? std::string_view()
                             : std::string_view(text.ptr, std::min(text.len, kMaxLogBytes));
}

int32_t IsLogEnabled(void* /*ctx*/, int32_t level) noexcept {
  return LogEnabled(ToLevel(level)) ? 1 : 0;
}

void WriteLog(void* /*ctx*/, int32_t level, ft_str component, ft_str text) noexcept {
  if (LogEnabled(ToLevel(level))) {
    LogLine(ToLevel(level), fmt::format("{}: {}", ToText(component), ToText(text)));
  }
}

const void* FindService(void* /*ctx*/, const char* id, uint32_t major) noexcept {
  static const ft_svc_log kLog = {
      {sizeof(ft_svc_log), FT_TAG_SVC_LOG, nullptr}, nullptr, IsLogEnabled, WriteLog};
  return id != nullptr && std::string_view(id) == "ft.log" && major == 0 ? &kLog : nullptr;
}

ft_host MakeHost(uint32_t mode) {
  static constexpr std::string_view kProduct = "ft";
  ft_host host = {};
  host.hdr = {sizeof(ft_host), FT_TAG_HOST, nullptr};
  host.abi_major = FT_ABI_MAJOR;
  host.abi_minor = FT_ABI_MINOR;
  host.mode = mode;
  host.product = {kProduct.data(), kProduct.size()};
  host.service = FindService;
  return host;
}

}  // namespace

const ft_host* PluginHostTable(uint32_t mode) {
  static const ft_host kServe = MakeHost(FT_MODE_SERVE);
  static const ft_host kProbe = MakeHost(FT_MODE_PROBE);
  return mode == FT_MODE_PROBE ? &kProbe : &kServe;
}

}  // namespace ft
