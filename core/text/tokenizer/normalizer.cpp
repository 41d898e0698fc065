#include "core/text/tokenizer/normalizer.h"

#include <utility>

#include "core/base/errors.h"
#include "core/text/tokenizer/json_fields.h"

namespace ft::text {
namespace {

constexpr int kMaxSequenceDepth = 8;
constexpr size_t kMaxSteps = 64;

// Replaces each of `matches` in `text`.
std::string ReplaceMatches(std::string_view text,
                           const std::vector<TextSpan>& matches,
                           std::string_view content) {
  std::string out;
  size_t at = 0;
  for (const TextSpan& match : matches) {
    out += text.substr(at, match.begin - at);
    out += content;
    at = match.end;
  }
  out += text.substr(at);
  return out;
}

size_t ReplacedBytes(std::string_view text,
                     const std::vector<TextSpan>& matches,
                     std::string_view content) {
  size_t bytes = text.size() + matches.size() * content.size();
  for (const TextSpan& match : matches) {
    bytes -= match.end - match.begin;
  }
  return bytes;
}

}  // namespace

Result<SplitRegex> ReadPattern(const json::Value& pattern) {
  if (pattern.is_object() && pattern.as_object().size() == 1) {
    const json::Member& member = pattern.as_object()[0];
    if (member.key == "String" && member.value.is_string()) {
      if (member.value.as_string().empty()) {
        return Unimplemented("an empty string as pattern");
      }
      return SplitRegex::Literal(member.value.as_string());
    }
    if (member.key == "Regex" && member.value.is_string()) {
      return SplitRegex::Compile(member.value.as_string());
    }
  }
  return DataLoss("\"pattern\" must be {{\"String\": …}} or {{\"Regex\": …}}");
}

Result<Normalizer> Normalizer::FromJson(const json::Value& normalizer) {
  Normalizer result;
  FT_RETURN_IF_ERROR(result.AddSteps(normalizer, 0));
  return result;
}

Status Normalizer::AddReplace(const json::Value& normalizer) {
  FT_ASSIGN_OR_RETURN(const json::Value* pattern,
                      RequireMember(normalizer, "pattern", json::Kind::kObject));
  FT_ASSIGN_OR_RETURN(SplitRegex regex, ReadPattern(*pattern));
  FT_ASSIGN_OR_RETURN(std::string content, RequireString(normalizer, "content"));
  steps_.emplace_back(Replace{std::move(regex), std::move(content)});
  return Status();
}

Status Normalizer::AddSteps(const json::Value& normalizer, int depth) {
  FT_ASSIGN_OR_RETURN(const std::string type, TypeOf(normalizer));
  if (depth > kMaxSequenceDepth || steps_.size() > kMaxSteps) {
    return ResourceExhausted("too many steps");
  }
  if (type.empty()) {
    return Status();
  }
  if (type == "Sequence") {
    FT_ASSIGN_OR_RETURN(const json::Value* members,
                        RequireMember(normalizer, "normalizers", json::Kind::kArray));
    for (const json::Value& member : members->as_array()) {
      FT_RETURN_IF_ERROR(AddSteps(member, depth + 1));
    }
    return Status();
  }
  if (type == "Replace") {
    return AddReplace(normalizer);
  }
  if (type == "Prepend") {
    FT_ASSIGN_OR_RETURN(std::string content, RequireString(normalizer, "prepend"));
    steps_.emplace_back(Prepend{std::move(content)});
    return Status();
  }
  static constexpr std::pair<const char*, NormalizationForm> kForms[] = {
      {"NFC", NormalizationForm::kNfc},
      {"NFD", NormalizationForm::kNfd},
      {"NFKC", NormalizationForm::kNfkc},
      {"NFKD", NormalizationForm::kNfkd}};
  for (const auto& [name, form] : kForms) {
    if (type == name) {
      FT_ASSIGN_OR_RETURN(UnicodeNormalizer unicode, UnicodeNormalizer::Create(form));
      steps_.emplace_back(std::move(unicode));
      return Status();
    }
  }
  return Unimplemented("type \"{}\"; ft knows NFC, NFD, NFKC, NFKD, Replace, Prepend, Sequence",
                       type);
}

Result<std::string> Normalizer::Normalize(std::string_view text,
                                          size_t max_bytes,
                                          RegexScratch* scratch) const {
  std::string current(text);
  std::vector<TextSpan> matches;
  for (const Step& step : steps_) {
    if (const auto* unicode = std::get_if<UnicodeNormalizer>(&step)) {
      FT_ASSIGN_OR_RETURN(current, unicode->Normalize(current));
    } else if (const auto* prepend = std::get_if<Prepend>(&step)) {
      if (!current.empty()) {
        current.insert(0, prepend->content);
      }
    } else if (const auto* replace = std::get_if<Replace>(&step)) {
      FT_RETURN_IF_ERROR(replace->pattern.Find(current, scratch, &matches));
      if (ReplacedBytes(current, matches, replace->content) > max_bytes) {
        return ResourceExhausted("the tokenizer's normalizer makes more than {} bytes of this text",
                                 max_bytes);
      }
      current = ReplaceMatches(current, matches, replace->content);
    }
    if (current.size() > max_bytes) {
      return ResourceExhausted("the tokenizer's normalizer makes more than {} bytes of this text",
                               max_bytes);
    }
  }
  return current;
}

}  // namespace ft::text
