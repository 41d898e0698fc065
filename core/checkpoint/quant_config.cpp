#include "core/checkpoint/quant_config.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <unordered_set>
#include <utility>

#include "core/base/errors.h"
#include "core/checkpoint/config_reader.h"
#include "core/checkpoint/module_pattern.h"

namespace ft {
namespace {

constexpr size_t kMaxPatterns = 1'000'000;
// Target words that name torch classes, not modules; compressed-tensors and ModelOpt write these.
constexpr std::array<std::string_view, 3> kClassTargets = {"Linear", "linear", "*"};

bool IsClassTarget(std::string_view target) {
  return std::find(kClassTargets.begin(), kClassTargets.end(), target) != kClassTargets.end();
}

std::string Lower(std::string text) {
  for (char& c : text) {
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

bool Contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// ModelOpt's words for whole algorithms.
std::optional<QuantFormat> FormatOfAlgorithm(const std::string& algorithm) {
  const std::string word = Lower(algorithm);
  if (word == "nvfp4" || word == "w4a16_nvfp4") {
    return QuantFormat::kNvfp4;
  }
  if (word == "mxfp4" || word == "w4a8_mxfp4_fp8") {
    return QuantFormat::kMxfp4;
  }
  if (word == "fp8") {
    return QuantFormat::kFp8Tensor;
  }
  if (word == "fp8_per_channel_per_token") {
    return QuantFormat::kFp8Channel;
  }
  if (word == "fp8_pb_wo" || word == "fp8_block_scales") {
    return QuantFormat::kFp8Block;
  }
  return std::nullopt;
}

// The `weights` object of a config group, as compressed-tensors writes it.
Result<std::optional<QuantFormat>> FormatOfWeights(const json::Value& weights,
                                                   const std::string& where) {
  ConfigReader reader(weights, where);
  FT_ASSIGN_OR_RETURN(const std::string type, reader.StringOr("type", "int"));
  FT_ASSIGN_OR_RETURN(const int64_t num_bits, reader.IntOr("num_bits", 8));
  FT_ASSIGN_OR_RETURN(const int64_t group_size, reader.IntOr("group_size", 0));
  FT_ASSIGN_OR_RETURN(const std::string strategy, reader.StringOr("strategy", ""));
  std::optional<QuantFormat> format;
  if (type == "float" && num_bits == 4) {
    if (group_size == kNvfp4BlockSize && (strategy == "tensor_group" || strategy.empty())) {
      format = QuantFormat::kNvfp4;
    } else if (group_size == kMxfp4BlockSize && (strategy == "group" || strategy.empty())) {
      format = QuantFormat::kMxfp4;
    }
  } else if (type == "float" && num_bits == 8) {
    if (strategy == "channel") {
      format = QuantFormat::kFp8Channel;
    } else if (strategy == "tensor") {
      format = QuantFormat::kFp8Tensor;
    } else if (strategy == "block") {
      format = QuantFormat::kFp8Block;
    }
  }
  return format;
}

Status AppendConfigGroups(const json::Value& groups,
                          const std::string& top_spelling,
                          QuantConfig* quant) {
  if (!groups.is_object()) {
    return InvalidArgument("quantization_config config_groups: want an object, got {}",
                           DescribeJson(groups));
  }
  for (const json::Member& member : groups.as_object()) {
    const std::string where = "quantization_config " + member.key;
    if (!member.value.is_object()) {
      return InvalidArgument("{}: want an object, got {}", where, DescribeJson(member.value));
    }
    ConfigReader reader(member.value, where);
    QuantGroup group;
    FT_ASSIGN_OR_RETURN(group.targets, reader.StringListOrEmpty("targets"));
    FT_ASSIGN_OR_RETURN(group.spelling, reader.StringOr("format", top_spelling));
    const json::Value* weights = reader.Raw("weights");
    if (weights != nullptr && weights->is_object()) {
      FT_ASSIGN_OR_RETURN(group.format, FormatOfWeights(*weights, where + " weights"));
    }
    quant->groups.push_back(std::move(group));
  }
  return Status();
}

// MIXED_PRECISION: {"model.layers.0.mlp.experts": {"quant_algo": "NVFP4"}, …}.
Status AppendQuantizedLayers(const json::Value& layers, QuantConfig* quant) {
  if (!layers.is_object()) {
    return InvalidArgument("quantized_layers: want an object, got {}", DescribeJson(layers));
  }
  for (const json::Member& member : layers.as_object()) {
    ConfigReader reader(member.value, "quantized_layers " + member.key);
    FT_ASSIGN_OR_RETURN(const std::string algorithm, reader.StringOr("quant_algo", ""));
    const auto same =
        std::find_if(quant->groups.begin(), quant->groups.end(),
                     [&algorithm](const QuantGroup& group) { return group.spelling == algorithm; });
    if (same != quant->groups.end()) {
      same->targets.push_back(member.key);
    } else {
      quant->groups.push_back({{member.key}, algorithm, FormatOfAlgorithm(algorithm)});
    }
  }
  return Status();
}

// ModelOpt's object, the same in both files but for the name of the ignore list.
Status ReadModelOpt(ConfigReader* reader, QuantConfig* quant) {
  FT_ASSIGN_OR_RETURN(const std::string algorithm, reader->StringOr("quant_algo", ""));
  FT_ASSIGN_OR_RETURN(quant->kv_cache_algo, reader->StringOr("kv_cache_quant_algo", ""));
  for (const char* key : {"ignore", "exclude_modules"}) {
    FT_ASSIGN_OR_RETURN(const std::vector<std::string> names, reader->StringListOrEmpty(key));
    quant->ignore.insert(quant->ignore.end(), names.begin(), names.end());
  }
  const json::Value* layers = reader->Raw("quantized_layers");
  if (layers != nullptr && !layers->is_null()) {
    return AppendQuantizedLayers(*layers, quant);
  }
  if (!algorithm.empty()) {
    quant->groups.push_back({{"Linear"}, algorithm, FormatOfAlgorithm(algorithm)});
  }
  return Status();
}

Status ReadCompressedTensors(ConfigReader* reader, QuantConfig* quant) {
  FT_ASSIGN_OR_RETURN(const std::string spelling, reader->StringOr("format", ""));
  FT_ASSIGN_OR_RETURN(quant->ignore, reader->StringListOrEmpty("ignore"));
  const json::Value* cache = reader->Raw("kv_cache_scheme");
  if (cache != nullptr && cache->is_object()) {
    quant->kv_cache_algo = "kv_cache_scheme";
  }
  const json::Value* groups = reader->Raw("config_groups");
  return groups == nullptr || groups->is_null() ? Status()
                                                : AppendConfigGroups(*groups, spelling, quant);
}

// "fp8" of the released DeepSeek and Qwen files, "mxfp4" of gpt-oss, and everything else by name.
Status ReadOther(ConfigReader* reader, QuantConfig* quant) {
  FT_ASSIGN_OR_RETURN(quant->ignore, reader->StringListOrEmpty("modules_to_not_convert"));
  QuantGroup group = {{"Linear"}, quant->method, std::nullopt};
  if (quant->method == "fp8") {
    FT_ASSIGN_OR_RETURN(quant->block_shape, reader->IntListOrEmpty("weight_block_size"));
    group.format = quant->block_shape.empty() ? QuantFormat::kFp8Tensor : QuantFormat::kFp8Block;
  } else if (quant->method == "mxfp4") {
    group.format = QuantFormat::kMxfp4;
  }
  quant->groups.push_back(std::move(group));
  return Status();
}

// Names without wildcard go into a set: ModelOpt lists one entry per module of a large model.
struct PatternList {
  std::unordered_set<std::string> names;
  std::vector<ModulePattern> patterns;

  Status Add(const std::string& text) {
    FT_ASSIGN_OR_RETURN(ModulePattern pattern, ModulePattern::Compile(text));
    if (text.starts_with("re:") || Contains(text, "*")) {
      patterns.push_back(std::move(pattern));
    } else {
      names.insert(text);
    }
    return Status();
  }

  // The name, its parents and its ends are looked up; there are about ten parts.
  bool HasName(std::string_view module) const {
    if (names.empty()) {
      return false;
    }
    for (size_t at = 0; at != std::string_view::npos; at = module.find('.', at + 1)) {
      const bool is_parent = names.contains(std::string(module.substr(0, at)));
      const bool is_end = names.contains(std::string(module.substr(at == 0 ? 0 : at + 1)));
      if (is_parent || is_end) {
        return true;
      }
    }
    return false;
  }

  Result<bool> Matches(std::string_view module) const {
    if (HasName(module)) {
      return true;
    }
    for (const ModulePattern& pattern : patterns) {
      FT_ASSIGN_OR_RETURN(const bool matches, pattern.Matches(module));
      if (matches) {
        return true;
      }
    }
    return false;
  }
};

}  // namespace

Result<QuantConfig> ParseQuantConfig(const json::Value* config) {
  QuantConfig quant;
  if (config == nullptr || config->is_null()) {
    return quant;
  }
  if (!config->is_object()) {
    return InvalidArgument("config.json: \"quantization_config\": want an object, got {}",
                           DescribeJson(*config));
  }
  ConfigReader reader(*config, "config.json quantization_config");
  FT_ASSIGN_OR_RETURN(quant.method, reader.StringOr("quant_method", "unnamed"));
  quant.source = "config.json";
  if (quant.method == "compressed-tensors") {
    FT_RETURN_IF_ERROR(ReadCompressedTensors(&reader, &quant));
  } else if (quant.method == "modelopt" || Lower(quant.method).starts_with("modelopt")) {
    FT_RETURN_IF_ERROR(ReadModelOpt(&reader, &quant));
  } else {
    FT_RETURN_IF_ERROR(ReadOther(&reader, &quant));
  }
  return quant;
}

Result<QuantConfig> ParseHfQuantConfig(const json::Value& config) {
  QuantConfig quant;
  const json::Value* inner = config.Find("quantization");
  if (inner == nullptr || !inner->is_object()) {
    return InvalidArgument("hf_quant_config.json: has no object \"quantization\"");
  }
  ConfigReader reader(*inner, "hf_quant_config.json quantization");
  quant.method = "modelopt";
  quant.source = "hf_quant_config.json";
  FT_RETURN_IF_ERROR(ReadModelOpt(&reader, &quant));
  return quant;
}

struct QuantMatcher::State {
  std::vector<QuantGroup> groups;
  PatternList ignore;
  std::vector<PatternList> targets;  // as groups, without the class names
  const QuantGroup* class_group = nullptr;
};

QuantMatcher::QuantMatcher(std::unique_ptr<State> state) : state_(std::move(state)) {}

QuantMatcher::QuantMatcher(QuantMatcher&&) noexcept = default;
QuantMatcher& QuantMatcher::operator=(QuantMatcher&&) noexcept = default;
QuantMatcher::~QuantMatcher() = default;

Result<QuantMatcher> QuantMatcher::Create(const QuantConfig& config) {
  auto state = std::make_unique<State>();
  state->groups = config.groups;
  size_t num_patterns = config.ignore.size();
  for (const std::string& text : config.ignore) {
    FT_RETURN_IF_ERROR(state->ignore.Add(text));
  }
  for (const QuantGroup& group : state->groups) {
    PatternList& list = state->targets.emplace_back();
    num_patterns += group.targets.size();
    for (const std::string& target : group.targets) {
      if (!IsClassTarget(target)) {
        FT_RETURN_IF_ERROR(list.Add(target));
      } else if (state->class_group == nullptr) {
        state->class_group = &group;
      }
    }
  }
  if (num_patterns > kMaxPatterns) {
    return InvalidArgument("{}: {} module patterns; ft reads at most {}", config.source,
                           num_patterns, kMaxPatterns);
  }
  return QuantMatcher(std::move(state));
}

Result<const QuantGroup*> QuantMatcher::GroupOf(std::string_view module) const {
  FT_ASSIGN_OR_RETURN(const bool is_ignored, state_->ignore.Matches(module));
  if (is_ignored) {
    return nullptr;
  }
  for (size_t i = 0; i < state_->groups.size(); ++i) {
    FT_ASSIGN_OR_RETURN(const bool matches, state_->targets[i].Matches(module));
    if (matches) {
      return &state_->groups[i];
    }
  }
  return state_->class_group;
}

}  // namespace ft
