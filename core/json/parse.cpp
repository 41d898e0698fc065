#include "core/json/parse.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include "core/base/errors.h"

namespace ft::json {
namespace {

constexpr size_t kSmallObject = 16;  // up to here a linear look for duplicates beats a hash set

// Builds the tree from RapidJSON's events. `stack_` holds the open containers.
class Builder {
 public:
  explicit Builder(const ParseOptions& options) : options_(options) {}

  bool Null() { return Add(Value()); }

  bool Bool(bool value) { return Add(Value(value)); }

  bool RawNumber(const char* text, rapidjson::SizeType length, bool /*copy*/) {
    Number number;
    number.text.assign(text, length);
    number.is_integer = number.text.find_first_of(".eE") == std::string::npos;
    return Add(Value(std::move(number)));
  }

  // With kParseNumbersAsStringsFlag the four below are never called.
  bool Int(int value) { return Add(Value(value)); }

  bool Uint(unsigned value) { return Add(Value(static_cast<uint64_t>(value))); }

  bool Int64(int64_t value) { return Add(Value(value)); }

  bool Uint64(uint64_t value) { return Add(Value(value)); }

  bool Double(double value) { return Add(Value(value)); }

  bool String(const char* text, rapidjson::SizeType length, bool /*copy*/) {
    return CheckSurrogates({text, length}) && Add(Value(std::string(text, length)));
  }

  bool StartObject() { return Open(Value::MakeObject()); }

  bool StartArray() { return Open(Value::MakeArray()); }

  bool EndObject(rapidjson::SizeType /*count*/) { return Close(); }

  bool EndArray(rapidjson::SizeType /*count*/) { return Close(); }

  bool Key(const char* text, rapidjson::SizeType length, bool /*copy*/) {
    OpenContainer& top = stack_.back();
    top.key.assign(text, length);
    top.duplicate_of = FindOrRemember(&top);
    if (top.duplicate_of != kNone &&
        options_.duplicate_keys == ParseOptions::DuplicateKeys::kError) {
      problem_ = "the key \"" + top.key + "\" stands twice in one object";
      return false;
    }
    return CheckSurrogates(top.key);
  }

  Value TakeRoot() { return std::move(root_); }

  const std::string& problem() const { return problem_; }

 private:
  static constexpr size_t kNone = ~size_t{0};

  struct OpenContainer {
    Value value;
    std::string key;                                 // of the member being read
    size_t duplicate_of = kNone;                     // position of an earlier member with this key
    std::unordered_map<std::string, size_t> places;  // of keys; filled once the object is large
  };

  // RapidJSON refuses a lone high surrogate (\uD800) but writes a lone low one as ED B0..BF xx,
  // which is no UTF-8.
  bool CheckSurrogates(std::string_view text) {
    for (size_t at = text.find('\xED'); at != std::string_view::npos;
         at = text.find('\xED', at + 1)) {
      if (at + 1 < text.size() && static_cast<unsigned char>(text[at + 1]) >= 0xA0) {
        problem_ = "half of a surrogate pair in a string";
        return false;
      }
    }
    return true;
  }

  // Position of the member with the key being read, or kNone; then its position will be the end.
  static size_t FindOrRemember(OpenContainer* open) {
    const Object& object = open->value.as_object();
    if (object.size() < kSmallObject) {
      const auto found = std::find_if(object.begin(), object.end(), [open](const Member& member) {
        return member.key == open->key;
      });
      return found == object.end() ? kNone : static_cast<size_t>(found - object.begin());
    }
    if (open->places.empty()) {
      for (size_t i = 0; i < object.size(); ++i) {
        open->places.emplace(object[i].key, i);
      }
    }
    const auto [entry, is_new] = open->places.emplace(open->key, object.size());
    return is_new ? kNone : entry->second;
  }

  bool Open(Value container) {
    if (static_cast<int>(stack_.size()) >= options_.max_depth) {
      problem_ = fmt::format("nested deeper than {}", options_.max_depth);
      return false;
    }
    stack_.push_back({std::move(container), {}, kNone, {}});
    return true;
  }

  bool Close() {
    Value done = std::move(stack_.back().value);
    stack_.pop_back();
    return Add(std::move(done));
  }

  bool Add(Value value) {
    if (stack_.empty()) {
      root_ = std::move(value);
      return true;
    }
    OpenContainer& top = stack_.back();
    if (top.value.is_array()) {
      top.value.Append(std::move(value));
    } else if (top.duplicate_of != kNone) {
      top.value.as_object()[top.duplicate_of].value = std::move(value);
    } else {
      top.value.as_object().push_back(Member{std::move(top.key), std::move(value)});
    }
    return true;
  }

  const ParseOptions& options_;
  std::vector<OpenContainer> stack_;
  Value root_;
  std::string problem_;
};

std::string PlaceOf(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t line_start = before.rfind('\n');
  const size_t column =
      line_start == std::string_view::npos ? before.size() + 1 : before.size() - line_start;
  return fmt::format("line {}, column {}", line, column);
}

}  // namespace

Result<Value> Parse(std::string_view text, const ParseOptions& options) {
  if (text.size() > options.max_bytes) {
    return ResourceExhausted("JSON of {} bytes is longer than the limit of {}", text.size(),
                             options.max_bytes);
  }
  constexpr unsigned kFlags = rapidjson::kParseIterativeFlag |
                              rapidjson::kParseValidateEncodingFlag |
                              rapidjson::kParseNumbersAsStringsFlag;
  rapidjson::MemoryStream stream(text.data(), text.size());
  rapidjson::Reader reader;
  Builder builder(options);
  const rapidjson::ParseResult result = reader.Parse<kFlags>(stream, builder);
  if (result.IsError()) {
    const std::string what =
        builder.problem().empty() ? rapidjson::GetParseError_En(result.Code()) : builder.problem();
    return DataLoss("JSON: {} ({})", what, PlaceOf(text, result.Offset()));
  }
  // RapidJSON takes a zero byte for the end of its input.
  if (stream.Tell() != text.size()) {
    return DataLoss("JSON: something follows the document ({})", PlaceOf(text, stream.Tell()));
  }
  return builder.TakeRoot();
}

}  // namespace ft::json
