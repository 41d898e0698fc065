// <function=name>
// <parameter=key>
// value
// </parameter>
// </function>
#include <optional>
#include <utility>

#include "core/json/write.h"
#include "plugins/parsers/call_grammar.h"
#include "plugins/parsers/instance.h"

namespace ft::parsers {
namespace {

using json::Value;

constexpr std::string_view kFunction = "<function=";
constexpr std::string_view kFunctionEnd = "</function>";
constexpr std::string_view kParameter = "<parameter=";
constexpr std::string_view kParameterEnd = "</parameter>";

// The line ends next to the tags are the format's; any others are the value's.
std::string_view StripLineEnds(std::string_view value) {
  if (value.starts_with("\r\n")) {
    value.remove_prefix(2);
  } else if (value.starts_with('\n')) {
    value.remove_prefix(1);
  }
  if (value.ends_with("\r\n")) {
    value.remove_suffix(2);
  } else if (value.ends_with('\n')) {
    value.remove_suffix(1);
  }
  return value;
}

class Reader {
 public:
  Reader(std::string_view text, const ToolSchemas& schemas, bool is_closed)
      : text_(text), schemas_(schemas), is_closed_(is_closed) {}

  CallState Read(ToolCall* call) {
    SkipSpace();
    CallState state = ReadTag(kFunction, &call->name);
    if (state != CallState::kWhole) {
      return state;
    }
    const Value* parameters = schemas_.Parameters(call->name);
    Value arguments = Value::MakeObject();
    while ((state = ReadParameter(parameters, &arguments)) == CallState::kWhole && !is_ended_) {
    }
    if (state == CallState::kWhole) {
      call->arguments = json::Write(arguments);
    }
    return state;
  }

 private:
  std::string_view rest() const { return text_.substr(at_); }

  void SkipSpace() { at_ += LeadingSpace(rest()); }

  // "<function=name>" or "<parameter=key>".
  CallState ReadTag(std::string_view opening, std::string* name) {
    if (!rest().starts_with(opening)) {
      return opening.starts_with(rest()) ? CallState::kIncomplete : CallState::kBroken;
    }
    const size_t end = rest().find_first_of(">\n<", opening.size());
    if (end == std::string_view::npos) {
      return CallState::kIncomplete;
    }
    *name = Trim(rest().substr(opening.size(), end - opening.size()));
    if (rest()[end] != '>' || name->empty()) {
      return CallState::kBroken;
    }
    at_ += end + 1;
    return CallState::kWhole;
  }

  // One parameter, or the end of the function (is_ended_).
  CallState ReadParameter(const Value* parameters, Value* arguments) {
    SkipSpace();
    if (rest().starts_with(kFunctionEnd)) {
      at_ += kFunctionEnd.size();
      is_ended_ = true;
      return Trim(rest()).empty() ? CallState::kWhole : CallState::kBroken;
    }
    if (rest().empty()) {
      is_ended_ = is_closed_;  // </function> left out
      return is_closed_ ? CallState::kWhole : CallState::kIncomplete;
    }
    if (kFunctionEnd.starts_with(rest())) {
      return CallState::kIncomplete;
    }
    std::string key;
    if (const CallState state = ReadTag(kParameter, &key); state != CallState::kWhole) {
      return state;
    }
    std::string_view value;
    if (!ReadValue(&value)) {
      return is_closed_ ? CallState::kBroken : CallState::kInValue;
    }
    const Value* schema = ToolSchemas::Parameter(parameters, key);
    arguments->Set(key, TypedFromText(StripLineEnds(value), schema, parameters));
    return CallState::kWhole;
  }

  // Up to the </parameter> behind which the format goes on; one inside the value is the value's.
  bool ReadValue(std::string_view* value) {
    for (size_t end = rest().find(kParameterEnd); end != std::string_view::npos;
         end = rest().find(kParameterEnd, end + 1)) {
      std::string_view next = rest().substr(end + kParameterEnd.size());
      next.remove_prefix(LeadingSpace(next));
      if (next.starts_with(kParameter) || next.starts_with(kFunctionEnd) ||
          kParameter.starts_with(next) || kFunctionEnd.starts_with(next)) {
        *value = rest().substr(0, end);
        at_ += end + kParameterEnd.size();
        return true;
      }
    }
    // Left out by the model, but the function's end is there.
    const size_t end = is_closed_ ? rest().rfind(kFunctionEnd) : std::string_view::npos;
    if (end == std::string_view::npos || !Trim(rest().substr(end + kFunctionEnd.size())).empty()) {
      return false;
    }
    *value = rest().substr(0, end);
    at_ += end;
    return true;
  }

  std::string_view text_;
  const ToolSchemas& schemas_;
  bool is_closed_;
  size_t at_ = 0;
  bool is_ended_ = false;
};

class XmlCall : public CallGrammar {
 public:
  CallState Read(std::string_view text,
                 const ToolSchemas& schemas,
                 bool is_closed,
                 ToolCall* call) const override {
    return Reader(text, schemas, is_closed).Read(call);
  }

  std::string_view opening() const override { return kFunction; }

  bool has_raw_values() const override { return true; }

  int32_t Score(std::string_view chat_template) const override {
    return chat_template.find(kFunction) != std::string_view::npos &&
                   chat_template.find(kParameter) != std::string_view::npos
               ? 100
               : 0;
  }
};

}  // namespace

const CallGrammar& XmlCallGrammar() {
  static const XmlCall kGrammar;
  return kGrammar;
}

}  // namespace ft::parsers
