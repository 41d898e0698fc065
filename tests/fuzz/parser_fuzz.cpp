// Fuzzes the reasoning and tool call parsers: whatever the text, the events are the same whole and
// in pieces, a call's arguments are JSON, and indexes count up.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ft/plugin/parser.h"

#include "core/json/parse.h"
#include "plugins/parsers/parser_table.h"

namespace {

constexpr std::string_view kTools =
    R"([{"type":"function","function":{"name":"f","parameters":{"properties":{"n":{"type":)"
    R"("integer"},"s":{"type":["string","null"]}}}}}])";

struct Joined {
  std::string content, reasoning, calls;
  std::string arguments;  // of the open call
  uint32_t num_calls = 0;

  friend bool operator==(const Joined&, const Joined&) = default;
};

ft_code Collect(void* ctx, const ft_event_rec* event) {
  auto& joined = *static_cast<Joined*>(ctx);
  const std::string_view text(event->text.ptr, event->text.len);
  switch (event->type) {
    case FT_EV_CONTENT:
      joined.content += text;
      break;
    case FT_EV_REASONING:
      joined.reasoning += text;
      break;
    case FT_EV_TOOL_BEGIN:
      if (event->tool_index != joined.num_calls || text.empty()) {
        std::abort();
      }
      joined.calls += text;
      joined.arguments.clear();
      break;
    case FT_EV_TOOL_ARGS:
      joined.arguments += text;
      break;
    case FT_EV_TOOL_END: {
      const auto value = ft::json::Parse(joined.arguments);
      if (!value.ok() || !value.value().is_object()) {
        std::abort();
      }
      joined.calls += joined.arguments + "\n";
      ++joined.num_calls;
      break;
    }
    default:
      break;
  }
  return FT_OK;
}

// Bytes 1 to 4 are the four marker tokens when markers are tokens.
Joined Run(const ft_parser* table, bool has_tokens, std::string_view input, size_t longest) {
  static constexpr int32_t kThinkIds[] = {1, 2};
  static constexpr int32_t kCallIds[] = {3, 4};
  static constexpr int32_t kNone[] = {-1, -1};
  static constexpr std::string_view kTokens[] = {"<think>", "</think>", "<tool_call>",
                                                 "</tool_call>"};
  ft_parser_options options = {};
  options.hdr = {sizeof(options), FT_TAG_PARSER_OPTIONS, nullptr};
  options.n_markers = 2;
  options.marker_token_ids = !has_tokens                          ? kNone
                             : table == ft::parsers::ThinkTable() ? kThinkIds
                                                                  : kCallIds;
  options.tools_json = {kTools.data(), kTools.size()};
  void* inst = nullptr;
  if (table->create(nullptr, &options, &inst, nullptr) != FT_OK) {
    std::abort();
  }
  Joined joined;
  size_t length = 1;
  for (size_t at = 0; at < input.size();) {
    const unsigned char first = static_cast<unsigned char>(input[at]);
    ft_piece piece = {};
    if (has_tokens && first >= 1 && first <= 4) {
      piece = {{kTokens[first - 1].data(), kTokens[first - 1].size()}, first, 1};
      ++at;
    } else {
      size_t end = at;
      while (end < input.size() && end - at < length &&
             !(has_tokens && input[end] >= 1 && input[end] <= 4)) {
        ++end;
      }
      piece = {{input.data() + at, end - at}, 100, 0};
      at = end;
      length = length % longest + 1;
    }
    if (table->feed(inst, &piece, Collect, &joined, nullptr) != FT_OK) {
      std::abort();
    }
  }
  if (table->finish(inst, Collect, &joined, nullptr) != FT_OK) {
    std::abort();
  }
  table->destroy(inst);
  return joined;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) {
    return 0;
  }
  const ft_parser* const tables[] = {ft::parsers::ThinkTable(), ft::parsers::JsonCallTable(),
                                     ft::parsers::XmlCallTable()};
  const ft_parser* table = tables[data[0] % 3];
  const bool has_tokens = (data[0] & 0x80) != 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  // A first piece of one byte, then growing ones: "whole" would be one length that never ends.
  const Joined whole = Run(table, has_tokens, input, size_t{1} << 30);
  for (const size_t longest : {size_t{1}, size_t{3}, size_t{17}}) {
    if (!(Run(table, has_tokens, input, longest) == whole)) {
      std::abort();
    }
  }
  return 0;
}
