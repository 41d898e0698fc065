#include "core/checkpoint/model_config.h"

#include <filesystem>
#include <limits>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/checkpoint/config_reader.h"
#include "core/checkpoint/rope_config.h"
#include "core/checkpoint/stop_ids.h"
#include "core/checkpoint/tensor_index.h"
#include "core/checkpoint/test_files.h"

namespace ft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

TEST(ModelConfigTest, ReadsAFlatConfigAndItsGenerationDefaults) {
  const ModelConfig config =
      ParseModelConfig(R"({"architectures":["Qwen3MoeForCausalLM"],"model_type":"qwen3_moe",
          "eos_token_id":2,"torch_dtype":"bfloat16","tie_word_embeddings":false})",
                       R"({"do_sample":true,"temperature":0.7,"top_p":0.9,"top_k":20,
          "eos_token_id":[2,299],"transformers_version":"5"})",
                       "")
          .value();
  EXPECT_EQ(config.architecture, "Qwen3MoeForCausalLM");
  EXPECT_EQ(config.model_type, "qwen3_moe");
  EXPECT_FALSE(config.is_wrapper);
  EXPECT_EQ(config.torch_dtype, "bfloat16");
  EXPECT_EQ(config.tie_word_embeddings, false);
  EXPECT_EQ(config.generation.temperature, 0.7);
  EXPECT_EQ(config.generation.top_k, 20);
  EXPECT_FALSE(config.generation.min_p.has_value());
  EXPECT_THAT(config.generation.eos_token_ids, ElementsAre(2, 299));
  EXPECT_FALSE(config.quant.is_quantized());
}

TEST(ModelConfigTest, FindsTheLanguagePartOfAWrapper) {
  const ModelConfig config =
      ParseModelConfig(R"({"model_type":"qwen3_5_moe","architectures":["X"],"dtype":"bfloat16",
          "text_config":{"model_type":"qwen3_5_moe_text","hidden_size":64,"eos_token_id":[5]}})",
                       "", "")
          .value();
  EXPECT_TRUE(config.is_wrapper);
  EXPECT_EQ(config.model_type, "qwen3_5_moe_text");
  EXPECT_THAT(config.eos_token_ids, ElementsAre(5));
  ConfigReader reader(config.text(), config.text_where());
  EXPECT_EQ(reader.Dim("hidden_size").value(), 64);
  EXPECT_FALSE(config.generation.is_present);
}

TEST(ModelConfigTest, NamesFileAndKeyOfWhatIsWrong) {
  const auto message = [](std::string_view config, std::string_view generation) {
    return ParseModelConfig(config, generation, "").status().message();
  };
  EXPECT_THAT(message("{", ""), HasSubstr("config.json"));
  EXPECT_THAT(message("[]", ""), HasSubstr("want an object"));
  EXPECT_THAT(message(R"({"architectures":"x"})", ""), HasSubstr("\"architectures\""));
  EXPECT_THAT(message(R"({"eos_token_id":"x"})", ""), HasSubstr("\"eos_token_id\""));
  EXPECT_THAT(message("{}", R"({"temperature":"hot"})"),
              HasSubstr("generation_config.json: \"temperature\""));
}

TEST(ModelConfigTest, UnderstandsInfinityAndNanOfPythonOutsideOfStrings) {
  const ModelConfig config =
      ParseModelConfig(R"({"a":[0.0,Infinity,-Infinity],"b":NaN,"c":"NaN \" Infinity"})", "", "")
          .value();
  const json::Array& list = config.root.Find("a")->as_array();
  EXPECT_EQ(list[1].ToDouble().value(), std::numeric_limits<double>::max());
  EXPECT_LT(list[2].ToDouble().value(), 0.0);
  EXPECT_EQ(config.root.Find("b")->as_string(), "NaN");  // no number, and not "absent" either
  EXPECT_EQ(config.root.Find("c")->as_string(), "NaN \" Infinity");
}

TEST(ModelConfigTest, AnEmptyFileIsBrokenAndNotAbsent) {
  const test::TempFolder folder;
  folder.Write("config.json", "{}");
  EXPECT_TRUE(LoadModelConfig(folder.path()).ok());
  folder.Write("generation_config.json", "");
  const auto config = LoadModelConfig(folder.path());
  EXPECT_EQ(config.status().code(), StatusCode::kDataLoss);
  EXPECT_THAT(config.status().message(), HasSubstr("generation_config.json: the file is empty"));
}

