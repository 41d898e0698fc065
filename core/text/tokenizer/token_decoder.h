// TokenDecoder: the `decoder` of tokenizer.json, and DecodeState: one text being decoded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/json/value.h"
#include "core/text/tokenizer/pre_tokenizer.h"

namespace ft::text {

/// How tokens become text. Immutable.
class TokenDecoder {
 public:
  /// Null (tokens joined by spaces), ByteLevel, Metaspace, and in this order, each left out or not:
  /// Replace (of strings), ByteFallback, Fuse, Strip (at the start, behind Fuse); Sequence.
  /// Errors: kUnimplemented: another type or order, by name; kDataLoss: broken.
  static Result<TokenDecoder> FromJson(const json::Value& decoder);

  /// The bytes that a token adds to a text, wherever it stands.
  std::string BytesOf(std::string_view token) const;

 private:
  friend class DecodeState;

  struct Replacement {
    std::string from;
    std::string to;
  };

  Status AddParts(const json::Value& decoder, int depth);
  Status AddPart(const std::string& type, const json::Value& decoder);
  Status AddReplace(const json::Value& decoder);
  Status AddStrip(const json::Value& decoder);
  Status AddMetaspace(const json::Value& decoder);
  std::optional<uint8_t> ByteOfFallback(std::string_view token) const;
  std::string Replaced(std::string_view token) const;

  bool joins_with_spaces_ = false;
  bool is_byte_level_ = false;
  bool is_metaspace_ = false;
  bool drops_first_metaspace_ = false;  // the first token's replacement characters are no spaces
  bool has_byte_fallback_ = false;
  bool is_fused_ = false;
  std::vector<Replacement> replacements_;
  std::string strip_content_;  // one character
  int64_t strip_start_ = 0;    // characters
};

/// Tokens in, text out as soon as it is final. One thread.
class DecodeState {
 public:
  enum class Runs {
    kWhole,      ///< a run of fallback bytes waits for its end and is valid or not as a whole
    kCharacters  ///< whole characters of a run go out at once
  };

  /// `decoder` must outlive this.
  DecodeState(const TokenDecoder* decoder, Runs runs);

  /// Appends what is final with `token` to `*out`.
  void Push(std::string_view token, std::string* out);

  /// Appends what is left, and starts anew.
  void Finish(std::string* out);

 private:
  void PushByteLevel(std::string_view token, std::string* out);
  void PushText(std::string_view token, std::string* out);
  void TakeCharacters(std::string* out);
  void EndRun(std::string* out);
  void Emit(std::string_view text, std::string* out);

  const TokenDecoder* decoder_;
  Runs runs_;
  std::string pending_;  // bytes that are no whole text yet
  bool is_first_ = true;
  int64_t strip_left_ = 0;
};

}  // namespace ft::text
