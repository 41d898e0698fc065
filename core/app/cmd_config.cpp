// `ft config show`: every setting of serve, its value, and where it came from.
#include <cstdio>

#include "core/app/commands.h"
#include "core/app/serve_session.h"
#include "core/json/write.h"

namespace ft::app {

int RunConfigShow(const Invocation& invocation) {
  const json::Value document = SettingsDocument(invocation.settings);
  if (invocation.settings.Switch("json")) {
    std::printf("%s\n", json::Write(document, {.indent = 2}).c_str());
    return 0;
  }
  for (const json::Value& entry : document.as_array()) {
    if (entry.Find("name")->as_string() == "json") {
      continue;  // says how to print, and is no setting of serve
    }
    const json::Value& value = *entry.Find("value");
    const std::string text = value.is_string() ? value.as_string()
                             : value.is_null() ? std::string("-")
                                               : json::Write(value);
    std::printf("%-28s %-24s %s\n", entry.Find("name")->as_string().c_str(), text.c_str(),
                entry.Find("origin")->as_string().c_str());
  }
  return 0;
}

}  // namespace ft::app
