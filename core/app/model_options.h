// The options by which a model is loaded, shared by serve, eval and chat, and what they resolve to.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/config/option_spec.h"
#include "core/config/settings.h"
#include "core/engine/model_loader.h"
#include "core/moe/moe_backend.h"
#include "core/plugin_host/plugin_host.h"
#include "core/quant/quantization.h"
#include "core/text/parsers.h"

namespace ft::app {

/// --plugin, --moe-backend, --device, the expert cache, threads.
std::vector<OptionSpec> ModelOptionSpecs();

/// --log-level and --config, for commands that read settings.
std::vector<OptionSpec> CommonOptionSpecs();

/// The formats, backends and parsers of this process: built in, and from plugins.
struct Registries {
  QuantizationRegistry quantizations;
  MoeBackendRegistry moe_backends;
  text::ParserRegistry parsers;
  std::unique_ptr<PluginHost> host;
};

/// Loads the plugins that the settings and the environment name, and the built-in ones.
/// Errors: those of PluginHost::LoadAll; kNotFound when --nvfp4-backend names a plugin without
/// NVFP4.
Result<std::unique_ptr<Registries>> LoadPlugins(const Settings& settings);

/// The MoE backend by --moe-backend and --plugin together: "auto" or a component's name.
/// Errors: kInvalidArgument when the two name different ones; kNotFound, listing what there is,
/// when there is no such component.
Result<std::string> ChooseMoeBackend(const Settings& settings, const Registries& registries);

/// LoadOptions as the settings say, without dir, batch sizes and memory limit.
/// Errors: kInvalidArgument for values that exclude each other, and those of ChooseMoeBackend.
Result<LoadOptions> MakeLoadOptions(const Settings& settings, const Registries& registries);

}  // namespace ft::app
