#include "core/json/parse.h"

#include <algorithm>
#include <string>
#include <unordered_set>
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
    return Add(Value(std::string(text, length)));
  }

  bool StartObject() { return Open(Value::MakeObject()); }

  bool StartArray() { return Open(Value::MakeArray()); }

  bool EndObject(rapidjson::SizeType /*count*/) { return Close(); }

  bool EndArray(rapidjson::SizeType /*count*/) { return Close(); }

  bool Key(const char* text, rapidjson::SizeType length, bool /*copy*/) {
    Open_& top = stack_.back();
    top.key.assign(text, length);
    if (IsDuplicate(&top)) {
      if (options_.duplicate_keys == ParseOptions::DuplicateKeys::kError) {
        problem_ = "the key \"" + top.key + "\" stands twice in one object";
        return false;
      }
    }
    return true;
  }

  Value TakeRoot() { return std::move(root_); }

  const std::string& problem() const { return problem_; }

 private:
  struct Open_ {
    Value value;
    std::string key;                       // of the member being read
    std::unordered_set<std::string> keys;  // filled once the object is large
  };

  static bool IsDuplicate(Open_* open) {
    const Object& object = open->value.as_object();
    if (object.size() < kSmallObject) {
      return open->value.Find(open->key) != nullptr;
    }
    if (open->keys.empty()) {
      for (const Member& member : object) {
        open->keys.insert(member.key);
      }
    }
    return !open->keys.insert(open->key).second;
  }

  bool Open(Value container) {
    if (static_cast<int>(stack_.size()) >= options_.max_depth) {
      problem_ = fmt::format("nested deeper than {}", options_.max_depth);
      return false;
    }
    stack_.push_back({std::move(container), {}, {}});
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
    Open_& top = stack_.back();
    if (top.value.is_array()) {
      top.value.Append(std::move(value));
    } else if (options_.duplicate_keys == ParseOptions::DuplicateKeys::kLastWins) {
      top.value.Set(top.key, std::move(value));
    } else {
      top.value.as_object().push_back(Member{std::move(top.key), std::move(value)});
    }
    return true;
  }

  const ParseOptions& options_;
  std::vector<Open_> stack_;
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
  return builder.TakeRoot();
}

}  // namespace ft::json
