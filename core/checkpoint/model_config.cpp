#include "core/checkpoint/model_config.h"

#include <algorithm>
#include <utility>

#include "core/base/errors.h"
#include "core/base/file.h"
#include "core/checkpoint/config_reader.h"
#include "core/json/parse.h"

namespace ft {
namespace {

constexpr uint64_t kMaxConfigBytes = uint64_t{64} << 20;  // ModelOpt lists every module by name
constexpr const char* kConfigFile = "config.json";
constexpr const char* kGenerationFile = "generation_config.json";
constexpr const char* kHfQuantFile = "hf_quant_config.json";

// Python writes Infinity and NaN into configs (time_step_limit); JSON has neither. Infinity becomes
// the largest double (what is clamped by it stays as it is); NaN becomes a text, which no key that
// wants a number accepts.
std::string ReplacePythonNumbers(std::string_view text) {
  constexpr std::string_view kInfinity = "Infinity";
  constexpr std::string_view kNan = "NaN";
  std::string out;
  out.reserve(text.size());
  bool in_string = false;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string && c == '\\' && at + 1 < text.size()) {
      out += c;
      out += text[++at];
      continue;
    }
    if (c == '"') {
      in_string = !in_string;
    }
    if (!in_string && text.substr(at).starts_with(kInfinity)) {
      out += "1.7976931348623157e308";
      at += kInfinity.size() - 1;
    } else if (!in_string && text.substr(at).starts_with(kNan)) {
      out += "\"NaN\"";
      at += kNan.size() - 1;
    } else {
      out += c;
    }
  }
  return out;
}

Result<json::Value> ParseObject(std::string_view text, const char* file) {
  json::ParseOptions options;
  options.max_bytes = kMaxConfigBytes;
  options.duplicate_keys = json::ParseOptions::DuplicateKeys::kLastWins;  // as Python reads it
  Result<json::Value> value = json::Parse(ReplacePythonNumbers(text), options);
  if (!value.ok()) {
    return value.status().WithContext(file);
  }
  if (!value.value().is_object()) {
    return DataLoss("{}: want an object, got {}", file, DescribeJson(value.value()));
  }
  return value;
}

// A token id, a list of them, or null.
Result<std::vector<int64_t>> ReadTokenIds(ConfigReader* reader, std::string_view key) {
  const json::Value* value = reader->Raw(key);
  if (value == nullptr || value->is_null()) {
    return std::vector<int64_t>();
  }
  if (value->is_array()) {
    return reader->IntList(key);
  }
  FT_ASSIGN_OR_RETURN(const int64_t id, reader->Int(key));
  return std::vector<int64_t>{id};
}

template <typename T>
Status ReadOptional(Result<T> (ConfigReader::*getter)(std::string_view),
                    ConfigReader* reader,
                    std::string_view key,
                    std::optional<T>* out) {
  if (reader->Has(key)) {
    FT_ASSIGN_OR_RETURN(*out, (reader->*getter)(key));
  }
  return Status();
}

Result<GenerationConfig> ReadGeneration(const json::Value& root) {
  ConfigReader reader(root, kGenerationFile);
  GenerationConfig config;
  config.is_present = true;
  const auto read_float = [&reader](std::string_view key, std::optional<double>* out) {
    return ReadOptional(&ConfigReader::Float, &reader, key, out);
  };
  FT_RETURN_IF_ERROR(ReadOptional(&ConfigReader::Bool, &reader, "do_sample", &config.do_sample));
  FT_RETURN_IF_ERROR(read_float("temperature", &config.temperature));
  FT_RETURN_IF_ERROR(read_float("top_p", &config.top_p));
  FT_RETURN_IF_ERROR(read_float("min_p", &config.min_p));
  FT_RETURN_IF_ERROR(read_float("repetition_penalty", &config.repetition_penalty));
  FT_RETURN_IF_ERROR(read_float("presence_penalty", &config.presence_penalty));
  FT_RETURN_IF_ERROR(read_float("frequency_penalty", &config.frequency_penalty));
  FT_RETURN_IF_ERROR(ReadOptional(&ConfigReader::Int, &reader, "top_k", &config.top_k));
  FT_RETURN_IF_ERROR(
      ReadOptional(&ConfigReader::Int, &reader, "max_new_tokens", &config.max_new_tokens));
  FT_ASSIGN_OR_RETURN(config.eos_token_ids, ReadTokenIds(&reader, "eos_token_id"));
  return config;
}

Result<std::string> ReadArchitecture(const json::Value& root) {
  ConfigReader reader(root, kConfigFile);
  FT_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                      reader.StringListOrEmpty("architectures"));
  return names.empty() ? std::string() : names.front();
}

