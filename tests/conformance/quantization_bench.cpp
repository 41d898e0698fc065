// Speed of every weight format beside a plain AVX2 read of the same bytes, measured in turns so
// that both see the same machine: one token through top-8 experts (working set far beyond the
// caches), and the product of one matrix with 512 tokens.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include <sys/mman.h>
#if defined(__x86_64__)
#  include <immintrin.h>
#endif

#include <benchmark/benchmark.h>

#include "core/base/thread_pool.h"
#include "core/quant/exec.h"
#include "tests/conformance/quantization_experts.h"
#include "tests/conformance/quantization_formats.h"
#include "tests/conformance/quantization_samples.h"

namespace ft {
namespace {

constexpr int64_t kTopK = 8;
constexpr size_t kWorkingSetBytes = size_t{768} << 20;

int num_workers = 0;  // --workers=N; 0: all cores

// Seconds. With one worker the thread's own CPU time, which a busy machine does not spoil.
double Now() {
  if (num_workers == 1) {
    timespec time = {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) int64_t ReadAll(const uint8_t* from, size_t bytes) {
  __m256i sums[4] = {};
  for (size_t i = 0; i + 128 <= bytes; i += 128) {
    for (size_t j = 0; j < 4; ++j) {
      sums[j] = _mm256_xor_si256(
          sums[j], _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i + j * 32)));
    }
  }
  const __m256i sum =
      _mm256_xor_si256(_mm256_xor_si256(sums[0], sums[1]), _mm256_xor_si256(sums[2], sums[3]));
  return _mm256_extract_epi64(sum, 0) ^ _mm256_extract_epi64(sum, 3);
}
#else
int64_t ReadAll(const uint8_t* from, size_t bytes) {
  int64_t sum = 0;
  for (size_t i = 0; i + 8 <= bytes; i += 8) {
    int64_t value;
    std::memcpy(&value, from + i, sizeof(value));
    sum ^= value;
  }
  return sum;
}
#endif

// Big memory in huge pages where the system gives them.
struct Arena {
  explicit Arena(size_t size) : bytes(size) {
    data = static_cast<uint8_t*>(
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    madvise(data, size, MADV_HUGEPAGE);
  }

  ~Arena() { munmap(data, bytes); }

  uint8_t* data;
  size_t bytes;
};

void ExpertDecode(benchmark::State& state,
                  const std::string& format,
                  int64_t hidden_dim,
                  int64_t intermediate_dim) {
  const Quantization& quantization = *AllFormats().Find(format);
  std::mt19937 random(1);
  ExpertSpec spec;
  spec.format = format;
  spec.hidden_dim = hidden_dim;
  spec.intermediate_dim = intermediate_dim;
  const ft_expert_kind kind = KindOf(spec);
  const Expert expert = MakeExpert(quantization, spec, &random);
  const size_t expert_bytes = expert.packed.size();
  const size_t num_experts = kWorkingSetBytes / expert_bytes;
  const Arena arena(num_experts * expert_bytes);
  for (size_t i = 0; i < num_experts; ++i) {
    std::memcpy(arena.data + i * expert_bytes, expert.packed.data(), expert_bytes);
  }
  ThreadPool pool(num_workers);
  const ft_exec exec = MakeExec(&pool);
  const auto x = RandomFloats(hidden_dim, &random);
  std::vector<float> y(static_cast<size_t>(kTopK * hidden_dim));
  const Arena scratch(size_t{1} << 20);
  const int32_t token = 0;
  const int32_t routes[kTopK] = {0, 1, 2, 3, 4, 5, 6, 7};
  const float weight = 0.125F;
  size_t next = 0;
  std::vector<double> compute_times;
  std::vector<double> read_times;
  for (auto _ : state) {
    ft_expert_job jobs[kTopK];
    const uint8_t* first = arena.data + next * expert_bytes;
    for (size_t j = 0; j < kTopK; ++j) {
      jobs[j] = {first + j * expert_bytes, 1, &token, &routes[j], &weight};
    }
    next = next + 2 * kTopK <= num_experts - kTopK ? next + kTopK : 0;
    const uint8_t* other = arena.data + (num_experts / 2 + next / 2) * expert_bytes;
    ft_expert_mlp_args args = {};
    args.hdr = {sizeof(args), FT_TAG_EXPERT_ARGS, nullptr};
    args.kind = &kind;
    args.mode = FT_COMPUTE_SERVED;
    args.n_jobs = kTopK;
    args.jobs = jobs;
    args.x = x.data();
    args.x_stride = hidden_dim;
    args.y = y.data();
    args.y_stride = hidden_dim;
    args.scratch = scratch.data;
    args.scratch_bytes = scratch.bytes;
    args.exec = &exec;
    const double start = Now();
    const Status status = quantization.ExpertMlp(args);
    const double middle = Now();
    const size_t read_bytes =
        std::min(kTopK * expert_bytes, arena.bytes - static_cast<size_t>(other - arena.data));
    constexpr size_t kPiece = size_t{1} << 18;
    pool.ParallelFor(read_bytes / kPiece, 1, [&](uint32_t, uint64_t begin, uint64_t end) {
      const int64_t part = ReadAll(other + begin * kPiece, (end - begin) * kPiece);
      benchmark::DoNotOptimize(part);
    });
    const double end = Now();
    if (!status.ok()) {
      state.SkipWithError(status.message().c_str());
    }
    state.SetIterationTime(middle - start);
    compute_times.push_back((middle - start) / static_cast<double>(kTopK * expert_bytes));
    read_times.push_back((end - middle) / static_cast<double>(read_bytes / kPiece * kPiece));
  }
  state.counters["GB/s"] = 1e-9 / Median(compute_times);
  state.counters["read_GB/s"] = 1e-9 / Median(read_times);
  state.counters["of_read"] = Median(read_times) / Median(compute_times);
  state.counters["of_read_best"] = *std::min_element(read_times.begin(), read_times.end()) /
                                   *std::min_element(compute_times.begin(), compute_times.end());
}

void MatmulPrefill(benchmark::State& state,
                   const std::string& format,
                   int64_t rows,
                   int64_t cols,
                   int64_t num_tokens) {
  const Quantization& quantization = *AllFormats().Find(format);
  std::mt19937 random(1);
  const Sample sample = MakeSample(format, 0, rows, cols, &random);
  const auto packed = PackSample(quantization, sample);
  const auto x = RandomFloats(num_tokens * cols, &random);
  std::vector<float> y(static_cast<size_t>(num_tokens * rows));
  ThreadPool pool(num_workers);
  const ft_exec exec = MakeExec(&pool);
  ft_matmul_args args = {};
  args.hdr = {sizeof(args), FT_TAG_MATMUL_ARGS, nullptr};
  args.mode = FT_COMPUTE_SERVED;
  args.rows = rows;
  args.cols = cols;
  args.n_tokens = num_tokens;
  args.weights = packed.data();
  args.x = x.data();
  args.x_stride = cols;
  args.y = y.data();
  args.y_stride = rows;
  args.exec = &exec;
  std::vector<double> times;
  for (auto _ : state) {
    const double start = Now();
    const Status status = quantization.Matmul(args);
    times.push_back(Now() - start);
    state.SetIterationTime(times.back());
    if (!status.ok()) {
      state.SkipWithError(status.message().c_str());
    }
  }
  const double work = 2.0 * static_cast<double>(rows * cols * num_tokens);
  state.counters["GFLOP/s"] = work / Median(times) * 1e-9;
  state.counters["GFLOP/s_best"] = work / *std::min_element(times.begin(), times.end()) * 1e-9;
}

void RegisterAll() {
  const int64_t shapes[][2] = {{3072, 1536}, {2048, 512}, {2560, 640}};
  for (const std::string& format : AllFormatNames()) {
    if (NumSpellings(format) == 0) {
      continue;
    }
    for (const auto& shape : shapes) {
      const std::string name =
          "expert_top8/" + format + "/" + std::to_string(shape[0]) + "x" + std::to_string(shape[1]);
      benchmark::RegisterBenchmark(name.c_str(), ExpertDecode, format, shape[0], shape[1])
          ->UseManualTime()
          ->Unit(benchmark::kMicrosecond)
          ->MinTime(0.3);
    }
    for (const int64_t num_tokens : {1, 4, 512}) {
      const std::string name = "matmul/" + format + "/2048x2048x" + std::to_string(num_tokens);
      benchmark::RegisterBenchmark(name.c_str(), MatmulPrefill, format, int64_t{2048},
                                   int64_t{2048}, num_tokens)
          ->UseManualTime()
          ->Unit(benchmark::kMicrosecond)
          ->MinTime(0.2);
    }
  }
}

}  // namespace
}  // namespace ft

int main(int argc, char** argv) {
  ft::RegisterAll();
  benchmark::Initialize(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--workers=", 10) == 0) {
      ft::num_workers = std::atoi(argv[i] + 10);
    }
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
