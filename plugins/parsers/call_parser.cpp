// The text of a call is kept until its end and reported at once: a call that is cut, or turns out
// to be none, must not have been half sent.
//
// A closing marker's letters may stand inside a value ("</tool_call>" in a JSON string). Such a
// marker is kept as a part of the text with a note of where it was. When the text then turns out
// not to be a call, the first noted marker was real after all: what stood before it is judged
// alone, and what follows it is read again. So a bad call never swallows a good one.
#include "plugins/parsers/call_parser.h"

#include <algorithm>
#include <string>
#include <utility>

namespace ft::parsers {
namespace {

constexpr size_t kMaxCallBytes = size_t{8} << 20;
constexpr size_t kMaxNotedMarkers = 16;  // bounds how often a call's text is read again

class CallParser : public Instance, private LexSink {
 public:
  CallParser(const CallGrammar* grammar,
             std::vector<int32_t> marker_ids,
             std::string_view tools_json)
      : grammar_(grammar), schemas_(tools_json), lexer_(CallMarkers(), std::move(marker_ids)) {}

  void Feed(const ft_piece& piece, EventSink* sink) override {
    sink_ = sink;
    lexer_.Feed(piece, this);
  }

  void Finish(EventSink* sink) override {
    sink_ = sink;
    lexer_.Finish(this);
    while (in_call_) {
      ToolCall call;
      if (Read(text_, /*is_closed=*/false, &call) == CallState::kWhole) {
        Emit(call);  // only its closing marker is missing
      } else if (!noted_.empty() && ResyncFindsCalls()) {
        Resync();
      } else {
        Leave("the reply ended inside a call");
      }
    }
    if (!after_call_) {
      sink_->Send(FT_EV_CONTENT, gap_);
    }
    gap_.clear();
  }

  void Reset() override {
    lexer_.Reset();
    text_.clear();
    noted_.clear();
    gap_.clear();
    gap_after_.clear();
    in_call_ = after_call_ = has_content_ = false;
    num_calls_ = 0;
  }

 private:
  // A marker whose letters are, for the time being, part of text_.
  struct Noted {
    size_t at = 0;
    size_t size = 0;
    bool is_open = false;
    bool is_token = false;
  };

  void OnItem(const LexItem& item) override {
    if (item.role == FT_MARKER_CALL_OPEN) {
      OnOpen(item.text, item.is_token);
    } else if (item.role == FT_MARKER_CALL_CLOSE) {
      OnClose(item.text, item.is_token);
    } else if (in_call_) {
      OnCallText(item.text);
    } else {
      OnContent(item.text);
    }
  }

  CallState Read(std::string_view text, bool is_closed, ToolCall* call) const {
    *call = ToolCall();
    return grammar_->Read(text, schemas_, is_closed, call);
  }

  // ---- content: whitespace next to a call is the format's, unless text follows behind it
  // ----------

  void OnContent(std::string_view text) {
    const size_t leading = LeadingSpace(text);
    if (leading == text.size()) {
      (after_call_ ? gap_after_ : gap_).append(text);
      return;
    }
    if (after_call_) {
      gap_after_.append(text.substr(0, leading));
      text.remove_prefix(leading);
      if (has_content_) {
        sink_->Send(FT_EV_CONTENT, gap_.empty() ? gap_after_ : gap_);
      }
      after_call_ = false;
    } else {
      sink_->Send(FT_EV_CONTENT, gap_);
    }
    gap_.clear();
    gap_after_.clear();
    const size_t trailing = TrailingSpace(text);
    sink_->Send(FT_EV_CONTENT, text.substr(0, text.size() - trailing));
    gap_ = text.substr(text.size() - trailing);
    has_content_ = true;
  }

  // ---- the text of a call
  // -------------------------------------------------------------------------

  void OnCallText(std::string_view text) {
    text_.append(text);
    if (!is_opening_seen_) {
      const std::string_view begin =
          std::string_view(text_).substr(LeadingSpace(text_)).substr(0, grammar_->opening().size());
      if (!grammar_->opening().starts_with(begin)) {
        // The marker stood in plain text: what follows is no call but content.
        const std::string content = std::move(text_);
        Leave("text follows <tool_call> that begins no call");
        OnContent(content);
        return;
      }
      is_opening_seen_ = begin.size() == grammar_->opening().size();
    }
    if (text_.size() > kMaxCallBytes) {
      Leave("a call is longer than 8 MiB");
    }
  }

  void OnOpen(std::string_view letters, bool is_token) {
    while (in_call_) {
      ToolCall call;
      const CallState state = Read(text_, /*is_closed=*/false, &call);
      if (state == CallState::kWhole) {
        Emit(call);
      } else if (state == CallState::kInValue && MayBeText(is_token) && !FollowsClose()) {
        Note(letters, /*is_open=*/true, is_token);
        return;
      } else if (!noted_.empty()) {
        Resync();
      } else {
        Leave("a call began inside a call");
      }
    }
    in_call_ = true;
    is_opening_seen_ = false;
  }

