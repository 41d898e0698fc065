// Attention over paged keys and values on the CPU: causal, grouped heads, optional window and
// sinks.
//
// One query's result is a fixed function of its position and of the rows it sees: the keys are
// taken in order of position, in blocks of kKeyBlock counted from the first visible one, each block
// merged into running sums. So it depends neither on the page size nor on how the sequence was cut
// into chunks, nor on the batch or the number of threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/thread_pool.h"
#include "core/ops/kernels.h"

namespace ft::ops {

inline constexpr int64_t kKeyBlock = 64;  ///< keys whose scores are held at once

struct AttentionShape {
  int64_t num_heads = 0;
  int64_t num_kv_heads = 0;  ///< divides num_heads; head h reads h / (num_heads / num_kv_heads)
  int64_t key_dim = 0;
  int64_t value_dim = 0;
  float scale = 0;               ///< of the scores
  int64_t window_tokens = 0;     ///< own token included; 0 = all earlier ones
  const float* sinks = nullptr;  ///< [num_heads] logits that join the denominator, or null
};

/// Rows of one layer: token i of a page at base + (page * page_size + i) * row_elements, keys
/// [num_kv_heads, key_dim] first, then values [num_kv_heads, value_dim].
struct PagedRows {
  const float* base = nullptr;
  int64_t page_size_tokens = 0;
  int64_t row_elements = 0;
};

struct AttentionQuery {
  int64_t position = 0;            ///< sees positions <= it
  const int32_t* pages = nullptr;  ///< page ids of its sequence, up to its own position
};

/// Working memory of Attend, one part per worker.
class AttentionScratch {
 public:
  explicit AttentionScratch(int num_workers);

  struct Worker {
    std::vector<const float*> keys;    ///< [kKeyBlock]
    std::vector<const float*> values;  ///< [kKeyBlock]
    std::vector<float> scores;         ///< [kKeyBlock]
  };

  Worker* worker(uint32_t index) { return &workers_[index]; }

 private:
  std::vector<Worker> workers_;
};

/// `q`    [queries, num_heads * key_dim] contiguous
/// `out`  [queries, num_heads * value_dim] contiguous, overwritten
/// Allocates nothing.
void Attend(ThreadPool* pool,
            const Kernels& kernels,
            const AttentionShape& shape,
            const PagedRows& rows,
            std::span<const AttentionQuery> queries,
            const float* q,
            float* out,
            AttentionScratch* scratch);

/// The same, one thread, in double, the textbook way: the reference.
void AttendReference(const AttentionShape& shape,
                     const PagedRows& rows,
                     std::span<const AttentionQuery> queries,
                     const float* q,
                     float* out);

}  // namespace ft::ops
