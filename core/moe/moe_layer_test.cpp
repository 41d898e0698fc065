#include "core/moe/moe_layer.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "core/quant/builtin/float_format.h"
#include "core/quant/exec.h"

namespace ft {
namespace {

// A backend whose expert e gives x times (e + 1): enough to see routes and weights.
struct FakeInstance {
  int num_forwards = 0;
};

ft_code FakeForward(void* instance, const ft_moe_io* io, ft_error* error) noexcept {
  if (io->n_tokens > 4) {  // more than the chunk
    error->message[0] = 'x';
    error->message[1] = '\0';
    return FT_E_INVALID_ARG;
  }
  ++static_cast<FakeInstance*>(instance)->num_forwards;
  for (int64_t token = 0; token < io->n_tokens; ++token) {
    for (int64_t i = 0; i < 4; ++i) {
      float sum = 0;
      for (int64_t k = 0; k < 2; ++k) {
        const int32_t expert = io->topk_ids[token * 2 + k];
        sum += io->topk_weights[token * 2 + k] * static_cast<float>(expert + 1) *
               io->x[token * io->x_stride + i];
      }
      io->out[token * io->out_stride + i] = sum;
    }
  }
  return FT_OK;
}

const ft_moe_backend* FakeTable() {
  static const ft_moe_backend kTable = [] {
    ft_moe_backend table = {};
    table.hdr = {sizeof(table), FT_TAG_MOE_BACKEND, nullptr};
    table.plan = [](void*, const ft_moe_model*, const ft_moe_budget*, ft_moe_plan*,
                    ft_error*) noexcept { return ft_code{FT_OK}; };
    table.create = [](void* state, const ft_host*, const ft_moe_model*, const ft_moe_budget*,
                      void** instance, ft_error*) noexcept {
      *instance = state;
      return ft_code{FT_OK};
    };
    table.forward = FakeForward;
    table.counters = [](void*, ft_moe_counters* out, ft_error*) noexcept {
      out->hits = 42;
      return ft_code{FT_OK};
    };
    table.destroy = [](void*) noexcept {};
    return table;
  }();
  return &kTable;
}

// A source of a model without bytes: the fake backend reads none.
class FakeSource final : public ExpertSource {
 public:
  FakeSource() {
    EXPECT_TRUE(RegisterBuiltinQuantizations(&formats_).ok());
    ExpertKind kind;
    kind.hidden_dim = 4;
    kind.intermediate_dim = 8;
    kind.num_experts = 3;
    kind.top_k = 2;
    const Quantization* f32 = formats_.Find("f32");
    model_.AddLayer(5, model_.FindOrAddKind(kind, f32, f32).value());
  }

  const MoeModel& model() const override { return model_; }

  Status Read(std::span<const ft_expert_read> /*reads*/) override { return Status(); }

  uint64_t staging_bytes() const override { return 0; }

  const Quantization* f32() const { return formats_.Find("f32"); }

 private:
  QuantizationRegistry formats_;
  MoeModel model_;
};

class MoeLayerTest : public testing::Test {
 protected:
  MoeBackendOptions Options() {
    MoeBackendOptions options;
    options.device = device_.get();
    options.source = &source_;
    options.pool = &pool_;
    options.bytes_by_kind = {0};
    options.max_tokens = 10;
    options.route_buffer_bytes = 4 * 2 * 4 * sizeof(float);  // 4 tokens
    return options;
  }

