// What quant-mxfp4 exports: its table, one component, no state.
#include "ft/plugin/abi.h"
#include "ft/plugin/embedded_manifest.h"
#include "ft/plugin/manifest.h"
#include "ft/plugin/quantization.h"

#include "core/quant/kernels/plugin_entry.h"
#include "plugins/quant-mxfp4/format.h"

FT_PLUGIN_MANIFEST(FT_EMBEDDED_MANIFEST);

extern "C" FT_EXPORT const ft_plugin* ft_plugin_entry_v1(const ft_host* host, ft_error* error) {
  using ft::kernels::QuantizationComponent;
  static const ft_component kMxfp4 = QuantizationComponent(ft::mxfp4::Table());
  static const ft_component* const kComponents[] = {&kMxfp4};
  static const ft_plugin kPlugin = ft::kernels::StatelessPlugin(FT_EMBEDDED_ID, FT_EMBEDDED_VERSION,
                                                                FT_EMBEDDED_BUILD_ID, kComponents);
  return ft::kernels::Greet(host, &kPlugin, error);
}
