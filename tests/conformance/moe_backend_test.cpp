// What every MoE backend must do, whoever made it: compute each route once, sum in top-k order,
// keep to its plan, survive a failing disk, and allocate nothing in a step.
#include "core/moe/moe_backend.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "core/device/sim_device.h"
#include "core/moe/cache_budget.h"
#include "tests/conformance/moe_backend_model.h"
#include "tests/conformance/moe_backend_plugins.h"

namespace ft {
namespace {

constexpr int64_t kHidden = 40;
constexpr int64_t kMaxTokens = 48;
constexpr int64_t kAllExperts = 17;  // 6 + 5 + 6

std::unique_ptr<Device> SmallDevice(const std::string& name) {
  if (name == "cpu") {
    return MakeDevice("cpu").value();
  }
  SimDeviceOptions options;
  options.arena_bytes = 8 << 20;
  return MakeSimDevice(options).value();
}

// One layer's inputs. Some routes are skipped.
struct TestStep {
  std::vector<float> x;
  std::vector<int32_t> ids;
  std::vector<float> weights;
  std::vector<float> out;
  MoeForward forward;
};

TestStep MakeStep(const MoeModel& model, int layer_id, int64_t num_tokens, uint32_t seed) {
  const ExpertKind& kind = model.codec_of_layer(layer_id).kind();
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  TestStep step;
  for (int64_t i = 0; i < num_tokens * kHidden; ++i) {
    step.x.push_back(normal(random));
  }
  for (int64_t token = 0; token < num_tokens; ++token) {
    std::vector<int32_t> experts;
    while (static_cast<int>(experts.size()) < kind.top_k) {
      const auto expert = static_cast<int32_t>(random() % static_cast<unsigned>(kind.num_experts));
      if (std::find(experts.begin(), experts.end(), expert) == experts.end()) {
        experts.push_back(expert);
      }
    }
    for (const int32_t expert : experts) {
      step.ids.push_back(random() % 8 == 0 ? -1 : expert);
      step.weights.push_back(std::abs(normal(random)));
    }
  }
  step.out.assign(static_cast<size_t>(num_tokens * kHidden), -77.0F);
  step.forward.layer_id = layer_id;
  step.forward.num_tokens = num_tokens;
  step.forward.x_stride = kHidden;
  step.forward.out_stride = kHidden;
  step.forward.is_deterministic = true;
  return step;
}

Status RunStep(MoeBackend* backend, TestStep* step) {
  step->forward.x = step->x.data();
  step->forward.expert_ids = step->ids.data();
  step->forward.expert_weights = step->weights.data();
  step->forward.out = step->out.data();
  return backend->Forward(step->forward);
}

// A backend with all that it leans on.
struct Rig {
  std::unique_ptr<TestMoeModel> model;
  std::unique_ptr<Device> device;
  std::unique_ptr<ThreadPool> pool;
  std::unique_ptr<ExpertBanks> banks;
  MoeBackendOptions options;
  std::unique_ptr<MoeBackend> backend;
};

struct RigOptions {
  std::string backend;
  std::string device;
  std::string format = "f32";
  bool has_banks = false;
  int64_t num_slots = kAllExperts;
};

// Nothing when the backend says that it does not run so (no banks, say).
std::optional<Rig> MakeRig(const RigOptions& wanted) {
  Rig rig;
  rig.model = std::make_unique<TestMoeModel>(wanted.format);
  rig.device = SmallDevice(wanted.device);
  rig.pool = std::make_unique<ThreadPool>(2);
  std::vector<ExpertKindCount> kinds;
  for (int kind = 0; kind < rig.model->model().num_kinds(); ++kind) {
    kinds.push_back({rig.model->model().num_experts_of_kind(kind),
                     rig.model->model().kind(kind).expert_bytes()});
  }
  ExpertCacheRequest request;
  request.num_slots = wanted.num_slots;
  rig.options.device = rig.device.get();
  rig.options.source = rig.model.get();
  rig.options.pool = rig.pool.get();
  rig.options.max_tokens = kMaxTokens;
  rig.options.bytes_by_kind = ResolveExpertCache(request, kinds, 0).value().bytes_by_kind;
  const MoeBackendComponent& component = *AllMoeBackends().Get(wanted.backend).value();
  const Result<MoeBackendPlan> plan = MoeBackend::Plan(component, rig.options, wanted.has_banks);
  if (!plan.ok() || (plan->needs_banks && !wanted.has_banks)) {
    return std::nullopt;
  }
  if (wanted.has_banks) {
    rig.banks = ExpertBanks::Load(rig.model.get(), nullptr).value();
    rig.options.banks = rig.banks.get();
  }
  rig.backend = MoeBackend::Create(component, rig.options).value();
  return rig;
}

double LargestError(const std::vector<float>& got, const std::vector<float>& want) {
  double largest = 0;
  double scale = 1e-6;
  for (size_t i = 0; i < want.size(); ++i) {
    largest =
        std::max(largest, std::abs(static_cast<double>(got[i]) - static_cast<double>(want[i])));
    scale = std::max(scale, std::abs(static_cast<double>(want[i])));
  }
  return largest / scale;
}

constexpr int kLayers[] = {1, 2, 4, 2, 1, 4};

class MoeBackendConformanceTest
    : public testing::TestWithParam<std::tuple<std::string, std::string, bool>> {
 protected:
  RigOptions Wanted() const {
    RigOptions wanted;
    wanted.backend = std::get<0>(GetParam());
    wanted.device = std::get<1>(GetParam());
    wanted.has_banks = std::get<2>(GetParam());
    return wanted;
  }

  Rig NewRig(const RigOptions& wanted) {
    std::optional<Rig> rig = MakeRig(wanted);
    if (!rig) {
      return {};
    }
    return std::move(*rig);
  }
};

#define FT_SKIP_WITHOUT(rig)                                                               \
  if ((rig).backend == nullptr) {                                                          \
    GTEST_SKIP() << "this backend does not run on this device without all experts in RAM"; \
  }

TEST_P(MoeBackendConformanceTest, EveryResultEqualsTheReference) {
  for (const std::string format : {"f32", "bf16", "mixed"}) {
    for (const int64_t num_slots : {int64_t{2}, int64_t{5}, kAllExperts}) {
      RigOptions wanted = Wanted();
      wanted.format = format;
      wanted.num_slots = num_slots;
      Rig rig = NewRig(wanted);
      FT_SKIP_WITHOUT(rig);
      uint32_t seed = 100;
      for (const int64_t num_tokens : {1, 3, 48}) {
        for (const int layer_id : kLayers) {
          TestStep step = MakeStep(rig.model->model(), layer_id, num_tokens, seed++);
          const Status status = RunStep(rig.backend.get(), &step);
          ASSERT_TRUE(status.ok()) << status.message();
          EXPECT_LT(LargestError(step.out, rig.model->Reference(step.forward)), 1e-5)
              << format << ", " << num_slots << " slots, layer " << layer_id << ", " << num_tokens
              << " tokens";
        }
      }
    }
  }
}

TEST_P(MoeBackendConformanceTest, EachRouteIsComputedExactlyOnce) {
  for (const int64_t num_slots : {int64_t{2}, int64_t{7}, kAllExperts}) {
    RigOptions wanted = Wanted();
    wanted.num_slots = num_slots;
    Rig rig = NewRig(wanted);
    FT_SKIP_WITHOUT(rig);
    uint64_t num_routes = 0;
    const uint64_t before = NumRoutesComputed();
    for (uint32_t seed = 0; seed < 12; ++seed) {
      TestStep step = MakeStep(rig.model->model(), kLayers[seed % 6], 17, seed);
      num_routes += static_cast<uint64_t>(
          std::count_if(step.ids.begin(), step.ids.end(), [](int32_t id) { return id >= 0; }));
      ASSERT_TRUE(RunStep(rig.backend.get(), &step).ok());
    }
    EXPECT_EQ(NumRoutesComputed() - before, num_routes);
    EXPECT_EQ(rig.backend->counters().routes, num_routes);
  }
}

TEST_P(MoeBackendConformanceTest, SkippedRoutesAndEmptyStepsGiveNothing) {
  Rig rig = NewRig(Wanted());
  FT_SKIP_WITHOUT(rig);
  TestStep step = MakeStep(rig.model->model(), 1, 2, 5);
  step.ids = {-1, -1, 3, -1};
  ASSERT_TRUE(RunStep(rig.backend.get(), &step).ok());
  for (int64_t i = 0; i < kHidden; ++i) {
    EXPECT_EQ(step.out[static_cast<size_t>(i)], 0);
  }
  EXPECT_LT(LargestError(step.out, rig.model->Reference(step.forward)), 1e-5);
  step.ids = {-1, -1, -1, -1};
  ASSERT_TRUE(RunStep(rig.backend.get(), &step).ok());
  EXPECT_EQ(step.out, std::vector<float>(step.out.size(), 0.0F));
  TestStep empty = MakeStep(rig.model->model(), 2, 0, 5);
  EXPECT_TRUE(RunStep(rig.backend.get(), &empty).ok());
}

TEST_P(MoeBackendConformanceTest, ATokensResultDoesNotDependOnItsStep) {
  Rig rig = NewRig(Wanted());
  FT_SKIP_WITHOUT(rig);
  for (const int layer_id : {1, 2}) {
    TestStep all = MakeStep(rig.model->model(), layer_id, 31, 9);
    ASSERT_TRUE(RunStep(rig.backend.get(), &all).ok());
    const auto top_k =
        static_cast<size_t>(rig.model->model().codec_of_layer(layer_id).kind().top_k);
    for (size_t token = 0; token < 31; ++token) {
      TestStep one = MakeStep(rig.model->model(), layer_id, 1, 9);
      one.x.assign(&all.x[token * kHidden], &all.x[token * kHidden] + kHidden);
      one.ids.assign(&all.ids[token * top_k], &all.ids[token * top_k] + top_k);
      one.weights.assign(&all.weights[token * top_k], &all.weights[token * top_k] + top_k);
      ASSERT_TRUE(RunStep(rig.backend.get(), &one).ok());
      EXPECT_EQ(std::memcmp(one.out.data(), &all.out[token * kHidden], kHidden * sizeof(float)), 0);
    }
  }
}

TEST_P(MoeBackendConformanceTest, AChunkedStepEqualsAWholeOne) {
  Rig whole = NewRig(Wanted());
  FT_SKIP_WITHOUT(whole);
  MoeBackendOptions options = whole.options;
  options.route_buffer_bytes = 5 * 3 * kHidden * sizeof(float);  // 5 tokens of top 3
  const std::unique_ptr<MoeBackend> chunked =
      MoeBackend::Create(*AllMoeBackends().Find(std::get<0>(GetParam())), options).value();
  EXPECT_EQ(chunked->plan().chunk_tokens, 5);
  for (const int layer_id : {1, 2, 4}) {
    TestStep a = MakeStep(whole.model->model(), layer_id, 48, 21);
    TestStep b = a;
    ASSERT_TRUE(RunStep(whole.backend.get(), &a).ok());
    ASSERT_TRUE(RunStep(chunked.get(), &b).ok());
    EXPECT_EQ(a.out, b.out);
  }
}

TEST_P(MoeBackendConformanceTest, HoldsNoMoreThanItsPlanAndBudget) {
  for (const int64_t num_slots : {int64_t{2}, int64_t{6}, kAllExperts}) {
    RigOptions wanted = Wanted();
    wanted.num_slots = num_slots;
    Rig rig = NewRig(wanted);
    FT_SKIP_WITHOUT(rig);
    const MoeBackendPlan& plan = rig.backend->plan();
    const auto check = [&] {
      EXPECT_LE(rig.backend->slot_bytes_held(), plan.slot_bytes);
      EXPECT_LE(rig.backend->host_bytes_held(), plan.staging_bytes + plan.host_bytes);
      EXPECT_EQ(rig.device->allocated_bytes(), rig.backend->slot_bytes_held());
      if ((AllMoeBackends().Find(wanted.backend)->caps() & FT_MOE_CAP_BOUNDED) != 0) {
        uint64_t budget = 0;
        for (const uint64_t bytes : rig.options.bytes_by_kind) {
          budget += bytes;
        }
        EXPECT_LE(plan.slot_bytes, budget);
        EXPECT_LE(static_cast<int64_t>(plan.num_slots), num_slots);
        EXPECT_LE(rig.backend->counters().bytes_resident, budget);
      }
    };
    check();
    for (uint32_t seed = 0; seed < 6; ++seed) {
      TestStep step = MakeStep(rig.model->model(), kLayers[seed], 20, seed);
      ASSERT_TRUE(RunStep(rig.backend.get(), &step).ok());
      check();
    }
    rig.backend.reset();
    EXPECT_EQ(rig.device->allocated_bytes(), 0U);
  }
}

TEST_P(MoeBackendConformanceTest, AFailingDiskIsOneErrorAndTheInstanceGoesOn) {
  RigOptions wanted = Wanted();
  wanted.num_slots = 4;
  Rig rig = NewRig(wanted);
  FT_SKIP_WITHOUT(rig);
  int num_failures = 0;
  for (uint32_t seed = 0; seed < 40; ++seed) {
    TestStep step = MakeStep(rig.model->model(), kLayers[seed % 6], 9, seed);
    rig.model->fail_after_reads = static_cast<int>(seed % 5);
    const Status status = RunStep(rig.backend.get(), &step);
    rig.model->fail_after_reads = -1;
    if (!status.ok()) {
      ++num_failures;
      EXPECT_EQ(status.code(), StatusCode::kDataLoss);
      EXPECT_NE(status.message().find("the test's disk is broken"), std::string::npos);
      EXPECT_NE(status.message().find(wanted.backend), std::string::npos);
    }
    ASSERT_TRUE(RunStep(rig.backend.get(), &step).ok());
    EXPECT_LT(LargestError(step.out, rig.model->Reference(step.forward)), 1e-5) << seed;
  }
  const bool reads_in_steps = rig.options.banks == nullptr && rig.backend->counters().fetches > 0;
  EXPECT_EQ(num_failures > 0, reads_in_steps);
}

TEST_P(MoeBackendConformanceTest, AnExpertThatDoesNotExistIsRefused) {
  Rig rig = NewRig(Wanted());
  FT_SKIP_WITHOUT(rig);
  TestStep step = MakeStep(rig.model->model(), 2, 1, 3);
  step.ids[1] = 5;
  EXPECT_EQ(RunStep(rig.backend.get(), &step).code(), StatusCode::kInvalidArgument);
  step.ids[1] = 4;
  EXPECT_TRUE(RunStep(rig.backend.get(), &step).ok());
  step.forward.layer_id = 3;
  EXPECT_EQ(RunStep(rig.backend.get(), &step).code(), StatusCode::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(All,
                         MoeBackendConformanceTest,
                         testing::Combine(testing::ValuesIn(AllMoeBackendNames()),
                                          testing::Values("cpu", "sim"),
                                          testing::Bool()),
                         [](const auto& run) {
                           return std::get<0>(run.param) + "_" + std::get<1>(run.param) +
                                  (std::get<2>(run.param) ? "_banks" : "_disk");
                         });

TEST(MoeBackendBitsTest, EveryBackendWithAnyNumberOfSlotsGivesTheSameBits) {
  for (const std::string format : {"f32", "bf16", "mixed"}) {
    std::vector<std::vector<float>> expected;
    for (const std::string& backend : AllMoeBackendNames()) {
      if ((AllMoeBackends().Find(backend)->caps() & FT_MOE_CAP_BIT_EXACT) == 0) {
        continue;
      }
      for (const std::string device : {"cpu", "sim"}) {
        for (const bool has_banks : {false, true}) {
          for (int64_t num_slots = 2; num_slots <= kAllExperts; ++num_slots) {
            std::optional<Rig> rig = MakeRig({backend, device, format, has_banks, num_slots});
            if (!rig) {
              continue;
            }
            std::vector<std::vector<float>> got;
            for (uint32_t seed = 0; seed < 8; ++seed) {
              TestStep step = MakeStep(rig->model->model(), kLayers[seed % 6], 1 + seed * 5, seed);
              ASSERT_TRUE(RunStep(rig->backend.get(), &step).ok());
              got.push_back(step.out);
            }
            if (expected.empty()) {
              expected = got;
            }
            ASSERT_EQ(got, expected)
                << backend << " on " << device << ", " << num_slots << " slots";
          }
        }
      }
    }
    EXPECT_FALSE(expected.empty());
  }
}

}  // namespace
}  // namespace ft
