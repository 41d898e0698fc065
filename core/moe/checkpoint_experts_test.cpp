// Experts in every way that checkpoints store them, read back and compared with what was written.
#include "core/moe/checkpoint_experts.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/checkpoint/test_files.h"
#include "core/moe/expert_bank.h"
#include "core/quant/builtin/float_format.h"
#include "core/quant/exec.h"
#include "core/quant/float_formats.h"

namespace ft {
namespace {

constexpr int64_t kHidden = 24;
constexpr int64_t kIntermediate = 16;
constexpr int kExperts = 5;

using Floats = std::vector<float>;

// Tensors of one file, as they are added.
class FileBuilder {
 public:
  void Add(const std::string& name, const Shape& shape, const Floats& values, bool is_bf16) {
    std::string bytes;
    for (const float value : values) {
      const uint16_t code = FloatToBf16(value);
      is_bf16 ? bytes.append(reinterpret_cast<const char*>(&code), sizeof(code))
              : bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
    }
    std::string extents;
    for (const int64_t extent : shape) {
      extents += (extents.empty() ? "" : ",") + std::to_string(extent);
    }
    header_ += header_.size() == 1 ? "\"" : ",\"";
    header_ += name + R"(":{"dtype":")" + (is_bf16 ? "BF16" : "F32") + R"(","shape":[)" + extents +
               "],\"data_offsets\":[" + std::to_string(data_.size()) + "," +
               std::to_string(data_.size() + bytes.size()) + "]}";
    data_ += bytes;
  }

  std::string Bytes() const { return test::SafetensorsBytes(header_ + "}", data_); }

 private:
  std::string header_ = "{";
  std::string data_;
};

Floats Random(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Floats values(static_cast<size_t>(count));
  for (float& value : values) {
    value = Bf16ToFloat(FloatToBf16(normal(random)));  // the same in every float format
  }
  return values;
}

// What each expert should be: gate, up, down [rows, cols] and biases.
struct Truth {
  std::vector<Floats> gate, up, down, gate_bias, up_bias, down_bias;

  Truth() {
    for (uint32_t expert = 0; expert < kExperts; ++expert) {
      gate.push_back(Random(kIntermediate * kHidden, 10 * expert));
      up.push_back(Random(kIntermediate * kHidden, 10 * expert + 1));
      down.push_back(Random(kHidden * kIntermediate, 10 * expert + 2));
      gate_bias.push_back(Random(kIntermediate, 10 * expert + 3));
      up_bias.push_back(Random(kIntermediate, 10 * expert + 4));
      down_bias.push_back(Random(kHidden, 10 * expert + 5));
    }
  }
};

MoeLayerSpec Spec() {
  MoeLayerSpec spec;
  spec.layer_id = 3;
  spec.kind.hidden_dim = kHidden;
  spec.kind.intermediate_dim = kIntermediate;
  spec.kind.num_experts = kExperts;
  spec.kind.top_k = 2;
  spec.names.prefix = "model.layers.3.mlp.experts";
  return spec;
}

void AppendAll(Floats* to, const Floats& from) {
  to->insert(to->end(), from.begin(), from.end());
}

class CheckpointExpertsTest : public testing::Test {
 protected:
  CheckpointExpertsTest() { EXPECT_TRUE(RegisterBuiltinQuantizations(&formats_).ok()); }

  void WriteOneByOne(bool is_bf16, bool has_bias, int without = -1) {
    FileBuilder file;
    for (int expert = kExperts - 1; expert >= 0; --expert) {
      const auto e = static_cast<size_t>(expert);
      const std::string prefix = Spec().names.prefix + "." + std::to_string(expert) + ".";
      if (expert != without) {
        file.Add(prefix + "down_proj.weight", {kHidden, kIntermediate}, truth_.down[e], is_bf16);
      }
      file.Add(prefix + "gate_proj.weight", {kIntermediate, kHidden}, truth_.gate[e], is_bf16);
      file.Add(prefix + "up_proj.weight", {kIntermediate, kHidden}, truth_.up[e], is_bf16);
      if (has_bias) {
        file.Add(prefix + "gate_proj.bias", {kIntermediate}, truth_.gate_bias[e], is_bf16);
        file.Add(prefix + "up_proj.bias", {kIntermediate}, truth_.up_bias[e], false);
        file.Add(prefix + "down_proj.bias", {kHidden}, truth_.down_bias[e], is_bf16);
      }
    }
    folder_.Write("model.safetensors", file.Bytes());
  }

