#include "core/text/render_jsonl.h"

#include <cstdio>
#include <optional>
#include <string>

#include "core/base/errors.h"
#include "core/json/parse.h"
#include "core/json/write.h"

namespace ft::text {
namespace {

// "2025-03-07T09:05:03", with or without a fraction.
std::optional<std::tm> ParseTime(const std::string& text) {
  std::tm time = {};
  char separator = '\0';
  const int count = std::sscanf(
      text.c_str(), "%4d-%2d-%2d%c%2d:%2d:%2d", &time.tm_year,  // NOLINT: checked below
      &time.tm_mon, &time.tm_mday, &separator, &time.tm_hour, &time.tm_min, &time.tm_sec);
  const auto in = [](int value, int low, int high) { return value >= low && value <= high; };
  if (count != 7 || (separator != 'T' && separator != ' ') || !in(time.tm_year, 1, 9999) ||
      !in(time.tm_mon, 1, 12) || !in(time.tm_mday, 1, 31) || !in(time.tm_hour, 0, 23) ||
      !in(time.tm_min, 0, 59) || !in(time.tm_sec, 0, 59)) {
    return std::nullopt;
  }
  time.tm_year -= 1900;
  time.tm_mon -= 1;
  return time;
}

Result<json::Value> Answer(const json::Value& line, const RenderLimits& limits, size_t number) {
  const json::Value* source = line.Find("template");
  if (source == nullptr || !source->is_string()) {
    return InvalidArgument("line {}: needs a member \"template\" with text", number);
  }
  RenderOptions options;
  options.limits = limits;
  if (const json::Value* now = line.Find("now"); now != nullptr && !now->is_null()) {
    options.now = now->is_string() ? ParseTime(now->as_string()) : std::nullopt;
    if (!options.now) {
      return InvalidArgument("line {}: \"now\" must be a time such as \"2025-03-07T09:05:03\"",
                             number);
    }
  }
  const json::Value* context = line.Find("context");
  const json::Value empty = json::Value::MakeObject();
  const json::Value& variables = context == nullptr || context->is_null() ? empty : *context;
  if (!variables.is_object()) {
    return InvalidArgument("line {}: \"context\" must be an object, not {}", number,
                           json::KindName(variables.kind()));
  }
  json::Value answer = json::Value::MakeObject();
  const Result<ChatTemplate> parsed = ChatTemplate::Parse(source->as_string());
  if (!parsed.ok()) {
    answer.Set("error", parsed.status().message());
    return answer;
  }
  Result<std::string> text = parsed->Render(variables, options);
  if (text.ok()) {
    answer.Set("text", *std::move(text));
  } else {
    answer.Set("error", text.status().message());
  }
  return answer;
}

}  // namespace

Status RenderJsonl(std::istream* in, std::ostream* out, const RenderLimits& limits) {
  std::string line;
  for (size_t number = 1; std::getline(*in, line, '\n'); ++number) {
    if (line.empty() && in->eof()) {
      break;
    }
    json::ParseOptions options;
    options.duplicate_keys = json::ParseOptions::DuplicateKeys::kLastWins;
    options.max_depth = 512;
    const Result<json::Value> request = json::Parse(line, options);
    if (!request.ok()) {
      return InvalidArgument("line {}: {}", number, request.status().message());
    }
    if (!request->is_object()) {
      return InvalidArgument("line {}: must be an object, not {}", number,
                             json::KindName(request->kind()));
    }
    FT_ASSIGN_OR_RETURN(const json::Value answer, Answer(*request, limits, number));
    *out << json::Write(answer) << '\n';
    if (!out->flush()) {
      return Unavailable("the answer to line {} cannot be written", number);
    }
  }
  if (in->bad()) {
    return Unavailable("the input cannot be read");
  }
  return {};
}

}  // namespace ft::text
