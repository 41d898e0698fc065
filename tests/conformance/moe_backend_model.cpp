#include "tests/conformance/moe_backend_model.h"

#include <atomic>
#include <cstring>
#include <random>

#include "core/base/check.h"
#include "core/base/errors.h"
#include "core/base/thread_pool.h"
#include "core/quant/builtin/float_format.h"
#include "core/quant/exec.h"
#include "core/quant/float_formats.h"

namespace ft {
namespace {

std::atomic<uint64_t> num_routes_computed{0};

// The built-in tables with a counter in front of the kernel.
template <const ft_quantization* (*kBuiltin)()>
const ft_quantization* Counting() {
  static const ft_quantization kTable = [] {
    ft_quantization table = *kBuiltin();
    table.expert_mlp = [](void* state, const ft_expert_mlp_args* args,
                          ft_error* error) noexcept -> ft_code {
      for (uint32_t i = 0; i < args->n_jobs; ++i) {
        num_routes_computed += static_cast<uint64_t>(args->jobs[i].n_rows);
      }
      return kBuiltin()->expert_mlp(state, args, error);
    };
    return table;
  }();
  return &kTable;
}

// One stored matrix, in the format's dtype.
struct StoredMatrix {
  std::vector<std::byte> bytes;
  std::array<int64_t, 2> shape = {};
  ft_tensor tensor = {};
  uint32_t spelling = 0;

  ft_matrix_parts Parts() const { return {spelling, 1, &tensor}; }
};

void FillMatrix(const Quantization& format,
                int64_t rows,
                int64_t cols,
                std::mt19937* random,
                StoredMatrix* out) {
  std::normal_distribution<float> normal(0, 0.2F);
  const bool is_bf16 = format.format() == "bf16";
  out->shape = {rows, cols};
  for (int64_t i = 0; i < rows * cols; ++i) {
    const float value = normal(*random);
    const uint16_t code = FloatToBf16(value);
    const auto* from = is_bf16 ? reinterpret_cast<const std::byte*>(&code)
                               : reinterpret_cast<const std::byte*>(&value);
    out->bytes.insert(out->bytes.end(), from, from + (is_bf16 ? sizeof(code) : sizeof(value)));
  }
  ft_part_info info = {};
  info.suffix = {".weight", 7};
  info.dtype = is_bf16 ? FT_DTYPE_BF16 : FT_DTYPE_F32;
  info.ndim = 2;
  info.shape = out->shape.data();
  const Result<ft_match> match = format.Match("test", {info});
  FT_CHECK(match.ok() && match->verdict == FT_MATCH_YES);
  out->spelling = match->spelling;
  out->tensor.data = out->bytes.data();
  out->tensor.dtype = info.dtype;
  out->tensor.ndim = 2;
  out->tensor.shape = out->shape.data();
  out->tensor.bytes = out->bytes.size();
}

std::vector<float> RandomFloats(int64_t count, std::mt19937* random) {
  std::normal_distribution<float> normal(0, 0.2F);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) {
    value = normal(*random);
  }
  return values;
}

}  // namespace

uint64_t NumRoutesComputed() {
  return num_routes_computed;
}

TestMoeModel::TestMoeModel(const std::string& format) {
  FT_CHECK(formats_.Add(Quantization(Counting<BuiltinF32>(), nullptr, "test")).ok());
  FT_CHECK(formats_.Add(Quantization(Counting<BuiltinBf16>(), nullptr, "test")).ok());
  gate_up_ = formats_.Find(format == "mixed" ? "f32" : format);
  down_ = formats_.Find(format == "mixed" ? "bf16" : format);
  FT_CHECK(gate_up_ != nullptr && down_ != nullptr);
  ExpertKind wide;
  wide.hidden_dim = 40;
  wide.intermediate_dim = 24;
  wide.num_experts = 6;
  wide.top_k = 2;
  ExpertKind biased;
  biased.hidden_dim = 40;
  biased.intermediate_dim = 16;
  biased.num_experts = 5;
  biased.top_k = 3;
  biased.activation = FT_ACT_SWIGLU_OAI;
  biased.act_alpha = 1.702;
  biased.act_limit = 7;
  biased.has_bias = true;
  AddLayer(1, wide);
  AddLayer(2, biased);
  AddLayer(4, wide);
}

