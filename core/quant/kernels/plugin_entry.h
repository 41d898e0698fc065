// The entry of a plugin that only offers formats: no state, nothing to start or stop.
#pragma once

#include <cstddef>
#include <cstring>

#include "ft/plugin/abi.h"
#include "ft/plugin/quantization.h"

#include "core/quant/kernels/abi_error.h"

namespace ft::kernels {

inline ft_str StrOf(const char* text) {
  return {text, std::strlen(text)};
}

/// The component whose name is the table's format.
inline ft_component QuantizationComponent(const ft_quantization* table) {
  ft_component component = {};
  component.hdr = {sizeof(ft_component), FT_TAG_COMPONENT, nullptr};
  component.kind = StrOf(FT_KIND_QUANTIZATION);
  component.name = table->format;
  component.major = FT_QUANTIZATION_MAJOR;
  component.minor = FT_QUANTIZATION_MINOR;
  component.vtable = table;
  return component;
}

template <size_t kCount>
ft_plugin StatelessPlugin(const char* id,
                          const char* version,
                          const char* build_id,
                          const ft_component* const (&components)[kCount]) {
  ft_plugin plugin = {};
  plugin.hdr = {sizeof(ft_plugin), FT_TAG_PLUGIN, nullptr};
  plugin.abi_major = FT_ABI_MAJOR;
  plugin.abi_minor = FT_ABI_MINOR;
  plugin.need_minor = FT_ABI_MINOR;
  plugin.n_components = kCount;
  plugin.id = StrOf(id);
  plugin.version = StrOf(version);
  plugin.build_id = StrOf(build_id);
  plugin.components = components;
  return plugin;
}

/// `plugin` when the host speaks this ABI; otherwise null and the reason.
inline const ft_plugin* Greet(const ft_host* host, const ft_plugin* plugin, ft_error* error) {
  if (host == nullptr || !IsStruct(&host->hdr, FT_TAG_HOST, FT_SIZE_THRU(ft_host, service))) {
    Fail(error, FT_E_ABI, "the host's table has a wrong size or tag");
    return nullptr;
  }
  if (host->abi_major != plugin->abi_major || host->abi_minor < plugin->need_minor) {
    Fail(error, FT_E_ABI, "the host speaks plugin ABI %u.%u, this plugin needs %u.%u or later",
         host->abi_major, host->abi_minor, plugin->abi_major, plugin->need_minor);
    return nullptr;
  }
  return plugin;
}

}  // namespace ft::kernels
