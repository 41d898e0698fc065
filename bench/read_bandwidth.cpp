// Plain read bandwidth of memory: the limit beside which decode speed is reported.
// Usage: read_bandwidth [THREADS] [MIB_PER_THREAD]. Prints GB/s (1e9), the median of seven passes.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "core/base/thread_pool.h"

namespace {

// Eight independent sums, so that the loop waits for memory and not for additions.
uint64_t Sum(const uint64_t* data, size_t count) {
  uint64_t sums[8] = {};
  for (size_t i = 0; i + 8 <= count; i += 8) {
    for (size_t j = 0; j < 8; ++j) {
      sums[j] += data[i + j];
    }
  }
  uint64_t total = 0;
  for (const uint64_t sum : sums) {
    total += sum;
  }
  return total;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : ft::UsableCores();
  const int mib = argc > 2 ? std::atoi(argv[2]) : 512;
  if (threads < 1 || threads > 1024 || mib < 1 || mib > 65536) {
    std::fprintf(stderr, "usage: read_bandwidth [THREADS] [MIB_PER_THREAD]\n");
    return 2;
  }
  const size_t words = static_cast<size_t>(mib) * (size_t{1} << 20) / sizeof(uint64_t);
  const auto workers = static_cast<size_t>(threads);
  std::vector<std::vector<uint64_t>> blocks(workers);
  ft::ThreadPool pool(threads);
  // Each worker fills its own block, so that pages are near it.
  pool.ParallelFor(workers, 1, [&](uint32_t, uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; ++i) {
      blocks[i].assign(words, i + 1);
    }
  });
  std::vector<double> rates;
  volatile uint64_t sink = 0;
  for (int pass = 0; pass < 7; ++pass) {
    std::vector<uint64_t> sums(workers);
    const auto begin = std::chrono::steady_clock::now();
    pool.ParallelFor(workers, 1, [&](uint32_t, uint64_t first, uint64_t last) {
      for (uint64_t i = first; i < last; ++i) {
        sums[i] = Sum(blocks[i].data(), words);
      }
    });
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    sink = sink + sums[0];
    rates.push_back(static_cast<double>(workers * words * sizeof(uint64_t)) / elapsed.count() /
                    1e9);
  }
  std::sort(rates.begin(), rates.end());
  std::printf("%.2f\n", rates[rates.size() / 2]);
  return 0;
}