  void WriteFused(bool is_bf16, bool has_bias) {
    Floats gate_up;
    Floats gate_up_bias;
    Floats down;
    Floats down_bias;
    for (size_t expert = 0; expert < kExperts; ++expert) {
      AppendAll(&gate_up, truth_.gate[expert]);
      AppendAll(&gate_up, truth_.up[expert]);
      AppendAll(&gate_up_bias, truth_.gate_bias[expert]);
      AppendAll(&gate_up_bias, truth_.up_bias[expert]);
      AppendAll(&down, truth_.down[expert]);
      AppendAll(&down_bias, truth_.down_bias[expert]);
    }
    FileBuilder file;
    const std::string prefix = Spec().names.prefix + ".";
    file.Add(prefix + "gate_up_proj", {kExperts, 2 * kIntermediate, kHidden}, gate_up, is_bf16);
    file.Add(prefix + "down_proj", {kExperts, kHidden, kIntermediate}, down, is_bf16);
    if (has_bias) {
      file.Add(prefix + "gate_up_proj_bias", {kExperts, 2 * kIntermediate}, gate_up_bias, is_bf16);
      file.Add(prefix + "down_proj_bias", {kExperts, kHidden}, down_bias, is_bf16);
    }
    folder_.Write("model.safetensors", file.Bytes());
  }

  Result<std::unique_ptr<CheckpointExperts>> Open(const MoeLayerSpec& spec, int staging = 2) {
    index_ = std::make_unique<TensorIndex>(TensorIndex::Open(folder_.path()).value());
    CheckpointExpertsOptions options;
    options.staging_experts = staging;
    options.pool = &pool_;
    return CheckpointExperts::Create(index_.get(), &formats_, {&spec, 1}, options);
  }

  // The packed experts compute what the truth says: gate * x is enough to tell wrong rows, experts
  // and matrices apart, so the whole expert is compared with double arithmetic.
  void ExpectTruth(CheckpointExperts* experts) {
    const std::unique_ptr<ExpertBanks> banks = ExpertBanks::Load(experts, nullptr).value();
    const ExpertCodec& codec = experts->model().codec_of_layer(3);
    const ft_exec exec = MakeExec(&pool_);
    const uint64_t scratch_bytes = codec.ScratchBytes(1, exec.n_workers).value();
    void* scratch = std::aligned_alloc(64, (scratch_bytes + 63) / 64 * 64);
    const Floats x = Random(kHidden, 777);
    for (int expert = 0; expert < kExperts; ++expert) {
      Floats y(kHidden);
      const int32_t zero = 0;
      const float weight = 1;
      const ft_expert_job job = {banks->Find(3, expert), 1, &zero, &zero, &weight};
      ft_expert_mlp_args args = {};
      args.hdr = {sizeof(args), FT_TAG_EXPERT_ARGS, nullptr};
      args.n_jobs = 1;
      args.jobs = &job;
      args.x = x.data();
      args.x_stride = kHidden;
      args.y = y.data();
      args.y_stride = kHidden;
      args.scratch = scratch;
      args.scratch_bytes = scratch_bytes;
      args.exec = &exec;
      const Status status = codec.Mlp(args);
      ASSERT_TRUE(status.ok()) << status.message();
      const std::vector<double> expected = Expected(codec.kind(), expert, x);
      for (size_t i = 0; i < kHidden; ++i) {
        EXPECT_NEAR(y[i], expected[i], 1e-3) << "expert " << expert << ", " << i;
      }
    }
    std::free(scratch);
    EXPECT_EQ(banks->Find(3, kExperts), nullptr);
    EXPECT_EQ(banks->Find(2, 0), nullptr);
    EXPECT_EQ(banks->num_bytes(), experts->model().total_expert_bytes());
  }

  std::vector<double> Expected(const ExpertKind& kind, int expert, const Floats& x) const {
    const auto e = static_cast<size_t>(expert);
    const auto dot = [](const Floats& matrix, size_t row, size_t cols, const auto& in) {
      double sum = 0;
      for (size_t col = 0; col < cols; ++col) {
        sum += static_cast<double>(matrix[row * cols + col]) * static_cast<double>(in[col]);
      }
      return sum;
    };
    std::vector<double> hidden(kIntermediate);
    for (size_t row = 0; row < kIntermediate; ++row) {
      double gate = dot(truth_.gate[e], row, kHidden, x);
      double up = dot(truth_.up[e], row, kHidden, x);
      if (kind.has_bias) {
        gate += static_cast<double>(truth_.gate_bias[e][row]);
        up += static_cast<double>(truth_.up_bias[e][row]);
      }
      hidden[row] = gate / (1 + std::exp(-gate)) * up;
    }
    std::vector<double> out(kHidden);
    for (size_t row = 0; row < kHidden; ++row) {
      out[row] = dot(truth_.down[e], row, kIntermediate, hidden) +
                 (kind.has_bias ? static_cast<double>(truth_.down_bias[e][row]) : 0);
    }
    return out;
  }

