#include "plugins/parsers/think_parser.h"

#include <utility>

namespace ft::parsers {
namespace {

constexpr std::string_view kOpen = "<think>";
constexpr std::string_view kClose = "</think>";
constexpr std::string_view kTurn = "<|im_start|>";

class ThinkParser : public Instance, private LexSink {
 public:
  ThinkParser(std::vector<int32_t> marker_ids, bool starts_in_thought)
      : lexer_(ThinkMarkers(), std::move(marker_ids)), starts_in_thought_(starts_in_thought) {
    Reset();
  }

  void Feed(const ft_piece& piece, EventSink* sink) override {
    sink_ = sink;
    lexer_.Feed(piece, this);
  }

  void Finish(EventSink* sink) override {
    sink_ = sink;
    lexer_.Finish(this);
    if (state_ == State::kStart) {
      sink_->Send(FT_EV_CONTENT, space_);  // whitespace was all there is
    }
    space_.clear();
  }

  void Reset() override {
    lexer_.Reset();
    state_ = starts_in_thought_ ? State::kThought : State::kStart;
    space_.clear();
    has_thought_text_ = false;
    has_any_thought_ = false;
  }

 private:
  enum class State {
    kStart,  // nothing but whitespace so far: a thought may follow
    kThought,
    kAfterClose,  // nothing but whitespace since the thought ended
    kContent
  };

  void OnItem(const LexItem& item) override {
    if (item.role == FT_MARKER_THINK_OPEN) {
      Open();
    } else if (item.role == FT_MARKER_THINK_CLOSE) {
      Close();
    } else if (state_ == State::kThought) {
      TakeThought(item.text);
    } else {
      TakeContent(item);
    }
  }

  void Open() {
    if (state_ != State::kThought) {
      state_ = State::kThought;
      has_thought_text_ = false;
    }
    space_.clear();
  }

  // A close without an open is dropped: the prompt may have closed the thought already.
  void Close() {
    if (state_ == State::kThought) {
      state_ = State::kAfterClose;
    }
    space_.clear();
  }

  void TakeThought(std::string_view text) {
    if (!has_thought_text_) {
      text.remove_prefix(LeadingSpace(text));
      if (text.empty()) {
        return;
      }
      if (has_any_thought_) {
        sink_->Send(FT_EV_REASONING, "\n");  // a second thought of the same reply
      }
      has_thought_text_ = true;
      has_any_thought_ = true;
    }
    const size_t trailing = TrailingSpace(text);
    if (trailing < text.size()) {
      sink_->Send(FT_EV_REASONING, space_);
      space_.clear();
      sink_->Send(FT_EV_REASONING, text.substr(0, text.size() - trailing));
    }
    space_.append(text.substr(text.size() - trailing));
  }

  void TakeContent(const LexItem& item) {
    std::string_view text = item.text;
    if (state_ != State::kContent) {
      const size_t leading = LeadingSpace(text);
      if (state_ == State::kStart) {
        space_.append(text.substr(0, leading));
      }
      text.remove_prefix(leading);
      if (text.empty()) {
        return;
      }
      if (state_ == State::kStart && !space_.empty()) {
        sink_->Send(FT_EV_CONTENT, space_);
      }
      space_.clear();
      state_ = State::kContent;
    }
    const bool is_whole = text.size() == item.text.size();
    sink_->Send(FT_EV_CONTENT, text, 0, is_whole ? item.token_id : -1, is_whole && item.is_token);
  }

  MarkerLexer lexer_;
  bool starts_in_thought_;
  State state_ = State::kStart;
  std::string space_;              // held whitespace: before content, or inside a thought
  bool has_thought_text_ = false;  // of this thought
  bool has_any_thought_ = false;
  EventSink* sink_ = nullptr;
};

}  // namespace

const std::vector<Marker>& ThinkMarkers() {
  static const std::vector<Marker> kMarkers = {{kOpen, FT_MARKER_THINK_OPEN},
                                               {kClose, FT_MARKER_THINK_CLOSE}};
  return kMarkers;
}

int32_t ScoreThinkTemplate(std::string_view chat_template) {
  if (chat_template.find(kClose) == std::string_view::npos) {
    return 0;
  }
  return chat_template.find(kOpen) == std::string_view::npos ? 40 : 50;
}

bool PromptEndsInThink(std::string_view prompt) {
  if (const size_t turn = prompt.rfind(kTurn); turn != std::string_view::npos) {
    const std::string_view last = prompt.substr(turn);
    const size_t open = last.rfind(kOpen);
    return open != std::string_view::npos && last.find(kClose, open) == std::string_view::npos;
  }
  prompt.remove_suffix(TrailingSpace(prompt));
  return prompt.ends_with(kOpen);
}

std::unique_ptr<Instance> MakeThinkParser(std::vector<int32_t> marker_ids, bool starts_in_thought) {
  return std::make_unique<ThinkParser>(std::move(marker_ids), starts_in_thought);
}

}  // namespace ft::parsers
