// Every kernel table against double arithmetic, at all lengths around the vector width.
#include "core/ops/kernels.h"

#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "core/ops/activation.h"
#include "core/ops/norm.h"

namespace ft::ops {
namespace {

std::vector<float> Random(size_t count, uint32_t seed, float spread = 1.0F) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0F, spread);
  std::vector<float> values(count);
  for (float& value : values) {
    value = normal(random);
  }
  return values;
}

std::vector<const Kernels*> Tables() {
  std::vector<const Kernels*> tables = {&GenericKernels()};
  if (Avx2Kernels() != nullptr) {
    tables.push_back(Avx2Kernels());
  }
  return tables;
}

TEST(KernelsTest, DotAndSumAgreeWithDoubleWithinTheirBound) {
  for (const Kernels* kernels : Tables()) {
    for (int64_t dim = 1; dim < 140; dim += dim < 40 ? 1 : 13) {
      const std::vector<float> a = Random(static_cast<size_t>(dim), 1);
      const std::vector<float> b = Random(static_cast<size_t>(dim), 2);
      double sum = 0;
      double magnitude = 0;
      for (size_t i = 0; i < a.size(); ++i) {
        sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
        magnitude += std::abs(static_cast<double>(a[i]) * static_cast<double>(b[i]));
      }
      const float* row = a.data();
      float dot = 0;
      kernels->dot_rows(&row, 1, b.data(), dim, &dot);
      EXPECT_NEAR(dot, sum, magnitude * 1e-6) << kernels->name << " dim " << dim;
    }
  }
}

TEST(KernelsTest, AddsRowsInOrder) {
  for (const Kernels* kernels : Tables()) {
    for (const int64_t dim : {1, 7, 8, 31, 32, 33, 64, 100}) {
      const auto size = static_cast<size_t>(dim);
      const std::vector<float> data = Random(3 * size, 3);
      const float* rows[3] = {data.data(), data.data() + dim, data.data() + 2 * dim};
      const float weights[3] = {0.5F, -2.0F, 1.25F};
      std::vector<float> sum = Random(size, 4);
      std::vector<float> want = sum;
      for (size_t row = 0; row < 3; ++row) {
        for (size_t i = 0; i < size; ++i) {
          want[i] += weights[row] * rows[row][i];
        }
      }
      kernels->add_rows(rows, weights, 3, dim, sum.data());
      for (size_t i = 0; i < size; ++i) {
        EXPECT_NEAR(sum[i], want[i], 2e-6) << kernels->name;
      }
    }
  }
}

TEST(KernelsTest, ExponentialsAreExactToTwoUnitsAndSummed) {
  for (const Kernels* kernels : Tables()) {
    for (const int64_t count : {1, 5, 8, 9, 64}) {
      std::vector<float> x(static_cast<size_t>(count));
      for (size_t i = 0; i < x.size(); ++i) {
        x[i] = 3.0F - static_cast<float>(i * i) * 0.02F;
      }
      const std::vector<float> before = x;
      const float sum = kernels->exp_sum(x.data(), count, 3.0F);
      double want_sum = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        const double want = std::exp(static_cast<double>(before[i]) - 3.0);
        want_sum += want;
        EXPECT_NEAR(x[i], want, want * 3e-7) << kernels->name << " at " << before[i];
      }
      EXPECT_NEAR(sum, want_sum, want_sum * 1e-6);
    }
  }
}

TEST(KernelsTest, ActivationsAgreeWithDouble) {
  for (const Kernels* kernels : Tables()) {
    for (const Activation activation :
         {Activation::kSilu, Activation::kGelu, Activation::kGeluTanh}) {
      std::vector<float> gate = Random(77, 5, 4.0F);
      gate[0] = -200.0F;
      gate[1] = 200.0F;
      gate[2] = 0.0F;
      const std::vector<float> up = Random(77, 6);
      std::vector<float> out(77);
      GatedActivation(*kernels, activation, gate.data(), up.data(), 77, out.data());
      for (size_t i = 0; i < out.size(); ++i) {
        const double want = ActivationReference(activation, static_cast<double>(gate[i])) *
                            static_cast<double>(up[i]);
        EXPECT_NEAR(out[i], want, 1e-6 * (1.0 + std::abs(want)))
            << kernels->name << " " << ActivationName(activation) << " at " << gate[i];
      }
    }
  }
}

TEST(KernelsTest, RmsNormAgreesWithItsReference) {
  for (const Kernels* kernels : Tables()) {
    for (const int64_t dim : {1, 20, 64, 129}) {
      const auto size = static_cast<size_t>(dim);
      const std::vector<float> x = Random(size, 7, 3.0F);
      const std::vector<float> weight = Random(size, 8);
      std::vector<float> out(size);
      std::vector<float> want(size);
      RmsNormRow(*kernels, x.data(), weight.data(), 1e-6F, dim, out.data());
      RmsNormRowReference(x.data(), weight.data(), 1e-6, dim, want.data());
      for (size_t i = 0; i < size; ++i) {
        EXPECT_NEAR(out[i], want[i], 1e-5) << kernels->name;
      }
    }
  }
}

TEST(ActivationTest, RefusesAnUnknownNameByName) {
  const auto result = ParseActivation("quick_gelu");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), StatusCode::kUnimplemented);
  EXPECT_NE(result.status().message().find("quick_gelu"), std::string::npos);
}

}  // namespace
}  // namespace ft::ops
