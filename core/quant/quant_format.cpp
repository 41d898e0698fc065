#include "core/quant/quant_format.h"

#include <array>

#include "core/base/errors.h"

namespace ft {
namespace {

constexpr std::array kNames = {"f32",   "f16",       "bf16",        "nvfp4",
                               "mxfp4", "fp8_block", "fp8_channel", "fp8_tensor"};

}  // namespace

const char* QuantFormatName(QuantFormat format) {
  const auto index = static_cast<size_t>(format);
  FT_CHECK(index < kNames.size());
  return kNames[index];
}

Result<QuantFormat> ParseQuantFormat(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (name == kNames[i]) {
      return static_cast<QuantFormat>(i);
    }
  }
  return InvalidArgument("\"{}\" is no weight format; known: {}", name, fmt::join(kNames, " "));
}

}  // namespace ft
