#include "tests/server/scripted_text.h"

#include <array>
#include <utility>

#include "core/base/errors.h"
#include "core/base/utf8.h"
#include "core/json/parse.h"
#include "core/json/write.h"

namespace ft::server {
namespace {

constexpr std::array<std::string_view, 5> kMarkers = {"<think>", "</think>", "<tool_call>",
                                                      "</tool_call>", "<end>"};

class ScriptedParser : public ReplyParser {
 public:
  ScriptedParser(bool in_reasoning, bool find_calls)
      : in_reasoning_(in_reasoning), find_calls_(find_calls) {}

  Status Push(const TokenOutput& token, std::vector<ReplyEvent>* events) override {
    if (token.token_id == kThinkOpen || token.token_id == kThinkClose) {
      in_reasoning_ = token.token_id == kThinkOpen;
    } else if (find_calls_ && token.token_id == kCallOpen) {
      in_call_ = true;
    } else if (find_calls_ && token.token_id == kCallClose) {
      return EndCall(events);
    } else if (in_call_) {
      call_ += token.text;
    } else if (!token.text.empty()) {
      events->push_back({in_reasoning_ ? ReplyEvent::Kind::kReasoning : ReplyEvent::Kind::kContent,
                         0, token.text});
    }
    return Status();
  }

  Status Finish(std::vector<ReplyEvent>* /*events*/) override { return Status(); }

  bool in_reasoning() const override { return in_reasoning_; }

 private:
  Status EndCall(std::vector<ReplyEvent>* events) {
    FT_ASSIGN_OR_RETURN(const json::Value call, json::Parse(std::exchange(call_, {})));
    in_call_ = false;
    const json::Value* arguments = call.Find("arguments");
    events->push_back({ReplyEvent::Kind::kToolBegin, num_calls_, call.Find("name")->as_string()});
    if (arguments != nullptr) {
      events->push_back({ReplyEvent::Kind::kToolArgs, num_calls_, json::Write(*arguments)});
    }
    events->push_back({ReplyEvent::Kind::kToolEnd, num_calls_++, ""});
    return Status();
  }

  bool in_reasoning_;
  bool find_calls_;
  bool in_call_ = false;
  std::string call_;
  uint32_t num_calls_ = 0;
};

// Arguments as objects, as a real template would get them.
Result<std::string> CallsText(const json::Value& calls, size_t message_index) {
  std::string out;
  for (const json::Value& call : calls.as_array()) {
    const json::Value* function = call.Find("function");
    const json::Value* arguments = function->Find("arguments");
    json::Value object = json::Value::MakeObject();
    if (arguments != nullptr && arguments->is_object()) {
      object = *arguments;
    } else if (arguments != nullptr && arguments->is_string() && !arguments->as_string().empty()) {
      Result<json::Value> parsed = json::Parse(arguments->as_string());
      if (!parsed.ok()) {
        return InvalidArgument("messages[{}]: arguments of a tool call are no JSON", message_index);
      }
      if (parsed.value().is_object()) {
        object = std::move(parsed).value();
      }
    }
    out += "(" + function->Find("name")->as_string() + json::Write(object) + ")";
  }
  return out;
}

}  // namespace

std::vector<int32_t> ScriptedEncode(std::string_view text) {
  std::vector<int32_t> ids;
  while (!text.empty()) {
    size_t taken = 0;
    for (size_t i = 0; i < kMarkers.size() && taken == 0; ++i) {
      if (text.starts_with(kMarkers[i])) {
        ids.push_back(kThinkOpen + static_cast<int32_t>(i));
        taken = kMarkers[i].size();
      }
    }
    if (taken == 0) {
      ids.push_back(static_cast<unsigned char>(text.front()));
      taken = 1;
    }
    text.remove_prefix(taken);
  }
  return ids;
}

std::vector<TokenOutput> ScriptedTokens(std::string_view text) {
  std::vector<TokenOutput> tokens;
  std::string held;
  for (const int32_t id : ScriptedEncode(text)) {
    TokenOutput& token = tokens.emplace_back();
    token.token_id = id;
    token.is_added_token = id >= kThinkOpen;
    if (token.is_added_token) {
      token.text = kMarkers[static_cast<size_t>(id - kThinkOpen)];
      continue;
    }
    held += static_cast<char>(id);
    if (IncompleteUtf8Suffix(held) == 0) {
      token.text = ReplaceInvalidUtf8(std::exchange(held, {}));
    }
  }
  if (!held.empty()) {
    tokens.push_back({.token_id = -1, .text = ReplaceInvalidUtf8(held), .top = {}});
  }
  return tokens;
}

Result<std::string> ScriptedText::RenderChat(const ChatPrompt& prompt) const {
  std::string out;
  if (prompt.tools.is_array()) {
    out += "[tools]" + json::Write(prompt.tools);
  }
  const json::Array& messages = prompt.messages.as_array();
  for (size_t i = 0; i < messages.size(); ++i) {
    const auto text_of = [&](std::string_view key) {
      const json::Value* value = messages[i].Find(key);
      return value != nullptr && value->is_string() ? value->as_string() : std::string();
    };
    out += "[" + text_of("role") + "]";
    if (const std::string thoughts = text_of("reasoning_content"); !thoughts.empty()) {
      out += "<think>" + thoughts + "</think>";
    }
    out += text_of("content");
    if (const json::Value* calls = messages[i].Find("tool_calls")) {
      FT_ASSIGN_OR_RETURN(const std::string text, CallsText(*calls, i));
      out += text;
    }
  }
  if (!prompt.add_generation_prompt) {
    return out;
  }
  out += "[assistant]";
  if (const json::Value* thinking = prompt.kwargs.Find("enable_thinking")) {
    out += *thinking == json::Value(true) ? "<think>" : "<think></think>";
  }
  return out;
}

Result<std::vector<int32_t>> ScriptedText::Encode(std::string_view text,
                                                  bool add_special_tokens) const {
  static_cast<void>(add_special_tokens);
  return ScriptedEncode(text);
}

std::string ScriptedText::Decode(std::span<const int32_t> ids, bool skip_special_tokens) const {
  std::string bytes;
  for (const int32_t id : ids) {
    bytes += skip_special_tokens && id >= kThinkOpen ? std::string() : TokenBytes(id);
  }
  return ReplaceInvalidUtf8(bytes);
}

std::string ScriptedText::TokenBytes(int32_t id) const {
  if (id >= kThinkOpen && id < kScriptedVocab) {
    return std::string(kMarkers[static_cast<size_t>(id - kThinkOpen)]);
  }
  return std::string(1, static_cast<char>(id));
}

Result<NewReplyParser> ScriptedText::MakeReplyParser(const ReplyParserOptions& options) const {
  NewReplyParser result;
  result.starts_in_reasoning = options.rendered_prompt.ends_with("<think>");
  result.parser =
      std::make_unique<ScriptedParser>(result.starts_in_reasoning, options.tools != nullptr);
  return result;
}

}  // namespace ft::server
