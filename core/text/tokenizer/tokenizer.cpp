// Tokenizer: reads the parts of tokenizer.json and runs them one after the other.
#include "core/text/tokenizer/tokenizer.h"

#include <algorithm>
#include <utility>

#include "core/base/errors.h"
#include "core/base/file.h"
#include "core/base/utf8.h"
#include "core/json/parse.h"
#include "core/text/tokenizer/added_tokens.h"
#include "core/text/tokenizer/bpe.h"
#include "core/text/tokenizer/normalizer.h"
#include "core/text/tokenizer/post_processor.h"
#include "core/text/tokenizer/pre_tokenizer.h"
#include "core/text/tokenizer/token_decoder.h"

namespace ft::text {
namespace {

// Normalising may lengthen a text; nothing published more than doubles it.
constexpr size_t kMaxNormalizedBytes = kMaxEncodeBytes * 4;

constexpr uint64_t kMaxTokenizerBytes = uint64_t{256} << 20;
constexpr uint64_t kMaxConfigBytes = uint64_t{16} << 20;

const json::Value& MemberOrNull(const json::Value& object, std::string_view key) {
  static const json::Value kNull;
  const json::Value* member = object.Find(key);
  return member == nullptr ? kNull : *member;
}

// `result` with the name of the part in front of its error.
template <typename T>
Result<T> In(const char* part, Result<T> result) {
  if (!result.ok()) {
    return result.status().WithContext(part);
  }
  return result;
}

}  // namespace

struct TokenizerParts {
  BpeModel model;
  Normalizer normalizer;
  AddedTokens added_tokens;
  PreTokenizer pre_tokenizer;
  PostProcessor post_processor;
  TokenDecoder decoder;
  TokenizerConfig config;

  /// The token's text in the file.
  std::optional<std::string_view> Text(int32_t id) const {
    if (const AddedToken* added = added_tokens.FindId(id)) {
      return added->content;
    }
    return model.vocabulary().Text(id);
  }

  /// The token as the decoder gets it.
  std::optional<std::string_view> DecodedText(int32_t id) const {
    if (const AddedToken* added = added_tokens.FindId(id)) {
      return added->decoded;
    }
    return model.vocabulary().Text(id);
  }

  std::optional<int32_t> Find(std::string_view content) const {
    const std::optional<int32_t> added = added_tokens.FindContent(content);
    return added ? added : model.vocabulary().Find(content);
  }

  /// What decodes for `id`: nothing for unused ids and skipped ones.
  std::optional<std::string_view> Decoded(int32_t id, const DecodeOptions& options) const {
    const std::optional<std::string_view> text = DecodedText(id);
    if (text && options.skip_special_tokens && added_tokens.IsSpecial(*text)) {
      return std::nullopt;
    }
    return text;
  }
};

namespace {

Result<TokenizerParts> ReadParts(const json::Value& file) {
  if (!file.is_object()) {
    return DataLoss("is {}, want object", json::KindName(file.kind()));
  }
  TokenizerParts parts;
  FT_ASSIGN_OR_RETURN(parts.model, In("model", BpeModel::FromJson(MemberOrNull(file, "model"))));
  FT_ASSIGN_OR_RETURN(parts.normalizer,
                      In("normalizer", Normalizer::FromJson(MemberOrNull(file, "normalizer"))));
  FT_ASSIGN_OR_RETURN(
      parts.added_tokens,
      In("added_tokens", AddedTokens::FromJson(MemberOrNull(file, "added_tokens"),
                                               parts.model.vocabulary(), parts.normalizer)));
  FT_ASSIGN_OR_RETURN(
      parts.pre_tokenizer,
      In("pre_tokenizer", PreTokenizer::FromJson(MemberOrNull(file, "pre_tokenizer"))));
  FT_ASSIGN_OR_RETURN(
      parts.post_processor,
      In("post_processor", PostProcessor::FromJson(MemberOrNull(file, "post_processor"))));
  FT_ASSIGN_OR_RETURN(parts.decoder,
                      In("decoder", TokenDecoder::FromJson(MemberOrNull(file, "decoder"))));
  return parts;
}

void FillIds(const TokenizerParts& parts, TokenizerConfig* config) {
  for (std::optional<NamedToken>* token :
       {&config->bos_token, &config->eos_token, &config->pad_token, &config->unk_token}) {
    if (*token) {
      (*token)->id = parts.Find((*token)->content);
    }
  }
}

// One call of Encode: its memory and the ids so far.
class Encoder {
 public:
  explicit Encoder(const TokenizerParts& parts) : parts_(parts) {}

