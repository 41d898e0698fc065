// What parsers.so exports: four components, no state.
#include <string_view>

#include "ft/plugin/abi.h"
#include "ft/plugin/embedded_manifest.h"
#include "ft/plugin/manifest.h"
#include "ft/plugin/parser.h"

#include "plugins/parsers/parser_table.h"

FT_PLUGIN_MANIFEST(FT_EMBEDDED_MANIFEST);

namespace {

ft_str ToStr(std::string_view text) {
  return {text.data(), text.size()};
}

ft_component Component(std::string_view kind, std::string_view name, const ft_parser* table) {
  return {{sizeof(ft_component), FT_TAG_COMPONENT, nullptr},
          ToStr(kind),
          ToStr(name),
          FT_PARSER_MAJOR,
          FT_PARSER_MINOR,
          table};
}

}  // namespace

extern "C" FT_EXPORT const ft_plugin* ft_plugin_entry_v1(const ft_host* /*host*/,
                                                         ft_error* /*error*/) {
  // In the order of ftplugin.yaml; `hermes` is another name of `qwen25`.
  static const ft_component kQwen3 =
      Component(FT_KIND_REASONING_PARSER, "qwen3", ft::parsers::ThinkTable());
  static const ft_component kQwen3Coder =
      Component(FT_KIND_TOOL_PARSER, "qwen3_coder", ft::parsers::XmlCallTable());
  static const ft_component kQwen25 =
      Component(FT_KIND_TOOL_PARSER, "qwen25", ft::parsers::JsonCallTable());
  static const ft_component kHermes =
      Component(FT_KIND_TOOL_PARSER, "hermes", ft::parsers::JsonCallTable());
  static const ft_component* const kComponents[] = {&kQwen3, &kQwen3Coder, &kQwen25, &kHermes};
  static const ft_plugin kPlugin = {{sizeof(ft_plugin), FT_TAG_PLUGIN, nullptr},
                                    FT_ABI_MAJOR,
                                    FT_ABI_MINOR,
                                    1,
                                    4,
                                    ToStr(FT_EMBEDDED_ID),
                                    ToStr(FT_EMBEDDED_VERSION),
                                    ToStr(FT_EMBEDDED_BUILD_ID),
                                    kComponents,
                                    nullptr,
                                    nullptr,
                                    nullptr};
  return &kPlugin;
}
