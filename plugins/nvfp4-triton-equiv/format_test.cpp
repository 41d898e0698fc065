// The two spellings of NVFP4, the errors for broken ones, and the kernels of both instruction sets
// against each other. The numerics of all formats are tests/conformance.
#include "plugins/nvfp4-triton-equiv/format.h"

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/quant/kernels/isa.h"
#include "core/quant/quantization.h"
#include "plugins/nvfp4-triton-equiv/kernel.h"

namespace ft::nvfp4 {
namespace {

// One tensor of a matrix; `bytes` must outlive what is made of it.
struct Part {
  std::string suffix;
  uint16_t dtype;
  std::vector<int64_t> shape;
  std::vector<uint8_t> bytes;
};

std::vector<ft_part_info> InfosOf(const std::vector<Part>& parts) {
  std::vector<ft_part_info> infos;
  for (const Part& part : parts) {
    infos.push_back({{part.suffix.data(), part.suffix.size()},
                     part.dtype,
                     0,
                     static_cast<uint32_t>(part.shape.size()),
                     part.shape.data()});
  }
  return infos;
}

std::vector<uint8_t> FloatBytes(float value) {
  std::vector<uint8_t> bytes(sizeof(value));
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

Quantization Format() {
  return Quantization(Table(), nullptr, "nvfp4-triton-equiv");
}

std::vector<float> Decode(const std::vector<Part>& parts) {
  const Quantization format = Format();
  const ft_match match = format.Match("m", InfosOf(parts)).value();
  EXPECT_EQ(match.verdict, FT_MATCH_YES);
  std::vector<ft_tensor> tensors;
  for (size_t i = 0; i < parts.size(); ++i) {
    if ((match.used >> i & 1U) != 0) {
      ft_tensor tensor = {};
      tensor.data = const_cast<uint8_t*>(parts[i].bytes.data());
      tensor.dtype = parts[i].dtype;
      tensor.ndim = static_cast<int32_t>(parts[i].shape.size());
      tensor.shape = parts[i].shape.data();
      tensor.bytes = parts[i].bytes.size();
      tensors.push_back(tensor);
    }
  }
  const ft_matrix_parts in = {match.spelling, static_cast<uint32_t>(tensors.size()),
                              tensors.data()};
  std::vector<uint8_t> packed(format.PackedBytes(0, match.rows, match.cols).value());
  EXPECT_TRUE(format.Pack(0, match.rows, match.cols, in, packed.data(), packed.size()).ok());
  std::vector<float> out(static_cast<size_t>(match.rows * match.cols));
  EXPECT_TRUE(format.Dequantize(0, match.rows, match.cols, packed.data(), out.data()).ok());
  return out;
}

// Codes 0 to 15, block scale 2: the case of FT#390.
const std::vector<uint8_t> kCodes = {0x10, 0x32, 0x54, 0x76, 0x98, 0xBA, 0xDC, 0xFE};

TEST(Nvfp4Test, CaseC12BothSpellingsDecodeToTheSameNumbers) {
  const std::vector<Part> modelopt = {{".weight", FT_DTYPE_U8, {1, 8}, kCodes},
                                      {".weight_scale", FT_DTYPE_F8_E4M3, {1, 1}, {0x40}},
                                      {".weight_scale_2", FT_DTYPE_F32, {}, FloatBytes(0.25F)}};
  const std::vector<Part> compressed = {
      {".weight_global_scale", FT_DTYPE_F32, {1}, FloatBytes(4.0F)},
      {".weight_packed", FT_DTYPE_U8, {1, 8}, kCodes},
      {".weight_scale", FT_DTYPE_F8_E4M3, {1, 1}, {0x40}}};
  const std::vector<float> want = {0, 0.25F,  0.5F,  0.75F,  1,  1.5F,  2,  3,
                                   0, -0.25F, -0.5F, -0.75F, -1, -1.5F, -2, -3};
  EXPECT_EQ(Decode(modelopt), want);
  EXPECT_EQ(Decode(compressed), want);
}

TEST(Nvfp4Test, CaseC12NamesTheRolesThatAreMissing) {
  const auto reason = [](const std::vector<Part>& parts) {
    const auto match = Format().Match("layers.0.up_proj", InfosOf(parts));
    EXPECT_FALSE(match.ok());
    return match.ok() ? "" : match.status().message();
  };
  const std::string alone = reason({{".weight_scale", FT_DTYPE_F8_E4M3, {1, 1}, {}}});
  for (const char* role :
       {"layers.0.up_proj", "weight_packed", "weight_global_scale", "weight_scale_2"}) {
    EXPECT_NE(alone.find(role), std::string::npos) << alone;
  }
  const std::string no_global = reason({{".weight_packed", FT_DTYPE_U8, {1, 8}, {}},
                                        {".weight_scale", FT_DTYPE_F8_E4M3, {1, 1}, {}}});
  EXPECT_NE(no_global.find("missing: weight_global_scale"), std::string::npos) << no_global;
  const std::string no_scale_2 = reason(
      {{".weight", FT_DTYPE_U8, {1, 8}, {}}, {".weight_scale", FT_DTYPE_F8_E4M3, {1, 1}, {}}});
  EXPECT_NE(no_scale_2.find("missing: weight_scale_2"), std::string::npos) << no_scale_2;
  const std::string both = reason({{".weight", FT_DTYPE_U8, {1, 8}, {}},
                                   {".weight_scale", FT_DTYPE_F8_E4M3, {1, 1}, {}},
                                   {".weight_global_scale", FT_DTYPE_F32, {}, {}},
                                   {".weight_scale_2", FT_DTYPE_F32, {}, {}}});
  EXPECT_NE(both.find("both spellings"), std::string::npos) << both;
}

TEST(Nvfp4Test, SaysWhichShapesDoNotFit) {
  const std::vector<Part> parts = {{".weight_packed", FT_DTYPE_U8, {4, 8}, {}},
                                   {".weight_scale", FT_DTYPE_F8_E4M3, {4, 3}, {}},
                                   {".weight_global_scale", FT_DTYPE_F32, {1}, {}}};
  const auto match = Format().Match("m", InfosOf(parts));
  ASSERT_FALSE(match.ok());
  EXPECT_NE(match.status().message().find("F8_E4M3 [4, 3]"), std::string::npos)
      << match.status().message();
}

TEST(Nvfp4Test, LeavesMxfp4AndFp8ToOthers) {
  const std::vector<std::vector<Part>> others = {
      {{".weight_packed", FT_DTYPE_U8, {4, 16}, {}}, {".weight_scale", FT_DTYPE_U8, {4, 1}, {}}},
      {{".weight", FT_DTYPE_F8_E4M3, {4, 16}, {}}, {".weight_scale", FT_DTYPE_F32, {}, {}}},
      {{".weight", FT_DTYPE_BF16, {4, 16}, {}}}};
  for (const auto& parts : others) {
    EXPECT_EQ(Format().Match("m", InfosOf(parts)).value().verdict, FT_MATCH_NO);
  }
}

TEST(Nvfp4Test, TheKernelsOfBothInstructionSetsAgree) {
  if (!kernels::HasAvx2()) {
    GTEST_SKIP() << "this CPU has no AVX2";
  }
  std::mt19937 random(3);
  const int64_t cols = 320;
  const auto panel_bytes = static_cast<int64_t>(Format().PackedBytes(0, 8, cols).value()) -
                           static_cast<int64_t>(sizeof(kernels::PackedHeader));
  std::vector<uint8_t> packed(sizeof(kernels::PackedHeader) + static_cast<size_t>(2 * panel_bytes));
  for (uint8_t& byte : packed) {
    byte = static_cast<uint8_t>(random() & 0x77U);  // scales below NaN, no minus
  }
  for (const uint32_t divides : {0U, 1U}) {
    kernels::PackedHeader header = {};
    header.global_scale = 0.3F;
    header.global_divides = divides;
    header.panel_bytes = panel_bytes;
    std::memcpy(packed.data(), &header, sizeof(header));
    for (const int64_t num_tokens : {1, 2, 3, 7, 64}) {
      std::vector<float> x(static_cast<size_t>(num_tokens * cols));
      for (float& value : x) {
        value = static_cast<float>(random() % 1000) * 0.001F;
      }
      std::vector<float> fast(static_cast<size_t>(num_tokens * 16));
      std::vector<float> plain(fast.size());
      kernels::TileArgs args;
      args.panels[0] = {packed.data(), 0};
      args.panels[1] = {packed.data(), 1};
      args.num_panels = 2;
      args.cols = cols;
      args.x = x.data();
      args.x_stride = cols;
      args.num_tokens = num_tokens;
      args.out = fast.data();
      TileAvx2(args);
      args.out = plain.data();
      TileGeneric(args);
      for (size_t i = 0; i < fast.size(); ++i) {
        ASSERT_NEAR(fast[i], plain[i], 2e-5F * std::abs(plain[i])) << i;  // all terms are positive
      }
    }
  }
}

}  // namespace
}  // namespace ft::nvfp4