// The keys that may stand at the top level or in text_config; the top level wins.
Status ReadShared(const json::Value& object, const char* where, ModelConfig* config) {
  ConfigReader reader(object, where);
  if (config->eos_token_ids.empty()) {
    FT_ASSIGN_OR_RETURN(config->eos_token_ids, ReadTokenIds(&reader, "eos_token_id"));
  }
  if (!config->bos_token_id.has_value()) {
    FT_ASSIGN_OR_RETURN(const std::vector<int64_t> ids, ReadTokenIds(&reader, "bos_token_id"));
    if (!ids.empty()) {
      config->bos_token_id = ids.front();
    }
  }
  for (const char* key : {"dtype", "torch_dtype"}) {
    if (config->torch_dtype.empty()) {
      FT_ASSIGN_OR_RETURN(config->torch_dtype, reader.StringOr(key, ""));
    }
  }
  if (!config->tie_word_embeddings.has_value()) {
    FT_RETURN_IF_ERROR(ReadOptional(&ConfigReader::Bool, &reader, "tie_word_embeddings",
                                    &config->tie_word_embeddings));
  }
  return Status();
}

const json::Value* FindQuantConfig(const ModelConfig& config) {
  for (const json::Value* object : {&config.root, &config.text()}) {
    for (const char* key : {"quantization_config", "compression_config"}) {
      const json::Value* found = object->Find(key);
      if (found != nullptr && !found->is_null()) {
        return found;
      }
    }
  }
  return nullptr;
}

Result<std::string> ReadIfPresent(const std::string& folder, const char* name) {
  const std::string path = JoinPath(folder, name);
  if (!FileExists(path)) {
    return std::string();
  }
  FT_ASSIGN_OR_RETURN(std::string text, ReadWholeFile(path, kMaxConfigBytes));
  if (text.empty()) {
    return DataLoss("{}: the file is empty; its download is not whole", path);
  }
  return text;
}

}  // namespace

const json::Value& ModelConfig::text() const {
  const json::Value* inner = is_wrapper ? root.Find("text_config") : nullptr;
  return inner == nullptr ? root : *inner;
}

const char* ModelConfig::text_where() const {
  return is_wrapper ? "config.json text_config" : kConfigFile;
}

Result<ModelConfig> ParseModelConfig(std::string_view config_text,
                                     std::string_view generation,
                                     std::string_view hf_quant) {
  ModelConfig config;
  FT_ASSIGN_OR_RETURN(config.root, ParseObject(config_text, kConfigFile));
  const json::Value* inner = config.root.Find("text_config");
  config.is_wrapper = inner != nullptr && inner->is_object();
  FT_ASSIGN_OR_RETURN(config.architecture, ReadArchitecture(config.root));
  ConfigReader root_reader(config.root, kConfigFile);
  FT_ASSIGN_OR_RETURN(const std::string root_type, root_reader.StringOr("model_type", ""));
  ConfigReader text_reader(config.text(), config.text_where());
  FT_ASSIGN_OR_RETURN(config.model_type, text_reader.StringOr("model_type", root_type));
  FT_RETURN_IF_ERROR(ReadShared(config.root, kConfigFile, &config));
  if (config.is_wrapper) {
    FT_RETURN_IF_ERROR(ReadShared(config.text(), config.text_where(), &config));
  }
  FT_ASSIGN_OR_RETURN(config.quant, ParseQuantConfig(FindQuantConfig(config)));
  if (!hf_quant.empty()) {
    FT_ASSIGN_OR_RETURN(const json::Value root, ParseObject(hf_quant, kHfQuantFile));
    FT_ASSIGN_OR_RETURN(QuantConfig quant, ParseHfQuantConfig(root));
    if (!config.quant.is_quantized()) {
      config.quant = std::move(quant);
    }
  }
  if (!generation.empty()) {
    FT_ASSIGN_OR_RETURN(const json::Value root, ParseObject(generation, kGenerationFile));
    FT_ASSIGN_OR_RETURN(config.generation, ReadGeneration(root));
  }
  return config;
}

Result<ModelConfig> LoadModelConfig(const std::string& folder) {
  if (!DirectoryExists(folder)) {
    return NotFound("{}: no such folder", folder);
  }
  if (!FileExists(JoinPath(folder, kConfigFile))) {
    return NotFound("{}: has no {}; is it a model's folder?", folder, kConfigFile);
  }
  FT_ASSIGN_OR_RETURN(const std::string config, ReadIfPresent(folder, kConfigFile));
  FT_ASSIGN_OR_RETURN(const std::string generation, ReadIfPresent(folder, kGenerationFile));
  FT_ASSIGN_OR_RETURN(const std::string hf_quant, ReadIfPresent(folder, kHfQuantFile));
  Result<ModelConfig> parsed = ParseModelConfig(config, generation, hf_quant);
  return parsed.ok() ? std::move(parsed) : Result<ModelConfig>(parsed.status().WithContext(folder));
}

}  // namespace ft
