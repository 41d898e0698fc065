#include "core/text/tokenize_jsonl.h"

#include <cstdint>
#include <exception>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/base/errors.h"
#include "core/json/parse.h"
#include "core/json/value.h"
#include "core/json/write.h"

namespace ft::text {
namespace {

// Reads up to "\n" or the end. False at the end, with nothing read.
// Errors: kResourceExhausted: longer than kMaxJsonlLineBytes; kUnavailable: `in` cannot be read.
Result<bool> ReadLine(std::istream* in, std::string* line) try {
  line->clear();
  std::streambuf* buffer = in->rdbuf();
  while (true) {
    const int c = buffer->sbumpc();
    if (c == std::char_traits<char>::eof()) {
      return !line->empty();
    }
    if (c == '\n') {
      return true;
    }
    if (line->size() >= kMaxJsonlLineBytes) {
      return ResourceExhausted("longer than {} bytes", kMaxJsonlLineBytes);
    }
    *line += static_cast<char>(c);
  }

} catch (const std::exception& error) {  // the buffer throws what a stream would swallow

  return Unavailable("the input cannot be read: {}", error.what());
}

Result<const json::Value*> Member(const json::Value& line, const char* key) {
  const json::Value* member = line.Find(key);
  if (member == nullptr) {
    return InvalidArgument("no member \"{}\"; want one JSON object a line, {{\"{}\": …}}", key,
                           key);
  }
  return member;
}

Result<std::string> AnswerEncode(const Tokenizer& tokenizer,
                                 const TokenizeJsonlOptions& options,
                                 const json::Value& line) {
  FT_ASSIGN_OR_RETURN(const json::Value* text, Member(line, "text"));
  if (!text->is_string()) {
    return InvalidArgument("\"text\" is {}, want string", json::KindName(text->kind()));
  }
  FT_ASSIGN_OR_RETURN(
      const std::vector<int32_t> ids,
      tokenizer.Encode(text->as_string(), {.add_special_tokens = options.add_special_tokens}));
  std::string answer = "{\"ids\":[";
  for (size_t i = 0; i < ids.size(); ++i) {
    answer += fmt::format("{}{}", i == 0 ? "" : ",", ids[i]);
  }
  answer += "]}";
  return answer;
}

Result<std::string> AnswerDecode(const Tokenizer& tokenizer,
                                 const TokenizeJsonlOptions& options,
                                 const json::Value& line) {
  FT_ASSIGN_OR_RETURN(const json::Value* list, Member(line, "ids"));
  if (!list->is_array()) {
    return InvalidArgument("\"ids\" is {}, want array", json::KindName(list->kind()));
  }
  std::vector<int32_t> ids;
  ids.reserve(list->as_array().size());
  for (const json::Value& value : list->as_array()) {
    const std::optional<int64_t> id = value.ToInt64();
    if (!id || *id < 0 || *id > std::numeric_limits<int32_t>::max()) {
      return InvalidArgument(
          "\"ids\" holds {}, want integers from 0 on",
          value.is_number() ? value.as_number().text : json::KindName(value.kind()));
    }
    ids.push_back(static_cast<int32_t>(*id));
  }
  std::string answer = "{\"text\":";
  json::AppendQuoted(tokenizer.Decode(ids, {.skip_special_tokens = options.skip_special_tokens}),
                     &answer);
  answer += '}';
  return answer;
}

Result<std::string> Answer(const Tokenizer& tokenizer,
                           const TokenizeJsonlOptions& options,
                           const std::string& line) {
  Result<json::Value> value = json::Parse(line);
  if (!value.ok()) {
    return InvalidArgument("{}", value.status().message());
  }
  return options.decode ? AnswerDecode(tokenizer, options, *value)
                        : AnswerEncode(tokenizer, options, *value);
}

}  // namespace

Status TokenizeJsonl(const Tokenizer& tokenizer,
                     const TokenizeJsonlOptions& options,
                     std::istream* in,
                     std::ostream* out) {
  std::string line;
  for (size_t number = 1;; ++number) {
    const Result<bool> has_line = ReadLine(in, &line);
    if (!has_line.ok()) {
      return has_line.status().WithContext(fmt::format("line {}", number));
    }
    if (!*has_line) {
      break;
    }
    Result<std::string> answer = Answer(tokenizer, options, line);
    if (!answer.ok()) {
      out->flush();
      return answer.status().WithContext(fmt::format("line {}", number));
    }
    *answer += '\n';
    out->write(answer->data(), static_cast<std::streamsize>(answer->size()));
    if (!out->good()) {
      return Unavailable("line {}: the answer cannot be written", number);
    }
  }
  if (!out->flush()) {
    return Unavailable("the last answers cannot be written");
  }
  return Status();
}

}  // namespace ft::text
