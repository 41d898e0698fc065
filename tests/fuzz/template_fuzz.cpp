// Any bytes as a chat template, rendered with a context that has something of every kind: it must
// end, in bounded time and memory, with text or with an error.
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/json/parse.h"
#include "core/text/chat_template.h"

namespace {

constexpr const char* kContext = R"({
  "messages": [{"role": "user", "content": "Hé <b>"},
               {"role": "assistant", "content": null, "tool_calls": [
                 {"function": {"name": "f", "arguments": {"a": [1, 2.5, null], "b": "x"}}}]}],
  "tools": [], "l": [3, 1, 2], "s": "Hello World", "n": null, "t": true, "i": 7, "f": -0.5,
  "g": 123456789012345678901234567890, "x": {"a": 1, "b": {"c": [1, {"d": "e"}]}, "items": 2}
})";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const ft::json::Value context = ft::json::Parse(kContext).value();
  const ft::Result<ft::text::ChatTemplate> parsed = ft::text::ChatTemplate::Parse(
      std::string(reinterpret_cast<const char*>(data), size));  // NOLINT: bytes as text
  if (!parsed.ok()) {
    return 0;
  }
  ft::text::RenderOptions options;
  options.now.emplace();
  options.now->tm_year = 125;
  options.now->tm_mday = 7;
  options.limits.max_output_bytes = size_t{1} << 20;
  options.limits.max_memory_bytes = size_t{64} << 20;
  options.limits.max_steps = 300'000;
  static_cast<void>(parsed->Render(context, options));
  return 0;
}
