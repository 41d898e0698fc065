#include "core/checkpoint/config_reader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "core/base/errors.h"
#include "core/json/write.h"

namespace ft {
namespace {

constexpr size_t kMaxDescribedBytes = 60;

// Sorted. Training, bookkeeping, output options and token ids: what transformers' configs carry
// beside the architecture. A key that any family computes with must not be here.
constexpr std::array<std::string_view, 83> kHarmlessKeys = {
    "add_cross_attention",
    "architectures",
    "attention_dropout",
    "attn_implementation",
    "audio_token_id",
    "auto_map",
    "aux_loss_alpha",
    "bad_words_ids",
    "begin_suppress_tokens",
    "bos_token_id",
    "chunk_size_feed_forward",
    "compression_config",
    "cross_attention_hidden_size",
    "decoder_start_token_id",
    "diversity_penalty",
    "do_sample",
    "dtype",
    "early_stopping",
    "embd_pdrop",
    "encoder_no_repeat_ngram_size",
    "eos_token_id",
    "ep_size",
    "exponential_decay_length_penalty",
    "finetuning_task",
    "forced_bos_token_id",
    "forced_eos_token_id",
    "gradient_checkpointing",
    "hidden_dropout",
    "id2label",
    "image_token_id",
    "image_token_index",
    "initializer_range",
    "is_decoder",
    "is_encoder_decoder",
    "label2id",
    "length_penalty",
    "max_length",
    "min_length",
    "model_type",
    "no_repeat_ngram_size",
    "num_beam_groups",
    "num_beams",
    "num_logits_to_keep",
    "num_return_sequences",
    "output_attentions",
    "output_hidden_states",
    "output_router_logits",
    "output_scores",
    "pad_token_id",
    "prefix",
    "pretraining_tp",
    "problem_type",
    "pruned_heads",
    "quantization_config",
    "remove_invalid_values",
    "repetition_penalty",
    "resid_pdrop",
    "return_dict",
    "return_dict_in_generate",
    "router_aux_loss_coef",
    "sep_token_id",
    "seq_aux",
    "suppress_tokens",
    "task_specific_params",
    "temperature",
    "tf_legacy_loss",
    "tie_encoder_decoder",
    "tokenizer_class",
    "top_k",
    "top_p",
    "torch_dtype",
    "torchscript",
    "transformers.js_config",
    "transformers_version",
    "typical_p",
    "unsloth_fixed",
    "unsloth_version",
    "use_bfloat16",
    "use_cache",
    "video_token_id",
    "vision_end_token_id",
    "vision_start_token_id",
    "vision_token_id",
};

template <typename T, typename Convert>
std::optional<std::vector<T>> ConvertList(const json::Value& value, Convert convert) {
  if (!value.is_array()) {
    return std::nullopt;
  }
  std::vector<T> list;
  for (const json::Value& element : value.as_array()) {
    std::optional<T> converted = convert(element);
    if (!converted.has_value()) {
      return std::nullopt;
    }
    list.push_back(std::move(*converted));
  }
  return list;
}

std::optional<int64_t> ToInt(const json::Value& value) {
  return value.ToInt64();
}

std::optional<double> ToFinite(const json::Value& value) {
  const std::optional<double> number = value.ToDouble();
  return number.has_value() && std::isfinite(*number) ? number : std::nullopt;
}

std::optional<bool> ToBool(const json::Value& value) {
  return value.is_bool() ? std::optional<bool>(value.as_bool()) : std::nullopt;
}

std::optional<std::string> ToString(const json::Value& value) {
  return value.is_string() ? std::optional<std::string>(value.as_string()) : std::nullopt;
}

std::optional<int64_t> ToDim(const json::Value& value) {
  const std::optional<int64_t> number = value.ToInt64();
  const bool fits =
      number.has_value() && *number >= 1 && *number <= std::numeric_limits<int32_t>::max();
  return fits ? number : std::nullopt;
}

std::optional<std::vector<int64_t>> ToIntList(const json::Value& value) {
  return ConvertList<int64_t>(value, ToInt);
}

std::optional<std::vector<double>> ToFloatList(const json::Value& value) {
  return ConvertList<double>(value, ToFinite);
}

std::optional<std::vector<std::string>> ToStringList(const json::Value& value) {
  return ConvertList<std::string>(value, ToString);
}

const json::Value& EmptyObject() {
  static const json::Value kEmpty = json::Value::MakeObject();
  return kEmpty;
}

}  // namespace

bool IsHarmlessConfigKey(std::string_view key) {
  return key.starts_with('_') ||
         std::binary_search(kHarmlessKeys.begin(), kHarmlessKeys.end(), key);
}

std::string DescribeJson(const json::Value& value) {
  if (value.is_null()) {
    return "null";
  }
  if (value.is_array()) {
    return fmt::format("array of {}", value.as_array().size());
  }
  if (value.is_object()) {
    return fmt::format("object of {}", value.as_object().size());
  }
  json::WriteOptions options;
  options.ascii_only = true;  // so that the cut below breaks no character
  std::string text = json::Write(value, options);
  if (text.size() > kMaxDescribedBytes) {
    text = text.substr(0, kMaxDescribedBytes) + "…";
  }
  return fmt::format("{} {}", json::KindName(value.kind()), text);
}

ConfigReader::ConfigReader(const json::Value& config, std::string where)
    : config_(config.is_object() ? &config : &EmptyObject()), where_(std::move(where)) {}

bool ConfigReader::Has(std::string_view key) const {
  const json::Value* value = config_->Find(key);
  return value != nullptr && !value->is_null();
}

const json::Value* ConfigReader::Raw(std::string_view key) {
  read_.emplace(key);
  return config_->Find(key);
}

const json::Value* ConfigReader::Take(std::string_view key) {
  const json::Value* value = Raw(key);
  return value != nullptr && value->is_null() ? nullptr : value;
}

Status ConfigReader::Missing(std::string_view key, std::string_view want) const {
  return InvalidArgument("{}: \"{}\" is missing: want {}", where_, key, want);
}

Status ConfigReader::Wrong(std::string_view key,
                           std::string_view want,
                           const json::Value& got) const {
  return InvalidArgument("{}: \"{}\": want {}, got {}", where_, key, want, DescribeJson(got));
}

// The getters differ only in what they convert to. A macro, so that each stays a plain member that
// the header can document; `T` may hold commas, hence the alias.
#define FT_DEFINE_GETTER(Name, Type, convert, want)       \
  Result<Type> ConfigReader::Name(std::string_view key) { \
    const json::Value* value = Take(key);                 \
    if (value == nullptr) {                               \
      return Missing(key, want);                          \
    }                                                     \
    std::optional<Type> converted = convert(*value);      \
    if (!converted.has_value()) {                         \
      return Wrong(key, want, *value);                    \
    }                                                     \
    return std::move(*converted);                         \
  }

FT_DEFINE_GETTER(Int, int64_t, ToInt, "an integer")
FT_DEFINE_GETTER(Dim, int64_t, ToDim, "an integer from 1 to 2147483647")
FT_DEFINE_GETTER(Float, double, ToFinite, "a number")
FT_DEFINE_GETTER(Bool, bool, ToBool, "true or false")
FT_DEFINE_GETTER(String, std::string, ToString, "a string")
FT_DEFINE_GETTER(IntList, std::vector<int64_t>, ToIntList, "a list of integers")
FT_DEFINE_GETTER(FloatList, std::vector<double>, ToFloatList, "a list of numbers")
FT_DEFINE_GETTER(StringList, std::vector<std::string>, ToStringList, "a list of strings")

#undef FT_DEFINE_GETTER

Result<int64_t> ConfigReader::IntOr(std::string_view key, int64_t otherwise) {
  return Take(key) == nullptr ? Result<int64_t>(otherwise) : Int(key);
}

Result<int64_t> ConfigReader::DimOr(std::string_view key, int64_t otherwise) {
  return Take(key) == nullptr ? Result<int64_t>(otherwise) : Dim(key);
}

Result<double> ConfigReader::FloatOr(std::string_view key, double otherwise) {
  return Take(key) == nullptr ? Result<double>(otherwise) : Float(key);
}

Result<bool> ConfigReader::BoolOr(std::string_view key, bool otherwise) {
  return Take(key) == nullptr ? Result<bool>(otherwise) : Bool(key);
}

Result<std::string> ConfigReader::StringOr(std::string_view key, std::string_view otherwise) {
  return Take(key) == nullptr ? Result<std::string>(std::string(otherwise)) : String(key);
}

Result<std::vector<int64_t>> ConfigReader::IntListOrEmpty(std::string_view key) {
  return Take(key) == nullptr ? Result<std::vector<int64_t>>(std::vector<int64_t>()) : IntList(key);
}

Result<std::vector<std::string>> ConfigReader::StringListOrEmpty(std::string_view key) {
  return Take(key) == nullptr ? Result<std::vector<std::string>>(std::vector<std::string>())
                              : StringList(key);
}

Status ConfigReader::ExpectBool(std::string_view key, bool only) {
  FT_ASSIGN_OR_RETURN(const bool got, BoolOr(key, only));
  return got == only ? Status()
                     : Unimplemented("{}: \"{}\" is {}; ft serves only {} in this family", where_,
                                     key, got, only);
}

Status ConfigReader::ExpectInt(std::string_view key, int64_t only) {
  FT_ASSIGN_OR_RETURN(const int64_t got, IntOr(key, only));
  return got == only ? Status()
                     : Unimplemented("{}: \"{}\" is {}; ft serves only {} in this family", where_,
                                     key, got, only);
}

Status ConfigReader::ExpectString(std::string_view key, std::string_view only) {
  FT_ASSIGN_OR_RETURN(const std::string got, StringOr(key, only));
  return got == only ? Status()
                     : Unimplemented("{}: \"{}\" is \"{}\"; ft serves only \"{}\" in this family",
                                     where_, key, got, only);
}

void ConfigReader::Ignore(std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    read_.emplace(key);
  }
}

std::vector<std::string> ConfigReader::UnknownKeys() const {
  std::vector<std::string> keys;
  for (const json::Member& member : config_->as_object()) {
    if (!member.value.is_null() && !read_.contains(member.key) &&
        !IsHarmlessConfigKey(member.key)) {
      keys.push_back(member.key);
    }
  }
  return keys;
}

std::vector<std::string> ConfigReader::HarmlessKeys() const {
  std::vector<std::string> keys;
  for (const json::Member& member : config_->as_object()) {
    if (!read_.contains(member.key) && IsHarmlessConfigKey(member.key)) {
      keys.push_back(member.key);
    }
  }
  return keys;
}

Status ConfigReader::RefuseUnknownKeys() const {
  std::string list;
  for (const std::string& key : UnknownKeys()) {
    list += fmt::format("{}\"{}\" ({})", list.empty() ? "" : ", ", key,
                        DescribeJson(*config_->Find(key)));
  }
  if (list.empty()) {
    return Status();
  }
  return Unimplemented("{}: keys that ft does not understand and that may change the numbers: {}",
                       where_, list);
}

}  // namespace ft