  FakeInstance instance_;
  MoeBackendComponent component_{"fake", "test", FakeTable(), &instance_};
  FakeSource source_;
  ThreadPool pool_{2};
  std::unique_ptr<Device> device_ = MakeDevice("cpu").value();
};

TEST_F(MoeLayerTest, RoutesAndSumsInChunks) {
  const auto backend = MoeBackend::Create(component_, Options()).value();
  EXPECT_EQ(backend->plan().chunk_tokens, 4);
  // Router rows pick the inputs' first three values as logits.
  const std::vector<float> router = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
  const uint64_t bytes = source_.f32()->PackedBytes(0, 3, 4).value();
  void* packed = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  const int64_t shape[] = {3, 4};
  ft_tensor tensor = {};
  tensor.data = const_cast<float*>(router.data());
  tensor.dtype = FT_DTYPE_F32;
  tensor.ndim = 2;
  tensor.shape = shape;
  tensor.bytes = router.size() * sizeof(float);
  ft_part_info info = {{".weight", 7}, FT_DTYPE_F32, 0, 2, shape};
  const ft_match match = source_.f32()->Match("router", {info}).value();
  ASSERT_TRUE(source_.f32()->Pack(0, 3, 4, {match.spelling, 1, &tensor}, packed, bytes).ok());

  MoeLayer layer;
  layer.layer_id = 5;
  layer.hidden_dim = 4;
  layer.router.num_experts = 3;
  layer.router.top_k = 2;
  layer.router.kind = RouterKind::kTopKSoftmax;
  layer.weights = {source_.f32(), 0, packed, nullptr, nullptr};
  std::vector<float> x;
  for (int token = 0; token < 10; ++token) {
    x.insert(x.end(), {static_cast<float>(token % 3 == 0), static_cast<float>(token % 3 == 1),
                       static_cast<float>(token % 3 == 2), 1});
  }
  std::vector<float> out(x.size(), -1);
  MoeScratch scratch(10, 3, 2);
  EXPECT_EQ(MoeScratch::Bytes(10, 3, 2), 10U * (3 + 2 + 2) * 4);
  MoeLayerInput input;
  input.num_tokens = 10;
  input.x = x.data();
  input.x_stride = 4;
  input.out = out.data();
  input.out_stride = 4;
  const ft_exec exec = MakeExec(&pool_);
  const Status status = layer.Forward(input, exec, backend.get(), &scratch);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(instance_.num_forwards, 3);
  const float best = 1 / (1 + std::exp(-1.0F));
  for (size_t token = 0; token < 10; ++token) {
    const size_t first = token % 3;
    const size_t second = first == 0 ? 1 : 0;  // ties go to the lower expert
    const float expected =
        best * static_cast<float>(first + 1) + (1 - best) * static_cast<float>(second + 1);
    EXPECT_NEAR(out[token * 4 + 3], expected, 1e-5F);
  }
  EXPECT_EQ(backend->counters().hits, 42U);
  input.num_tokens = 0;
  EXPECT_TRUE(layer.Forward(input, exec, backend.get(), &scratch).ok());
  std::free(packed);
}

TEST_F(MoeLayerTest, TheRegistryChecksTablesAndNames) {
  MoeBackendRegistry registry;
  EXPECT_TRUE(registry.Add(component_).ok());
  const Status twice = registry.Add({"fake", "other", FakeTable(), nullptr});
  EXPECT_EQ(twice.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(twice.message().find("other"), std::string::npos);
  ft_moe_backend broken = *FakeTable();
  broken.forward = nullptr;
  EXPECT_EQ(registry.Add({"broken", "x", &broken, nullptr}).code(), StatusCode::kPluginFault);
  broken = *FakeTable();
  broken.hdr.size = 40;
  EXPECT_EQ(registry.Add({"broken", "x", &broken, nullptr}).code(), StatusCode::kPluginFault);
  EXPECT_EQ(registry.Find("none"), nullptr);
  const Status none = registry.Get("none").status();
  EXPECT_EQ(none.code(), StatusCode::kNotFound);
  EXPECT_NE(none.message().find("fake"), std::string::npos);
}

TEST_F(MoeLayerTest, APlanThatDoesNotFitTheDeviceIsRefusedWithTheNumbers) {
  static const ft_moe_backend kGreedy = [] {
    ft_moe_backend table = *FakeTable();
    table.plan = [](void*, const ft_moe_model*, const ft_moe_budget*, ft_moe_plan* out,
                    ft_error*) noexcept {
      out->slot_bytes = uint64_t{1} << 60;
      return ft_code{FT_OK};
    };
    return table;
  }();
  const Status status =
      MoeBackend::Create({"greedy", "test", &kGreedy, nullptr}, Options()).status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find("greedy"), std::string::npos);
}

TEST_F(MoeLayerTest, MemoryBeyondThePlanIsRefusedToThePlugin) {
  static const ft_moe_backend kLiar = [] {
    ft_moe_backend table = *FakeTable();
    table.plan = [](void*, const ft_moe_model*, const ft_moe_budget*, ft_moe_plan* out,
                    ft_error*) noexcept {
      out->host_bytes = 100;
      return ft_code{FT_OK};
    };
    table.create = [](void*, const ft_host* host, const ft_moe_model*, const ft_moe_budget*,
                      void** instance, ft_error* error) noexcept {
      const auto* memory =
          static_cast<const ft_svc_memory*>(host->service(host->ctx, "ft.memory", 0));
      void* first = nullptr;
      void* second = nullptr;
      ft_code code = memory->alloc(memory->ctx, FT_MEM_HOST, 60, 0, {"a", 1}, &first, error);
      if (code == FT_OK) {
        code = memory->alloc(memory->ctx, FT_MEM_HOST, 60, 0, {"too much", 8}, &second, error);
      }
      memory->free(memory->ctx, FT_MEM_HOST, first);
      *instance = first;
      return code;
    };
    return table;
  }();
  const Status status = MoeBackend::Create({"liar", "test", &kLiar, nullptr}, Options()).status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find("too much"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace ft