TEST(ModelConfigTest, SaysNotFoundForAMissingFolderOrConfig) {
  const test::TempFolder folder;
  EXPECT_EQ(LoadModelConfig(folder.path() + "/none").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(LoadModelConfig(folder.path()).status().code(), StatusCode::kNotFound);
  folder.Write("config.json", "{\"model_type\":");
  const auto broken = LoadModelConfig(folder.path());
  EXPECT_EQ(broken.status().code(), StatusCode::kDataLoss);
  EXPECT_THAT(broken.status().message(), HasSubstr(folder.path() + ": config.json"));
}

// Case C14: every place that names a stop token counts.
TEST(StopIdsTest, UnitesConfigGenerationAndTokenizer) {
  const auto ids = [](const char* config, const char* generation) {
    const std::vector<int64_t> tokenizer = {298};
    std::map<int64_t, size_t> found;
    for (const StopId& stop :
         CollectStopIds(ParseModelConfig(config, generation, "").value(), tokenizer)) {
      found[stop.id] = stop.sources.size();
    }
    return found;
  };
  using Ids = std::map<int64_t, size_t>;
  EXPECT_EQ(ids(R"({"eos_token_id":2})", R"({"eos_token_id":[2,299]})"),
            (Ids{{2, 2}, {298, 1}, {299, 1}}));
  EXPECT_EQ(ids(R"({"eos_token_id":2})", ""), (Ids{{2, 1}, {298, 1}}));
  EXPECT_EQ(ids(R"({"eos_token_id":null})", R"({"eos_token_id":299})"), (Ids{{298, 1}, {299, 1}}));
  EXPECT_EQ(ids(R"({"eos_token_id":[298,-1]})", "{}"), (Ids{{298, 2}}));
}

// ---- what the golden checkpoints say about themselves, against their tensor names ----

fs::path Shared() {
  return FT_SOURCE_DIR "/../shared";
}

std::vector<fs::path> GoldenFolders() {
  std::vector<fs::path> folders;
  for (const char* top : {"golden/models", "models"}) {
    if (!fs::exists(Shared() / top)) {
      continue;
    }
    for (const auto& entry : fs::directory_iterator(Shared() / top)) {
      if (entry.is_directory()) {
        folders.push_back(entry.path());
      }
    }
  }
  return folders;
}

// The format that the names beside `<module>.weight*` show, as formats.md tells them apart.
std::optional<QuantFormat> FormatByNames(const TensorIndex& index, const std::string& module) {
  if (index.Find(module + ".weight_packed") != nullptr) {
    return index.Find(module + ".weight_global_scale") != nullptr ? QuantFormat::kNvfp4
                                                                  : QuantFormat::kMxfp4;
  }
  if (index.Find(module + ".weight_scale_2") != nullptr) {
    return QuantFormat::kNvfp4;
  }
  if (index.Find(module + ".weight_scale_inv") != nullptr) {
    return QuantFormat::kFp8Block;
  }
  const TensorInfo* scale = index.Find(module + ".weight_scale");
  if (scale != nullptr) {
    return scale->shape.empty() ? QuantFormat::kFp8Tensor : QuantFormat::kFp8Channel;
  }
  return std::nullopt;
}

// Names of the linear modules of a Qwen3 checkpoint: those whose weight is a matrix.
std::set<std::string> LinearModules(const TensorIndex& index) {
  std::set<std::string> modules;
  for (const TensorInfo& tensor : index.tensors()) {
    const size_t at = tensor.name.rfind(".weight");
    if (at != std::string::npos && tensor.shape.size() == 2 &&
        tensor.name.find("embed_tokens") == std::string::npos) {
      modules.insert(tensor.name.substr(0, at));
    }
  }
  return modules;
}

TEST(GoldenConfigTest, EveryConfigAndItsRopeCanBeRead) {
  const std::vector<fs::path> folders = GoldenFolders();
  if (folders.empty()) {
    GTEST_SKIP() << "../shared/golden/models is not here";
  }
  for (const fs::path& folder : folders) {
    const auto config = LoadModelConfig(folder.string());
    ASSERT_TRUE(config.ok()) << config.status().message();
    EXPECT_FALSE(config.value().model_type.empty()) << folder;
    EXPECT_FALSE(config.value().eos_token_ids.empty()) << folder;
    EXPECT_TRUE(config.value().generation.is_present) << folder;
    ConfigReader reader(config.value().text(), config.value().text_where());
    const auto rope = ReadRopeConfig(&reader, {.layer_kind = "full_attention"});
    EXPECT_TRUE(rope.ok()) << folder << ": " << rope.status().message();
  }
}

TEST(GoldenConfigTest, QuantConfigsPromiseWhatTheTensorNamesShow) {
  size_t num_checked = 0;
  for (const fs::path& folder : GoldenFolders()) {
    const ModelConfig config = LoadModelConfig(folder.string()).value();
    if (!config.quant.is_quantized() || config.quant.method == "mxfp4") {
      continue;  // gpt-oss names its blocks and scales otherwise
    }
    const QuantMatcher matcher = QuantMatcher::Create(config.quant).value();
    const TensorIndex index = TensorIndex::Open(folder.string()).value();
    for (const std::string& module : LinearModules(index)) {
      const QuantGroup* group = matcher.GroupOf(module).value();
      const std::optional<QuantFormat> want = FormatByNames(index, module);
      const std::optional<QuantFormat> got = group == nullptr ? std::nullopt : group->format;
      EXPECT_EQ(got, want) << folder << " " << module;
      ++num_checked;
    }
  }
  if (num_checked == 0) {
    GTEST_SKIP() << "../shared/golden/models is not here";
  }
  EXPECT_GT(num_checked, 500U);
}

}  // namespace
}  // namespace ft
