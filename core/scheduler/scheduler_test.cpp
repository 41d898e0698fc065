#include "core/scheduler/scheduler.h"

#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace ft {
namespace {

SchedulerOptions SmallOptions() {
  SchedulerOptions options;
  options.max_running = 3;
  options.max_prefill_tokens = 8;
  options.page_size_tokens = 4;
  options.growth_tokens = 4;
  options.groups = {{.num_pages = 10, .window_tokens = 0}};
  return options;
}

TEST(SchedulerTest, APromptIsComputedInChunksAndOnlyTheLastOneSamples) {
  Scheduler scheduler(SmallOptions());
  ASSERT_TRUE(scheduler.Add(7, 19, 24).ok());
  std::vector<int32_t> chunks;
  for (bool done = false; !done;) {
    const auto batch = scheduler.Schedule();
    ASSERT_EQ(batch.size(), 1U);
    chunks.push_back(batch[0].num_tokens);
    done = batch[0].is_last_chunk;
    scheduler.StepDone();
  }
  EXPECT_EQ(chunks, (std::vector<int32_t>{8, 8, 3}));
}

TEST(SchedulerTest, ANeedEqualToTheSupplyIsAdmittedAndOneMoreIsRefused) {
  Scheduler scheduler(SmallOptions());
  EXPECT_TRUE(scheduler.Add(1, 39, 40).ok());
  const Status status = scheduler.Add(2, 39, 41);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find("41"), std::string::npos);
  EXPECT_NE(status.message().find("40"), std::string::npos);
}

TEST(SchedulerTest, DecodeGoesOnWhileALongPromptIsComputed) {
  Scheduler scheduler(SmallOptions());
  ASSERT_TRUE(scheduler.Add(1, 2, 8).ok());
  static_cast<void>(scheduler.Schedule());
  scheduler.StepDone();
  scheduler.Append(1);
  ASSERT_TRUE(scheduler.Add(2, 20, 24).ok());
  const auto batch = scheduler.Schedule();
  ASSERT_EQ(batch.size(), 2U);
  EXPECT_EQ(batch[0].num_tokens, 1);
  EXPECT_EQ(batch[1].num_tokens, 8);
}

TEST(SchedulerTest, RemovingFreesEverything) {
  Scheduler scheduler(SmallOptions());
  ASSERT_TRUE(scheduler.Add(1, 6, 8).ok());
  ASSERT_TRUE(scheduler.Add(2, 6, 8).ok());
  static_cast<void>(scheduler.Schedule());
  scheduler.Remove(1);
  scheduler.Remove(2);
  scheduler.Remove(3);
  EXPECT_EQ(scheduler.num_pages_used(), 0);
  EXPECT_TRUE(scheduler.Schedule().empty());
}

// Random workloads against what must always hold: every sequence ends with exactly its tokens
// computed, no page is in two tables, a page that a query can see is there, nothing leaks.
struct Workload {
  unsigned seed;
  int64_t window;
  int64_t num_pages;
};

class SchedulerRandomTest : public testing::TestWithParam<Workload> {};

void CheckPages(const Workload& workload,
                std::span<const ScheduledSequence> batch,
                int64_t page_size) {
  std::set<PageId> seen;
  for (const ScheduledSequence& part : batch) {
    const auto& table = part.page_tables[0];
    const int64_t end = part.start_position + part.num_tokens;
    ASSERT_GE(static_cast<int64_t>(table.size()) * page_size, end);
    const int64_t first_seen =
        workload.window == 0 ? 0 : std::max<int64_t>(0, part.start_position - workload.window + 1);
    for (size_t i = 0; i < table.size(); ++i) {
      if (table[i] != kNoPage) {
        ASSERT_TRUE(seen.insert(table[i]).second) << "page " << table[i] << " is in two tables";
      } else {
        ASSERT_LE((static_cast<int64_t>(i) + 1) * page_size, first_seen)
            << "a visible page is gone";
      }
    }
  }
}

TEST_P(SchedulerRandomTest, EverySequenceEndsAndNothingLeaks) {
  const Workload& workload = GetParam();
  std::mt19937 random(workload.seed);
  const auto upto = [&](int64_t n) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
  };
  SchedulerOptions options = SmallOptions();
  options.groups = {{.num_pages = workload.num_pages, .window_tokens = workload.window}};
  options.max_running = 1 + static_cast<int>(upto(4));
  options.page_size_tokens = 1 + upto(5);
  options.max_prefill_tokens = 1 + upto(9);
  Scheduler scheduler(options);

  struct Live {
    int64_t known;
    int64_t total;
    int64_t computed;
  };

  std::map<SequenceId, Live> live;
  const int64_t most = std::min<int64_t>(60, scheduler.max_sequence_tokens());
  SequenceId next_id = 1;
  int num_finished = 0;
  for (int step = 0; step < 4000 && num_finished < 60; ++step) {
    if (next_id <= 60 && upto(3) == 0) {
      const int64_t total = 2 + upto(most - 1);
      const int64_t known = 1 + upto(total - 1);
      ASSERT_TRUE(scheduler.Add(next_id, known, total).ok());
      live[next_id++] = {known, total, 0};
    }
    const auto batch = scheduler.Schedule();
    ASSERT_EQ(batch.empty(), live.empty())
        << "work waits and nothing runs (seed " << workload.seed << ")";
    CheckPages(workload, batch, options.page_size_tokens);
    std::vector<SequenceId> sampled;
    for (const ScheduledSequence& part : batch) {
      Live& sequence = live.at(part.id);
      if (part.start_position != sequence.computed) {
        ASSERT_EQ(part.start_position, 0) << "only a preempted sequence starts again";
      }
      sequence.computed = part.start_position + part.num_tokens;
      if (part.is_last_chunk) {
        ASSERT_EQ(sequence.computed, sequence.known);
        sampled.push_back(part.id);
      }
    }
    scheduler.StepDone();
    for (const SequenceId id : sampled) {
      Live& sequence = live.at(id);
      if (sequence.known == sequence.total) {
        scheduler.Remove(id);
        live.erase(id);
        ++num_finished;
      } else {
        scheduler.Append(id);
        ++sequence.known;
      }
    }
  }
  EXPECT_EQ(num_finished, 60) << "seed " << workload.seed;
  EXPECT_EQ(scheduler.num_pages_used(), 0);
}

std::vector<Workload> Workloads() {
  std::vector<Workload> all;
  for (unsigned seed = 0; seed < 60; ++seed) {
    all.push_back({seed, seed % 3 == 0 ? 0 : 1 + static_cast<int64_t>(seed % 11), 8 + seed % 20});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Seeds, SchedulerRandomTest, testing::ValuesIn(Workloads()));

}  // namespace
}  // namespace ft
