// {"name": "f", "arguments": {...}}
#include <optional>
#include <utility>

#include "core/json/parse.h"
#include "core/json/write.h"
#include "plugins/parsers/call_grammar.h"
#include "plugins/parsers/instance.h"

namespace ft::parsers {
namespace {

using json::Value;

// Where one JSON object ends, by brackets and quotes alone.
struct Extent {
  CallState state = CallState::kIncomplete;
  size_t end = 0;  // behind the object, when whole
};

Extent FindExtent(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  bool after_string = false;  // only , : } ] may follow
  for (size_t i = LeadingSpace(text); i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
        after_string = true;
      }
      continue;
    }
    if (IsSpace(c)) {
      continue;
    }
    if (after_string && c != ',' && c != ':' && c != '}' && c != ']') {
      return {CallState::kBroken, 0};
    }
    after_string = false;
    if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      --depth;
    }
    if (depth <= 0) {
      return {c == '}' ? CallState::kWhole : CallState::kBroken, i + 1};
    }
  }
  return {in_string ? CallState::kInValue : CallState::kIncomplete, 0};
}

std::optional<Value> ParseObject(std::string_view text) {
  json::ParseOptions options;
  options.duplicate_keys = json::ParseOptions::DuplicateKeys::kLastWins;
  Result<Value> value = json::Parse(text, options);
  return value.ok() && value.value().is_object() ? std::optional<Value>(std::move(value).value())
                                                 : std::nullopt;
}

// The arguments as an object; models also write them as a string of JSON, or leave them out.
std::optional<Value> ReadArguments(const Value& object) {
  const Value* arguments = object.Find("arguments");
  if (arguments == nullptr) {
    arguments = object.Find("parameters");
  }
  if (arguments == nullptr || arguments->is_null()) {
    return Value::MakeObject();
  }
  if (arguments->is_string()) {
    return Trim(arguments->as_string()).empty() ? Value::MakeObject()
                                                : ParseObject(arguments->as_string());
  }
  return arguments->is_object() ? std::optional<Value>(*arguments) : std::nullopt;
}

class JsonCall : public CallGrammar {
 public:
  CallState Read(std::string_view text,
                 const ToolSchemas& schemas,
                 bool /*is_closed*/,
                 ToolCall* call) const override {
    const Extent extent = FindExtent(text);
    if (extent.state != CallState::kWhole) {
      return extent.state;
    }
    if (!Trim(text.substr(extent.end)).empty()) {
      return CallState::kBroken;
    }
    const std::optional<Value> object = ParseObject(text);
    const Value* name = object.has_value() ? object->Find("name") : nullptr;
    if (name == nullptr || !name->is_string() || name->as_string().empty()) {
      return CallState::kBroken;
    }
    const std::optional<Value> arguments = ReadArguments(*object);
    if (!arguments.has_value()) {
      return CallState::kBroken;
    }
    const Value* schema = schemas.Parameters(name->as_string());
    Value typed = Value::MakeObject();
    for (const json::Member& member : arguments->as_object()) {
      typed.Set(member.key,
                TypedFromJson(member.value, ToolSchemas::Parameter(schema, member.key), schema));
    }
    call->name = name->as_string();
    call->arguments = json::Write(typed);
    return CallState::kWhole;
  }

  std::string_view opening() const override { return "{"; }

  bool has_raw_values() const override { return false; }

  int32_t Score(std::string_view chat_template) const override {
    const bool has_markers = chat_template.find("<tool_call>") != std::string_view::npos;
    const bool is_xml = chat_template.find("<function=") != std::string_view::npos;
    return has_markers && !is_xml ? 60 : 0;
  }
};

}  // namespace

const CallGrammar& JsonCallGrammar() {
  static const JsonCall kGrammar;
  return kGrammar;
}

}  // namespace ft::parsers
