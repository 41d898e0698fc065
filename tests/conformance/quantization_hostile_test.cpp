// Callers that hand over nonsense: every function answers FT_E_INVALID_ARG or FT_E_UNSUPPORTED with
// a message, and writes nothing.
#include <functional>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "core/base/thread_pool.h"
#include "core/quant/exec.h"
#include "tests/conformance/quantization_experts.h"
#include "tests/conformance/quantization_formats.h"
#include "tests/conformance/quantization_samples.h"

namespace ft {
namespace {

class QuantizationHostileTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (NumSpellings(GetParam()) == 0) {
      GTEST_SKIP() << "no samples for format " << GetParam() << ": extend quantization_samples.cpp";
    }
    sample_ = MakeSample(GetParam(), 0, 16, 64, &random_);
    packed_ = PackSample(quantization(), sample_);
    spec_.format = GetParam();
    expert_ = MakeExpert(quantization(), spec_, &random_);
  }

  const Quantization& quantization() const { return *AllFormats().Find(GetParam()); }

  ft_matmul_args GoodMatmul() {
    ft_matmul_args args = {};
    args.hdr = {sizeof(args), FT_TAG_MATMUL_ARGS, nullptr};
    args.rows = 16;
    args.cols = 64;
    args.n_tokens = 2;
    args.weights = packed_.data();
    args.x = x_.data();
    args.x_stride = 64;
    args.y = y_.data();
    args.y_stride = 64;
    args.exec = &exec_;
    return args;
  }

  ft_expert_mlp_args GoodExpert() {
    kind_ = KindOf(spec_);
    job_ = {expert_.packed.data(), 2, tokens_, tokens_, weights_};
    ft_expert_mlp_args args = {};
    args.hdr = {sizeof(args), FT_TAG_EXPERT_ARGS, nullptr};
    args.kind = &kind_;
    args.n_jobs = 1;
    args.jobs = &job_;
    args.x = x_.data();
    args.x_stride = 64;
    args.y = y_.data();
    args.y_stride = 64;
    args.scratch = scratch_;
    args.scratch_bytes = sizeof(scratch_);
    args.exec = &exec_;
    return args;
  }

  void ExpectRefused(const Status& status, const char* what) {
    ASSERT_FALSE(status.ok()) << what;
    EXPECT_TRUE(status.code() == StatusCode::kInvalidArgument ||
                status.code() == StatusCode::kUnimplemented)
        << what << ": " << status.message();
    EXPECT_GT(status.message().size(), 10U) << what;
    for (const float value : y_) {
      ASSERT_EQ(value, -7.0F) << what << " wrote to y";
    }
  }

  std::mt19937 random_{5};
  Sample sample_;
  std::vector<uint8_t> packed_;
  ExpertSpec spec_;
  Expert expert_;
  ft_expert_kind kind_ = {};
  ft_expert_job job_ = {};
  int32_t tokens_[2] = {0, 1};
  float weights_[2] = {1, 1};
  std::vector<float> x_ = std::vector<float>(256, 1.0F);
  std::vector<float> y_ = std::vector<float>(256, -7.0F);
  alignas(64) float scratch_[2 * 96 + 64] = {};
  ThreadPool pool_{1};
  ft_exec exec_ = MakeExec(&pool_);
};

