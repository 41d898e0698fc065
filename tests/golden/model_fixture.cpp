#include "tests/golden/model_fixture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "core/base/log.h"
#include "core/checkpoint/tensor_index.h"
#include "core/plugin_host/plugin_host.h"
#include "core/quant/builtin/float_format.h"

namespace ft::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 5> kServedFamilies = {"qwen3_moe-", "qwen3-", "qwen2-", "llama-",
                                                        "mixtral-"};

[[noreturn]] void Die(const std::string& message) {
  std::fprintf(stderr, "golden tests: %s\n", message.c_str());
  std::abort();
}

template <typename T>
std::vector<T> Read(const TensorIndex& index, const char* name) {
  const auto view = index.Map(name);
  if (!view.ok()) {
    Die(view.status().message());
  }
  std::vector<T> values(view->num_bytes() / sizeof(T));
  std::memcpy(values.data(), view->data, view->num_bytes());
  return values;
}

}  // namespace

std::vector<std::string> GoldenFolders() {
  std::vector<std::string> folders;
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(FT_SOURCE_DIR "/tests/golden/models", ignored)) {
    folders.push_back(entry.path().string());
    names.push_back(entry.path().filename().string());
  }
  for (const auto& entry :
       fs::directory_iterator(FT_SOURCE_DIR "/../shared/golden/models", ignored)) {
    const std::string name = entry.path().filename().string();
    const bool is_served =
        std::any_of(kServedFamilies.begin(), kServedFamilies.end(),
                    [&](const char* family) { return name.rfind(family, 0) == 0; });
    if (is_served && std::find(names.begin(), names.end(), name) == names.end()) {
      folders.push_back(entry.path().string());
    }
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

const Plugins& AllPlugins() {
  static const Plugins* const kPlugins = [] {
    SetLogLevel(LogLevel::kWarning);
    auto* plugins = new Plugins;
    Status status = RegisterBuiltinQuantizations(&plugins->quantizations);
    PluginHostOptions options;
    options.built_in_dir = FT_PLUGIN_DIR;
    static PluginHost host(options);
    if (status.ok()) {
      status = host.LoadAll(
          {.quantizations = &plugins->quantizations, .moe_backends = &plugins->moe_backends});
    }
    if (!status.ok()) {
      Die(status.message());
    }
    return plugins;
  }();
  return *kPlugins;
}

Golden ReadGolden(const std::string& folder) {
  const auto index = TensorIndex::Open(folder + "/golden.safetensors");
  if (!index.ok()) {
    Die(index.status().message());
  }
  Golden golden;
  for (const int64_t id : Read<int64_t>(*index, "input_ids")) {
    golden.input_ids.push_back(static_cast<int32_t>(id));
  }
  golden.logits = Read<float>(*index, "logits");
  golden.greedy = Read<int64_t>(*index, "greedy");
  golden.vocab_size = static_cast<int64_t>(golden.logits.size() / golden.input_ids.size());
  return golden;
}

LoadOptions OptionsFor(const std::string& folder) {
  LoadOptions options;
  options.dir = folder;
  options.device = "cpu";
  options.num_threads = 1;  // test programs run side by side; other counts are the ops' tests
  options.max_batch_tokens = 256;
  options.max_logit_rows = 256;
  options.quantizations = &AllPlugins().quantizations;
  options.moe_backends = &AllPlugins().moe_backends;
  return options;
}

double LargestOf(const std::vector<float>& values) {
  double largest = 0;
  for (const float value : values) {
    largest = std::max(largest, std::abs(static_cast<double>(value)));
  }
  return largest;
}

double LargestDifference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) {
    return INFINITY;
  }
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!(difference <= largest)) {  // NaN counts
      largest = std::isnan(difference) ? INFINITY : difference;
    }
  }
  return largest;
}

}  // namespace ft::testing