void TestMoeModel::AddLayer(int layer_id, const ExpertKind& kind) {
  const int index = model_.FindOrAddKind(kind, gate_up_, down_).value();
  model_.AddLayer(layer_id, index);
  const ExpertCodec& codec = model_.kind(index);
  std::vector<std::vector<std::byte>> experts;
  std::mt19937 random(seed_++);
  for (int expert = 0; expert < kind.num_experts; ++expert) {
    StoredMatrix gate;
    StoredMatrix up;
    StoredMatrix down;
    FillMatrix(*gate_up_, kind.intermediate_dim, kind.hidden_dim, &random, &gate);
    FillMatrix(*gate_up_, kind.intermediate_dim, kind.hidden_dim, &random, &up);
    FillMatrix(*down_, kind.hidden_dim, kind.intermediate_dim, &random, &down);
    const std::vector<float> gate_bias = RandomFloats(kind.intermediate_dim, &random);
    const std::vector<float> up_bias = RandomFloats(kind.intermediate_dim, &random);
    const std::vector<float> down_bias = RandomFloats(kind.hidden_dim, &random);
    ft_expert_parts parts = {};
    parts.hdr = {sizeof(parts), FT_TAG_EXPERT_PARTS, nullptr};
    parts.gate = gate.Parts();
    parts.up = up.Parts();
    parts.down = down.Parts();
    if (kind.has_bias) {
      parts.gate_bias = gate_bias.data();
      parts.up_bias = up_bias.data();
      parts.down_bias = down_bias.data();
    }
    void* memory = std::aligned_alloc(64, codec.expert_bytes());
    std::memset(memory, 0, codec.expert_bytes());
    const Status packed = codec.Pack(parts, memory);
    FT_CHECK(packed.ok());
    const auto* bytes = static_cast<const std::byte*>(memory);
    experts.emplace_back(bytes, bytes + codec.expert_bytes());
    std::free(memory);
  }
  packed_.push_back(std::move(experts));
}

const std::vector<std::byte>& TestMoeModel::Packed(int layer_id, int expert) const {
  return packed_[static_cast<size_t>(model_.LayerIndex(layer_id))][static_cast<size_t>(expert)];
}

Status TestMoeModel::Read(std::span<const ft_expert_read> reads) {
  for (const ft_expert_read& read : reads) {
    if (fail_after_reads == 0) {
      return DataLoss("expert {} of layer {}: the test's disk is broken", read.expert_id,
                      read.layer_id);
    }
    fail_after_reads -= fail_after_reads > 0 ? 1 : 0;
    const std::vector<std::byte>& packed =
        Packed(static_cast<int>(read.layer_id), static_cast<int>(read.expert_id));
    std::memcpy(read.dst, packed.data(), packed.size());
    ++num_read;
  }
  return Status();
}

std::vector<float> TestMoeModel::Reference(const MoeForward& forward) const {
  const ExpertCodec& codec = model_.codec_of_layer(forward.layer_id);
  const int64_t hidden = codec.kind().hidden_dim;
  const int top_k = codec.kind().top_k;
  ThreadPool pool(1);
  const ft_exec exec = MakeExec(&pool);
  const uint64_t scratch_bytes = codec.ScratchBytes(1, 1).value();
  void* scratch = std::aligned_alloc(64, (scratch_bytes + 63) / 64 * 64);
  void* weights = std::aligned_alloc(64, codec.expert_bytes());
  std::vector<float> out(static_cast<size_t>(forward.num_tokens * hidden), 0.0F);
  std::vector<float> result(static_cast<size_t>(hidden));
  for (int64_t route = 0; route < forward.num_tokens * top_k; ++route) {
    if (forward.expert_ids[route] < 0) {
      continue;
    }
    std::memcpy(weights, Packed(forward.layer_id, forward.expert_ids[route]).data(),
                codec.expert_bytes());
    const auto token = static_cast<int32_t>(route / top_k);
    const int32_t row = 0;
    const ft_expert_job job = {weights, 1, &token, &row, &forward.expert_weights[route]};
    ft_expert_mlp_args args = {};
    args.hdr = {sizeof(args), FT_TAG_EXPERT_ARGS, nullptr};
    args.mode = FT_COMPUTE_EXACT;
    args.n_jobs = 1;
    args.jobs = &job;
    args.x = forward.x;
    args.x_stride = forward.x_stride;
    args.y = result.data();
    args.y_stride = hidden;
    args.scratch = scratch;
    args.scratch_bytes = scratch_bytes;
    args.exec = &exec;
    const Status status = codec.MlpReference(args);
    FT_CHECK(status.ok());
    for (int64_t i = 0; i < hidden; ++i) {
      out[static_cast<size_t>(token * hidden + i)] += result[static_cast<size_t>(i)];
    }
  }
  std::free(scratch);
  std::free(weights);
  return out;
}

}  // namespace ft
