// Every weight format of this build: the built-in ones and the components of kind quantization of
// every plugin in the build folder.
#pragma once

#include <string>
#include <vector>

#include "core/quant/quantization.h"

namespace ft {

/// Loaded once per process; never unloaded. A plugin that cannot be loaded fails the process
/// loudly.
const QuantizationRegistry& AllFormats();

/// Their names, for INSTANTIATE_TEST_SUITE_P.
std::vector<std::string> AllFormatNames();

}  // namespace ft
