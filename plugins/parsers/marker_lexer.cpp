#include "plugins/parsers/marker_lexer.h"

#include <algorithm>
#include <utility>

namespace ft::parsers {
namespace {

constexpr size_t kCutMarkerBytes = 3;

std::string_view TextOf(ft_str text) {
  return text.ptr == nullptr ? std::string_view() : std::string_view(text.ptr, text.len);
}

// Length of the longest end of `text` that begins `marker` and is not all of it.
size_t OpenEnd(std::string_view text, std::string_view marker) {
  for (size_t length = std::min(text.size(), marker.size() - 1); length > 0; --length) {
    if (text.ends_with(marker.substr(0, length))) {
      return length;
    }
  }
  return 0;
}

}  // namespace

MarkerLexer::MarkerLexer(std::vector<Marker> markers, std::vector<int32_t> ids)
    : markers_(std::move(markers)), ids_(std::move(ids)) {
  ids_.resize(markers_.size(), -1);
  has_letters_ = std::any_of(ids_.begin(), ids_.end(), [](int32_t id) { return id < 0; });
}

void MarkerLexer::Feed(const ft_piece& piece, LexSink* sink) {
  std::string_view text = TextOf(piece.text);
  if (piece.token_id >= 0) {
    for (size_t i = 0; i < markers_.size(); ++i) {
      if (ids_[i] != piece.token_id) {
        continue;
      }
      FlushHeld(sink);
      // Text that earlier tokens had to hold back may come with the marker's piece.
      if (text.size() > markers_[i].text.size() && text.ends_with(markers_[i].text)) {
        text.remove_suffix(markers_[i].text.size());
        EmitText(text, sink);
      }
      sink->OnItem({markers_[i].text, markers_[i].role, piece.token_id, true});
      return;
    }
  }
  if (text.empty()) {
    return;
  }
  const bool is_added = piece.is_added_token != 0;
  if (is_added || !has_letters_) {
    FlushHeld(sink);
    sink->OnItem({text, 0, is_added ? piece.token_id : -1, is_added});
    return;
  }
  held_.append(text);
  Scan(sink);
}

void MarkerLexer::Scan(LexSink* sink) {
  size_t done = 0;
  while (true) {
    size_t found = std::string::npos;
    size_t which = 0;
    for (size_t i = 0; i < markers_.size(); ++i) {
      const size_t at = ids_[i] < 0 ? held_.find(markers_[i].text, done) : std::string::npos;
      if (at < found) {
        found = at;
        which = i;
      }
    }
    if (found == std::string::npos) {
      break;
    }
    EmitText(std::string_view(held_).substr(done, found - done), sink);
    sink->OnItem({markers_[which].text, markers_[which].role, -1, false});
    done = found + markers_[which].text.size();
  }
  const std::string_view rest = std::string_view(held_).substr(done);
  size_t open = 0;
  for (size_t i = 0; i < markers_.size(); ++i) {
    if (ids_[i] < 0) {
      open = std::max(open, OpenEnd(rest, markers_[i].text));
    }
  }
  EmitText(rest.substr(0, rest.size() - open), sink);
  held_.erase(0, held_.size() - open);
}

void MarkerLexer::Finish(LexSink* sink) {
  if (held_.size() < kCutMarkerBytes) {
    FlushHeld(sink);
  }
  held_.clear();
}

void MarkerLexer::FlushHeld(LexSink* sink) {
  EmitText(held_, sink);
  held_.clear();
}

void MarkerLexer::EmitText(std::string_view text, LexSink* sink) {
  if (!text.empty()) {
    sink->OnItem({text, 0, -1, false});
  }
}

}  // namespace ft::parsers
