#include "core/ops/attention.h"

#include <algorithm>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

namespace ft::ops {
namespace {

// One sequence of random keys and values in pages that are shuffled.
struct Sequence {
  std::vector<float> memory;
  std::vector<int32_t> pages;
  PagedRows rows;
};

Sequence MakeSequence(const AttentionShape& shape, int64_t length, int64_t page_size) {
  Sequence sequence;
  const int64_t row = shape.num_kv_heads * (shape.key_dim + shape.value_dim);
  const int64_t num_pages = (length + page_size - 1) / page_size;
  sequence.pages.resize(static_cast<size_t>(num_pages));
  std::iota(sequence.pages.begin(), sequence.pages.end(), 0);
  std::mt19937 random(9);
  std::shuffle(sequence.pages.begin(), sequence.pages.end(), random);
  sequence.memory.resize(static_cast<size_t>(num_pages * page_size * row));
  std::normal_distribution<float> normal;
  for (int64_t position = 0; position < length; ++position) {
    const int64_t page = sequence.pages[static_cast<size_t>(position / page_size)];
    for (int64_t i = 0; i < row; ++i) {
      sequence.memory[static_cast<size_t>((page * page_size + position % page_size) * row + i)] =
          normal(random);
    }
  }
  sequence.rows = {sequence.memory.data(), page_size, row};
  return sequence;
}

struct Case {
  AttentionShape shape;
  int64_t length;
};

std::vector<Case> Cases() {
  static constexpr float kSinks[4] = {0.5F, -1.0F, 2.0F, 0.0F};
  return {
      {{.num_heads = 4, .num_kv_heads = 2, .key_dim = 32, .value_dim = 32, .scale = 0.18F}, 150},
      {{.num_heads = 4, .num_kv_heads = 1, .key_dim = 20, .value_dim = 20, .scale = 0.2F}, 70},
      {{.num_heads = 4,
        .num_kv_heads = 4,
        .key_dim = 24,
        .value_dim = 16,
        .scale = 0.2F,
        .window_tokens = 20},
       90},
      {{.num_heads = 4,
        .num_kv_heads = 2,
        .key_dim = 8,
        .value_dim = 8,
        .scale = 1.0F,
        .window_tokens = 0,
        .sinks = kSinks},
       40},
  };
}

std::vector<float> RandomQueries(const AttentionShape& shape, int64_t count) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> q(static_cast<size_t>(count * shape.num_heads * shape.key_dim));
  for (float& value : q) {
    value = normal(random);
  }
  return q;
}

// Positions [begin, end) in one call.
void AttendRange(ThreadPool* pool,
                 const Kernels& kernels,
                 const AttentionShape& shape,
                 const Sequence& sequence,
                 int64_t begin,
                 int64_t end,
                 const std::vector<float>& q,
                 std::vector<float>* out) {
  std::vector<AttentionQuery> queries;
  for (int64_t position = begin; position < end; ++position) {
    queries.push_back({position, sequence.pages.data()});
  }
  AttentionScratch scratch(pool->num_workers());
  Attend(pool, kernels, shape, sequence.rows, queries,
         q.data() + begin * shape.num_heads * shape.key_dim,
         out->data() + begin * shape.num_heads * shape.value_dim, &scratch);
}

TEST(AttentionTest, AgreesWithItsReference) {
  ThreadPool pool(2);
  for (const Case& c : Cases()) {
    const Sequence sequence = MakeSequence(c.shape, c.length, 16);
    const std::vector<float> q = RandomQueries(c.shape, c.length);
    std::vector<AttentionQuery> queries;
    for (int64_t position = 0; position < c.length; ++position) {
      queries.push_back({position, sequence.pages.data()});
    }
    std::vector<float> want(static_cast<size_t>(c.length * c.shape.num_heads * c.shape.value_dim));
    AttendReference(c.shape, sequence.rows, queries, q.data(), want.data());
    for (const Kernels* kernels : {&GenericKernels(), &BestKernels()}) {
      std::vector<float> out(want.size());
      AttendRange(&pool, *kernels, c.shape, sequence, 0, c.length, q, &out);
      for (size_t i = 0; i < out.size(); ++i) {
        ASSERT_NEAR(out[i], want[i], 5e-6) << kernels->name << " element " << i;
      }
    }
  }
}

TEST(AttentionTest, GivesTheSameBitsForEveryPageSizeChunkAndThreadCount) {
  ThreadPool one(1);
  ThreadPool three(3);
  for (const Case& c : Cases()) {
    const std::vector<float> q = RandomQueries(c.shape, c.length);
    std::vector<float> want(static_cast<size_t>(c.length * c.shape.num_heads * c.shape.value_dim));
    const Sequence whole = MakeSequence(c.shape, c.length, 512);
    AttendRange(&one, BestKernels(), c.shape, whole, 0, c.length, q, &want);
    for (const int64_t page_size : {1, 16, 64}) {
      // The same rows in other pages.
      Sequence sequence = MakeSequence(c.shape, c.length, page_size);
      for (int64_t position = 0; position < c.length; ++position) {
        const int64_t page = sequence.pages[static_cast<size_t>(position / page_size)];
        std::copy_n(whole.memory.begin() + position * whole.rows.row_elements,
                    whole.rows.row_elements,
                    sequence.memory.begin() +
                        (page * page_size + position % page_size) * whole.rows.row_elements);
      }
      for (const int64_t chunk : {1, 7, 64}) {
        std::vector<float> out(want.size());
        for (int64_t begin = 0; begin < c.length; begin += chunk) {
          AttendRange(&three, BestKernels(), c.shape, sequence, begin,
                      std::min(c.length, begin + chunk), q, &out);
        }
        ASSERT_EQ(out, want) << "page size " << page_size << " chunk " << chunk;
      }
    }
  }
}

}  // namespace
}  // namespace ft::ops
