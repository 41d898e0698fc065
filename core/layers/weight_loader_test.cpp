#include "core/layers/weight_loader.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "core/base/thread_pool.h"
#include "core/checkpoint/safetensors_writer.h"
#include "core/quant/builtin/float_format.h"
#include "core/quant/exec.h"

namespace ft {
namespace {

// A checkpoint file of a few tensors, removed at the end.
class WeightLoaderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(RegisterBuiltinQuantizations(&formats_).ok());
    path_ = ::testing::TempDir() + "/weight_loader_" +
            ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".safetensors";
    const std::vector<NamedTensor> tensors = {
        {"proj.weight", {matrix_.data(), DType::kF32, {2, 3}}},
        {"proj.bias", {bias_.data(), DType::kF32, {2}}},
        {"proj.k_scale", {bias_.data(), DType::kF32, {1}}},
        {"projector.weight", {matrix_.data(), DType::kF32, {3, 2}}},
        {"packed.qweight", {bytes_.data(), DType::kI8, {2, 3}}},
    };
    ASSERT_TRUE(WriteSafetensors(path_, tensors).ok());
    auto index = TensorIndex::Open(path_);
    ASSERT_TRUE(index.ok()) << index.status().message();
    index_ = std::make_unique<TensorIndex>(std::move(*index));
  }

  void TearDown() override { std::filesystem::remove(path_); }

  WeightLoader Loader(WeightPass pass) {
    return WeightLoader({.index = index_.get(), .formats = &formats_, .pass = pass});
  }

  std::vector<float> matrix_ = {1, 2, 3, 4, 5, 6};
  std::vector<float> bias_ = {10, 20};
  std::vector<int8_t> bytes_ = {1, 2, 3, 4, 5, 6};
  QuantizationRegistry formats_;
  std::unique_ptr<TensorIndex> index_;
  std::string path_;
};

TEST_F(WeightLoaderTest, ChecksWithoutReadingAndThenReads) {
  WeightLoader check = Loader(WeightPass::kCheck);
  EXPECT_EQ(check.MatrixWithBias("proj", {2, 3}).packed.num_bytes(), 0U);
  ASSERT_TRUE(check.status().ok()) << check.status().message();
  const WeightSummary summary = check.TakeSummary();
  EXPECT_EQ(summary.used.size(), 2U);
  EXPECT_EQ(summary.known_unused.count("proj.k_scale"), 1U);
  EXPECT_EQ(summary.dense_stored_bytes, 32U);
  ASSERT_EQ(summary.formats.size(), 1U);
  EXPECT_EQ(summary.formats[0].format, "f32");

  WeightLoader read = Loader(WeightPass::kRead);
  const Linear linear = read.MatrixWithBias("proj", {2, 3});
  ASSERT_TRUE(read.status().ok()) << read.status().message();
  ThreadPool pool(1);
  const std::vector<float> x = {1, 1, 1, 0, 1, 0};
  std::vector<float> y(4);
  ASSERT_TRUE(linear.Apply(x.data(), 2, y.data(), FT_COMPUTE_EXACT, MakeExec(&pool)).ok());
  EXPECT_EQ(y, std::vector<float>({16, 35, 12, 25}));
}

TEST_F(WeightLoaderTest, CollectsEveryFailureByName) {
  WeightLoader check = Loader(WeightPass::kCheck);
  check.Matrix("absent", {2, 3});
  check.Matrix("proj", {3, 3});
  check.Matrix("packed", {2, 3});
  check.Vector("proj.bias", 5);
  const std::string message = check.status().message();
  EXPECT_EQ(check.status().code(), StatusCode::kDataLoss);
  EXPECT_NE(message.find("absent"), std::string::npos) << message;
  EXPECT_NE(message.find("[3, 3]"), std::string::npos) << message;
  EXPECT_NE(message.find("qweight"), std::string::npos) << message;
  EXPECT_NE(message.find("proj.bias"), std::string::npos) << message;
}

TEST_F(WeightLoaderTest, SaysHowManyMoreFailuresThereAre) {
  WeightLoader check = Loader(WeightPass::kCheck);
  for (int i = 0; i < 9; ++i) {
    check.Matrix("absent" + std::to_string(i), {2, 3});
  }
  EXPECT_NE(check.status().message().find("and 4 more"), std::string::npos);
}

TEST_F(WeightLoaderTest, GathersRowsOfATable) {
  WeightLoader read = Loader(WeightPass::kRead);
  const Embedding table = read.Table("projector", {3, 2});
  ASSERT_TRUE(read.status().ok()) << read.status().message();
  ThreadPool pool(1);
  const std::vector<int32_t> ids = {2, 0};
  std::vector<float> rows(4);
  ASSERT_TRUE(table.Gather(&pool, ids, rows.data()).ok());
  EXPECT_EQ(rows, std::vector<float>({5, 6, 1, 2}));
}

TEST_F(WeightLoaderTest, AFileThatIsCutMeanwhileIsAnErrorAndNoSignal) {
  WeightLoader read = Loader(WeightPass::kRead);
  const Embedding table = read.Table("projector", {3, 2});
  std::filesystem::resize_file(path_, 8);
  ThreadPool pool(1);
  const std::vector<int32_t> ids = {1};
  std::vector<float> row(2);
  const Status gathered = table.Gather(&pool, ids, row.data());
  EXPECT_EQ(gathered.code(), StatusCode::kDataLoss);
  EXPECT_NE(gathered.message().find("has 8 bytes"), std::string::npos) << gathered.message();
  read.MatrixWithBias("proj", {2, 3});
  EXPECT_EQ(read.status().code(), StatusCode::kDataLoss);
}

}  // namespace
}  // namespace ft
