// The quantized matrices of real checkpoints' shape in ../shared/golden: recognised, packed,
// decoded to what core/quant/dequantize.h says, and multiplied within the bound.
#include <cmath>
#include <filesystem>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "core/base/thread_pool.h"
#include "core/checkpoint/tensor_index.h"
#include "core/quant/dequantize.h"
#include "core/quant/exec.h"
#include "tests/conformance/quantization_formats.h"
#include "tests/conformance/quantization_samples.h"

namespace ft {
namespace {

namespace fs = std::filesystem;

const fs::path kModels = fs::path(FT_SOURCE_DIR) / "../shared/golden/models";

using Parts = std::map<std::string, SamplePart>;  // by suffix

const SamplePart* Find(const Parts& parts, const char* suffix) {
  const auto it = parts.find(suffix);
  return it == parts.end() ? nullptr : &it->second;
}

std::vector<float> FloatsOf(const SamplePart& part) {
  std::vector<float> values(static_cast<size_t>(NumElements(part.shape)));
  EXPECT_TRUE(DecodeToFloat(part.dtype, part.bytes.data(), values.size(), values.data()).ok());
  return values;
}

// What the parts mean, told from their names alone.
std::vector<float> Meaning(const Parts& parts, int64_t rows, int64_t cols) {
  std::vector<float> out(static_cast<size_t>(rows * cols));
  const SamplePart* scale = Find(parts, ".weight_scale");
  const SamplePart* packed = Find(parts, ".weight_packed");
  const SamplePart* weight = Find(parts, ".weight");
  if (const SamplePart* blocks = Find(parts, "_blocks"); blocks != nullptr) {
    DequantizeMxfp4({blocks->bytes.data(), Find(parts, "_scales")->bytes.data(), rows, cols},
                    out.data());
  } else if (const SamplePart* global = Find(parts, ".weight_global_scale"); global != nullptr) {
    DequantizeNvfp4(
        {packed->bytes.data(), scale->bytes.data(), FloatsOf(*global)[0], true, rows, cols},
        out.data());
  } else if (const SamplePart* factor = Find(parts, ".weight_scale_2"); factor != nullptr) {
    DequantizeNvfp4(
        {weight->bytes.data(), scale->bytes.data(), FloatsOf(*factor)[0], false, rows, cols},
        out.data());
  } else if (packed != nullptr) {
    DequantizeMxfp4({packed->bytes.data(), scale->bytes.data(), rows, cols}, out.data());
  } else if (const SamplePart* inverse = Find(parts, ".weight_scale_inv"); inverse != nullptr) {
    const std::vector<float> scales = FloatsOf(*inverse);
    DequantizeFp8({weight->bytes.data(), scales.data(), rows, cols, 128, 128}, out.data());
  } else if (scale != nullptr) {
    const std::vector<float> scales = FloatsOf(*scale);
    const int64_t block_rows = scales.size() == 1 ? rows : 1;
    DequantizeFp8({weight->bytes.data(), scales.data(), rows, cols, block_rows, cols}, out.data());
  } else {
    out = FloatsOf(*weight);
  }
  return out;
}

void CheckMatrix(const std::string& name, const Parts& parts, std::map<std::string, int>* seen) {
  Sample sample;
  for (const auto& [suffix, part] : parts) {
    sample.parts.push_back(part);
  }
  const auto found = AllFormats().Resolve(name, sample.Infos());
  ASSERT_TRUE(found.ok()) << found.status().message();
  const Quantization& quantization = *found->quantization;
  ++(*seen)[std::string(quantization.format())];
  sample.rows = found->match.rows;
  sample.cols = found->match.cols;
  const std::vector<float> want = Meaning(parts, sample.rows, sample.cols);
  const auto packed = PackSample(quantization, sample);
  std::vector<float> got(want.size());
  ASSERT_TRUE(quantization.Dequantize(0, sample.rows, sample.cols, packed.data(), got.data()).ok());
  ASSERT_EQ(got, want) << name << " as " << quantization.format();

  std::mt19937 random(9);
  const auto x = RandomFloats(sample.cols, &random);
  std::vector<float> y(static_cast<size_t>(sample.rows));
  ThreadPool pool(1);
  const ft_exec exec = MakeExec(&pool);
  ft_matmul_args args = {};
  args.hdr = {sizeof(args), FT_TAG_MATMUL_ARGS, nullptr};
  args.rows = sample.rows;
  args.cols = sample.cols;
  args.n_tokens = 1;
  args.weights = packed.data();
  args.x = x.data();
  args.x_stride = sample.cols;
  args.y = y.data();
  args.y_stride = sample.rows;
  args.exec = &exec;
  ASSERT_TRUE(quantization.Matmul(args).ok());
  const double bound = quantization.ErrorBound(FT_COMPUTE_EXACT).value();
  for (int64_t r = 0; r < sample.rows; ++r) {
    double sum = 0;
    double magnitude = 0;
    for (int64_t c = 0; c < sample.cols; ++c) {
      const double term = static_cast<double>(want[static_cast<size_t>(r * sample.cols + c)]) *
                          static_cast<double>(x[static_cast<size_t>(c)]);
      sum += term;
      magnitude += std::abs(term);
    }
    ASSERT_LE(std::abs(static_cast<double>(y[static_cast<size_t>(r)]) - sum),
              bound * magnitude + 1e-37)
        << name << ", row " << r;
  }
}

// Matrices are what is called *_proj; a tensor of all experts is cut into theirs.
void CheckModel(const fs::path& folder, std::map<std::string, int>* seen) {
  const auto index = TensorIndex::Open(folder.string());
  ASSERT_TRUE(index.ok()) << index.status().message();
  std::map<std::string, Parts> matrices;
  for (const TensorInfo& info : index->tensors()) {
    const size_t end = info.name.rfind("_proj");
    const std::string suffix = end == std::string::npos ? "" : info.name.substr(end + 5);
    if (suffix.empty() || suffix.ends_with("bias")) {
      continue;
    }
    SamplePart part{suffix, info.dtype, info.shape, std::vector<uint8_t>(info.num_bytes)};
    ASSERT_TRUE(
        index->ReadInto(info, 0, std::as_writable_bytes(std::span<uint8_t>(part.bytes))).ok());
    const std::string name = info.name.substr(0, end + 5);
    if (!suffix.starts_with("_")) {
      matrices[name].emplace(suffix, std::move(part));
      continue;
    }
    const auto num_experts = static_cast<size_t>(part.shape[0]);
    const size_t bytes = part.bytes.size() / num_experts;
    for (size_t e = 0; e < num_experts; ++e) {
      const auto first = part.bytes.begin() + static_cast<std::ptrdiff_t>(e * bytes);
      matrices[name + std::to_string(e)].emplace(
          suffix,
          SamplePart{suffix, part.dtype, Shape(part.shape.begin() + 1, part.shape.end()),
                     std::vector<uint8_t>(first, first + static_cast<std::ptrdiff_t>(bytes))});
    }
  }
  for (const auto& [name, parts] : matrices) {
    CheckMatrix(folder.filename().string() + ": " + name, parts, seen);
    if (::testing::Test::HasFatalFailure()) {
      return;
    }
  }
}

TEST(QuantizationGoldenTest, ReadsEveryMatrixOfTheQuantizedGoldens) {
  if (!fs::exists(kModels)) {
    GTEST_SKIP() << kModels << " is not there";
  }
  std::map<std::string, int> seen;
  for (const char* model :
       {"qwen3-fp8-block", "qwen3-nvfp4-ct", "qwen3-nvfp4-modelopt", "qwen3_moe-fp8-block",
        "qwen3_moe-fp8-ct-channel", "qwen3_moe-fp8-modelopt", "qwen3_moe-mixed-ct",
        "qwen3_moe-mxfp4-ct", "qwen3_moe-nvfp4-ct", "qwen3_moe-nvfp4-ct-experts-only",
        "qwen3_moe-nvfp4-modelopt", "gpt_oss-mxfp4"}) {
    if (!fs::exists(kModels / model)) {
      continue;
    }
    CheckModel(kModels / model, &seen);
    ASSERT_FALSE(HasFatalFailure());
  }
  for (const char* format : {"bf16", "nvfp4", "mxfp4", "fp8_block", "fp8_channel", "fp8_tensor"}) {
    EXPECT_GT(seen[format], 0) << format;
  }
}

}  // namespace
}  // namespace ft
