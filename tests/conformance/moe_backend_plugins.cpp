#include "tests/conformance/moe_backend_plugins.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include <dlfcn.h>

#include "ft/plugin/abi.h"

namespace ft {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void Die(const std::string& message) {
  std::fprintf(stderr, "conformance: %s\n", message.c_str());
  std::abort();
}

const ft_host* TestHost() {
  static const ft_host kHost = [] {
    ft_host host = {};
    host.hdr = {sizeof(ft_host), FT_TAG_HOST, nullptr};
    host.abi_major = FT_ABI_MAJOR;
    host.abi_minor = FT_ABI_MINOR;
    host.mode = FT_MODE_TEST;
    host.product = {"conformance", 11};
    host.service = [](void*, const char*, uint32_t) noexcept -> const void* { return nullptr; };
    return host;
  }();
  return &kHost;
}

void LoadPlugin(const fs::path& file, MoeBackendRegistry* registry) {
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  void* symbol = library == nullptr ? nullptr : dlsym(library, FT_PLUGIN_ENTRY_SYMBOL);
  if (symbol == nullptr) {
    Die(file.string() + ": " + dlerror());
  }
  ft_error error = {};
  error.hdr = {sizeof(ft_error), FT_TAG_ERROR, nullptr};
  const ft_plugin* plugin = reinterpret_cast<ft_plugin_entry_fn>(symbol)(TestHost(), &error);
  if (plugin == nullptr) {
    Die(file.string() + " refuses: " + error.message);
  }
  for (uint32_t i = 0; i < plugin->n_components; ++i) {
    const ft_component& component = *plugin->components[i];
    if (std::string_view(component.kind.ptr, component.kind.len) != FT_KIND_MOE_BACKEND) {
      continue;
    }
    void* state = nullptr;
    if (plugin->start != nullptr && plugin->start(TestHost(), &state, &error) != FT_OK) {
      Die(file.string() + " does not start: " + error.message);
    }
    const Status added =
        registry->Add({std::string(component.name.ptr, component.name.len), file.stem().string(),
                       static_cast<const ft_moe_backend*>(component.vtable), state});
    if (!added.ok()) {
      Die(added.message());
    }
  }
}

}  // namespace

const MoeBackendRegistry& AllMoeBackends() {
  static const MoeBackendRegistry* const kRegistry = [] {
    auto* registry = new MoeBackendRegistry();
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(FT_PLUGIN_DIR, ignored)) {
      if (entry.path().extension() == ".so") {
        LoadPlugin(entry.path(), registry);
      }
    }
    return registry;
  }();
  return *kRegistry;
}

std::vector<std::string> AllMoeBackendNames() {
  std::vector<std::string> names;
  for (const auto& component : AllMoeBackends().all()) {
    names.push_back(component->name);
  }
  return names;
}

}  // namespace ft
