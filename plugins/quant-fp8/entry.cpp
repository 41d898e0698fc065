// What quant-fp8 exports: its table, three components, no state.
#include "ft/plugin/abi.h"
#include "ft/plugin/embedded_manifest.h"
#include "ft/plugin/manifest.h"
#include "ft/plugin/quantization.h"

#include "core/quant/kernels/plugin_entry.h"
#include "plugins/quant-fp8/format.h"

FT_PLUGIN_MANIFEST(FT_EMBEDDED_MANIFEST);

extern "C" FT_EXPORT const ft_plugin* ft_plugin_entry_v1(const ft_host* host, ft_error* error) {
  using ft::kernels::QuantizationComponent;
  static const ft_component kBlock = QuantizationComponent(ft::fp8::BlockTable());
  static const ft_component kChannel = QuantizationComponent(ft::fp8::ChannelTable());
  static const ft_component kTensor = QuantizationComponent(ft::fp8::TensorTable());
  static const ft_component* const kComponents[] = {&kBlock, &kChannel, &kTensor};
  static const ft_plugin kPlugin = ft::kernels::StatelessPlugin(FT_EMBEDDED_ID, FT_EMBEDDED_VERSION,
                                                                FT_EMBEDDED_BUILD_ID, kComponents);
  return ft::kernels::Greet(host, &kPlugin, error);
}
