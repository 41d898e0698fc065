#include "core/app/model_options.h"

#include <algorithm>
#include <utility>

#include "core/base/errors.h"
#include "core/quant/builtin/float_format.h"

namespace ft::app {
namespace {

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : ", ") + word;
  }
  return text;
}

// FreeToken's word for its NVFP4 kernels, kept for those who switch.
std::string Nvfp4PluginName(const std::string& word) {
  return word == "triton" ? "nvfp4-triton-equiv" : word;
}

Status CheckNvfp4Backend(const Settings& settings, const Registries& registries) {
  const std::string word = settings.String("nvfp4-backend");
  if (word == "auto") {
    return Status();
  }
  const Quantization* nvfp4 = registries.quantizations.Find("nvfp4");
  const std::string wanted = Nvfp4PluginName(word);
  if (nvfp4 == nullptr || nvfp4->origin() != wanted) {
    return NotFound("--nvfp4-backend {}: no loaded plugin of that name offers NVFP4; there is: {}",
                    word, nvfp4 == nullptr ? "none" : nvfp4->origin());
  }
  return Status();
}

// The MoE backends that the plugins named by --plugin offer.
std::vector<std::string> NamedBackends(const Registries& registries) {
  std::vector<std::string> names;
  for (const PluginRecord* record : registries.host->named()) {
    std::vector<std::string> own;
    for (const PluginComponent& component : record->components) {
      if (component.kind == FT_KIND_MOE_BACKEND) {
        own.push_back(component.name);
      }
    }
    if (own.size() == 1) {
      names.push_back(own[0]);
    }
  }
  return names;
}

}  // namespace

std::vector<OptionSpec> ModelOptionSpecs() {
  const std::string group = "experts and devices";
  return {
      {.name = "plugin",
       .type = OptionType::kList,
       .help = "load a plugin by short name or file; its only MoE "
               "backend is then used",
       .group = group,
       .value_name = "NAME|FILE"},
      {.name = "moe-backend",
       .aliases = {"moe-strategy"},
       .default_value = "auto",
       .help = "where experts live "
               "and who computes them: auto, resident (fused), offload, or a plugin's",
       .group = group,
       .value_name = "NAME"},
      {.name = "nvfp4-backend",
       .default_value = "auto",
       .help = "the plugin that computes NVFP4: auto, triton "
               "(nvfp4-triton-equiv), or a plugin's name",
       .group = group,
       .value_name = "NAME"},
      {.name = "device",
       .default_value = "auto",
       .help = "auto, cpu or sim",
       .group = group,
       .value_name = "DEVICE"},
      {.name = "moe-cache-size",
       .type = OptionType::kInt,
       .help = "expert slots over all layers",
       .group = group,
       .min = 1},
      {.name = "moe-cache-rate",
       .type = OptionType::kFloat,
       .help = "expert slots as a share of all experts",
       .group = group,
       .min = 0,
       .max = 1},
      {.name = "moe-cache-mem",
       .type = OptionType::kSize,
       .help = "expert slots as a byte budget",
       .group = group},
      {.name = "moe-cache-auto",
       .type = OptionType::kSwitch,
       .default_value = "false",
       .help = "expert slots from "
               "the memory that is left (this is what happens without the other three)",
       .group = group},
      {.name = "moe-cpu-threads",
       .type = OptionType::kInt,
       .default_value = "0",
       .help = "threads that compute; 0 = "
               "the cores this process may use",
       .group = group,
       .min = 0,
       .max = 1024},
      {.name = "deterministic",
       .type = OptionType::kSwitch,
       .default_value = "false",
       .help = "results do not depend "
               "on batch, chunk, page size or where an expert was, to the bit",
       .group = group},
  };
}

std::vector<OptionSpec> CommonOptionSpecs() {
  return {
      {.name = "log-level",
       .type = OptionType::kChoice,
       .default_value = "info",
       .help = "how much is logged to stderr",
       .group = "general",
       .choices = {"trace", "debug", "info", "warning", "error", "off"}},
      {.name = "config",
       .help = "a YAML file of settings",
       .group = "general",
       .value_name = "FILE"},
  };
}

Result<std::unique_ptr<Registries>> LoadPlugins(const Settings& settings) {
  auto registries = std::make_unique<Registries>();
  FT_RETURN_IF_ERROR(RegisterBuiltinQuantizations(&registries->quantizations));
  PluginHostOptions options = PluginHostOptionsFromEnvironment();
  options.plugins = settings.List("plugin");
  registries->host = std::make_unique<PluginHost>(std::move(options));
  FT_RETURN_IF_ERROR(registries->host->LoadAll({.quantizations = &registries->quantizations,
                                                .moe_backends = &registries->moe_backends,
                                                .parsers = &registries->parsers}));
  FT_RETURN_IF_ERROR(CheckNvfp4Backend(settings, *registries));
  return registries;
}

Result<std::string> ChooseMoeBackend(const Settings& settings, const Registries& registries) {
  std::string wanted = settings.String("moe-backend");
  const std::vector<std::string> named = NamedBackends(registries);
  if (wanted == "fused") {
    wanted = "resident";
  }
  if (!settings.IsExplicit("moe-backend")) {
    if (named.size() > 1) {
      return InvalidArgument(
          "--plugin names several MoE backends ({}); say which with --moe-backend", Joined(named));
    }
    return named.empty() ? wanted : named[0];
  }
  if (!named.empty() && std::find(named.begin(), named.end(), wanted) == named.end()) {
    return InvalidArgument(
        "--moe-backend {} and --plugin (which offers {}) contradict each other; give one", wanted,
        Joined(named));
  }
  if (wanted != "auto" && registries.moe_backends.Find(wanted) == nullptr) {
    std::vector<std::string> there = {"auto"};
    for (const auto& component : registries.moe_backends.all()) {
      there.push_back(component->name);
    }
    const bool is_planned = wanted == "hybrid" || wanted == "cpu";
    return NotFound("--moe-backend {}: {}; there are: {}", wanted,
                    is_planned ? "ft does not have it yet" : "no loaded plugin offers it",
                    Joined(there));
  }
  return wanted;
}

Result<LoadOptions> MakeLoadOptions(const Settings& settings, const Registries& registries) {
  LoadOptions options;
  options.quantizations = &registries.quantizations;
  options.moe_backends = &registries.moe_backends;
  options.device = settings.String("device");
  options.num_threads = static_cast<int>(settings.Int("moe-cpu-threads"));
  FT_ASSIGN_OR_RETURN(options.moe_backend, ChooseMoeBackend(settings, registries));
  std::vector<std::string> given;
  for (const char* name : {"moe-cache-size", "moe-cache-rate", "moe-cache-mem"}) {
    if (settings.IsSet(name)) {
      given.push_back(std::string("--") + name);
    }
  }
  if (settings.Switch("moe-cache-auto")) {
    given.emplace_back("--moe-cache-auto");
  }
  if (given.size() > 1) {
    return InvalidArgument("{} exclude each other; give one", Joined(given));
  }
  if (settings.IsSet("moe-cache-size")) {
    options.expert_cache.num_slots = settings.Int("moe-cache-size");
  }
  if (settings.IsSet("moe-cache-rate")) {
    options.expert_cache.rate = settings.Float("moe-cache-rate");
  }
  if (settings.IsSet("moe-cache-mem")) {
    options.expert_cache.mem_bytes = settings.Size("moe-cache-mem");
  }
  return options;
}

}  // namespace ft::app
