// The ThreadPool as the executor that plugin kernels are handed.
#pragma once

#include "ft/plugin/host_services.h"

#include "core/base/thread_pool.h"

namespace ft {

/// An ft_exec that runs loops on `pool`, which must outlive it.
inline ft_exec MakeExec(ThreadPool* pool) {
  ft_exec exec = {};
  exec.hdr = {sizeof(ft_exec), FT_TAG_EXEC, nullptr};
  exec.ctx = pool;
  exec.n_workers = static_cast<uint32_t>(pool->num_workers());
  exec.parallel_for = [](void* ctx, uint64_t n, uint64_t grain, ft_range_fn fn,
                         void* arg) noexcept {
    static_cast<ThreadPool*>(ctx)->Run(n, grain, fn, arg);
  };
  return exec;
}

}  // namespace ft
