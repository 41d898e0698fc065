// Lookup of families.
#include "core/models/registry.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/errors.h"

namespace ft {
namespace {

bool Has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

void ModelRegistry::Add(ModelFamily family) {
  FT_CHECK(family.read_config != nullptr);
  for (const ModelFamily& known : families_) {
    FT_CHECK(known.name != family.name);
    for (const std::string& name : family.architectures) {
      FT_CHECK(!Has(known.architectures, name));
    }
    for (const std::string& name : family.model_types) {
      FT_CHECK(!Has(known.model_types, name));
    }
  }
  families_.push_back(std::move(family));
}

Result<const ModelFamily*> ModelRegistry::Find(const ModelConfig& config) const {
  std::string known;
  for (const ModelFamily& family : families_) {
    if (config.architecture.empty() ? Has(family.model_types, config.model_type)
                                    : Has(family.architectures, config.architecture)) {
      return &family;
    }
    for (const std::string& name : family.architectures) {
      known += (known.empty() ? "" : ", ") + name;
    }
  }
  return Unimplemented(
      "config.json: ft has no model family for architecture \"{}\" (model_type \"{}\"); it serves "
      "{}",
      config.architecture, config.model_type, known);
}

}  // namespace ft
