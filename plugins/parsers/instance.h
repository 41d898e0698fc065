// One running parser behind the C table: a virtual class on this side of the boundary only, and the
// sink that its events go to.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ft/plugin/parser.h"

#include "plugins/parsers/marker_lexer.h"

namespace ft::parsers {

// Sends events to the host; after the host said stop, nothing more.
class EventSink {
 public:
  EventSink(ft_event_sink function, void* ctx) : function_(function), ctx_(ctx) {}

  void Send(int32_t type, std::string_view text, uint32_t tool_index = 0) {
    Send(type, text, tool_index, -1, /*is_marker_token=*/false);
  }

  void Send(int32_t type,
            std::string_view text,
            uint32_t tool_index,
            int32_t token_id,
            bool is_marker_token) {
    const ft_event_rec event = {
        type, tool_index, {text.data(), text.size()}, token_id, is_marker_token ? 1U : 0U};
    is_stopped_ = is_stopped_ || function_(ctx_, &event) != 0;
  }

  bool is_stopped() const { return is_stopped_; }

 private:
  ft_event_sink function_;
  void* ctx_;
  bool is_stopped_ = false;
};

class Instance {
 public:
  virtual ~Instance() = default;
  virtual void Feed(const ft_piece& piece, EventSink* sink) = 0;
  virtual void Finish(EventSink* sink) = 0;
  virtual void Reset() = 0;
};

inline bool IsSpace(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

// Bytes of whitespace at the front and at the end.
inline size_t LeadingSpace(std::string_view text) {
  size_t n = 0;
  while (n < text.size() && IsSpace(text[n])) {
    ++n;
  }
  return n;
}

inline size_t TrailingSpace(std::string_view text) {
  size_t n = 0;
  while (n < text.size() && IsSpace(text[text.size() - 1 - n])) {
    ++n;
  }
  return n;
}

inline std::string_view Trim(std::string_view text) {
  text.remove_prefix(LeadingSpace(text));
  text.remove_suffix(TrailingSpace(text));
  return text;
}

}  // namespace ft::parsers
