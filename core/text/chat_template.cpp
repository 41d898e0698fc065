#include "core/text/chat_template.h"

#include <chrono>
#include <utility>

#include "core/base/errors.h"
#include "core/text/jinja/template.h"

namespace ft::text {
namespace {

std::tm LocalNow() {
  const std::time_t seconds =
      std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm time = {};
  static_cast<void>(localtime_r(&seconds, &time));
  return time;
}

}  // namespace

Result<ChatTemplate> ChatTemplate::Parse(std::string source) {
  if (source.size() > kMaxTemplateBytes) {
    return ResourceExhausted("a chat template of {} bytes is longer than the limit of {}",
                             source.size(), kMaxTemplateBytes);
  }
  FT_ASSIGN_OR_RETURN(jinja::Template parsed, jinja::Template::Parse(source));
  ChatTemplate result;
  result.source_ = std::make_shared<const std::string>(std::move(source));
  result.template_ = std::make_shared<const jinja::Template>(std::move(parsed));
  return result;
}

Result<std::string> ChatTemplate::Render(const json::Value& context,
                                         const RenderOptions& options) const {
  jinja::Limits limits;
  limits.max_output_bytes = options.limits.max_output_bytes;
  limits.max_memory_bytes = options.limits.max_memory_bytes;
  limits.max_steps = options.limits.max_steps;
  return template_->Render(context, options.now ? *options.now : LocalNow(), limits);
}

}  // namespace ft::text
