// How fast scattered ranges come from disk: every way of BatchReader, for ranges of an expert's
// size. Reads a file of FT_BENCH_MIB MiB (default 256) that it makes in the temporary folder. With
// direct I/O the disk is measured, without it mostly the page cache.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "core/checkpoint/batch_reader.h"

namespace ft {
namespace {

size_t FileMib() {
  const char* text = std::getenv("FT_BENCH_MIB");
  return text == nullptr ? 256 : std::strtoul(text, nullptr, 10);
}

// Made once, removed at exit.
class BenchFile {
 public:
  BenchFile() : path_(std::filesystem::temp_directory_path() / "ft_batch_reader_bench") {
    std::ofstream file(path_, std::ios::binary);
    std::mt19937_64 random(1);
    std::vector<uint64_t> block((size_t{1} << 20) / sizeof(uint64_t));
    for (size_t i = 0; i < FileMib(); ++i) {
      for (uint64_t& word : block) {
        word = random();
      }
      file.write(reinterpret_cast<const char*>(block.data()), std::streamsize{1} << 20);
    }
  }

  BenchFile(const BenchFile&) = delete;
  BenchFile& operator=(const BenchFile&) = delete;

  ~BenchFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

// range(0): KiB per range, range(1): use io_uring, range(2): direct.
void BM_ScatteredReads(benchmark::State& state) {
  static const BenchFile file;
  BatchReaderOptions options;
  options.allow_io_uring = state.range(1) != 0;
  options.allow_direct = state.range(2) != 0;
  auto reader = BatchReader::Create({file.path()}, options);
  if (!reader.ok()) {
    state.SkipWithError(reader.status().message().c_str());
    return;
  }
  constexpr size_t kNumRanges = 32;
  const size_t range_bytes = static_cast<size_t>(state.range(0)) << 10;
  const size_t file_bytes = FileMib() << 20;
  std::vector<std::byte> out(kNumRanges * range_bytes);
  std::vector<ReadRequest> requests(kNumRanges);
  std::mt19937_64 random(2);
  for (auto _ : state) {
    for (size_t i = 0; i < kNumRanges; ++i) {
      requests[i] = {0, random() % (file_bytes - range_bytes),
                     std::span(out).subspan(i * range_bytes, range_bytes)};
    }
    const Status status = reader.value()->Read(requests);
    if (!status.ok()) {
      state.SkipWithError(status.message().c_str());
      return;
    }
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(out.size()));
  state.SetLabel(reader.value()->mode());
}

BENCHMARK(BM_ScatteredReads)
    ->ArgNames({"kib", "uring", "direct"})
    ->ArgsProduct({{64, 1024}, {0, 1}, {0, 1}})
    ->UseRealTime();

}  // namespace
}  // namespace ft
