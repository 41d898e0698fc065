// Every weight format against core/quant/dequantize.h: recognising, packing, decoding and the
// product of one matrix. Experts: quantization_expert_test.cpp; hostile callers:
// quantization_hostile_test.cpp.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "core/base/thread_pool.h"
#include "core/quant/exec.h"
#include "tests/conformance/quantization_formats.h"
#include "tests/conformance/quantization_samples.h"

namespace ft {
namespace {

class QuantizationTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (NumSpellings(GetParam()) == 0) {
      GTEST_SKIP() << "no samples for format " << GetParam() << ": extend quantization_samples.cpp";
    }
  }

  const Quantization& quantization() const { return *AllFormats().Find(GetParam()); }

  int64_t Cols(int64_t wanted) const {
    const int64_t multiple = ColsMultiple(GetParam());
    return std::max(multiple, wanted / multiple * multiple);
  }

  // One row of FP8 is spelled alike per row and per tensor; the numbers are equal too.
  int64_t Rows(int64_t wanted) const {
    return GetParam().starts_with("fp8") ? std::max<int64_t>(2, wanted) : wanted;
  }

  std::mt19937 random_{20240611};
};

// y [num_tokens, rows] of the fast kernel (or the reference).
std::vector<float> Multiply(const Quantization& quantization,
                            const Sample& sample,
                            const std::vector<uint8_t>& packed,
                            const std::vector<float>& x,
                            int num_workers,
                            bool use_reference = false,
                            uint32_t mode = FT_COMPUTE_EXACT) {
  ThreadPool pool(num_workers);
  const ft_exec exec = MakeExec(&pool);
  const auto num_tokens = static_cast<int64_t>(x.size()) / sample.cols;
  std::vector<float> y(static_cast<size_t>(num_tokens * sample.rows), -7.0F);
  ft_matmul_args args = {};
  args.hdr = {sizeof(args), FT_TAG_MATMUL_ARGS, nullptr};
  args.mode = mode;
  args.rows = sample.rows;
  args.cols = sample.cols;
  args.n_tokens = num_tokens;
  args.weights = packed.data();
  args.x = x.data();
  args.x_stride = sample.cols;
  args.y = y.data();
  args.y_stride = sample.rows;
  args.exec = &exec;
  const Status status =
      use_reference ? quantization.MatmulReference(args) : quantization.Matmul(args);
  EXPECT_TRUE(status.ok()) << status.message();
  return y;
}

// Each element within `bound` of the fp64 product of the expected weights.
void ExpectWithin(double bound,
                  const Sample& sample,
                  const std::vector<float>& x,
                  const std::vector<float>& y,
                  const std::string& what) {
  const auto num_tokens = static_cast<int64_t>(x.size()) / sample.cols;
  for (int64_t t = 0; t < num_tokens; ++t) {
    for (int64_t r = 0; r < sample.rows; ++r) {
      double sum = 0;
      double magnitude = 0;
      for (int64_t c = 0; c < sample.cols; ++c) {
        const double term =
            static_cast<double>(sample.expected[static_cast<size_t>(r * sample.cols + c)]) *
            static_cast<double>(x[static_cast<size_t>(t * sample.cols + c)]);
        sum += term;
        magnitude += std::abs(term);
      }
      const double got = static_cast<double>(y[static_cast<size_t>(t * sample.rows + r)]);
      if (std::isnan(sum)) {
        ASSERT_TRUE(std::isnan(got)) << what << ": token " << t << ", row " << r << " is " << got;
        continue;
      }
      // 1e-37: sums below the normal floats have no relative precision.
      ASSERT_LE(std::abs(got - sum), bound * magnitude + 1e-37)
          << what << ": token " << t << ", row " << r << ": " << got << ", want " << sum;
    }
  }
}

