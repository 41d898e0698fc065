#include "plugins/parsers/argument_types.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string>
#include <utility>

#include "core/json/parse.h"
#include "core/json/write.h"
#include "plugins/parsers/instance.h"

namespace ft::parsers {
namespace {

using json::Value;

constexpr int kMaxSchemaDepth = 8;
constexpr size_t kMaxAlternatives = 32;

// What a schema allows, as bits; 0: it does not say.
enum TypeBit : uint32_t {
  kNull = 1U << 0,
  kBoolean = 1U << 1,
  kInteger = 1U << 2,
  kNumber = 1U << 3,
  kArray = 1U << 4,
  kObject = 1U << 5,
  kString = 1U << 6,
};

uint32_t BitOfName(std::string_view name) {
  struct Entry {
    std::string_view name;
    uint32_t bit;
  };

  static constexpr std::array kNames = {Entry{"null", kNull},       Entry{"boolean", kBoolean},
                                        Entry{"integer", kInteger}, Entry{"number", kNumber},
                                        Entry{"array", kArray},     Entry{"object", kObject},
                                        Entry{"string", kString}};
  for (const Entry& entry : kNames) {
    if (entry.name == name) {
      return entry.bit;
    }
  }
  return 0;
}

uint32_t BitOfValue(const Value& value) {
  if (value.is_number()) {
    return value.as_number().is_integer ? kInteger : kNumber;
  }
  return value.is_null()     ? kNull
         : value.is_bool()   ? kBoolean
         : value.is_array()  ? kArray
         : value.is_object() ? kObject
                             : kString;
}

// "#/$defs/City" inside `root`; null when there is no such place.
const Value* Resolve(std::string_view reference, const Value* root) {
  if (!reference.starts_with("#/")) {
    return nullptr;
  }
  reference.remove_prefix(2);
  const Value* at = root;
  while (at != nullptr && !reference.empty()) {
    const size_t end = std::min(reference.find('/'), reference.size());
    at = at->Find(reference.substr(0, end));
    reference.remove_prefix(std::min(end + 1, reference.size()));
  }
  return at;
}

// One keyword after the other.  NOLINTNEXTLINE(readability-function-cognitive-complexity)
uint32_t TypesOf(const Value* schema, const Value* root, int depth) {
  if (schema == nullptr || !schema->is_object() || depth > kMaxSchemaDepth) {
    return 0;
  }
  uint32_t types = 0;
  if (const Value* type = schema->Find("type"); type != nullptr && type->is_string()) {
    types |= BitOfName(type->as_string());
  } else if (type != nullptr && type->is_array()) {
    for (const Value& name : type->as_array()) {
      types |= name.is_string() ? BitOfName(name.as_string()) : 0;
    }
  }
  if (types == 0) {
    for (const char* key : {"anyOf", "oneOf", "allOf"}) {
      const Value* list = schema->Find(key);
      if (list == nullptr || !list->is_array() || list->as_array().size() > kMaxAlternatives) {
        continue;
      }
      for (const Value& alternative : list->as_array()) {
        types |= TypesOf(&alternative, root, depth + 1);
      }
    }
    if (const Value* list = schema->Find("enum"); list != nullptr && list->is_array()) {
      for (const Value& value : list->as_array()) {
        types |= BitOfValue(value);
      }
    }
    if (const Value* constant = schema->Find("const")) {
      types |= BitOfValue(*constant);
    }
    if (const Value* reference = schema->Find("$ref");
        reference != nullptr && reference->is_string()) {
      types |= TypesOf(Resolve(reference->as_string(), root), root, depth + 1);
    }
  }
  const Value* nullable = schema->Find("nullable");
  if (types != 0 && nullable != nullptr && nullable->is_bool() && nullable->as_bool()) {
    types |= kNull;
  }
  return types;
}

std::optional<Value> ParseJson(std::string_view text) {
  json::ParseOptions options;
  options.duplicate_keys = json::ParseOptions::DuplicateKeys::kLastWins;
  Result<Value> value = json::Parse(text, options);
  return value.ok() ? std::optional<Value>(std::move(value).value()) : std::nullopt;
}

bool EqualsIgnoringCase(std::string_view text, std::string_view lower) {
  return text.size() == lower.size() &&
         std::equal(text.begin(), text.end(), lower.begin(), [](char a, char b) {
           return std::tolower(static_cast<unsigned char>(a)) == b;
         });
}

std::optional<Value> ReadBoolean(std::string_view text) {
  if (EqualsIgnoringCase(text, "true")) {
    return Value(/*value=*/true);
  }
  return EqualsIgnoringCase(text, "false") ? std::optional<Value>(Value(/*value=*/false))
                                           : std::nullopt;
}

std::optional<Value> ReadNumber(std::string_view text) {
  if (text.size() > 1 && text.front() == '+') {
    text.remove_prefix(1);
  }
  std::optional<Value> value = ParseJson(text);
  return value.has_value() && value->is_number() ? std::move(value) : std::nullopt;
}

// 5 and 5.0, not 5.5.
std::optional<Value> WholeNumber(Value number) {
  if (number.as_number().is_integer) {
    return number;
  }
  const std::optional<int64_t> whole = number.ToInt64();
  return whole.has_value() ? std::optional<Value>(Value(*whole)) : std::nullopt;
}

std::optional<Value> ReadInteger(std::string_view text) {
  std::optional<Value> number = ReadNumber(text);
  return number.has_value() ? WholeNumber(std::move(*number)) : std::nullopt;
}

// One type of the schema tried on the text.
std::optional<Value> ReadAs(uint32_t type, std::string_view text, std::string_view trimmed) {
  switch (type) {
    case kNull:
      return trimmed == "null" || trimmed == "None" ? std::optional<Value>(Value()) : std::nullopt;
    case kBoolean:
      return ReadBoolean(trimmed);
    case kInteger:
      return ReadInteger(trimmed);
    case kNumber:
      return ReadNumber(trimmed);
    case kArray:
    case kObject: {
      std::optional<Value> value = ParseJson(trimmed);
      return value.has_value() && BitOfValue(*value) == type ? std::move(value) : std::nullopt;
    }
    default:
      return Value(text);
  }
}

}  // namespace

ToolSchemas::ToolSchemas(std::string_view tools_json) {
  if (!tools_json.empty()) {
    tools_ = ParseJson(tools_json).value_or(Value());
  }
}

const json::Value* ToolSchemas::Parameters(std::string_view function) const {
  if (!tools_.is_array()) {
    return nullptr;
  }
  for (const Value& tool : tools_.as_array()) {
    const Value* inner = tool.Find("function");
    const Value& description = inner != nullptr ? *inner : tool;
    const Value* name = description.Find("name");
    if (name != nullptr && name->is_string() && name->as_string() == function) {
      return description.Find("parameters");
    }
  }
  return nullptr;
}

const json::Value* ToolSchemas::Parameter(const json::Value* parameters, std::string_view key) {
  const Value* properties = parameters == nullptr ? nullptr : parameters->Find("properties");
  return properties == nullptr ? nullptr : properties->Find(key);
}

json::Value TypedFromText(std::string_view text,
                          const json::Value* schema,
                          const json::Value* root) {
  const std::string_view trimmed = Trim(text);
  const uint32_t types = TypesOf(schema, root, 0);
  for (const uint32_t type : {kNull, kBoolean, kInteger, kNumber, kArray, kObject, kString}) {
    if ((types & type) == 0) {
      continue;
    }
    if (std::optional<Value> value = ReadAs(type, text, trimmed)) {
      return std::move(*value);
    }
  }
  std::optional<Value> value = ParseJson(trimmed);
  // Quotes around bare text are part of the text.
  return value.has_value() && !value->is_string() ? std::move(*value) : Value(text);
}

json::Value TypedFromJson(json::Value value, const json::Value* schema, const json::Value* root) {
  const uint32_t types = TypesOf(schema, root, 0);
  const uint32_t type = BitOfValue(value);
  if (types == 0 || (types & type) != 0 || (type == kInteger && (types & kNumber) != 0)) {
    return value;
  }
  if (value.is_number() && (types & kInteger) != 0) {
    return WholeNumber(value).value_or(value);
  }
  if (value.is_string()) {
    const std::string& text = value.as_string();
    for (const uint32_t wanted : {kNull, kBoolean, kInteger, kNumber, kArray, kObject}) {
      if ((types & wanted) != 0) {
        if (std::optional<Value> read = ReadAs(wanted, text, Trim(text))) {
          return std::move(*read);
        }
      }
    }
  } else if ((types & kString) != 0 && (value.is_number() || value.is_bool())) {
    return Value(json::Write(value));
  }
  return value;
}

}  // namespace ft::parsers