  void OnClose(std::string_view letters, bool is_token) {
    while (in_call_) {
      ToolCall call;
      CallState state = Read(text_, /*is_closed=*/false, &call);
      if (state == CallState::kInValue && MayBeText(is_token)) {
        Note(letters, /*is_open=*/false, is_token);
        return;
      }
      if (state != CallState::kWhole) {
        state = Read(text_, /*is_closed=*/true, &call);
      }
      if (state == CallState::kWhole && !HoldsWholeCall()) {
        Emit(call);
        return;
      }
      if (noted_.empty()) {
        Leave("a call could not be read");
        return;
      }
      Resync();
    }
    // A close without an open is dropped.
  }

  // Could a marker inside a value be the value's own text?
  bool MayBeText(bool is_token) const {
    return (!is_token || !grammar_->has_raw_values()) && noted_.size() < kMaxNotedMarkers;
  }

  // Raw values: "...</tool_call> <tool_call>" is the end of a broken call and the next one.
  bool FollowsClose() const {
    return grammar_->has_raw_values() && !noted_.empty() && !noted_.back().is_open &&
           Trim(std::string_view(text_).substr(noted_.back().at + noted_.back().size)).empty();
  }

  // Raw values: is the text behind the last noted opening a call by itself? Then what stands before
  // it was a call that was never closed.
  bool HoldsWholeCall() const {
    if (!grammar_->has_raw_values() || noted_.empty() || !noted_.back().is_open) {
      return false;
    }
    ToolCall call;
    return Read(std::string_view(text_).substr(noted_.back().at + noted_.back().size),
                /*is_closed=*/true, &call) == CallState::kWhole;
  }

  void Note(std::string_view letters, bool is_open, bool is_token) {
    noted_.push_back({text_.size(), letters.size(), is_open, is_token});
    text_.append(letters);
  }

  // The reply ended inside a value that holds a marker's letters. Either the call was cut, and
  // nothing of it may show, or it was broken and others follow: tried out on a copy.
  bool ResyncFindsCalls() const {
    CallParser copy = *this;
    EventSink silent([](void*, const ft_event_rec*) { return ft_code{FT_OK}; }, /*ctx=*/nullptr);
    copy.sink_ = &silent;
    copy.Resync();
    ToolCall call;
    return copy.num_calls_ > num_calls_ ||
           (copy.in_call_ &&
            copy.Read(copy.text_, /*is_closed=*/false, &call) == CallState::kWhole);
  }

  // Takes the first noted marker for real and reads the rest again.
  void Resync() {
    const std::string text = std::move(text_);
    const std::vector<Noted> noted = std::move(noted_);
    const std::string_view all = text;
    ToolCall call;
    const bool is_whole = !noted[0].is_open && Read(all.substr(0, noted[0].at), /*is_closed=*/true,
                                                    &call) == CallState::kWhole;
    if (is_whole) {
      Emit(call);
    } else {
      Leave("a call could not be read");
    }
    if (noted[0].is_open) {
      in_call_ = true;
      is_opening_seen_ = false;
    }
    size_t at = noted[0].at + noted[0].size;
    for (size_t i = 1; i <= noted.size(); ++i) {
      const size_t end = i < noted.size() ? noted[i].at : all.size();
      if (end > at) {
        OnItem({all.substr(at, end - at), 0, -1, false});
      }
      if (i < noted.size()) {
        const std::string_view letters = all.substr(end, noted[i].size);
        if (noted[i].is_open) {
          OnOpen(letters, noted[i].is_token);
        } else {
          OnClose(letters, noted[i].is_token);
        }
        at = end + noted[i].size;
      }
    }
  }

  void Emit(const ToolCall& call) {
    sink_->Send(FT_EV_TOOL_BEGIN, call.name, num_calls_);
    sink_->Send(FT_EV_TOOL_ARGS, call.arguments, num_calls_);
    sink_->Send(FT_EV_TOOL_END, "", num_calls_);
    ++num_calls_;
    EndCall();
  }

  void Leave(std::string_view why) {
    sink_->Send(FT_EV_WARNING, why);
    EndCall();
  }

  void EndCall() {
    in_call_ = false;
    after_call_ = true;
    text_.clear();
    noted_.clear();
    gap_after_.clear();
  }

  const CallGrammar* grammar_;
  const ToolSchemas schemas_;
  MarkerLexer lexer_;
  EventSink* sink_ = nullptr;

  bool in_call_ = false;
  bool is_opening_seen_ = false;  // text_ begins as a call does
  std::string text_;              // since the opening marker
  std::vector<Noted> noted_;

  std::string gap_;        // whitespace behind the content so far, or in front of a call
  std::string gap_after_;  // whitespace since the last call
  bool after_call_ = false;
  bool has_content_ = false;
  uint32_t num_calls_ = 0;
};

}  // namespace

const std::vector<Marker>& CallMarkers() {
  static const std::vector<Marker> kMarkers = {{"<tool_call>", FT_MARKER_CALL_OPEN},
                                               {"</tool_call>", FT_MARKER_CALL_CLOSE}};
  return kMarkers;
}

std::unique_ptr<Instance> MakeCallParser(const CallGrammar* grammar,
                                         std::vector<int32_t> marker_ids,
                                         std::string_view tools_json) {
  return std::make_unique<CallParser>(grammar, std::move(marker_ids), tools_json);
}

}  // namespace ft::parsers
