// What moe-offload exports: the component `offload`.
#include "ft/plugin/abi.h"
#include "ft/plugin/embedded_manifest.h"
#include "ft/plugin/manifest.h"
#include "ft/plugin/moe_backend.h"
#include "ft/plugin/moe_sdk.h"

#include "core/quant/kernels/plugin_entry.h"
#include "plugins/moe-offload/backend.h"

FT_PLUGIN_MANIFEST(FT_EMBEDDED_MANIFEST);

extern "C" FT_EXPORT const ft_plugin* ft_plugin_entry_v1(const ft_host* host, ft_error* error) {
  static const ft_moe_backend kTable = ft::plugin::MakeMoeBackendTable<ft::moe_offload::Backend>(
      FT_MOE_CAP_BIT_EXACT | FT_MOE_CAP_BOUNDED);
  static const ft_component kComponent = ft::plugin::MoeBackendComponent("offload", &kTable);
  static const ft_component* const kComponents[] = {&kComponent};
  static const ft_plugin kPlugin = ft::kernels::StatelessPlugin(FT_EMBEDDED_ID, FT_EMBEDDED_VERSION,
                                                                FT_EMBEDDED_BUILD_ID, kComponents);
  return ft::kernels::Greet(host, &kPlugin, error);
}
