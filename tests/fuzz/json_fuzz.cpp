// Fuzzes the JSON reader, and that what it accepts survives being written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/json/parse.h"
#include "core/json/write.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto value = ft::json::Parse(text);
  if (!value.ok()) {
    return 0;
  }
  for (const int indent : {0, 2}) {
    ft::json::WriteOptions options;
    options.indent = indent;
    options.ascii_only = indent == 0;
    const auto again = ft::json::Parse(ft::json::Write(value.value(), options));
    if (!again.ok() || !(again.value() == value.value())) {
      std::abort();
    }
  }
  return 0;
}
