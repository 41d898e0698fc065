#include "core/models/registry.h"

#include <filesystem>

#include <gtest/gtest.h>

namespace ft {
namespace {

TEST(ModelRegistryTest, HoldsEveryFamilyFolder) {
  ModelRegistry registry;
  RegisterBuiltinModels(&registry);
  size_t num_folders = 0;
  for (const auto& entry : std::filesystem::directory_iterator(FT_SOURCE_DIR "/core/models")) {
    num_folders += entry.is_directory() ? 1U : 0U;
  }
  EXPECT_EQ(registry.families().size(), num_folders);
}

TEST(ModelRegistryTest, NamesWhatItServesWhenItDoesNotKnowAFamily) {
  ModelRegistry registry;
  RegisterBuiltinModels(&registry);
  ModelConfig config;
  config.architecture = "NovelForCausalLM";
  config.model_type = "novel";
  const auto family = registry.Find(config);
  ASSERT_FALSE(family.ok());
  EXPECT_EQ(family.status().code(), StatusCode::kUnimplemented);
  EXPECT_NE(family.status().message().find("NovelForCausalLM"), std::string::npos);
  EXPECT_NE(family.status().message().find("Qwen3MoeForCausalLM"), std::string::npos);
}

TEST(ModelRegistryTest, FindsByModelTypeWhereNoArchitectureIsNamed) {
  ModelRegistry registry;
  RegisterBuiltinModels(&registry);
  ModelConfig config;
  config.model_type = "qwen3_moe";
  ASSERT_TRUE(registry.Find(config).ok());
  EXPECT_EQ((*registry.Find(config))->name, "qwen3_moe");
}

}  // namespace
}  // namespace ft
