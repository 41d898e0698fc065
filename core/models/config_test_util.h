// For tests of families: config.json texts with some keys changed, and what a family makes of them.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "core/checkpoint/model_config.h"
#include "core/json/parse.h"
#include "core/json/write.h"
#include "core/models/registry.h"

namespace ft::testing {

/// `base` with the members of `changes` set; a member that is "remove" is taken out. Both JSON.
inline std::string Changed(std::string_view base, std::string_view changes) {
  json::Value config = *json::Parse(base);
  const json::Value patch = *json::Parse(changes);
  for (const json::Member& member : patch.as_object()) {
    if (member.value == json::Value("remove")) {
      std::erase_if(config.as_object(), [&](const json::Member& m) { return m.key == member.key; });
    } else {
      config.Set(member.key, member.value);
    }
  }
  return json::Write(config);
}

/// The builder that the built-in families make of a config.
inline Result<std::unique_ptr<ModelBuilder>> ReadWithFamily(const std::string& config) {
  FT_ASSIGN_OR_RETURN(const ModelConfig model, ParseModelConfig(config, "", ""));
  ModelRegistry registry;
  RegisterBuiltinModels(&registry);
  FT_ASSIGN_OR_RETURN(const ModelFamily* family, registry.Find(model));
  return family->read_config(model);
}

/// Info of a config that must be understood.
inline ModelInfo InfoOf(const std::string& config) {
  const auto builder = ReadWithFamily(config);
  EXPECT_TRUE(builder.ok()) << (builder.ok() ? "" : builder.status().message());
  return builder.ok() ? (*builder)->info() : ModelInfo();
}

/// Expects a refusal of this kind whose message has `part`.
inline void ExpectRefused(const std::string& config, StatusCode code, std::string_view part) {
  const auto builder = ReadWithFamily(config);
  ASSERT_FALSE(builder.ok()) << config;
  EXPECT_EQ(builder.status().code(), code) << builder.status().message();
  EXPECT_NE(builder.status().message().find(part), std::string::npos) << builder.status().message();
}

}  // namespace ft::testing
