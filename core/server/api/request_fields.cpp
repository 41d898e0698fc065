#include "core/server/api/request_fields.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "core/json/parse.h"

namespace ft::server {
namespace {

constexpr size_t kMaxStops = 4;         // as OpenAI's API
constexpr size_t kMaxStopBytes = 4096;  // text held back per stream is bounded by it
constexpr size_t kMaxStopTokenIds = 256;
constexpr size_t kMaxLogitBiases = 4096;
constexpr int64_t kMaxTokensField = int64_t{1} << 40;

void ReadStop(FieldReader* reader, std::vector<std::string>* stop) {
  const json::Value* value = reader->Any("stop");
  if (value == nullptr) {
    return;
  }
  json::Array one;
  if (value->is_string()) {
    one.push_back(*value);
  } else if (!value->is_array()) {
    reader->Fail(
        "stop", "invalid_type",
        fmt::format("stop must be a string or an array of strings, not {}", Excerpt(*value)));
    return;
  }
  const json::Array& all = value->is_string() ? one : value->as_array();
  if (all.size() > kMaxStops) {
    reader->Fail("stop", "invalid_value",
                 fmt::format("stop has {} strings; at most {} are allowed", all.size(), kMaxStops));
    return;
  }
  for (size_t i = 0; i < all.size(); ++i) {
    const std::string place = value->is_string() ? "stop" : fmt::format("stop[{}]", i);
    if (!all[i].is_string()) {
      reader->Fail(
          BadRequest("invalid_type", place, "{} must be a string, not {}", place, Excerpt(all[i])));
      return;
    }
    const size_t size = all[i].as_string().size();
    if (size == 0 || size > kMaxStopBytes) {
      reader->Fail(BadRequest("invalid_value", place, "{} must have from 1 to {} bytes, not {}",
                              place, kMaxStopBytes, size));
      return;
    }
    stop->push_back(all[i].as_string());
  }
}

void ReadStopTokenIds(FieldReader* reader, int32_t vocab_size, std::vector<int32_t>* ids) {
  const json::Value* value = reader->Array("stop_token_ids");
  if (value == nullptr) {
    return;
  }
  if (value->as_array().size() > kMaxStopTokenIds) {
    reader->Fail("stop_token_ids", "invalid_value",
                 fmt::format("stop_token_ids has {} ids; at most {} are allowed",
                             value->as_array().size(), kMaxStopTokenIds));
    return;
  }
  ApiError error;
  if (auto read = ReadTokenIds(*value, "stop_token_ids", vocab_size, &error)) {
    *ids = std::move(*read);
  } else {
    reader->Fail(std::move(error));
  }
}

void ReadLogitBias(FieldReader* reader,
                   int32_t vocab_size,
                   std::vector<std::pair<int32_t, double>>* biases) {
  const json::Value* value = reader->Object("logit_bias");
  if (value == nullptr) {
    return;
  }
  if (value->as_object().size() > kMaxLogitBiases) {
    reader->Fail("logit_bias", "invalid_value",
                 fmt::format("logit_bias has {} tokens; at most {} are allowed",
                             value->as_object().size(), kMaxLogitBiases));
    return;
  }
  FieldReader biases_reader(*value, "logit_bias");
  for (const json::Member& member : value->as_object()) {
    int32_t id = -1;
    const char* end = member.key.data() + member.key.size();
    const auto parsed = std::from_chars(member.key.data(), end, id);
    if (parsed.ec != std::errc() || parsed.ptr != end || id < 0 || id >= vocab_size) {
      reader->Fail("logit_bias", "invalid_value",
                   fmt::format("logit_bias has the key {}; keys are token ids from 0 to {}",
                               Excerpt(member.key), vocab_size - 1));
      return;
    }
    if (auto bias = biases_reader.Double(member.key, {.min = -100, .max = 100})) {
      biases->emplace_back(id, *bias);
    } else {
      biases_reader.Fail(member.key, "invalid_type",
                         fmt::format("logit_bias.{} must be a number", member.key));
    }
  }
  if (auto error = biases_reader.Finish()) {
    reader->Fail(std::move(*error));
  }
}

void ReadStream(FieldReader* reader, CommonFields* fields) {
  fields->stream = reader->Bool("stream").value_or(false);
  const json::Value* options = reader->Object("stream_options");
  if (options == nullptr) {
    return;
  }
  if (!fields->stream) {
    reader->Fail("stream_options", "invalid_value",
                 "stream_options is only allowed together with stream = true");
  }
  FieldReader inner(*options, "stream_options");
  fields->include_usage = inner.Bool("include_usage").value_or(false);
  inner.RefuseUnless("include_obfuscation", json::Value(/*value=*/false));
  inner.RefuseUnless("continuous_usage_stats", json::Value(/*value=*/false));
  if (auto error = inner.Finish()) {
    reader->Fail(std::move(*error));
  }
}

void ReadMaxTokens(FieldReader* reader, CommonFields* fields) {
  const auto old_name = reader->Int("max_tokens", 1, kMaxTokensField);
  const auto new_name = reader->Int("max_completion_tokens", 1, kMaxTokensField);
  if (old_name.has_value() && new_name.has_value() && *old_name != *new_name) {
    reader->Fail("max_tokens", "invalid_value",
                 "max_tokens and max_completion_tokens differ; send one of them");
  }
  fields->max_tokens = new_name.has_value() ? new_name : old_name;
}

void ReadSampling(FieldReader* reader, const RequestDefaults& defaults, SamplingParams* sampling) {
  const auto set = [](auto value, auto* field) {
    if (value.has_value()) {
      *field = *value;
    }
  };
  set(reader->Double("temperature", {.min = 0, .max = 2}), &sampling->temperature);
  set(reader->Double("top_p", {.min = 0, .max = 1, .min_excluded = true}), &sampling->top_p);
  set(reader->Double("min_p", {.min = 0, .max = 1}), &sampling->min_p);
  if (const auto top_k = reader->Int("top_k", -1, std::numeric_limits<int32_t>::max())) {
    sampling->top_k = std::max<int64_t>(*top_k, 0);  // -1 is vLLM's word for "off"
  }
  set(reader->Double("repetition_penalty", {.min = 0, .max = 100, .min_excluded = true}),
      &sampling->repetition_penalty);
  set(reader->Double("presence_penalty", {.min = -2, .max = 2}), &sampling->presence_penalty);
  set(reader->Double("frequency_penalty", {.min = -2, .max = 2}), &sampling->frequency_penalty);
  if (const auto seed = reader->Int("seed", std::numeric_limits<int64_t>::min(),
                                    std::numeric_limits<int64_t>::max())) {
    sampling->seed = static_cast<uint64_t>(*seed);
  }
  ReadLogitBias(reader, defaults.vocab_size, &sampling->logit_bias);
}

}  // namespace

ApiResult<json::Value> ParseBody(std::string_view body, size_t max_bytes, int max_depth) {
  if (body.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return tl::unexpected(BadRequest("invalid_json", "", "the body is empty; send a JSON object"));
  }
  json::ParseOptions options;
  options.max_bytes = max_bytes;
  options.max_depth = max_depth;
  Result<json::Value> parsed = json::Parse(body, options);
  if (!parsed.ok()) {
    return tl::unexpected(
        BadRequest("invalid_json", "", "the body is not valid {}", parsed.status().message()));
  }
  return std::move(parsed).value();
}

void ReadModelField(FieldReader* reader, std::string_view served_model_name) {
  const std::string* model = reader->String("model");
  if (model != nullptr && *model != served_model_name) {
    ApiError error = BadRequest("model_not_found", "model",
                                "the model {} does not exist; this server has \"{}\"",
                                Excerpt(*model), served_model_name);
    error.http_status = 404;
    reader->Fail(std::move(error));
  }
}

CommonFields ReadCommonFields(FieldReader* reader, const RequestDefaults& defaults) {
  CommonFields fields;
  fields.sampling = defaults.sampling;
  ReadModelField(reader, defaults.served_model_name);
  ReadStream(reader, &fields);
  fields.n = static_cast<int>(reader->Int("n", 1, defaults.max_choices).value_or(1));
  ReadMaxTokens(reader, &fields);
  ReadSampling(reader, defaults, &fields.sampling);
  ReadStop(reader, &fields.stop);
  ReadStopTokenIds(reader, defaults.vocab_size, &fields.stop_token_ids);
  fields.ignore_eos = reader->Bool("ignore_eos").value_or(false);
  // None of these can change the answer; docs/serving.md lists them.
  reader->Ignore(
      {"user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key"});
  return fields;
}

std::optional<std::vector<int32_t>> ReadTokenIds(const json::Value& array,
                                                 const std::string& path,
                                                 int32_t vocab_size,
                                                 ApiError* error) {
  std::vector<int32_t> ids;
  ids.reserve(array.as_array().size());
  for (size_t i = 0; i < array.as_array().size(); ++i) {
    const json::Value& element = array.as_array()[i];
    const std::optional<int64_t> id =
        element.is_number() && element.as_number().is_integer ? element.ToInt64() : std::nullopt;
    if (!id.has_value() || *id < 0 || *id >= vocab_size) {
      const std::string place = fmt::format("{}[{}]", path, i);
      *error = BadRequest(element.is_number() ? "invalid_value" : "invalid_type", place,
                          "{} must be a token id from 0 to {}, not {}", place, vocab_size - 1,
                          Excerpt(element));
      return std::nullopt;
    }
    ids.push_back(static_cast<int32_t>(*id));
  }
  return ids;
}

ApiResult<Request> MakeRequest(std::vector<int32_t> prompt_ids,
                               const CommonFields& fields,
                               const EngineInfo& engine) {
  const auto num_prompt = static_cast<int64_t>(prompt_ids.size());
  if (prompt_ids.empty()) {
    return tl::unexpected(
        BadRequest("invalid_value", "prompt", "the prompt has no tokens; send some text"));
  }
  if (fields.max_tokens.value_or(1) > engine.max_output_tokens) {
    if (engine.max_output_tokens < engine.max_model_len) {
      return tl::unexpected(
          BadRequest("invalid_value", "max_tokens",
                     "max_tokens is {}; this server gives at most {} (--max-output-tokens)",
                     *fields.max_tokens, engine.max_output_tokens));
    }
    return tl::unexpected(
        ContextLengthExceeded(engine.max_model_len, num_prompt, *fields.max_tokens));
  }
  if (num_prompt + fields.max_tokens.value_or(1) > engine.max_model_len) {
    return tl::unexpected(
        ContextLengthExceeded(engine.max_model_len, num_prompt, fields.max_tokens.value_or(1)));
  }
  Request request;
  request.max_tokens = fields.max_tokens.value_or(
      std::min(engine.max_output_tokens, engine.max_model_len - num_prompt));
  request.prompt_ids = std::move(prompt_ids);
  request.sampling = fields.sampling;
  request.stop_strings = fields.stop;
  request.stop_token_ids = fields.stop_token_ids;
  request.ignore_eos = fields.ignore_eos;
  return request;
}

}  // namespace ft::server