TEST_P(QuantizationHostileTest, TheGoodArgumentsAreGood) {
  EXPECT_TRUE(quantization().Matmul(GoodMatmul()).ok());
  const Status status = quantization().ExpertMlp(GoodExpert());
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_P(QuantizationHostileTest, RefusesMatmulsThatMakeNoSense) {
  using Args = ft_matmul_args;
  const std::pair<const char*, std::function<void(Args*)>> faults[] = {
      {"size 0", [](Args* a) { a->hdr.size = 0; }},
      {"size before exec", [](Args* a) { a->hdr.size = FT_SIZE_THRU(Args, y_stride); }},
      {"another tag", [](Args* a) { a->hdr.tag = FT_TAG_EXPERT_ARGS; }},
      {"layout 99", [](Args* a) { a->layout = 99; }},
      {"mode 99", [](Args* a) { a->mode = 99; }},
      {"no rows", [](Args* a) { a->rows = 0; }},
      {"negative rows", [](Args* a) { a->rows = -16; }},
      {"rows beyond all memory", [](Args* a) { a->rows = std::numeric_limits<int64_t>::max(); }},
      {"no columns", [](Args* a) { a->cols = 0; }},
      {"columns of another matrix", [](Args* a) { a->cols = 32; }},
      {"negative tokens", [](Args* a) { a->n_tokens = -1; }},
      {"no weights", [](Args* a) { a->weights = nullptr; }},
      {"no x", [](Args* a) { a->x = nullptr; }},
      {"no y", [](Args* a) { a->y = nullptr; }},
      {"x rows overlap", [](Args* a) { a->x_stride = 63; }},
      {"y rows overlap", [](Args* a) { a->y_stride = 15; }},
      {"no exec", [](Args* a) { a->exec = nullptr; }},
  };
  for (const auto& [what, spoil] : faults) {
    ft_matmul_args args = GoodMatmul();
    spoil(&args);
    ExpectRefused(quantization().Matmul(args), what);
  }
  exec_.n_workers = 0;
  ExpectRefused(quantization().Matmul(GoodMatmul()), "exec without workers");
  exec_.hdr.size = 0;
  ExpectRefused(quantization().Matmul(GoodMatmul()), "exec of size 0");
}

TEST_P(QuantizationHostileTest, RefusesExpertsThatMakeNoSense) {
  using Args = ft_expert_mlp_args;
  const std::pair<const char*, std::function<void(Args*)>> faults[] = {
      {"size 0", [](Args* a) { a->hdr.size = 0; }},
      {"another tag", [](Args* a) { a->hdr.tag = FT_TAG_MATMUL_ARGS; }},
      {"no kind", [](Args* a) { a->kind = nullptr; }},
      {"mode 99", [](Args* a) { a->mode = 99; }},
      {"jobs at null", [](Args* a) { a->jobs = nullptr; }},
      {"no x", [](Args* a) { a->x = nullptr; }},
      {"no y", [](Args* a) { a->y = nullptr; }},
      {"x rows overlap", [](Args* a) { a->x_stride = 8; }},
      {"y rows overlap", [](Args* a) { a->y_stride = 8; }},
      {"no scratch", [](Args* a) { a->scratch = nullptr; }},
      {"little scratch", [](Args* a) { a->scratch_bytes = 4; }},
      {"crooked scratch", [](Args* a) { a->scratch = static_cast<uint8_t*>(a->scratch) + 4; }},
      {"no exec", [](Args* a) { a->exec = nullptr; }},
  };
  for (const auto& [what, spoil] : faults) {
    ft_expert_mlp_args args = GoodExpert();
    spoil(&args);
    ExpectRefused(quantization().ExpertMlp(args), what);
  }
}

TEST_P(QuantizationHostileTest, RefusesJobsAndKindsThatMakeNoSense) {
  const std::pair<const char*, std::function<void(ft_expert_job*)>> jobs[] = {
      {"negative rows", [](ft_expert_job* j) { j->n_rows = -1; }},
      {"no tokens", [](ft_expert_job* j) { j->tokens = nullptr; }},
      {"no routes", [](ft_expert_job* j) { j->routes = nullptr; }},
      {"no route weights", [](ft_expert_job* j) { j->route_weights = nullptr; }},
      {"no weights", [](ft_expert_job* j) { j->weights = nullptr; }},
  };
  for (const auto& [what, spoil] : jobs) {
    ft_expert_mlp_args args = GoodExpert();
    spoil(&job_);
    ExpectRefused(quantization().ExpertMlp(args), what);
  }
  const std::pair<const char*, std::function<void(ft_expert_kind*)>> kinds[] = {
      {"size 0", [](ft_expert_kind* k) { k->hdr.size = 0; }},
      {"no width", [](ft_expert_kind* k) { k->hidden_dim = 0; }},
      {"another width", [](ft_expert_kind* k) { k->hidden_dim = 32; }},
      {"huge", [](ft_expert_kind* k) { k->intermediate_dim = int64_t{1} << 60; }},
      {"activation 0", [](ft_expert_kind* k) { k->activation = 0; }},
      {"activation 99", [](ft_expert_kind* k) { k->activation = 99; }},
      {"unknown flag", [](ft_expert_kind* k) { k->flags |= 1U << 30; }},
      {"layout", [](ft_expert_kind* k) { k->down_layout = 9; }},
      {"mixed formats",
       [](ft_expert_kind* k) {
         k->down_format = {"q4_0", 4};
       }},
      {"no format",
       [](ft_expert_kind* k) {
         k->gate_up_format = {nullptr, 0};
       }},
      {"negative limit", [](ft_expert_kind* k) { k->act_limit = -1; }},
      {"limit without meaning",
       [](ft_expert_kind* k) {
         k->act_limit = 1;
         k->activation = FT_ACT_GELU;
       }},
  };
  for (const auto& [what, spoil] : kinds) {
    ft_expert_mlp_args args = GoodExpert();
    spoil(&kind_);
    ExpectRefused(quantization().ExpertMlp(args), what);
    if (std::string(what) != "another width") {
      EXPECT_FALSE(quantization().ExpertBytes(kind_).ok()) << what;
      EXPECT_FALSE(quantization().ExpertScratchBytes(kind_, 1, 1).ok()) << what;
    }
  }
}

TEST_P(QuantizationHostileTest, RefusesPartsOfTheWrongSizeTypeOrNumber) {
  const ft_match match = quantization().Match("m", sample_.Infos()).value();
  std::vector<uint8_t> out(packed_.size(), 0xAB);
  const auto pack = [&](const ft_matrix_parts& parts, uint64_t room) {
    return quantization().Pack(0, 16, 64, parts, out.data(), room);
  };
  auto good = sample_.ForPack(match);
  EXPECT_TRUE(pack(good->parts, out.size()).ok());
  EXPECT_FALSE(pack(good->parts, out.size() - 1).ok());
  EXPECT_FALSE(quantization().Pack(0, 16, 128, good->parts, out.data(), 1U << 20U).ok());
  for (size_t i = 0; i < good->tensors.size(); ++i) {
    auto spoilt = sample_.ForPack(match);
    spoilt->tensors[i].bytes -= 1;
    EXPECT_FALSE(pack(spoilt->parts, out.size()).ok()) << "short part " << i;
    spoilt = sample_.ForPack(match);
    spoilt->tensors[i].dtype = FT_DTYPE_I64;
    EXPECT_FALSE(pack(spoilt->parts, out.size()).ok()) << "type of part " << i;
    spoilt = sample_.ForPack(match);
    spoilt->tensors[i].dtype = 999;
    EXPECT_FALSE(pack(spoilt->parts, out.size()).ok()) << "unknown type of part " << i;
    spoilt = sample_.ForPack(match);
    spoilt->tensors[i].data = nullptr;
    EXPECT_FALSE(pack(spoilt->parts, out.size()).ok()) << "null part " << i;
  }
  auto fewer = sample_.ForPack(match);
  fewer->parts.n_parts = 0;
  EXPECT_FALSE(pack(fewer->parts, out.size()).ok());
  if (good->tensors.size() > 1) {
    fewer->parts.n_parts = static_cast<uint32_t>(good->tensors.size() - 1);
    EXPECT_FALSE(pack(fewer->parts, out.size()).ok());
    fewer->parts.n_parts = good->parts.n_parts;
    fewer->parts.spelling = 0xFFFFFFFFU;
    EXPECT_FALSE(pack(fewer->parts, out.size()).ok());
  }
}

TEST_P(QuantizationHostileTest, SurvivesStrangeShapesInMatch) {
  for (size_t i = 0; i < sample_.parts.size(); ++i) {
    for (const Shape& shape :
         {Shape{}, Shape{0}, Shape{-1, 7}, Shape{16, 0}, Shape{1, 1, 1, 1},
          Shape{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::max()},
          Shape{16, std::numeric_limits<int64_t>::max() / 16}}) {
      Sample strange = sample_;
      strange.parts[i].shape = shape;
      const auto match = quantization().Match("m", strange.Infos());
      if (match.ok() && match->verdict == FT_MATCH_YES) {
        EXPECT_EQ(match->rows, 16);  // a scalar may be written in several ways
        EXPECT_EQ(match->cols, 64);
      }
    }
  }
  EXPECT_EQ(quantization().Match("m", {}).value().verdict, FT_MATCH_NO);
}

TEST_P(QuantizationHostileTest, CountsItsLayoutsAndModes) {
  EXPECT_TRUE(quantization().LayoutId(0).ok());
  EXPECT_EQ(quantization().LayoutId(1000).status().code(), StatusCode::kNotFound);
  EXPECT_FALSE(quantization().ErrorBound(1000).ok());
  EXPECT_FALSE(quantization().PackedBytes(1000, 16, 64).ok());
}

INSTANTIATE_TEST_SUITE_P(Formats,
                         QuantizationHostileTest,
                         ::testing::ValuesIn(AllFormatNames()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace ft
