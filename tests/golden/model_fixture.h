// What tests of whole models share: the plugins of this build, checkpoint folders, and goldens.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/engine/eval.h"
#include "core/engine/model_loader.h"
#include "core/moe/moe_backend.h"
#include "core/quant/quantization.h"

namespace ft::testing {

/// Folders below tests/golden/models, and of ../shared/golden/models those of served families.
/// Shared ones that are in the tree are left out.
std::vector<std::string> GoldenFolders();

/// Built-in formats and all plugins of this build. Made once.
struct Plugins {
  QuantizationRegistry quantizations;
  MoeBackendRegistry moe_backends;
};

const Plugins& AllPlugins();

struct Golden {
  std::vector<int32_t> input_ids;
  int64_t vocab_size = 0;
  std::vector<float> logits;  ///< [input_ids.size(), vocab_size]
  std::vector<int64_t> greedy;
};

/// Golden of a folder; a failure ends the test program.
Golden ReadGolden(const std::string& folder);

LoadOptions OptionsFor(const std::string& folder);

/// Largest absolute value.
double LargestOf(const std::vector<float>& values);

/// Largest absolute difference.
double LargestDifference(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace ft::testing