  Status AddText(std::string_view text) {
    std::vector<TextPart> parts;
    parts_.added_tokens.Split(text, /*normalized=*/false, &parts);
    for (const TextPart& part : parts) {
      if (part.id >= 0) {
        ids_.push_back(part.id);
      } else {
        FT_RETURN_IF_ERROR(AddStretch(View(text, part.span), part.span.begin == 0));
      }
    }
    return Status();
  }

  void AddIds(const std::vector<int32_t>& ids) { ids_.insert(ids_.end(), ids.begin(), ids.end()); }

  std::vector<int32_t> TakeIds() { return std::move(ids_); }

 private:
  static std::string_view View(std::string_view text, TextSpan span) {
    return text.substr(span.begin, span.end - span.begin);
  }

  // Text without tokens of the first kind; `is_at_start` of the whole text.
  Status AddStretch(std::string_view text, bool is_at_start) {
    std::string normal;
    if (!parts_.normalizer.is_empty()) {
      FT_ASSIGN_OR_RETURN(normal, parts_.normalizer.Normalize(text, kMaxNormalizedBytes, &regex_));
      text = normal;
    }
    std::vector<TextPart> parts;
    parts_.added_tokens.Split(text, /*normalized=*/true, &parts);
    for (const TextPart& part : parts) {
      if (part.id >= 0) {
        ids_.push_back(part.id);
      } else {
        FT_RETURN_IF_ERROR(AddPlain(View(text, part.span), is_at_start && part.span.begin == 0));
      }
    }
    return Status();
  }

  Status AddPlain(std::string_view text, bool is_at_start) {
    FT_RETURN_IF_ERROR(parts_.pre_tokenizer.Split(text, is_at_start, &regex_, &pieces_));
    for (const std::string_view piece : pieces_.pieces) {
      parts_.model.Encode(piece, &bpe_, &ids_);
    }
    return Status();
  }

