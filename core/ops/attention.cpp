// Attention over pages, with running sums (Milakov and Gimelshein 2018, "Online normalizer
// calculation for softmax"), and its reference.
#include "core/ops/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ft::ops {
namespace {

int64_t FirstVisible(const AttentionShape& shape, int64_t position) {
  return shape.window_tokens > 0 ? std::max<int64_t>(0, position - shape.window_tokens + 1) : 0;
}

const float* RowOf(const PagedRows& rows, const AttentionQuery& query, int64_t position) {
  const int64_t page = query.pages[position / rows.page_size_tokens];
  return rows.base +
         (page * rows.page_size_tokens + position % rows.page_size_tokens) * rows.row_elements;
}

// Sums over the keys seen so far, relative to exp(largest).
struct Running {
  float largest = -std::numeric_limits<float>::infinity();
  float sum = 0;
};

// Adds `count` keys whose scores are given. `out` [value_dim] holds the weighted values.
void Merge(const Kernels& kernels,
           const AttentionShape& shape,
           int64_t count,
           AttentionScratch::Worker* scratch,
           Running* running,
           float* out) {
  float* scores = scratch->scores.data();
  kernels.scale(scores, count, shape.scale);
  const float largest = std::max(running->largest, kernels.max(scores, count));
  if (running->sum > 0 && largest > running->largest) {
    const float shrink = std::exp(running->largest - largest);
    running->sum *= shrink;
    kernels.scale(out, shape.value_dim, shrink);
  }
  running->largest = largest;
  running->sum += kernels.exp_sum(scores, count, largest);
  kernels.add_rows(scratch->values.data(), scores, count, shape.value_dim, out);
}

constexpr int64_t kMaxHeadsPerTask = 64;  // whose running sums lie on the stack

// Query heads [first, last) of one kv head, for one query. `q`, `out`: all heads of the query.
// The inner loop's arguments.  NOLINTNEXTLINE(readability-function-size)
void AttendHeads(const Kernels& kernels,
                 const AttentionShape& shape,
                 const PagedRows& rows,
                 const AttentionQuery& query,
                 int64_t first,
                 int64_t last,
                 const float* q,
                 float* out,
                 AttentionScratch::Worker* scratch) {
  const int64_t kv_head = first / (shape.num_heads / shape.num_kv_heads);
  Running running[kMaxHeadsPerTask];
  std::fill_n(out + first * shape.value_dim, (last - first) * shape.value_dim, 0.0F);
  for (int64_t begin = FirstVisible(shape, query.position); begin <= query.position;
       begin += kKeyBlock) {
    const int64_t count = std::min(kKeyBlock, query.position + 1 - begin);
    for (int64_t i = 0; i < count; ++i) {
      const float* row = RowOf(rows, query, begin + i);
      scratch->keys[static_cast<size_t>(i)] = row + kv_head * shape.key_dim;
      scratch->values[static_cast<size_t>(i)] =
          row + shape.num_kv_heads * shape.key_dim + kv_head * shape.value_dim;
    }
    for (int64_t head = first; head < last; ++head) {
      kernels.dot_rows(scratch->keys.data(), count, q + head * shape.key_dim, shape.key_dim,
                       scratch->scores.data());
      Merge(kernels, shape, count, scratch, &running[head - first], out + head * shape.value_dim);
    }
  }
  for (int64_t head = first; head < last; ++head) {
    Running& sums = running[head - first];
    if (shape.sinks != nullptr) {
      sums.sum += std::exp(shape.sinks[head] - sums.largest);
    }
    kernels.scale(out + head * shape.value_dim, shape.value_dim, 1.0F / sums.sum);
  }
}

// Heads of one task. All that share a kv head read its rows once; where that leaves workers without
// work, fewer. No bit depends on it.
int64_t HeadsPerTask(const AttentionShape& shape, int64_t num_queries, int64_t num_workers) {
  int64_t heads = std::min(shape.num_heads / shape.num_kv_heads, kMaxHeadsPerTask);
  while (heads > 1 && num_queries * (shape.num_heads / heads) < 2 * num_workers) {
    heads = (heads + 1) / 2;
  }
  return heads;
}

}  // namespace

