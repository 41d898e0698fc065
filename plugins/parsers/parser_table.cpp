#include "plugins/parsers/parser_table.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <string_view>
#include <vector>

#include "plugins/parsers/call_grammar.h"
#include "plugins/parsers/call_parser.h"
#include "plugins/parsers/instance.h"
#include "plugins/parsers/think_parser.h"

namespace ft::parsers {
namespace {

constexpr uint32_t kMaxMarkers = 32;

std::string_view TextOf(ft_str text) {
  return text.ptr == nullptr ? std::string_view() : std::string_view(text.ptr, text.len);
}

ft_code Fail(ft_error* error, ft_code code, std::string_view message) {
  if (FT_HAS(error, ft_error, message)) {
    error->code = code;
    const size_t length = std::min(message.size(), sizeof(error->message) - 1);
    std::memcpy(error->message, message.data(), length);
    error->message[length] = '\0';
  }
  return code;
}

// Memory may run out; nothing else throws.
template <typename Call>
ft_code Guarded(ft_error* error, Call&& call) noexcept {
  try {
    return call();
  } catch (const std::exception& failure) {
    return Fail(error, FT_E_NO_MEMORY, failure.what());
  } catch (...) {
    return Fail(error, FT_E_INTERNAL, "an unknown exception");
  }
}

ft_code GiveMarker(const std::vector<Marker>& markers, uint32_t index, ft_marker* out) {
  if (index >= markers.size()) {
    return FT_E_NOT_FOUND;
  }
  *out = {{markers[index].text.data(), markers[index].text.size()}, markers[index].role, 0};
  return FT_OK;
}

ft_code Feed(
    void* inst, const ft_piece* piece, ft_event_sink sink, void* ctx, ft_error* error) noexcept {
  return Guarded(error, [&] {
    EventSink events(sink, ctx);
    static_cast<Instance*>(inst)->Feed(*piece, &events);
    return events.is_stopped() ? FT_E_CANCELLED : FT_OK;
  });
}

ft_code Finish(void* inst, ft_event_sink sink, void* ctx, ft_error* error) noexcept {
  return Guarded(error, [&] {
    EventSink events(sink, ctx);
    static_cast<Instance*>(inst)->Finish(&events);
    return events.is_stopped() ? FT_E_CANCELLED : FT_OK;
  });
}

ft_code Reset(void* inst, ft_error* error) noexcept {
  return Guarded(error, [&] {
    static_cast<Instance*>(inst)->Reset();
    return FT_OK;
  });
}

void Destroy(void* inst) noexcept {
  delete static_cast<Instance*>(inst);
}

// The marker ids of the options; false when the options cannot be right.
bool ReadOptions(const ft_parser_options* options, std::vector<int32_t>* ids) {
  if (!FT_HAS(options, ft_parser_options, tools_json) || options->n_markers > kMaxMarkers ||
      (options->n_markers != 0 && options->marker_token_ids == nullptr)) {
    return false;
  }
  ids->assign(options->marker_token_ids, options->marker_token_ids + options->n_markers);
  return true;
}

// ---- qwen3
// ---------------------------------------------------------------------------------------

ft_code MatchesThink(void* /*state*/, ft_str text, int32_t* score, ft_error* /*error*/) noexcept {
  *score = ScoreThinkTemplate(TextOf(text));
  return FT_OK;
}

ft_code ThinkMarker(void* /*state*/, uint32_t index, ft_marker* out, ft_error* error) noexcept {
  return Guarded(error, [&] { return GiveMarker(ThinkMarkers(), index, out); });
}

ft_code ThinkPromptState(void* /*state*/,
                         ft_str prompt,
                         uint32_t* in_reasoning,
                         ft_error* /*error*/) noexcept {
  *in_reasoning = PromptEndsInThink(TextOf(prompt)) ? 1 : 0;
  return FT_OK;
}

ft_code CreateThink(void* /*state*/,
                    const ft_parser_options* options,
                    void** inst,
                    ft_error* error) noexcept {
  return Guarded(error, [&] {
    std::vector<int32_t> ids;
    if (!ReadOptions(options, &ids)) {
      return Fail(error, FT_E_INVALID_ARG, "the options are too short or lack marker ids");
    }
    *inst = MakeThinkParser(std::move(ids), options->starts_in_reasoning != 0).release();
    return FT_OK;
  });
}

// ---- tool calls
// ----------------------------------------------------------------------------------

template <const CallGrammar& (*Grammar)()>
ft_code MatchesCalls(void* /*state*/, ft_str text, int32_t* score, ft_error* error) noexcept {
  return Guarded(error, [&] {
    *score = Grammar().Score(TextOf(text));
    return FT_OK;
  });
}

ft_code CallMarker(void* /*state*/, uint32_t index, ft_marker* out, ft_error* error) noexcept {
  return Guarded(error, [&] { return GiveMarker(CallMarkers(), index, out); });
}

ft_code NoPromptState(void* /*state*/,
                      ft_str /*prompt*/,
                      uint32_t* in_reasoning,
                      ft_error* /*error*/) noexcept {
  *in_reasoning = 0;
  return FT_OK;
}

template <const CallGrammar& (*Grammar)()>
ft_code CreateCalls(void* /*state*/,
                    const ft_parser_options* options,
                    void** inst,
                    ft_error* error) noexcept {
  return Guarded(error, [&] {
    std::vector<int32_t> ids;
    if (!ReadOptions(options, &ids)) {
      return Fail(error, FT_E_INVALID_ARG, "the options are too short or lack marker ids");
    }
    *inst = MakeCallParser(&Grammar(), std::move(ids), TextOf(options->tools_json)).release();
    return FT_OK;
  });
}

template <const CallGrammar& (*Grammar)()>
const ft_parser* CallTable() {
  static const ft_parser kTable = {{sizeof(ft_parser), FT_TAG_PARSER, nullptr},
                                   MatchesCalls<Grammar>,
                                   CallMarker,
                                   NoPromptState,
                                   CreateCalls<Grammar>,
                                   Feed,
                                   Finish,
                                   Reset,
                                   Destroy};
  return &kTable;
}

}  // namespace

const ft_parser* ThinkTable() {
  static const ft_parser kTable = {{sizeof(ft_parser), FT_TAG_PARSER, nullptr},
                                   MatchesThink,
                                   ThinkMarker,
                                   ThinkPromptState,
                                   CreateThink,
                                   Feed,
                                   Finish,
                                   Reset,
                                   Destroy};
  return &kTable;
}

const ft_parser* JsonCallTable() {
  return CallTable<JsonCallGrammar>();
}

const ft_parser* XmlCallTable() {
  return CallTable<XmlCallGrammar>();
}

}  // namespace ft::parsers
