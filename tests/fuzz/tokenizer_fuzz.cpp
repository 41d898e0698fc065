// Fuzzes the tokenizer both ways. Input that begins with '{' is a tokenizer.json, which is loaded
// and used on a few texts. Other input is a text (and its bytes are ids) for two fixed tokenizers,
// where encoding must lose nothing and streaming must agree with decoding.
// links: text
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/utf8.h"
#include "core/json/write.h"
#include "core/text/tokenizer/byte_level.h"
#include "core/text/tokenizer/tokenizer.h"

namespace {

using ft::text::StreamDecoder;
using ft::text::Tokenizer;

constexpr const char* kByteLevelParts = R"json({
  "added_tokens": [
    {"id": 300, "content": "<|end|>", "special": true},
    {"id": 301, "content": "ab", "special": false, "normalized": false, "single_word": true},
    {"id": 302, "content": " x", "special": false, "normalized": true}],
  "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
    {"type": "Split", "behavior": "Isolated", "invert": false, "pattern": {"Regex":
      "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{M}&&[^\\p{Han}]]*[\\p{Ll}\\p{M}]+(?i:'s|'ll)?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
    {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]},
  "decoder": {"type": "ByteLevel"},
  "model": {"type": "BPE", "merges": ["Ġ Ġ", "ĠĠ ĠĠ", "a a", "aa a", "Ã ©"], "vocab": {)json";

constexpr const char* kFallbackParts = R"json({
  "added_tokens": [
    {"id": 0, "content": "<unk>", "special": true},
    {"id": 1, "content": "<s>", "special": true, "lstrip": true, "rstrip": true}],
  "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"},
    {"type": "Prepend", "prepend": "▁"},
    {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
  "decoder": {"type": "Sequence", "decoders": [
    {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"},
    {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
  "model": {"type": "BPE", "byte_fallback": true, "unk_token": "<unk>", "fuse_unk": true,
    "merges": [["▁", "a"], ["a", "b"], ["▁", "▁"]],
    "vocab": {"<unk>": 0, "<s>": 1, "▁": 2, "a": 3, "b": 4, "▁a": 5, "ab": 6, "▁▁": 7)json";

std::unique_ptr<Tokenizer> LoadOrAbort(const std::string& json) {
  auto tokenizer = Tokenizer::FromJson(json);
  if (!tokenizer.ok()) {
    std::abort();
  }
  return *std::move(tokenizer);
}

std::unique_ptr<Tokenizer> MakeByteLevel() {
  std::string json = kByteLevelParts;
  for (int byte = 0; byte < 256; ++byte) {
    std::string letter;
    ft::text::AppendByteLevel(std::string(1, static_cast<char>(byte)), &letter);
    ft::json::AppendQuoted(letter, &json);
    json += ":" + std::to_string(byte) + ",";
  }
  return LoadOrAbort(json + R"("ĠĠ":256,"ĠĠĠĠ":257,"aa":258,"aaa":259,"Ã©":260}}})");
}

std::unique_ptr<Tokenizer> MakeFallback() {
  std::string json = kFallbackParts;
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  for (size_t byte = 0; byte < 256; ++byte) {
    json += ",\"<0x";
    json += kDigits[byte / 16];
    json += kDigits[byte % 16];
    json += ">\":" + std::to_string(8 + byte);
  }
  return LoadOrAbort(json + "}}}");
}

std::string Stream(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  StreamDecoder decoder(&tokenizer);
  std::string text;
  for (const int32_t id : ids) {
    const std::string piece = decoder.Push(id);
    if (!ft::IsValidUtf8(piece)) {
      std::abort();
    }
    text += piece;
  }
  return text + decoder.Finish();
}

void UseLoaded(std::string_view json) {
  const auto loaded = Tokenizer::FromJson(json);
  if (!loaded.ok()) {
    return;
  }
  const Tokenizer& tokenizer = **loaded;
  for (const char* text :
       {"", "a", "Hello  world's 123\n\n", "é漢字\u0301 \u3000<s>ab", "▁▁ aaaa"}) {
    const auto ids = tokenizer.Encode(text, {.add_special_tokens = true});
    if (ids.ok()) {
      const std::string decoded = tokenizer.Decode(*ids, {.skip_special_tokens = true});
      if (!ft::IsValidUtf8(decoded) || !ft::IsValidUtf8(Stream(tokenizer, *ids))) {
        std::abort();
      }
    }
  }
  for (int32_t id = -1; id < 300; ++id) {
    static_cast<void>(tokenizer.TokenBytes(id));
  }
}

void UseText(std::string_view bytes) {
  static const std::unique_ptr<Tokenizer> byte_level = MakeByteLevel();
  static const std::unique_ptr<Tokenizer> fallback = MakeFallback();
  const std::string text = ft::ReplaceInvalidUtf8(bytes);
  if (byte_level->Encode(bytes).ok() != (text == bytes)) {
    std::abort();
  }
  const auto ids = byte_level->Encode(text);
  if (!ids.ok() || byte_level->Decode(*ids) != text || Stream(*byte_level, *ids) != text) {
    std::abort();
  }
  const auto fallback_ids = fallback->Encode(text);
  if (!fallback_ids.ok() || fallback->Decode(*fallback_ids) != Stream(*fallback, *fallback_ids)) {
    std::abort();
  }
  std::vector<int32_t> any_ids;
  for (size_t i = 0; i + 1 < bytes.size(); i += 2) {
    any_ids.push_back(static_cast<uint8_t>(bytes[i]) + 256 * (bytes[i + 1] & 1));
  }
  if (byte_level->Decode(any_ids) != Stream(*byte_level, any_ids) ||
      !ft::IsValidUtf8(Stream(*fallback, any_ids)) || !ft::IsValidUtf8(fallback->Decode(any_ids))) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (!input.empty() && input.front() == '{') {
    UseLoaded(input);
  } else {
    UseText(input);
  }
  return 0;
}
