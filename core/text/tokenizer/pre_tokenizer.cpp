#include "core/text/tokenizer/pre_tokenizer.h"

#include <algorithm>
#include <utility>

#include "core/base/errors.h"
#include "core/base/utf8.h"
#include "core/text/tokenizer/byte_level.h"
#include "core/text/tokenizer/json_fields.h"
#include "core/text/tokenizer/normalizer.h"

namespace ft::text {
namespace {

constexpr int kMaxSequenceDepth = 8;
constexpr size_t kMaxSteps = 64;

// The pattern of ByteLevel with use_regex. Source: GPT-2's encoder.py.
constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

struct MarkedSpan {
  TextSpan span;
  bool is_match = false;
};

Result<SplitBehavior> ReadBehavior(const std::string& text) {
  static constexpr std::pair<const char*, SplitBehavior> kNames[] = {
      {"Removed", SplitBehavior::kRemoved},
      {"Isolated", SplitBehavior::kIsolated},
      {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
      {"MergedWithNext", SplitBehavior::kMergedWithNext},
      {"Contiguous", SplitBehavior::kContiguous}};
  for (const auto& [name, behavior] : kNames) {
    if (text == name) {
      return behavior;
    }
  }
  return DataLoss("Split: behavior \"{}\"", text);
}

// All of a text of `size` bytes: matches, and what is between them.
void MarkAll(const std::vector<TextSpan>& matches,
             uint32_t size,
             bool invert,
             std::vector<MarkedSpan>* marked) {
  marked->clear();
  uint32_t at = 0;
  for (const TextSpan& match : matches) {
    if (match.begin > at) {
      marked->push_back({{at, match.begin}, invert});
    }
    marked->push_back({match, !invert});
    at = match.end;
  }
  if (at < size) {
    marked->push_back({{at, size}, invert});
  }
}

// Joins spans as the behaviours other than Removed and Isolated say.
std::vector<MarkedSpan> Join(std::vector<MarkedSpan> marked, SplitBehavior behavior) {
  const bool is_backward = behavior == SplitBehavior::kMergedWithNext;
  if (is_backward) {
    std::reverse(marked.begin(), marked.end());
  }
  std::vector<MarkedSpan> joined;
  bool was_match = false;
  for (const MarkedSpan& next : marked) {
    const bool is_joined = behavior == SplitBehavior::kContiguous ? next.is_match == was_match
                                                                  : next.is_match && !was_match;
    was_match = next.is_match;
    if (!is_joined || joined.empty()) {
      joined.push_back({next.span, false});
    } else if (is_backward) {
      joined.back().span.begin = next.span.begin;
    } else {
      joined.back().span.end = next.span.end;
    }
  }
  if (is_backward) {
    std::reverse(joined.begin(), joined.end());
  }
  return joined;
}

}  // namespace

Result<PrependScheme> ReadPrependScheme(const std::string& text) {
  if (text == "first") {
    return PrependScheme::kFirst;
  }
  if (text == "never") {
    return PrependScheme::kNever;
  }
  if (text == "always") {
    return PrependScheme::kAlways;
  }
  return DataLoss("Metaspace: prepend_scheme \"{}\"", text);
}

Result<PreTokenizer> PreTokenizer::FromJson(const json::Value& pre_tokenizer) {
  PreTokenizer result;
  FT_RETURN_IF_ERROR(result.AddSteps(pre_tokenizer, 0));
  return result;
}

Status PreTokenizer::AddSteps(const json::Value& pre_tokenizer, int depth) {
  FT_ASSIGN_OR_RETURN(const std::string type, TypeOf(pre_tokenizer));
  if (depth > kMaxSequenceDepth || steps_.size() > kMaxSteps) {
    return ResourceExhausted("too many steps");
  }
  if (type.empty()) {
    return Status();
  }
  if (type == "Sequence") {
    FT_ASSIGN_OR_RETURN(const json::Value* members,
                        RequireMember(pre_tokenizer, "pretokenizers", json::Kind::kArray));
    for (const json::Value& member : members->as_array()) {
      FT_RETURN_IF_ERROR(AddSteps(member, depth + 1));
    }
    return Status();
  }
  if (has_byte_level_) {
    return Unimplemented("{} behind ByteLevel", type);
  }
  if (type == "Split") {
    return AddSplit(pre_tokenizer);
  }
  if (type == "ByteLevel") {
    return AddByteLevel(pre_tokenizer);
  }
  if (type == "Metaspace") {
    return AddMetaspace(pre_tokenizer);
  }
  if (type == "Digits") {
    return AddDigits(pre_tokenizer);
  }
  return Unimplemented("type \"{}\"; ft knows Split, ByteLevel, Metaspace, Digits, Sequence", type);
}

Status PreTokenizer::AddSplit(const json::Value& pre_tokenizer) {
  FT_ASSIGN_OR_RETURN(const json::Value* pattern,
                      RequireMember(pre_tokenizer, "pattern", json::Kind::kObject));
  FT_ASSIGN_OR_RETURN(SplitRegex regex, ReadPattern(*pattern));
  FT_ASSIGN_OR_RETURN(const std::string behavior_name, RequireString(pre_tokenizer, "behavior"));
  FT_ASSIGN_OR_RETURN(const SplitBehavior behavior, ReadBehavior(behavior_name));
  FT_ASSIGN_OR_RETURN(const bool invert, BoolOr(pre_tokenizer, "invert", false));
  steps_.emplace_back(SplitStep{std::move(regex), behavior, invert});
  return Status();
}

Status PreTokenizer::AddByteLevel(const json::Value& pre_tokenizer) {
  FT_ASSIGN_OR_RETURN(const bool add_prefix_space, BoolOr(pre_tokenizer, "add_prefix_space", true));
  FT_ASSIGN_OR_RETURN(const bool use_regex, BoolOr(pre_tokenizer, "use_regex", true));
  if (add_prefix_space) {
    steps_.emplace_back(PrefixSpaceStep{});
  }
  if (use_regex) {
    FT_ASSIGN_OR_RETURN(SplitRegex regex, SplitRegex::Compile(kGpt2Pattern));
    steps_.emplace_back(SplitStep{std::move(regex), SplitBehavior::kIsolated, false});
  }
  steps_.emplace_back(ByteLevelStep{});
  has_byte_level_ = true;
  return Status();
}

Status PreTokenizer::AddMetaspace(const json::Value& pre_tokenizer) {
  MetaspaceStep step;
  FT_ASSIGN_OR_RETURN(step.replacement, RequireString(pre_tokenizer, "replacement"));
  size_t after = 0;
  if (step.replacement.empty() ||
      (DecodeUtf8(step.replacement, &after), after != step.replacement.size())) {
    return DataLoss("Metaspace: replacement \"{}\", want one character", step.replacement);
  }
  FT_ASSIGN_OR_RETURN(const std::string scheme,
                      StringOr(pre_tokenizer, "prepend_scheme", "always"));
  FT_ASSIGN_OR_RETURN(step.prepend_scheme, ReadPrependScheme(scheme));
  FT_ASSIGN_OR_RETURN(const bool add_prefix_space, BoolOr(pre_tokenizer, "add_prefix_space", true));
  if (!add_prefix_space && step.prepend_scheme != PrependScheme::kNever) {
    return DataLoss("Metaspace: add_prefix_space is false, but prepend_scheme is \"{}\"", scheme);
  }
  FT_ASSIGN_OR_RETURN(const bool split, BoolOr(pre_tokenizer, "split", true));
  const std::string replacement = step.replacement;
  steps_.emplace_back(std::move(step));
  if (split) {
    steps_.emplace_back(
        SplitStep{SplitRegex::Literal(replacement), SplitBehavior::kMergedWithNext, false});
  }
  return Status();
}

Status PreTokenizer::AddDigits(const json::Value& pre_tokenizer) {
  FT_ASSIGN_OR_RETURN(const bool individual, BoolOr(pre_tokenizer, "individual_digits", false));
  FT_ASSIGN_OR_RETURN(SplitRegex regex, SplitRegex::Compile("\\p{N}"));
  steps_.emplace_back(SplitStep{
      std::move(regex), individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous, false});
  return Status();
}

Status PreTokenizer::RunSplit(const SplitStep& step, RegexScratch* scratch, PieceList* list) {
  std::vector<std::string_view> pieces;
  std::vector<TextSpan> matches;
  std::vector<MarkedSpan> marked;
  for (const std::string_view piece : list->pieces) {
    FT_RETURN_IF_ERROR(step.pattern.Find(piece, scratch, &matches));
    MarkAll(matches, static_cast<uint32_t>(piece.size()), step.invert, &marked);
    const bool is_removed = step.behavior == SplitBehavior::kRemoved;
    if (!is_removed && step.behavior != SplitBehavior::kIsolated) {
      marked = Join(std::move(marked), step.behavior);
    }
    for (const MarkedSpan& part : marked) {
      if (part.span.begin < part.span.end && !(is_removed && part.is_match)) {
        pieces.push_back(piece.substr(part.span.begin, part.span.end - part.span.begin));
      }
    }
  }
  list->pieces = std::move(pieces);
  return Status();
}

// `start`: the piece, if any, that begins the whole text.
void PreTokenizer::RunMetaspace(const MetaspaceStep& step,
                                std::string_view start,
                                PieceList* list) {
  for (std::string_view& piece : list->pieces) {
    std::string& text = list->texts.emplace_back();
    const bool is_start = piece.data() == start.data();
    for (const char c : piece) {
      if (c == ' ') {
        text += step.replacement;
      } else {
        text += c;
      }
    }
    const bool is_wanted = step.prepend_scheme == PrependScheme::kAlways ||
                           (step.prepend_scheme == PrependScheme::kFirst && is_start);
    if (is_wanted && text.compare(0, step.replacement.size(), step.replacement) != 0) {
      text.insert(0, step.replacement);
    }
    piece = text;
  }
}

Status PreTokenizer::Split(std::string_view text,
                           bool is_at_start,
                           RegexScratch* scratch,
                           PieceList* list) const {
  list->pieces.assign(text.empty() ? 0 : 1, text);
  list->texts.clear();
  for (const Step& step : steps_) {
    if (const auto* split = std::get_if<SplitStep>(&step)) {
      FT_RETURN_IF_ERROR(RunSplit(*split, scratch, list));
    } else if (const auto* metaspace = std::get_if<MetaspaceStep>(&step)) {
      RunMetaspace(*metaspace, is_at_start ? text : std::string_view(), list);
    } else if (std::holds_alternative<PrefixSpaceStep>(step)) {
      for (std::string_view& piece : list->pieces) {
        if (piece.front() != ' ') {
          piece = list->texts.emplace_back(" " + std::string(piece));
        }
      }
    } else {
      // One text for all pieces: a deque entry per word would cost more than its merges.
      size_t num_bytes = 0;
      for (const std::string_view piece : list->pieces) {
        num_bytes += piece.size();
      }
      std::string& mapped = list->texts.emplace_back();
      mapped.reserve(num_bytes * 2);
      for (std::string_view& piece : list->pieces) {
        const size_t begin = mapped.size();
        AppendByteLevel(piece, &mapped);
        piece = std::string_view(mapped).substr(begin);
      }
    }
  }
  return Status();
}

}  // namespace ft::text
