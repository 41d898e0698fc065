// An entry that lets an exception out, which the ABI forbids.
#include <stdexcept>

#include "ft/plugin/abi.h"
#include "ft/plugin/manifest.h"

FT_PLUGIN_MANIFEST(
    "{\"schema\":\"ft.plugin/1\",\"id\":\"org.example.throws\",\"version\":\"1.0.0\",\"title\":"
    "\"Throws\",\"license\":\"Apache-2.0\",\"abi\":{\"core\":\"0.1\",\"need_core\":\"0.1\"},"
    "\"provides\":[{\"kind\":\"tool_parser\",\"name\":\"throws\",\"version\":\"0.1\"}]}");

extern "C" FT_EXPORT const ft_plugin* ft_plugin_entry_v1(const ft_host*, ft_error*) {
  throw std::runtime_error("thrown by the zoo");
}
