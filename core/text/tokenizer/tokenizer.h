// Tokenizer: text <-> token ids as a Hugging Face tokenizer.json says, and StreamDecoder: ids ->
// pieces of text that are safe to send. No chat templates and no stop strings here.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/text/tokenizer/tokenizer_config.h"

namespace ft::text {

struct EncodeOptions {
  bool add_special_tokens = false;  ///< what the post_processor adds, e.g. BOS
};

struct DecodeOptions {
  bool skip_special_tokens = false;  ///< leave out added tokens that are `special`
};

/// Longest text that Encode takes.
inline constexpr size_t kMaxEncodeBytes = size_t{16} << 20;

struct TokenizerParts;

/// One loaded tokenizer.json. Immutable: every method may be called from any thread.
///
/// Source: the behaviour of the `tokenizers` library 0.23 (Unicode 16 classes in split patterns,
/// Unicode 9 NFC); see tokenizer_golden_test.cpp. BPE models only.
class Tokenizer {
 public:
  /// `dir` holds tokenizer.json and maybe tokenizer_config.json.
  /// Errors: kNotFound: no tokenizer.json; otherwise as FromJson, naming the file.
  static Result<std::unique_ptr<Tokenizer>> Load(const std::string& dir);

  /// Errors: kDataLoss: not JSON, a field missing or of the wrong kind, a merge or template that
  /// names no token; kUnimplemented: a normalizer, pre_tokenizer, decoder, post_processor, model
  /// type or piece of pattern syntax that ft does not know, by name.
  static Result<std::unique_ptr<Tokenizer>> FromJson(std::string_view tokenizer_json,
                                                     std::string_view tokenizer_config_json = {});

  ~Tokenizer();
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  /// Ids of `text`. Added tokens are found in the text by their letters, special ones too.
  /// Errors: kInvalidArgument: `text` is not UTF-8; kResourceExhausted: longer than
  /// kMaxEncodeBytes, or a split pattern passed its limit of steps.
  Result<std::vector<int32_t>> Encode(std::string_view text,
                                      const EncodeOptions& options = {}) const;

  /// Text of `ids`; always valid UTF-8. Ids outside the vocabulary are passed over.
  ///
  /// Bytes that are no UTF-8: with a byte-level decoder one U+FFFD per maximal broken part. With
  /// byte fallback (`<0xE3>` tokens) a run of byte tokens that is not valid as a whole becomes one
  /// U+FFFD per byte, its whole characters included: this is what the library does. StreamDecoder
  /// cannot know the end of a run, so there whole characters of a broken run survive. Only such
  /// runs tell the two apart; what serves both streams and whole answers uses StreamDecoder for
  /// both, so that they agree.
  std::string Decode(std::span<const int32_t> ids, const DecodeOptions& options = {}) const;

  /// Highest id + 1. Ids below it may be unused.
  int32_t vocab_size() const;

  /// Id of the added token, or else the vocabulary entry, that is spelled `content` in the file.
  std::optional<int32_t> TokenId(std::string_view content) const;

  /// The token as spelled in the file (`Ġthe`, `▁the`, `<0x0A>`); empty for an unused id.
  std::string TokenText(int32_t id) const;

  /// The bytes that the token adds to a text (` the`, ` the`, `\n`); may be part of a character.
  /// Empty for an unused id.
  std::string TokenBytes(int32_t id) const;

  bool is_special(int32_t id) const;
  bool is_added(int32_t id) const;

  const TokenizerConfig& config() const;

 private:
  friend class StreamDecoder;
  explicit Tokenizer(std::unique_ptr<const TokenizerParts> parts);
  std::unique_ptr<const TokenizerParts> parts_;
};

class DecodeState;

/// Turns ids into text as they come. A character goes out with the id that completes it; bytes that
/// can no longer become one go out as U+FFFD as soon as that is certain (byte level: one per
/// maximal broken part; byte fallback: one per byte, whole characters of the run survive). The
/// joined pieces are the text of all ids. One thread at a time; movable.
class StreamDecoder {
 public:
  /// `tokenizer` must outlive this.
  explicit StreamDecoder(const Tokenizer* tokenizer, DecodeOptions options = {});
  ~StreamDecoder();
  StreamDecoder(const StreamDecoder&) = delete;
  StreamDecoder& operator=(const StreamDecoder&) = delete;
  StreamDecoder(StreamDecoder&&) noexcept;
  StreamDecoder& operator=(StreamDecoder&&) noexcept;

  /// Text that is final with this id; may be empty, never ends inside a character.
  std::string Push(int32_t id);

  /// What is left: a cut character becomes U+FFFD. The decoder then starts a new text.
  std::string Finish();

 private:
  const Tokenizer* tokenizer_;
  DecodeOptions options_;
  std::unique_ptr<DecodeState> state_;
};

}  // namespace ft::text
