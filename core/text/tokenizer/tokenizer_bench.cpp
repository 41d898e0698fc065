// Speed of Encode and Decode with the golden tokenizers, on prose and on long runs. The texts and
// tokenizers outside the tree are skipped when they are not there.
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "core/text/tokenizer/tokenizer.h"

namespace ft::text {
namespace {

constexpr const char* kSharedFolder = FT_SOURCE_DIR "/../shared";

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string Repeat(std::string_view unit, size_t bytes) {
  std::string text;
  while (text.size() < bytes) {
    text += unit;
  }
  return text;
}

std::unique_ptr<Tokenizer> LoadGolden(const std::string& name) {
  Result<std::unique_ptr<Tokenizer>> tokenizer =
      Tokenizer::Load(std::string(kSharedFolder) + "/golden/tokenizers/" + name);
  return tokenizer.ok() ? *std::move(tokenizer) : nullptr;
}

void Encode(benchmark::State& state, const std::string& name, const std::string& text) {
  const std::unique_ptr<Tokenizer> tokenizer = LoadGolden(name);
  if (tokenizer == nullptr || text.empty()) {
    state.SkipWithError("no golden tokenizer or text here");
    return;
  }
  size_t num_ids = 0;
  for (auto _ : state) {
    num_ids += tokenizer->Encode(text)->size();
  }
  state.SetBytesProcessed(static_cast<int64_t>(text.size()) *
                          static_cast<int64_t>(state.iterations()));
  state.counters["ids/s"] =
      benchmark::Counter(static_cast<double>(num_ids), benchmark::Counter::kIsRate);
}

void Decode(benchmark::State& state, const std::string& name, const std::string& text) {
  const std::unique_ptr<Tokenizer> tokenizer = LoadGolden(name);
  if (tokenizer == nullptr || text.empty()) {
    state.SkipWithError("no golden tokenizer or text here");
    return;
  }
  const std::vector<int32_t> ids = *tokenizer->Encode(text);
  for (auto _ : state) {
    benchmark::DoNotOptimize(tokenizer->Decode(ids));
  }
  state.SetBytesProcessed(static_cast<int64_t>(text.size()) *
                          static_cast<int64_t>(state.iterations()));
}

int RegisterAll() {
  constexpr size_t kMebibyte = size_t{1} << 20;
  const std::string prose = ReadAll(std::string(kSharedFolder) + "/data/tinyshakespeare.txt");
  for (const char* name : {"qwen2", "gpt_oss", "deepseek_v3", "kimi", "llama3", "gpt2", "llama2",
                           "mistral_metaspace", "gemma", "added_tokens"}) {
    const std::string prefix = std::string(name) + "/";
    const auto add = [&](const char* what, const std::string& text) {
      benchmark::RegisterBenchmark((prefix + what).c_str(), [name, text](benchmark::State& state) {
        Encode(state, name, text);
      })->Unit(benchmark::kMillisecond);
    };
    add("prose", prose);
    add("1MiB_of_letter", Repeat("a", kMebibyte));
    add("1MiB_of_capital", Repeat("Z", kMebibyte));
    add("1MiB_of_space", Repeat(" ", kMebibyte));
    add("1MiB_of_newline", Repeat("\n", kMebibyte));
    add("1MiB_of_han", Repeat("漢字", kMebibyte));
    benchmark::RegisterBenchmark((prefix + "decode").c_str(), [name, prose](benchmark::State& s) {
      Decode(s, name, prose);
    })->Unit(benchmark::kMillisecond);
  }
  return 0;
}

const int kRegistered = RegisterAll();

}  // namespace
}  // namespace ft::text
