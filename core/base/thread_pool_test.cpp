#include "core/base/thread_pool.h"

#include <atomic>
#include <vector>

#include <gtest/gtest.h>

namespace ft {
namespace {

TEST(ThreadPoolTest, EveryIndexIsHandledOnce) {
  for (const int workers : {1, 2, 3, 5}) {
    ThreadPool pool(workers);
    for (const uint64_t n : {0U, 1U, 7U, 64U, 1001U}) {
      for (const uint64_t grain : {1U, 3U, 64U, 5000U}) {
        std::vector<std::atomic<int>> hits(n);
        pool.ParallelFor(n, grain, [&](uint32_t worker, uint64_t begin, uint64_t end) {
          ASSERT_LT(worker, static_cast<uint32_t>(workers));
          for (uint64_t i = begin; i < end; ++i) {
            hits[i].fetch_add(1);
          }
        });
        for (const auto& hit : hits) {
          ASSERT_EQ(hit.load(), 1);
        }
      }
    }
  }
}

TEST(ThreadPoolTest, ALoopInsideALoopRunsInline) {
  ThreadPool pool(2);
  std::atomic<int> sum{0};
  pool.ParallelFor(8, 1, [&](uint32_t, uint64_t, uint64_t) {
    pool.ParallelFor(4, 1, [&](uint32_t, uint64_t begin, uint64_t end) {
      sum.fetch_add(static_cast<int>(end - begin));
    });
  });
  EXPECT_EQ(sum.load(), 32);
}

TEST(ThreadPoolTest, ManyShortLoopsInARow) {
  ThreadPool pool(4);
  uint64_t total = 0;
  for (int i = 0; i < 2000; ++i) {
    std::atomic<uint64_t> sum{0};
    pool.ParallelFor(4, 1, [&](uint32_t, uint64_t begin, uint64_t end) { sum += end - begin; });
    total += sum.load();
  }
  EXPECT_EQ(total, 8000U);
}

}  // namespace
}  // namespace ft
