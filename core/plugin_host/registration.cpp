#include "core/plugin_host/registration.h"

#include <string>
#include <string_view>
#include <utility>

#include "core/moe/moe_backend.h"
#include "core/quant/quantization.h"
#include "core/text/parsers.h"

namespace ft {
namespace {

Status AddParser(text::ParserKind kind,
                 const ft_component& component,
                 const OpenedPlugin& opened,
                 const PluginRecord& record,
                 text::ParserRegistry* registry) {
  FT_ASSIGN_OR_RETURN(
      text::Parser parser,
      text::Parser::Create(kind, std::string(component.name.ptr, component.name.len),
                           static_cast<const ft_parser*>(component.vtable), opened.state,
                           record.name));
  return registry->Add(std::move(parser));
}

Status AddComponent(const ft_component& component,
                    const OpenedPlugin& opened,
                    const PluginRecord& record,
                    const PluginRegistries& registries) {
  const std::string_view kind(component.kind.ptr, component.kind.len);
  if (kind == FT_KIND_QUANTIZATION && registries.quantizations != nullptr) {
    return registries.quantizations->Add(Quantization(
        static_cast<const ft_quantization*>(component.vtable), opened.state, record.name));
  }
  if (kind == FT_KIND_MOE_BACKEND && registries.moe_backends != nullptr) {
    MoeBackendComponent backend;
    backend.name = std::string(component.name.ptr, component.name.len);
    backend.plugin = record.name;
    backend.table = static_cast<const ft_moe_backend*>(component.vtable);
    backend.state = opened.state;
    return registries.moe_backends->Add(std::move(backend));
  }
  if (kind == FT_KIND_REASONING_PARSER && registries.parsers != nullptr) {
    return AddParser(text::ParserKind::kReasoning, component, opened, record, registries.parsers);
  }
  if (kind == FT_KIND_TOOL_PARSER && registries.parsers != nullptr) {
    return AddParser(text::ParserKind::kToolCalls, component, opened, record, registries.parsers);
  }
  return Status();
}

}  // namespace

Status RegisterComponents(const PluginRecord& record,
                          const OpenedPlugin& opened,
                          const PluginRegistries& registries) {
  Status first;
  for (const ft_component* component : opened.components) {
    Status status = AddComponent(*component, opened, record, registries);
    if (!status.ok() && first.ok()) {
      first = std::move(status);
    }
  }
  return first;
}

}  // namespace ft