TEST_P(QuantizationTest, KnowsItsSpellingsAndNoOtherFormatClaimsThem) {
  for (int spelling = 0; spelling < NumSpellings(GetParam()); ++spelling) {
    const Sample sample = MakeSample(GetParam(), spelling, 24, 96, &random_);
    const auto found = AllFormats().Resolve("layers.0.q_proj", sample.Infos());
    ASSERT_TRUE(found.ok()) << found.status().message();
    EXPECT_EQ(found->quantization->format(), GetParam());
    EXPECT_EQ(found->match.rows, 24);
    EXPECT_EQ(found->match.cols, 96);
  }
}

TEST_P(QuantizationTest, DoesNotCareInWhichOrderTheTensorsCome) {
  Sample sample = MakeSample(GetParam(), 0, 24, 96, &random_);
  const std::vector<uint8_t> packed = PackSample(quantization(), sample);
  std::reverse(sample.parts.begin(), sample.parts.end());
  EXPECT_EQ(PackSample(quantization(), sample), packed);
}

TEST_P(QuantizationTest, NamesTheTensorsThatAreMissing) {
  for (int spelling = 0; spelling < NumSpellings(GetParam()); ++spelling) {
    const Sample whole = MakeSample(GetParam(), spelling, 24, 96, &random_);
    const auto match = quantization().Match("m", whole.Infos());
    ASSERT_TRUE(match.ok());
    for (size_t gone = 0; gone < whole.parts.size(); ++gone) {
      if ((match->used >> gone & 1U) == 0 || whole.parts.size() == 1) {
        continue;
      }
      Sample sample = whole;
      const std::string suffix = sample.parts[gone].suffix.substr(1);
      sample.parts.erase(sample.parts.begin() + static_cast<std::ptrdiff_t>(gone));
      const auto found = AllFormats().Resolve("layers.0.q_proj", sample.Infos());
      ASSERT_FALSE(found.ok()) << GetParam() << " without " << suffix;
      EXPECT_EQ(found.status().code(), StatusCode::kDataLoss) << found.status().message();
      EXPECT_NE(found.status().message().find(suffix), std::string::npos)
          << found.status().message();
    }
  }
}

TEST_P(QuantizationTest, DoesNotClaimTensorsItDoesNotKnow) {
  Sample sample = MakeSample(GetParam(), 0, 24, 96, &random_);
  sample.parts.push_back({".weight_zero_point", DType::kU8, {24, 1}, std::vector<uint8_t>(24)});
  const auto found = AllFormats().Resolve("layers.0.q_proj", sample.Infos());
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.status().code(), StatusCode::kUnimplemented) << found.status().message();
  EXPECT_NE(found.status().message().find("weight_zero_point"), std::string::npos);
}

TEST_P(QuantizationTest, DequantizesToExactlyTheNumbersOfTheFormat) {
  const SampleOptions kinds[] = {
      {}, {.zero_blocks = true}, {.denormals = true}, {.nan_scales = true}};
  for (int spelling = 0; spelling < NumSpellings(GetParam()); ++spelling) {
    for (const SampleOptions& options : kinds) {
      for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{1, 1}, {9, 77}, {130, 300}}) {
        const Sample sample =
            MakeSample(GetParam(), spelling, Rows(rows), Cols(cols), &random_, options);
        const std::vector<uint8_t> packed = PackSample(quantization(), sample);
        ASSERT_FALSE(packed.empty());
        std::vector<float> out(sample.expected.size());
        const Status status =
            quantization().Dequantize(0, sample.rows, sample.cols, packed.data(), out.data());
        ASSERT_TRUE(status.ok()) << status.message();
        for (size_t i = 0; i < out.size(); ++i) {
          if (std::isnan(sample.expected[i])) {
            ASSERT_TRUE(std::isnan(out[i])) << i;
          } else {
            ASSERT_EQ(out[i], sample.expected[i]) << "element " << i;
          }
        }
      }
    }
  }
}

