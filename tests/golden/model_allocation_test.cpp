// A decode step takes no memory: counts operator new over a hundred steps of a whole model.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

#include <gtest/gtest.h>

#include "core/kv_memory/kv_memory.h"
#include "tests/golden/model_fixture.h"

namespace {

std::atomic<int64_t> num_allocations = 0;

void* Allocate(size_t bytes) {
  num_allocations.fetch_add(1, std::memory_order_relaxed);
  void* memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) {
    std::abort();
  }
  return memory;
}

}  // namespace

void* operator new(size_t bytes) {
  return Allocate(bytes);
}

void* operator new[](size_t bytes) {
  return Allocate(bytes);
}

void operator delete(void* memory) noexcept {
  std::free(memory);
}

void operator delete[](void* memory) noexcept {
  std::free(memory);
}

void operator delete(void* memory, size_t /*bytes*/) noexcept {
  std::free(memory);
}

void operator delete[](void* memory, size_t /*bytes*/) noexcept {
  std::free(memory);
}

namespace ft::testing {
namespace {

class AllocationTest : public ::testing::TestWithParam<const char*> {};

TEST_P(AllocationTest, ADecodeStepAllocatesNothing) {
  for (const char* name : {"qwen3_moe-nvfp4-ct", "llama-rope3"}) {
    LoadOptions load = OptionsFor(std::string(FT_SOURCE_DIR "/tests/golden/models/") + name);
    load.num_threads = 2;
    load.moe_backend = GetParam();
    if (load.moe_backend == "offload") {
      load.expert_cache.num_slots = 3;
    }
    auto loaded = LoadModel(load);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    const ModelInfo& info = loaded->model()->info();
    KvMemoryOptions options;
    options.page_size_tokens = 128;
    options.num_pages.assign(info.cache_groups.size(), 1);
    auto kv = KvMemory::Create(info.cache_groups, info.recurrent_blocks, options);
    ASSERT_TRUE(kv.ok());
    const std::vector<int32_t> pages = {0};
    const std::vector<int32_t> rows = {0};
    std::vector<float> logits(static_cast<size_t>(info.vocab_size));
    std::vector<int32_t> token = {5};
    SequenceInput sequence;
    sequence.num_tokens = 1;
    sequence.page_tables.assign(info.cache_groups.size(), pages);
    ForwardInput input;
    input.tokens = token;
    input.sequences = {&sequence, 1};
    input.logit_rows = rows;
    input.compute_mode = FT_COMPUTE_SERVED;
    int64_t before = 0;
    for (int64_t position = 0; position < 101; ++position) {
      sequence.start_position = position;
      const Status status = loaded->model()->Forward(input, kv->get(), logits.data());
      ASSERT_TRUE(status.ok()) << status.message();
      token[0] =
          static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
      if (position == 0) {
        before = num_allocations;
      }
    }
    EXPECT_EQ(num_allocations - before, 0) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, AllocationTest, ::testing::Values("resident", "offload"));

}  // namespace
}  // namespace ft::testing
