#include "core/text/tokenizer/token_decoder.h"

#include <algorithm>
#include <utility>

#include "core/base/errors.h"
#include "core/base/utf8.h"
#include "core/text/tokenizer/byte_level.h"
#include "core/text/tokenizer/json_fields.h"

namespace ft::text {
namespace {

constexpr int kMaxSequenceDepth = 8;
constexpr size_t kMaxReplacements = 16;
constexpr int64_t kMaxStrip = 1024;
constexpr std::string_view kReplacementUtf8 = "\xEF\xBF\xBD";

void ReplaceAll(std::string_view from, std::string_view to, std::string* text) {
  for (size_t at = text->find(from); at != std::string::npos; at = text->find(from, at)) {
    text->replace(at, from.size(), to);
    at += to.size();
  }
}

std::optional<uint32_t> HexDigit(char c) {
  const char lower = static_cast<char>(c | 0x20);
  if (c >= '0' && c <= '9') {
    return static_cast<uint32_t>(c - '0');
  }
  if (lower >= 'a' && lower <= 'f') {
    return static_cast<uint32_t>(lower - 'a' + 10);
  }
  return std::nullopt;
}

// Bytes at the end of `bytes` that wait for more. ED A0..BF, half of a surrogate in UTF-8's shape,
// is broken already, but its three U+FFFD go out together, as Python's incremental decoder has it.
size_t WaitingBytes(std::string_view bytes) {
  const size_t size = bytes.size();
  if (size >= 2 && bytes[size - 2] == '\xED' && static_cast<uint8_t>(bytes[size - 1]) >= 0xA0 &&
      static_cast<uint8_t>(bytes[size - 1]) <= 0xBF) {
    return 2;
  }
  return IncompleteUtf8Suffix(bytes);
}

bool IsOneCharacter(std::string_view text) {
  size_t at = 0;
  return !text.empty() && (DecodeUtf8(text, &at), at == text.size());
}

}  // namespace

Result<TokenDecoder> TokenDecoder::FromJson(const json::Value& decoder) {
  TokenDecoder result;
  result.joins_with_spaces_ = decoder.is_null();
  FT_RETURN_IF_ERROR(result.AddParts(decoder, 0));
  return result;
}

Status TokenDecoder::AddParts(const json::Value& decoder, int depth) {
  FT_ASSIGN_OR_RETURN(const std::string type, TypeOf(decoder));
  if (depth > kMaxSequenceDepth) {
    return ResourceExhausted("too many steps");
  }
  if (type.empty()) {
    return Status();
  }
  if (type == "Sequence") {
    FT_ASSIGN_OR_RETURN(const json::Value* members,
                        RequireMember(decoder, "decoders", json::Kind::kArray));
    for (const json::Value& member : members->as_array()) {
      FT_RETURN_IF_ERROR(AddParts(member, depth + 1));
    }
    return Status();
  }
  return AddPart(type, decoder);
}

Status TokenDecoder::AddPart(const std::string& type, const json::Value& decoder) {
  const bool is_open = !is_byte_level_ && !is_metaspace_ && strip_content_.empty();
  const bool is_token_stage = is_open && !has_byte_fallback_ && !is_fused_;
  if (type == "ByteLevel" && is_token_stage && replacements_.empty()) {
    is_byte_level_ = true;
  } else if (type == "Metaspace" && is_token_stage && replacements_.empty()) {
    return AddMetaspace(decoder);
  } else if (type == "Replace" && is_token_stage) {
    return AddReplace(decoder);
  } else if (type == "ByteFallback" && is_token_stage) {
    has_byte_fallback_ = true;
  } else if (type == "Fuse" && strip_content_.empty()) {
    is_fused_ = true;
  } else if (type == "Strip" && is_open && is_fused_) {
    return AddStrip(decoder);
  } else {
    for (const char* known :
         {"ByteLevel", "Metaspace", "Replace", "ByteFallback", "Fuse", "Strip"}) {
      if (type == known) {
        return Unimplemented(
            "{} in this place; ft knows Replace, ByteFallback, Fuse, Strip in "
            "this order, or ByteLevel or Metaspace alone",
            type);
      }
    }
    return Unimplemented(
        "type \"{}\"; ft knows ByteLevel, Metaspace, Replace, ByteFallback, "
        "Fuse, Strip, Sequence",
        type);
  }
  return Status();
}

Status TokenDecoder::AddReplace(const json::Value& decoder) {
  FT_ASSIGN_OR_RETURN(const json::Value* pattern,
                      RequireMember(decoder, "pattern", json::Kind::kObject));
  const json::Value* literal = pattern->Find("String");
  if (literal == nullptr || !literal->is_string() || literal->as_string().empty()) {
    return Unimplemented("Replace with a pattern that is no string, or an empty one");
  }
  FT_ASSIGN_OR_RETURN(std::string content, RequireString(decoder, "content"));
  if (replacements_.size() >= kMaxReplacements) {
    return ResourceExhausted("more than {} Replace", kMaxReplacements);
  }
  replacements_.push_back({literal->as_string(), std::move(content)});
  return Status();
}

Status TokenDecoder::AddStrip(const json::Value& decoder) {
  FT_ASSIGN_OR_RETURN(strip_content_, RequireString(decoder, "content"));
  if (!IsOneCharacter(strip_content_)) {
    return DataLoss("Strip: content \"{}\", want one character", strip_content_);
  }
  for (const char* end : {"start", "stop"}) {
    FT_ASSIGN_OR_RETURN(const json::Value* count, RequireMember(decoder, end, json::Kind::kNumber));
    const std::optional<int64_t> value = count->ToInt64();
    if (!value || *value < 0 || *value > kMaxStrip) {
      return DataLoss("Strip: {} is {}", end, count->as_number().text);
    }
    if (end == std::string_view("stop") && *value != 0) {
      return Unimplemented("Strip with stop {}", *value);
    }
    strip_start_ = std::max(strip_start_, *value);
  }
  return Status();
}

Status TokenDecoder::AddMetaspace(const json::Value& decoder) {
  FT_ASSIGN_OR_RETURN(std::string replacement, RequireString(decoder, "replacement"));
  if (!IsOneCharacter(replacement)) {
    return DataLoss("Metaspace: replacement \"{}\", want one character", replacement);
  }
  FT_ASSIGN_OR_RETURN(const std::string name, StringOr(decoder, "prepend_scheme", "always"));
  FT_ASSIGN_OR_RETURN(const PrependScheme scheme, ReadPrependScheme(name));
  replacements_.push_back({std::move(replacement), " "});
  is_metaspace_ = true;
  drops_first_metaspace_ = scheme != PrependScheme::kNever;
  return Status();
}

// `<0x0A>`, read as Rust reads the number: "+A" is one too.
std::optional<uint8_t> TokenDecoder::ByteOfFallback(std::string_view token) const {
  if (!has_byte_fallback_ || token.size() != 6 || token.substr(0, 3) != "<0x" || token[5] != '>') {
    return std::nullopt;
  }
  const std::optional<uint32_t> high = token[3] == '+' ? 0 : HexDigit(token[3]);
  const std::optional<uint32_t> low = HexDigit(token[4]);
  if (!high || !low) {
    return std::nullopt;
  }
  return static_cast<uint8_t>(*high * 16 + *low);
}

std::string TokenDecoder::Replaced(std::string_view token) const {
  std::string text(token);
  for (const Replacement& replacement : replacements_) {
    ReplaceAll(replacement.from, replacement.to, &text);
  }
  return text;
}

std::string TokenDecoder::BytesOf(std::string_view token) const {
  if (is_byte_level_) {
    return BytesOfByteLevelToken(token);
  }
  std::string text = Replaced(token);
  if (const std::optional<uint8_t> byte = ByteOfFallback(text)) {
    return std::string(1, static_cast<char>(*byte));
  }
  return text;
}

DecodeState::DecodeState(const TokenDecoder* decoder, Runs runs)
    : decoder_(decoder), runs_(runs), strip_left_(decoder->strip_start_) {}

void DecodeState::Push(std::string_view token, std::string* out) {
  if (decoder_->is_byte_level_) {
    PushByteLevel(token, out);
  } else {
    PushText(token, out);
  }
  is_first_ = false;
}

void DecodeState::PushByteLevel(std::string_view token, std::string* out) {
  pending_ += BytesOfByteLevelToken(token);
  const size_t num_final = pending_.size() - WaitingBytes(pending_);
  *out += ReplaceInvalidUtf8(std::string_view(pending_).substr(0, num_final));
  pending_.erase(0, num_final);
}

void DecodeState::PushText(std::string_view token, std::string* out) {
  std::string text;
  if (is_first_ && decoder_->drops_first_metaspace_) {
    text = token;
    ReplaceAll(decoder_->replacements_[0].from, "", &text);
  } else {
    text = decoder_->Replaced(token);
  }
  if (const std::optional<uint8_t> byte = decoder_->ByteOfFallback(text)) {
    pending_ += static_cast<char>(*byte);
    if (runs_ == Runs::kCharacters) {
      TakeCharacters(out);
    }
    return;
  }
  EndRun(out);
  if (decoder_->joins_with_spaces_ && !is_first_) {
    Emit(" ", out);
  }
  Emit(text, out);
}

// Sends the whole characters at the front of the pending bytes, and U+FFFD for each byte there that
// can no longer be part of one.
void DecodeState::TakeCharacters(std::string* out) {
  const size_t num_final = pending_.size() - IncompleteUtf8Suffix(pending_);
  for (size_t at = 0; at < num_final;) {
    const size_t start = at;
    bool is_valid = false;
    static_cast<void>(DecodeUtf8(pending_, &at, &is_valid));
    if (is_valid) {
      Emit(std::string_view(pending_).substr(start, at - start), out);
      continue;
    }
    for (size_t i = start; i < at; ++i) {
      Emit(kReplacementUtf8, out);
    }
  }
  pending_.erase(0, num_final);
}

void DecodeState::EndRun(std::string* out) {
  if (pending_.empty()) {
    return;
  }
  if (IsValidUtf8(pending_)) {
    Emit(pending_, out);
  } else {
    for (size_t i = 0; i < pending_.size(); ++i) {
      Emit(kReplacementUtf8, out);
    }
  }
  pending_.clear();
}

void DecodeState::Emit(std::string_view text, std::string* out) {
  while (strip_left_ > 0 && !text.empty()) {
    const std::string& content = decoder_->strip_content_;
    if (text.substr(0, content.size()) != content) {
      strip_left_ = 0;
      break;
    }
    text.remove_prefix(content.size());
    --strip_left_;
  }
  *out += text;
}

void DecodeState::Finish(std::string* out) {
  if (decoder_->is_byte_level_) {
    *out += ReplaceInvalidUtf8(pending_);
    pending_.clear();
  } else {
    EndRun(out);
  }
  is_first_ = true;
  strip_left_ = decoder_->strip_start_;
}

}  // namespace ft::text