TEST_P(QuantizationTest, MultipliesWithinItsBoundForAllShapes) {
  const int64_t shapes[][2] = {{1, 1},    {7, 15},   {8, 16},    {9, 33},   {16, 128},
                               {17, 129}, {40, 640}, {129, 257}, {30, 1000}};
  for (int spelling = 0; spelling < NumSpellings(GetParam()); ++spelling) {
    for (const uint32_t mode : {FT_COMPUTE_EXACT, FT_COMPUTE_SERVED}) {
      const double bound = quantization().ErrorBound(mode).value();
      for (const auto& shape : shapes) {
        const Sample sample =
            MakeSample(GetParam(), spelling, Rows(shape[0]), Cols(shape[1]), &random_);
        const auto packed = PackSample(quantization(), sample);
        for (const int64_t num_tokens : {1, 2, 3, 4, 5, 9, 65}) {
          const auto x = RandomFloats(num_tokens * sample.cols, &random_);
          const auto y = Multiply(quantization(), sample, packed, x, 2, false, mode);
          ExpectWithin(bound, sample, x, y,
                       std::to_string(shape[0]) + " × " + std::to_string(sample.cols));
        }
      }
    }
  }
}

TEST_P(QuantizationTest, TheReferenceMultipliesAlmostExactly) {
  const Sample sample = MakeSample(GetParam(), 0, 33, Cols(200), &random_);
  const auto packed = PackSample(quantization(), sample);
  const auto x = RandomFloats(3 * sample.cols, &random_);
  ExpectWithin(1e-7, sample, x, Multiply(quantization(), sample, packed, x, 1, true), "reference");
}

TEST_P(QuantizationTest, MultipliesZeroBlocksDenormalsAndNanScales) {
  const double bound = quantization().ErrorBound(FT_COMPUTE_EXACT).value();
  const SampleOptions kinds[] = {{.zero_blocks = true}, {.denormals = true}, {.nan_scales = true}};
  for (const SampleOptions& options : kinds) {
    for (const int64_t num_tokens : {1, 6}) {
      const Sample sample = MakeSample(GetParam(), 0, 30, Cols(300), &random_, options);
      const auto packed = PackSample(quantization(), sample);
      const auto x = RandomFloats(num_tokens * sample.cols, &random_);
      ExpectWithin(bound, sample, x, Multiply(quantization(), sample, packed, x, 1),
                   "special values");
    }
  }
}

TEST_P(QuantizationTest, ATokenHasTheSameBitsAloneAndAmongOthersWithAnyWorkers) {
  const Sample sample = MakeSample(GetParam(), 0, 75, Cols(333), &random_);
  const auto packed = PackSample(quantization(), sample);
  constexpr int64_t kTokens = 70;
  const auto x = RandomFloats(kTokens * sample.cols, &random_);
  const auto all = Multiply(quantization(), sample, packed, x, 1);
  for (const int num_workers : {2, 3}) {
    EXPECT_EQ(Multiply(quantization(), sample, packed, x, num_workers), all);
  }
  for (int64_t count = 1; count <= 7; ++count) {
    for (int64_t first = 0; first + count <= kTokens; first += 13) {
      const std::vector<float> some(x.begin() + first * sample.cols,
                                    x.begin() + (first + count) * sample.cols);
      const auto y = Multiply(quantization(), sample, packed, some, 1);
      EXPECT_EQ(std::memcmp(y.data(), all.data() + first * sample.rows, y.size() * sizeof(float)),
                0)
          << count << " tokens from " << first;
    }
  }
}

TEST_P(QuantizationTest, NoTokensAreNoWork) {
  const Sample sample = MakeSample(GetParam(), 0, 8, 32, &random_);
  const auto packed = PackSample(quantization(), sample);
  EXPECT_TRUE(Multiply(quantization(), sample, packed, {}, 1).empty());
}

INSTANTIATE_TEST_SUITE_P(Formats,
                         QuantizationTest,
                         ::testing::ValuesIn(AllFormatNames()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace ft
