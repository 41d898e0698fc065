#include "core/base/thread_pool.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>

#include <pthread.h>
#include <sched.h>

#include "core/base/check.h"

namespace ft {
namespace {

// Long enough to bridge the gap between two loops of a step (tens of microseconds), short enough
// that an idle engine costs nothing.
constexpr int kSpinsBeforeParking = 4000;

void CpuRelax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// One flag a thread.  NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
thread_local bool t_is_inside_loop = false;

// Quota of cgroup v2 in cores, or 0 where there is none.
double CgroupCores() {
  std::ifstream in("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (!(in >> quota >> period) || quota == "max" || period <= 0) {
    return 0;
  }
  return std::strtod(quota.c_str(), nullptr) / period;
}

}  // namespace

int UsableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  int cores = 1;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    cores = std::max(1, CPU_COUNT(&set));
  }
  const double quota = CgroupCores();
  if (quota > 0) {
    cores = std::clamp(static_cast<int>(std::ceil(quota)), 1, cores);
  }
  return cores;
}

ThreadPool::ThreadPool(int num_workers) {
  const int wanted = num_workers > 0 ? num_workers : UsableCores();
  for (int i = 1; i < wanted; ++i) {
    threads_.emplace_back([this, i] { WorkerLoop(static_cast<uint32_t>(i)); });
  }
}

ThreadPool::~ThreadPool() {
  stop_.store(true);
  generation_.fetch_add(1);
  generation_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

void ThreadPool::Work(uint32_t worker) {
  t_is_inside_loop = true;
  const Job job = job_;
  for (;;) {
    const uint64_t begin = next_.fetch_add(job.grain);
    if (begin >= job.n) {
      break;
    }
    job.fn(job.arg, worker, begin, std::min(job.n, begin + job.grain));
  }
  t_is_inside_loop = false;
}

void ThreadPool::Run(uint64_t n, uint64_t grain, RangeFn fn, void* arg) {
  if (n == 0) {
    return;
  }
  FT_DCHECK(grain > 0);
  if (threads_.empty() || n <= grain || t_is_inside_loop) {
    fn(arg, 0, 0, n);
    return;
  }
  FT_CHECK(!is_running_.exchange(true));
  job_ = {fn, arg, n, grain};
  next_.store(0);
  num_busy_.store(static_cast<uint32_t>(threads_.size()));
  generation_.fetch_add(1);
  if (num_parked_.load() > 0) {
    generation_.notify_all();
  }
  Work(0);
  for (int spins = 0; num_busy_.load(std::memory_order_acquire) > 0; ++spins) {
    if (spins < kSpinsBeforeParking) {
      CpuRelax();
    } else {
      std::this_thread::yield();  // more workers than free cores: let them have ours
    }
  }
  is_running_.store(false);
}

void ThreadPool::WorkerLoop(uint32_t worker) {
  uint32_t seen = 0;
  for (;;) {
    int spins = 0;
    while (generation_.load(std::memory_order_acquire) == seen) {
      if (++spins < kSpinsBeforeParking) {
        CpuRelax();
        continue;
      }
      num_parked_.fetch_add(1);
      generation_.wait(seen);
      num_parked_.fetch_sub(1);
    }
    ++seen;
    if (stop_.load()) {
      return;
    }
    Work(worker);
    num_busy_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace ft
