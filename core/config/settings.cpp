#include "core/config/settings.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "core/base/check.h"
#include "core/base/errors.h"
#include "core/config/yaml_file.h"

namespace ft {
namespace {

std::vector<std::string> SplitCommas(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const size_t comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(comma + 1);
  }
}

// Checks `texts` as values of `spec`, which came from `origin`.
Result<Setting> MakeSetting(const OptionSpec& spec,
                            const std::vector<std::string>& texts,
                            const std::string& origin) {
  Setting setting;
  setting.origin = origin;
  setting.is_explicit = true;
  if (spec.type != OptionType::kList && texts.size() > 1) {
    return InvalidArgument("{} was given {} times ({}); it takes one value", spec.name,
                           texts.size(), origin);
  }
  for (const std::string& text : texts) {
    Result<std::string> value = CheckValue(spec, text);
    if (!value.ok()) {
      return InvalidArgument("{} ({})", value.status().message(), origin);
    }
    setting.values.push_back(std::move(*value));
  }
  return setting;
}

const OptionSpec* FindByFileKey(const std::vector<OptionSpec>& specs, std::string key) {
  std::replace(key.begin(), key.end(), '-', '_');
  for (const OptionSpec& spec : specs) {
    if (spec.FileKey() == key) {
      return &spec;
    }
    for (std::string alias : spec.aliases) {
      std::replace(alias.begin(), alias.end(), '-', '_');
      if (alias == key) {
        return &spec;
      }
    }
  }
  return nullptr;
}

std::vector<std::string> FileKeys(const std::vector<OptionSpec>& specs) {
  std::vector<std::string> keys;
  keys.reserve(specs.size());
  for (const OptionSpec& spec : specs) {
    keys.push_back(spec.FileKey());
  }
  return keys;
}

}  // namespace

Result<Settings> Settings::Resolve(const std::vector<OptionSpec>& specs,
                                   const FlagValues& flags,
                                   const std::map<std::string, std::string>& environment,
                                   const std::string& config_file) {
  Settings result;
  result.specs_ = specs;
  for (const OptionSpec& spec : specs) {
    Setting setting;
    setting.origin = "default";
    if (!spec.default_value.empty()) {
      const Result<std::string> value = CheckValue(spec, spec.default_value);
      FT_CHECK(value.ok());
      setting.values = {*value};
    }
    result.settings_[spec.name] = std::move(setting);
  }
  if (!config_file.empty()) {
    FT_RETURN_IF_ERROR(result.ApplyFile(config_file));
  }
  for (const OptionSpec& spec : specs) {
    const auto found = environment.find(spec.EnvironmentName());
    if (found != environment.end()) {
      const std::vector<std::string> texts = spec.type == OptionType::kList
                                                 ? SplitCommas(found->second)
                                                 : std::vector<std::string>{found->second};
      FT_ASSIGN_OR_RETURN(result.settings_[spec.name],
                          MakeSetting(spec, texts, "environment " + spec.EnvironmentName()));
    }
  }
  for (const auto& [name, texts] : flags) {
    const auto spec = std::find_if(specs.begin(), specs.end(),
                                   [&name = name](const OptionSpec& s) { return s.name == name; });
    FT_CHECK(spec != specs.end());
    FT_ASSIGN_OR_RETURN(result.settings_[name], MakeSetting(*spec, texts, "flag --" + name));
  }
  return result;
}

Status Settings::ApplyFile(const std::string& config_file) {
  FT_ASSIGN_OR_RETURN(const std::vector<YamlEntry> entries, ReadYamlFile(config_file));
  std::map<std::string, int> seen;
  for (const YamlEntry& entry : entries) {
    const std::string origin = fmt::format("{}:{}", config_file, entry.line);
    const OptionSpec* spec = FindByFileKey(specs_, entry.key);
    if (spec == nullptr) {
      const std::string close = ClosestWord(entry.key, FileKeys(specs_));
      return InvalidArgument("{}: there is no setting '{}'{}", origin, entry.key,
                             close.empty() ? "" : "; did you mean '" + close + "'?");
    }
    if (spec->name == "config") {
      return InvalidArgument("{}: a config file cannot name another one", origin);
    }
    if (!seen.emplace(spec->name, entry.line).second) {
      return InvalidArgument("{}: {} was already set in line {}", origin, spec->name,
                             seen[spec->name]);
    }
    if (entry.is_list && spec->type != OptionType::kList) {
      return InvalidArgument("{}: {} takes one value, not a list", origin, spec->name);
    }
    FT_ASSIGN_OR_RETURN(settings_[spec->name], MakeSetting(*spec, entry.values, origin));
  }
  return Status();
}

const Setting& Settings::Get(std::string_view name) const {
  const auto found = settings_.find(name);
  FT_CHECK(found != settings_.end());
  return found->second;
}

bool Settings::Switch(std::string_view name) const {
  const Setting& setting = Get(name);
  return !setting.values.empty() && setting.values[0] == "true";
}

std::string Settings::String(std::string_view name) const {
  const Setting& setting = Get(name);
  return setting.values.empty() ? std::string() : setting.values[0];
}

int64_t Settings::Int(std::string_view name) const {
  FT_CHECK(IsSet(name));
  return std::strtoll(Get(name).values[0].c_str(), nullptr, 10);
}

double Settings::Float(std::string_view name) const {
  FT_CHECK(IsSet(name));
  return std::strtod(Get(name).values[0].c_str(), nullptr);
}

uint64_t Settings::Size(std::string_view name) const {
  FT_CHECK(IsSet(name));
  return std::strtoull(Get(name).values[0].c_str(), nullptr, 10);
}

const std::vector<std::string>& Settings::List(std::string_view name) const {
  return Get(name).values;
}

std::string ClosestWord(std::string_view word, const std::vector<std::string>& words) {
  std::string best;
  size_t best_distance = word.size() / 3 + 2;  // farther off is no slip of the finger
  for (const std::string& candidate : words) {
    // Levenshtein distance, one row at a time.
    std::vector<size_t> row(candidate.size() + 1);
    for (size_t j = 0; j <= candidate.size(); ++j) {
      row[j] = j;
    }
    for (size_t i = 1; i <= word.size(); ++i) {
      size_t diagonal = row[0];
      row[0] = i;
      for (size_t j = 1; j <= candidate.size(); ++j) {
        const size_t change = diagonal + (word[i - 1] == candidate[j - 1] ? 0 : 1);
        diagonal = row[j];
        row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
      }
    }
    if (row.back() < best_distance) {
      best_distance = row.back();
      best = candidate;
    }
  }
  return best;
}

}  // namespace ft
