// A YAML config file as a flat list of keys with their values and lines. Nothing nested, no
// aliases.
#pragma once

#include <string>
#include <vector>

#include "core/base/status.h"

namespace ft {

struct YamlEntry {
  std::string key;
  std::vector<std::string> values;  ///< one for a scalar, any number for a list
  bool is_list = false;
  int line = 0;  ///< 1-based
};

/// Errors: kNotFound: no such file; kDataLoss with the line: no YAML, not a mapping of scalars and
/// lists of scalars, a key that stands twice, an anchor or alias, longer than 1 MiB.
Result<std::vector<YamlEntry>> ReadYamlFile(const std::string& path);

/// The same for text; `name` is for messages.
Result<std::vector<YamlEntry>> ParseYaml(const std::string& text, const std::string& name);

}  // namespace ft
