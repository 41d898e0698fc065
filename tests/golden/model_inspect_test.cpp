// Inspect and the loader's checks on the small checkpoints of the tree, whole and damaged.
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "core/base/file.h"
#include "core/checkpoint/safetensors_writer.h"
#include "core/engine/inspect.h"
#include "core/json/write.h"
#include "core/moe/moe_backend.h"
#include "core/quant/builtin/float_format.h"

namespace ft {
namespace {

namespace fs = std::filesystem;

class InspectTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(RegisterBuiltinQuantizations(&formats_).ok());
    folder_ = ::testing::TempDir() + "/inspect_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::copy(FT_SOURCE_DIR "/tests/golden/models/qwen3_moe-plain", folder_);
    fs::remove(folder_ + "/golden.safetensors");  // else it would be taken for a shard
  }

  void TearDown() override { fs::remove_all(folder_); }

  ModelReport Report(const std::string& dir) {
    auto report = InspectModel(dir, formats_);
    EXPECT_TRUE(report.ok()) << report.status().message();
    return report.ok() ? *report : ModelReport();
  }

  void ReplaceInConfig(const std::string& from, const std::string& to) {
    std::string text = *ReadWholeFile(folder_ + "/config.json", 1 << 20);
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos);
    text.replace(at, from.size(), to);
    ASSERT_TRUE(WriteFileAtomically(folder_ + "/config.json", text).ok());
  }

  QuantizationRegistry formats_;
  MoeBackendRegistry backends_;
  std::string folder_;
};

TEST_F(InspectTest, SaysWhatAWholeModelIs) {
  const ModelReport report = Report(folder_);
  EXPECT_TRUE(report.servable.ok()) << report.servable.message();
  EXPECT_EQ(report.info.family, "qwen3_moe");
  EXPECT_EQ(report.info.num_moe_layers, 3);
  EXPECT_EQ(report.info.num_experts, 8);
  ASSERT_EQ(report.formats.size(), 1U);
  EXPECT_EQ(report.formats[0].format, "bf16");
  EXPECT_EQ(report.formats[0].num_matrices, 2 + 3 * (4 + 1 + 8 * 3));
  EXPECT_TRUE(report.unused.empty());
  EXPECT_EQ(report.dense_bytes + report.expert_bytes,
            report.dtypes[0].num_bytes);  // every byte is accounted for
  ASSERT_FALSE(report.stop_ids.empty());
  EXPECT_EQ(report.stop_ids[0].id, 2);
  EXPECT_EQ(report.template_kind, "none");
  EXPECT_NE(ReportToText(report).find("qwen3_moe"), std::string::npos);
  EXPECT_NE(json::Write(ReportToJson(report)).find("\"servable\":true"), std::string::npos);
}

TEST_F(InspectTest, ATemplateThatDoesNotParseIsNotServable) {
  std::ofstream(folder_ + "/chat_template.jinja") << "{{ messages";
  const ModelReport report = Report(folder_);
  EXPECT_EQ(report.servable.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(report.servable.message().find("chat template"), std::string::npos);
  std::ofstream(folder_ + "/chat_template.jinja") << "{{ messages }}";
  EXPECT_TRUE(Report(folder_).servable.ok());
}

TEST_F(InspectTest, CountsATiedTableOnce) {
  const ModelReport report = Report(FT_SOURCE_DIR "/tests/golden/models/llama-rope3");
  ASSERT_EQ(report.dtypes.size(), 1U);
  EXPECT_EQ(report.dense_bytes, report.dtypes[0].num_bytes);
  EXPECT_EQ(report.formats[0].num_matrices, 1 + 3 * 7);
}

TEST_F(InspectTest, RefusesAFormatThatNoPluginKnowsByTheFirstNames) {
  const ModelReport report = Report(FT_SOURCE_DIR "/tests/golden/models/qwen3_moe-nvfp4-ct");
  EXPECT_EQ(ExitCode(report.servable.code()), 1) << report.servable.message();
  EXPECT_NE(report.servable.message().find("model.layers.0.self_attn"), std::string::npos)
      << report.servable.message();
}

TEST_F(InspectTest, RefusesAnUnknownFamilyAndAnUnknownKeyByName) {
  ReplaceInConfig("\"attention_bias\"", "\"attention_logit_cap\": 30.0, \"attention_bias\"");
  EXPECT_EQ(ExitCode(Report(folder_).servable.code()), 1);
  EXPECT_NE(Report(folder_).servable.message().find("attention_logit_cap"), std::string::npos);
  ReplaceInConfig("Qwen3MoeForCausalLM", "NovelForCausalLM");
  EXPECT_EQ(ExitCode(Report(folder_).servable.code()), 1);
  EXPECT_NE(Report(folder_).servable.message().find("NovelForCausalLM"), std::string::npos);
}

TEST_F(InspectTest, SaysThatTensorsAreMissing) {
  ReplaceInConfig("\"num_hidden_layers\": 3", "\"num_hidden_layers\": 4");
  const ModelReport report = Report(folder_);
  EXPECT_EQ(ExitCode(report.servable.code()), 2) << report.servable.message();
  EXPECT_NE(report.servable.message().find("model.layers.3."), std::string::npos);
}

TEST_F(InspectTest, CountsWhatAServedModelDoesNotUse) {
  ReplaceInConfig("\"num_hidden_layers\": 3", "\"num_hidden_layers\": 2");
  const ModelReport report = Report(folder_);
  EXPECT_TRUE(report.servable.ok()) << report.servable.message();
  ASSERT_EQ(report.unused.size(), 1U);
  EXPECT_EQ(report.unused[0].name, "multi-token prediction");
  EXPECT_GT(report.unused[0].num_bytes, 0U);
}

TEST_F(InspectTest, TellsBrokenFilesFromAbsentOnes) {
  EXPECT_EQ(ExitCode(InspectModel(folder_ + "/none", formats_).status().code()), 3);
  fs::resize_file(folder_ + "/model.safetensors", 600'000);
  const Status cut = InspectModel(folder_, formats_).status();
  EXPECT_EQ(ExitCode(cut.code()), 2);
  EXPECT_NE(cut.message().find("600000"), std::string::npos) << cut.message();
  fs::remove(folder_ + "/model.safetensors");
  EXPECT_EQ(ExitCode(InspectModel(folder_, formats_).status().code()), 2);
  fs::remove(folder_ + "/config.json");
  EXPECT_EQ(ExitCode(InspectModel(folder_, formats_).status().code()), 2);
}

TEST_F(InspectTest, TheLoaderRefusesTheSameBeforeItReads) {
  ReplaceInConfig("\"num_hidden_layers\": 3", "\"num_hidden_layers\": 4");
  LoadOptions options;
  options.dir = folder_;
  options.quantizations = &formats_;
  options.moe_backends = &backends_;
  options.progress = [](const LoadProgress&) { ADD_FAILURE() << "a weight was read"; };
  const auto loaded = LoadModel(options);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.status().code(), StatusCode::kDataLoss);
}

TEST_F(InspectTest, TheLoaderNamesTheShortageWhenMemoryIsShort) {
  LoadOptions options;
  options.dir = folder_;
  options.quantizations = &formats_;
  options.moe_backends = &backends_;
  options.memory_limit_bytes = 1000;
  const auto loaded = LoadModel(options);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.status().code(), StatusCode::kResourceExhausted);
  EXPECT_NE(loaded.status().message().find("1000 bytes"), std::string::npos)
      << loaded.status().message();
}

}  // namespace
}  // namespace ft
