// `ft inspect DIR`: what is in a checkpoint, and whether ft can serve it.
#include <cstdio>

#include "core/app/commands.h"
#include "core/app/model_options.h"
#include "core/checkpoint/hub_cache.h"
#include "core/engine/inspect.h"
#include "core/json/write.h"

namespace ft::app {

std::vector<OptionSpec> InspectOptionSpecs() {
  return {
      {.name = "json",
       .type = OptionType::kSwitch,
       .default_value = "false",
       .help = "one JSON document"},
      {.name = "plugin",
       .type = OptionType::kList,
       .help = "load a plugin by short name or file",
       .value_name = "NAME|FILE"},
      {.name = "nvfp4-backend",
       .default_value = "auto",
       .help = "the plugin that computes NVFP4",
       .value_name = "NAME"},
  };
}

int RunInspect(const Invocation& invocation) {
  const Result<std::string> dir = ResolveModelPath(invocation.positionals[0]);
  if (!dir.ok()) {
    return PrintError(dir.status());
  }
  const auto registries = LoadPlugins(invocation.settings);
  if (!registries.ok()) {
    return PrintError(registries.status());
  }
  const Result<ModelReport> report = InspectModel(*dir, (*registries)->quantizations);
  if (!report.ok()) {
    return PrintError(report.status());
  }
  if (invocation.settings.Switch("json")) {
    std::printf("%s\n", json::Write(ReportToJson(*report), {.indent = 2}).c_str());
  } else {
    static_cast<void>(std::fputs(ReportToText(*report).c_str(), stdout));
  }
  return report->servable.ok() ? 0 : PrintError(report->servable);
}

}  // namespace ft::app