AttentionScratch::AttentionScratch(int num_workers) : workers_(static_cast<size_t>(num_workers)) {
  for (Worker& worker : workers_) {
    worker.keys.resize(kKeyBlock);
    worker.values.resize(kKeyBlock);
    worker.scores.resize(kKeyBlock);
  }
}

void Attend(ThreadPool* pool,
            const Kernels& kernels,
            const AttentionShape& shape,
            const PagedRows& rows,
            std::span<const AttentionQuery> queries,
            const float* q,
            float* out,
            AttentionScratch* scratch) {
  const int64_t group = shape.num_heads / shape.num_kv_heads;
  const auto num_queries = static_cast<int64_t>(queries.size());
  const int64_t heads = HeadsPerTask(shape, num_queries, pool->num_workers());
  const int64_t parts = (group + heads - 1) / heads;  // tasks per kv head and query
  // Consecutive tasks read the same kv head for neighbouring queries, so that its rows stay cached.
  pool->ParallelFor(
      static_cast<uint64_t>(num_queries * shape.num_kv_heads * parts), 1,
      [&](uint32_t worker, uint64_t begin, uint64_t end) {
        for (auto task = static_cast<int64_t>(begin); task < static_cast<int64_t>(end); ++task) {
          const int64_t token = task % num_queries;
          const int64_t kv_head = task / num_queries / parts;
          const int64_t first = task / num_queries % parts * heads;
          AttendHeads(kernels, shape, rows, queries[static_cast<size_t>(token)],
                      kv_head * group + first, kv_head * group + std::min(group, first + heads),
                      q + token * shape.num_heads * shape.key_dim,
                      out + token * shape.num_heads * shape.value_dim, scratch->worker(worker));
        }
      });
}

// The definition in one piece.  NOLINTNEXTLINE(readability-function-cognitive-complexity)
void AttendReference(const AttentionShape& shape,
                     const PagedRows& rows,
                     std::span<const AttentionQuery> queries,
                     const float* q,
                     float* out) {
  const int64_t group = shape.num_heads / shape.num_kv_heads;
  for (const AttentionQuery& query : queries) {
    for (int64_t head = 0; head < shape.num_heads; ++head, q += shape.key_dim) {
      const int64_t kv_head = head / group;
      std::vector<double> scores;
      double largest = shape.sinks != nullptr ? static_cast<double>(shape.sinks[head])
                                              : -std::numeric_limits<double>::infinity();
      const int64_t first = FirstVisible(shape, query.position);
      for (int64_t position = first; position <= query.position; ++position) {
        const float* key = RowOf(rows, query, position) + kv_head * shape.key_dim;
        double score = 0;
        for (int64_t i = 0; i < shape.key_dim; ++i) {
          score += static_cast<double>(q[i]) * static_cast<double>(key[i]);
        }
        scores.push_back(score * static_cast<double>(shape.scale));
        largest = std::max(largest, scores.back());
      }
      double sum =
          shape.sinks != nullptr ? std::exp(static_cast<double>(shape.sinks[head]) - largest) : 0;
      std::vector<double> values(static_cast<size_t>(shape.value_dim), 0.0);
      for (size_t i = 0; i < scores.size(); ++i) {
        const double weight = std::exp(scores[i] - largest);
        sum += weight;
        const float* value = RowOf(rows, query, first + static_cast<int64_t>(i)) +
                             shape.num_kv_heads * shape.key_dim + kv_head * shape.value_dim;
        for (size_t c = 0; c < values.size(); ++c) {
          values[c] += weight * static_cast<double>(value[c]);
        }
      }
      for (const double value : values) {
        *out++ = static_cast<float>(value / sum);
      }
    }
  }
}

}  // namespace ft::ops
