// Cuts a stream of pieces into text and markers ("<think>", "</tool_call>"). A marker that is a
// token of the model is only that token: the same letters in ordinary text stay text. A marker
// without a token is found by its letters, wherever the pieces are cut.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ft/plugin/parser.h"

namespace ft::parsers {

struct Marker {
  std::string_view text;  // static
  uint32_t role = 0;      // FT_MARKER_*
};

// What the lexer found. Views are valid during the call only.
struct LexItem {
  std::string_view text;  // of a marker: its letters
  uint32_t role = 0;      // 0: text
  int32_t token_id = -1;  // text that is one whole piece of an added token
  bool is_token = false;  // a marker that came as its token; text: the piece's flag
};

class LexSink {
 public:
  virtual ~LexSink() = default;
  virtual void OnItem(const LexItem& item) = 0;
};

class MarkerLexer {
 public:
  // `ids`: as ft_parser_options.marker_token_ids, one per marker, or empty: all by their letters.
  MarkerLexer(std::vector<Marker> markers, std::vector<int32_t> ids);

  void Feed(const ft_piece& piece, LexSink* sink);

  // The stream is over. Three or more letters that begin a marker are a cut marker and go nowhere;
  // fewer are text ("a <").
  void Finish(LexSink* sink);

  void Reset() { held_.clear(); }

 private:
  void Scan(LexSink* sink);
  void EmitText(std::string_view text, LexSink* sink);
  void FlushHeld(LexSink* sink);

  std::vector<Marker> markers_;
  std::vector<int32_t> ids_;
  bool has_letters_ = false;  // some marker is found by its letters
  std::string held_;          // may be the beginning of a marker
};

}  // namespace ft::parsers
