// ThreadPool: the workers that run kernel loops. The thread that calls Run is one of them.
// Workers spin while work keeps coming and park soon after it stops. Not a task queue.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

namespace ft {

/// Cores this process may really use: the affinity mask cut by the cgroup's CPU quota, at least 1.
int UsableCores();

/// A fixed set of workers for loops over an index range.
class ThreadPool {
 public:
  /// A loop body: handles [begin, end); `worker` < num_workers(), no two running calls share one.
  using RangeFn = void (*)(void* arg, uint32_t worker, uint64_t begin, uint64_t end);

  /// `num_workers` >= 1, the caller of Run included; 0 means UsableCores().
  explicit ThreadPool(int num_workers = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int num_workers() const { return static_cast<int>(threads_.size()) + 1; }

  /// Runs `fn` over [0, n) in pieces of at least `grain` (> 0) and returns when all is done. Pieces
  /// are handed out as workers become free. One Run at a time; a Run from inside `fn` runs inline.
  /// Allocates nothing.
  void Run(uint64_t n, uint64_t grain, RangeFn fn, void* arg);

  /// The same for a callable `body(worker, begin, end)`.
  template <typename Body>
  void ParallelFor(uint64_t n, uint64_t grain, Body&& body) {
    Run(
        n, grain,
        [](void* arg, uint32_t worker, uint64_t begin, uint64_t end) {
          (*static_cast<std::remove_reference_t<Body>*>(arg))(worker, begin, end);
        },
        const_cast<void*>(static_cast<const void*>(&body)));  // NOLINT: given back as what it was
  }

 private:
  struct Job {
    RangeFn fn = nullptr;
    void* arg = nullptr;
    uint64_t n = 0;
    uint64_t grain = 1;
  };

  void WorkerLoop(uint32_t worker);
  void Work(uint32_t worker);

  std::vector<std::thread> threads_;
  Job job_;
  std::atomic<bool> is_running_{false};
  alignas(64) std::atomic<uint64_t> next_{0};        // next index to hand out
  alignas(64) std::atomic<uint32_t> generation_{0};  // counts jobs; workers wait for it to change
  alignas(64) std::atomic<uint32_t> num_busy_{0};    // workers that have not finished this job
  std::atomic<uint32_t> num_parked_{0};
  std::atomic<bool> stop_{false};
};

}  // namespace ft
