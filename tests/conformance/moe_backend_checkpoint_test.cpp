// MoE backends over checkpoints on disk, in every weight format of this build, and the memory of
// the process while they run.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/checkpoint/test_files.h"
#include "core/device/sim_device.h"
#include "core/moe/checkpoint_experts.h"
#include "core/moe/moe_backend.h"
#include "tests/conformance/moe_backend_plugins.h"
#include "tests/conformance/quantization_formats.h"

namespace ft {
namespace {

std::vector<MoeLayerSpec> Layers(const ExpertKind& kind, int num_layers) {
  std::vector<MoeLayerSpec> layers;
  for (int layer_id = 0; layer_id < num_layers; ++layer_id) {
    MoeLayerSpec spec;
    spec.layer_id = layer_id;
    spec.kind = kind;
    spec.names.prefix = "model.layers." + std::to_string(layer_id) + ".mlp.experts";
    layers.push_back(spec);
  }
  return layers;
}

// Runs steps of one and of many tokens through all layers; all outputs, one after another.
std::vector<float> RunAll(MoeBackend* backend,
                          const ExpertKind& kind,
                          int num_layers,
                          uint32_t mode,
                          const std::function<void()>& after_each) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::vector<float> all;
  const auto hidden = static_cast<size_t>(kind.hidden_dim);
  for (const size_t num_tokens : {1U, 1U, 24U, 1U}) {
    for (int layer_id = 0; layer_id < num_layers; ++layer_id) {
      std::vector<float> x(num_tokens * hidden);
      std::generate(x.begin(), x.end(), [&] { return normal(random); });
      std::vector<int32_t> ids;
      for (size_t route = 0; route < num_tokens * static_cast<size_t>(kind.top_k); ++route) {
        ids.push_back(static_cast<int32_t>(random() % static_cast<unsigned>(kind.num_experts)));
      }
      const std::vector<float> weights(ids.size(), 0.25F);
      std::vector<float> out(x.size());
      MoeForward forward;
      forward.layer_id = layer_id;
      forward.num_tokens = static_cast<int64_t>(num_tokens);
      forward.x = x.data();
      forward.x_stride = kind.hidden_dim;
      forward.expert_ids = ids.data();
      forward.expert_weights = weights.data();
      forward.out = out.data();
      forward.out_stride = kind.hidden_dim;
      forward.compute_mode = mode;
      forward.is_deterministic = true;
      const Status status = backend->Forward(forward);
      EXPECT_TRUE(status.ok()) << status.message();
      all.insert(all.end(), out.begin(), out.end());
      after_each();
    }
  }
  return all;
}

class TinyCheckpointTest : public testing::TestWithParam<const char*> {};

TEST_P(TinyCheckpointTest, OffloadFromDiskHasTheBitsOfResident) {
  const std::string folder = std::string(FT_SOURCE_DIR "/../shared/models/") + GetParam();
  if (!FileExists(folder + "/model.safetensors")) {
    GTEST_SKIP() << folder << " is not there";
  }
  ExpertKind kind;
  kind.hidden_dim = 128;
  kind.intermediate_dim = 128;
  kind.num_experts = 32;
  kind.top_k = 4;
  const TensorIndex index = TensorIndex::Open(folder).value();
  ThreadPool pool(2);
  CheckpointExpertsOptions source_options;
  source_options.pool = &pool;
  const auto layers = Layers(kind, 4);
  auto source = CheckpointExperts::Create(&index, &AllFormats(), layers, source_options);
  ASSERT_TRUE(source.ok()) << source.status().message();
  const std::unique_ptr<ExpertBanks> banks = ExpertBanks::Load(source->get(), nullptr).value();
  const std::unique_ptr<Device> cpu = MakeDevice("cpu").value();
  SimDeviceOptions sim_options;
  sim_options.arena_bytes = 64 << 20;
  const std::unique_ptr<Device> sim = MakeSimDevice(sim_options).value();
  const uint64_t expert_bytes = (*source)->model().kind(0).expert_bytes();

  MoeBackendOptions options;
  options.source = source->get();
  options.pool = &pool;
  options.max_tokens = 64;
  options.device = cpu.get();
  options.banks = banks.get();
  options.bytes_by_kind = {expert_bytes};
  for (const uint32_t mode : {FT_COMPUTE_EXACT, FT_COMPUTE_SERVED}) {
    options.device = cpu.get();
    options.banks = banks.get();
    auto resident = MoeBackend::Create(*AllMoeBackends().Get("resident").value(), options);
    ASSERT_TRUE(resident.ok()) << resident.status().message();
    const std::vector<float> expected = RunAll(resident->get(), kind, 4, mode, [] {});
    for (Device* device : {cpu.get(), sim.get()}) {
      for (const uint64_t num_slots : {1U, 9U, 128U}) {
        for (const bool has_banks : {false, true}) {
          options.device = device;
          options.banks = has_banks ? banks.get() : nullptr;
          options.bytes_by_kind = {num_slots * expert_bytes};
          auto offload = MoeBackend::Create(*AllMoeBackends().Get("offload").value(), options);
          ASSERT_TRUE(offload.ok()) << offload.status().message();
          EXPECT_EQ(RunAll(offload->get(), kind, 4, mode, [] {}), expected)
              << num_slots << " slots on " << device->name();
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All,
                         TinyCheckpointTest,
                         testing::Values("tiny-moe-bf16",
                                         "tiny-moe-nvfp4",
                                         "tiny-moe-nvfp4-modelopt",
                                         "tiny-moe-mxfp4",
                                         "tiny-moe-fp8"));

// Resident memory of this process, mapped files included.
uint64_t ResidentBytes() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.rfind("VmRSS:", 0) == 0) {
      return std::stoull(line.substr(6)) * 1024;
    }
  }
  return 0;
}

// Experts of zeros: 8 layers of 16, 1.5 MiB each.
std::string BigCheckpoint(const ExpertKind& kind, int num_layers) {
  const uint64_t bytes = static_cast<uint64_t>(kind.hidden_dim * kind.intermediate_dim) * 2;
  std::string header = "{";
  uint64_t offset = 0;
  for (int layer = 0; layer < num_layers; ++layer) {
    for (int expert = 0; expert < kind.num_experts; ++expert) {
      for (const char* name : {"gate_proj", "up_proj", "down_proj"}) {
        header += header.size() == 1 ? "\"" : ",\"";
        header += "model.layers." + std::to_string(layer) + ".mlp.experts." +
                  std::to_string(expert) + "." + name +
                  R"(.weight":{"dtype":"BF16","shape":[512,)" + "512],\"data_offsets\":[" +
                  std::to_string(offset) + "," + std::to_string(offset + bytes) + "]}";
        offset += bytes;
      }
    }
  }
  return test::SafetensorsBytes(header + "}", std::string(offset, '\0'));
}

TEST(MoeBackendMemoryTest, OffloadNeverHoldsMoreThanItsPlan) {
  ExpertKind kind;
  kind.hidden_dim = 512;
  kind.intermediate_dim = 512;
  kind.num_experts = 16;
  kind.top_k = 4;
  constexpr int kLayerCount = 8;
  const test::TempFolder folder;
  folder.Write("model.safetensors", BigCheckpoint(kind, kLayerCount));
  const TensorIndex index = TensorIndex::Open(folder.path()).value();
  ThreadPool pool(2);
  const std::unique_ptr<Device> device = MakeDevice("cpu").value();
  constexpr uint64_t kMib = 1 << 20;
  for (const bool allow_direct : {true, false}) {
    const uint64_t before = ResidentBytes();
    CheckpointExpertsOptions source_options;
    source_options.pool = &pool;
    source_options.staging_experts = 4;
    source_options.allow_direct = allow_direct;
    const auto layers = Layers(kind, kLayerCount);
    const auto source =
        CheckpointExperts::Create(&index, &AllFormats(), layers, source_options).value();
    MoeBackendOptions options;
    options.device = device.get();
    options.source = source.get();
    options.pool = &pool;
    options.max_tokens = 64;
    const uint64_t expert_bytes = source->model().kind(0).expert_bytes();
    options.bytes_by_kind = {6 * expert_bytes};
    const auto backend =
        MoeBackend::Create(*AllMoeBackends().Get("offload").value(), options).value();
    const MoeBackendPlan& plan = backend->plan();
    EXPECT_EQ(plan.slot_bytes, 6 * expert_bytes);
    const uint64_t planned =
        plan.slot_bytes + plan.staging_bytes + plan.host_bytes + plan.core_bytes;
    const uint64_t all_bytes = source->model().total_expert_bytes();
    ASSERT_GT(all_bytes, 4 * (planned + 8 * kMib));  // else the test says nothing
    uint64_t most = 0;
    RunAll(backend.get(), kind, kLayerCount, FT_COMPUTE_SERVED,
           [&] { most = std::max(most, ResidentBytes()); });
    EXPECT_GT(backend->counters().evictions, 100U);
    // 8 MiB: the test's own vectors, malloc's caches, code pages.
    EXPECT_LT(most, before + planned + 8 * kMib)
        << "planned " << planned / kMib << " MiB of " << all_bytes / kMib << " MiB of experts";
    std::printf("[   rss    ] grew by %.1f MiB, planned %.1f MiB, experts %.1f MiB (%s)\n",
                static_cast<double>(most - before) / kMib, static_cast<double>(planned) / kMib,
                static_cast<double>(all_bytes) / kMib, source->read_mode());
  }
}

}  // namespace
}  // namespace ft