  const Truth truth_;
  test::TempFolder folder_;
  QuantizationRegistry formats_;
  ThreadPool pool_{2};
  std::unique_ptr<TensorIndex> index_;
};

TEST_F(CheckpointExpertsTest, ReadsExpertsOneByOneAndFusedWithAndWithoutBiases) {
  for (const bool is_fused : {false, true}) {
    for (const bool is_bf16 : {false, true}) {
      for (const bool has_bias : {false, true}) {
        is_fused ? WriteFused(is_bf16, has_bias) : WriteOneByOne(is_bf16, has_bias);
        MoeLayerSpec spec = Spec();
        spec.kind.has_bias = has_bias;
        for (const int staging : {1, 3, 100}) {
          auto experts = Open(spec, staging);
          ASSERT_TRUE(experts.ok()) << experts.status().message();
          EXPECT_EQ((*experts)->places(3).storage,
                    is_fused ? ExpertStorage::kFused : ExpertStorage::kOneByOne);
          ExpectTruth(experts->get());
        }
      }
    }
  }
}

TEST_F(CheckpointExpertsTest, CountsStoredBytesAndStaging) {
  WriteOneByOne(true, false);
  const auto experts = Open(Spec()).value();
  EXPECT_EQ(experts->stored_bytes(), uint64_t{kExperts} * 3 * kHidden * kIntermediate * 2);
  EXPECT_GE(experts->staging_bytes(), 2U * 3 * kHidden * kIntermediate * 2);
  EXPECT_FALSE(std::string(experts->read_mode()).empty());
}

TEST_F(CheckpointExpertsTest, NamesTheTensorThatIsMissing) {
  WriteOneByOne(true, false, 4);
  const Status missing = Open(Spec()).status();
  EXPECT_EQ(missing.code(), StatusCode::kDataLoss);
  EXPECT_NE(missing.message().find("experts.4.down_proj.weight"), std::string::npos)
      << missing.message();
  MoeLayerSpec elsewhere = Spec();
  elsewhere.names.prefix = "model.layers.9.mlp.experts";
  EXPECT_EQ(Open(elsewhere).status().code(), StatusCode::kDataLoss);
  MoeLayerSpec more = Spec();
  more.kind.num_experts = 6;
  EXPECT_EQ(Open(more).status().code(), StatusCode::kDataLoss);
  MoeLayerSpec biased = Spec();
  biased.kind.has_bias = true;
  EXPECT_NE(Open(biased).status().message().find(".bias"), std::string::npos);
}

TEST_F(CheckpointExpertsTest, RefusesShapesThatTheConfigDoesNotWant) {
  for (const bool is_fused : {false, true}) {
    is_fused ? WriteFused(true, false) : WriteOneByOne(true, false);
    MoeLayerSpec spec = Spec();
    spec.kind.hidden_dim = 32;
    EXPECT_EQ(Open(spec).status().code(), StatusCode::kDataLoss);
    spec = Spec();
    spec.kind.intermediate_dim = 8;
    EXPECT_EQ(Open(spec).status().code(), StatusCode::kDataLoss);
  }
}

TEST_F(CheckpointExpertsTest, RefusesByNameWhatIsNotReadYet) {
  WriteFused(true, false);
  MoeLayerSpec spec = Spec();
  spec.names.is_transposed = true;
  EXPECT_EQ(Open(spec).status().code(), StatusCode::kUnimplemented);
  spec.names.is_transposed = false;
  spec.names.is_interleaved = true;
  EXPECT_NE(Open(spec).status().message().find("interleaved"), std::string::npos);
}

TEST_F(CheckpointExpertsTest, RefusesExpertsOfOneLayerInDifferentFormats) {
  FileBuilder file;
  for (int expert = 0; expert < kExperts; ++expert) {
    const std::string prefix = Spec().names.prefix + "." + std::to_string(expert) + ".";
    const bool is_bf16 = expert != 2;
    file.Add(prefix + "gate_proj.weight", {kIntermediate, kHidden}, truth_.gate[0], is_bf16);
    file.Add(prefix + "up_proj.weight", {kIntermediate, kHidden}, truth_.up[0], is_bf16);
    file.Add(prefix + "down_proj.weight", {kHidden, kIntermediate}, truth_.down[0], is_bf16);
  }
  folder_.Write("model.safetensors", file.Bytes());
  const Status status = Open(Spec()).status();
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_NE(status.message().find("experts.2.gate_proj.weight"), std::string::npos);
}

TEST_F(CheckpointExpertsTest, AFileThatShrankIsAnErrorAndTheSourceGoesOn) {
  WriteOneByOne(true, false);
  const auto experts = Open(Spec()).value();
  const uint64_t bytes = experts->model().codec_of_layer(3).expert_bytes();
  void* memory = std::aligned_alloc(64, bytes);
  const ft_expert_read first = {3, 0, memory};
  const ft_expert_read last = {3, kExperts - 1, memory};
  const std::string path = folder_.path() + "/model.safetensors";
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  const Status status = experts->Read({&first, 1});  // experts are written last to first
  EXPECT_EQ(status.code(), StatusCode::kDataLoss) << status.message();
  EXPECT_TRUE(experts->Read({&last, 1}).ok());
  std::free(memory);
}

TEST_F(CheckpointExpertsTest, LoadingBanksCanBeStopped) {
  WriteOneByOne(true, false);
  const auto experts = Open(Spec()).value();
  uint64_t seen_total = 0;
  const auto banks = ExpertBanks::Load(experts.get(), [&](uint64_t, uint64_t total) {
    seen_total = total;
    return false;
  });
  EXPECT_EQ(banks.status().code(), StatusCode::kCancelled);
  EXPECT_EQ(seen_total, experts->model().total_expert_bytes());
}

}  // namespace
}  // namespace ft