  const TokenizerParts& parts_;
  RegexScratch regex_;
  PieceList pieces_;
  BpeScratch bpe_;
  std::vector<int32_t> ids_;
};

}  // namespace

Tokenizer::Tokenizer(std::unique_ptr<const TokenizerParts> parts) : parts_(std::move(parts)) {}

Tokenizer::~Tokenizer() = default;

Result<std::unique_ptr<Tokenizer>> Tokenizer::FromJson(std::string_view tokenizer_json,
                                                       std::string_view tokenizer_config_json) {
  json::ParseOptions options;
  options.duplicate_keys = json::ParseOptions::DuplicateKeys::kLastWins;  // as the library
  FT_ASSIGN_OR_RETURN(const json::Value file,
                      In("tokenizer.json", json::Parse(tokenizer_json, options)));
  FT_ASSIGN_OR_RETURN(TokenizerParts parts, In("tokenizer.json", ReadParts(file)));
  FT_ASSIGN_OR_RETURN(parts.config,
                      In("tokenizer_config.json", ParseTokenizerConfig(tokenizer_config_json)));
  FillIds(parts, &parts.config);
  return std::unique_ptr<Tokenizer>(
      new Tokenizer(std::make_unique<const TokenizerParts>(std::move(parts))));
}

Result<std::unique_ptr<Tokenizer>> Tokenizer::Load(const std::string& dir) {
  const std::string path = JoinPath(dir, "tokenizer.json");
  if (DirectoryExists(dir) && !FileExists(path)) {
    return DataLoss(
        "{}: missing: ft needs it for text; fetch it, or convert the tokenizer the model has",
        path);
  }
  FT_ASSIGN_OR_RETURN(const std::string tokenizer_json, ReadWholeFile(path, kMaxTokenizerBytes));
  const std::string config_path = JoinPath(dir, "tokenizer_config.json");
  std::string config_json;
  if (FileExists(config_path)) {
    FT_ASSIGN_OR_RETURN(config_json, ReadWholeFile(config_path, kMaxConfigBytes));
    if (config_json.empty()) {
      return DataLoss("{}: the file is empty; its download is not whole", config_path);
    }
  }
  return In(dir.c_str(), FromJson(tokenizer_json, config_json));
}

Result<std::vector<int32_t>> Tokenizer::Encode(std::string_view text,
                                               const EncodeOptions& options) const {
  if (text.size() > kMaxEncodeBytes) {
    return ResourceExhausted("a text of {} bytes; at most {} can be tokenized at once", text.size(),
                             kMaxEncodeBytes);
  }
  if (!IsValidUtf8(text)) {
    return InvalidArgument("the text is not valid UTF-8");
  }
  Encoder encoder(*parts_);
  if (options.add_special_tokens) {
    encoder.AddIds(parts_->post_processor.prefix);
  }
  FT_RETURN_IF_ERROR(encoder.AddText(text));
  if (options.add_special_tokens) {
    encoder.AddIds(parts_->post_processor.suffix);
  }
  return encoder.TakeIds();
}

std::string Tokenizer::Decode(std::span<const int32_t> ids, const DecodeOptions& options) const {
  std::string text;
  DecodeState state(&parts_->decoder, DecodeState::Runs::kWhole);
  for (const int32_t id : ids) {
    if (const std::optional<std::string_view> token = parts_->Decoded(id, options)) {
      state.Push(*token, &text);
    }
  }
  state.Finish(&text);
  return text;
}

int32_t Tokenizer::vocab_size() const {
  return std::max(parts_->model.vocabulary().end_id(), parts_->added_tokens.end_id());
}

std::optional<int32_t> Tokenizer::TokenId(std::string_view content) const {
  return parts_->Find(content);
}

std::string Tokenizer::TokenText(int32_t id) const {
  return std::string(parts_->Text(id).value_or(""));
}

std::string Tokenizer::TokenBytes(int32_t id) const {
  return parts_->decoder.BytesOf(parts_->DecodedText(id).value_or(""));
}

bool Tokenizer::is_special(int32_t id) const {
  const std::optional<std::string_view> text = parts_->Text(id);
  return text && parts_->added_tokens.IsSpecial(*text);
}

bool Tokenizer::is_added(int32_t id) const {
  return parts_->added_tokens.FindId(id) != nullptr;
}

const TokenizerConfig& Tokenizer::config() const {
  return parts_->config;
}

StreamDecoder::StreamDecoder(const Tokenizer* tokenizer, DecodeOptions options)
    : tokenizer_(tokenizer),
      options_(options),
      state_(std::make_unique<DecodeState>(&tokenizer->parts_->decoder,
                                           DecodeState::Runs::kCharacters)) {}

StreamDecoder::~StreamDecoder() = default;
StreamDecoder::StreamDecoder(StreamDecoder&&) noexcept = default;
StreamDecoder& StreamDecoder::operator=(StreamDecoder&&) noexcept = default;

std::string StreamDecoder::Push(int32_t id) {
  std::string out;
  if (const std::optional<std::string_view> token = tokenizer_->parts_->Decoded(id, options_)) {
    state_->Push(*token, &out);
  }
  return out;
}

std::string StreamDecoder::Finish() {
  std::string out;
  state_->Finish(&out);
  return out;
}

}  // namespace ft::text
