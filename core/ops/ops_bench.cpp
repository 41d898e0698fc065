// What the dense ops cost: attention of a decode step and of a prompt, and the row kernels.
#include <vector>

#include <benchmark/benchmark.h>

#include "core/ops/activation.h"
#include "core/ops/attention.h"
#include "core/ops/norm.h"

namespace ft::ops {
namespace {

const Kernels& KernelsOf(const benchmark::State& state) {
  return state.range(0) == 0 ? GenericKernels() : BestKernels();
}

// Qwen3-30B-A3B's heads over `range(1)` keys, `range(2)` queries at the end.
void BM_Attend(benchmark::State& state) {
  const AttentionShape shape = {
      .num_heads = 32, .num_kv_heads = 4, .key_dim = 128, .value_dim = 128, .scale = 0.088F};
  const int64_t length = state.range(1);
  const int64_t num_queries = state.range(2);
  const int64_t row = shape.num_kv_heads * 256;
  const std::vector<float> memory(static_cast<size_t>(length * row), 0.25F);
  const std::vector<int32_t> pages = {0};
  std::vector<AttentionQuery> queries;
  for (int64_t i = 0; i < num_queries; ++i) {
    queries.push_back({length - num_queries + i, pages.data()});
  }
  const std::vector<float> q(static_cast<size_t>(num_queries * 32 * 128), 0.5F);
  std::vector<float> out(q.size());
  ThreadPool pool;
  AttentionScratch scratch(pool.num_workers());
  for (auto _ : state) {
    Attend(&pool, KernelsOf(state), shape, {memory.data(), length, row}, queries, q.data(),
           out.data(), &scratch);
    benchmark::DoNotOptimize(out.data());
  }
  state.counters["keys/s"] =
      benchmark::Counter(static_cast<double>(num_queries * length),
                         benchmark::Counter::kIsRate | benchmark::Counter::kIsIterationInvariant);
}

BENCHMARK(BM_Attend)->Args({0, 4096, 1})->Args({1, 4096, 1})->Args({1, 1024, 64});

void BM_RmsNorm(benchmark::State& state) {
  const std::vector<float> x(2048, 0.5F);
  std::vector<float> out(2048);
  for (auto _ : state) {
    RmsNormRow(KernelsOf(state), x.data(), x.data(), 1e-6F, 2048, out.data());
    benchmark::DoNotOptimize(out.data());
  }
}

BENCHMARK(BM_RmsNorm)->Arg(0)->Arg(1);

void BM_SiluMul(benchmark::State& state) {
  const std::vector<float> x(6144, 0.5F);
  std::vector<float> out(6144);
  for (auto _ : state) {
    GatedActivation(KernelsOf(state), Activation::kSilu, x.data(), x.data(), 6144, out.data());
    benchmark::DoNotOptimize(out.data());
  }
}

BENCHMARK(BM_SiluMul)->Arg(0)->Arg(1);

}  // namespace
}  // namespace ft::ops
