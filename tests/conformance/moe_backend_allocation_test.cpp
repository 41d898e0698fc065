// A step of a MoE backend takes no memory, the plugin's own allocator included: this program's
// malloc counts, and a plugin's operator new ends there too. Not under sanitizers, which bring
// their own.
#include <atomic>
#include <cstddef>

#include <gtest/gtest.h>

#include "core/moe/cache_budget.h"
#include "tests/conformance/moe_backend_model.h"
#include "tests/conformance/moe_backend_plugins.h"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {

std::atomic<uint64_t> num_allocations{0};

}  // namespace

extern "C" {
void* __libc_malloc(size_t bytes);                  // NOLINT: glibc's own names
void* __libc_memalign(size_t align, size_t bytes);  // NOLINT

void* malloc(size_t bytes) noexcept {  // NOLINT
  ++num_allocations;
  return __libc_malloc(bytes);
}

void* aligned_alloc(size_t align, size_t bytes) noexcept {  // NOLINT
  ++num_allocations;
  return __libc_memalign(align, bytes);
}
}

namespace ft {
namespace {

TEST(MoeBackendAllocationTest, AStepTakesNoMemory) {
  for (const std::string& name : AllMoeBackendNames()) {
    for (const char* device_name : {"cpu", "sim"}) {
      TestMoeModel model("f32");
      const std::unique_ptr<Device> device = MakeDevice(device_name).value();
      ThreadPool pool(2);
      const std::unique_ptr<ExpertBanks> banks = ExpertBanks::Load(&model, nullptr).value();
      for (const bool has_banks : {false, true}) {
        MoeBackendOptions options;
        options.device = device.get();
        options.source = &model;
        options.banks = has_banks ? banks.get() : nullptr;
        options.pool = &pool;
        options.max_tokens = 8;
        for (int kind = 0; kind < model.model().num_kinds(); ++kind) {
          options.bytes_by_kind.push_back(3 * model.model().kind(kind).expert_bytes());
        }
        auto backend = MoeBackend::Create(*AllMoeBackends().Find(name), options);
        if (!backend.ok()) {
          EXPECT_EQ(backend.status().code(), StatusCode::kFailedPrecondition);
          continue;
        }
        const std::vector<float> x(8 * 40, 0.5F);
        std::vector<float> out(x.size());
        std::vector<int32_t> ids;
        for (int32_t route = 0; route < 16; ++route) {
          ids.push_back(route % 6);
        }
        const std::vector<float> weights(ids.size(), 0.5F);
        MoeForward forward;
        forward.layer_id = 1;
        forward.num_tokens = 8;
        forward.x = x.data();
        forward.x_stride = 40;
        forward.expert_ids = ids.data();
        forward.expert_weights = weights.data();
        forward.out = out.data();
        forward.out_stride = 40;
        ASSERT_TRUE((*backend)->Forward(forward).ok());
        const uint64_t before = num_allocations;
        for (int step = 0; step < 100; ++step) {
          forward.layer_id = step % 2 == 0 ? 1 : 4;
          ASSERT_TRUE((*backend)->Forward(forward).ok());
        }
        EXPECT_EQ(num_allocations - before, 0U) << name << " on " << device_name;
      }
    }
  }
}

}  // namespace
}  // namespace ft

#endif
