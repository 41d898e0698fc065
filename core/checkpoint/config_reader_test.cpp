#include "core/checkpoint/config_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/checkpoint/rope_config.h"
#include "core/json/parse.h"

namespace ft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

json::Value Json(std::string_view text) {
  return json::Parse(text).value();
}

TEST(ConfigReaderTest, SaysFileKeyWantAndGot) {
  const json::Value config = Json(R"({"hidden_size":"4096","n":0,"f":1.5,"list":[1,"a"]})");
  ConfigReader reader(config, "config.json");
  EXPECT_EQ(reader.Int("hidden_size").status().message(),
            "config.json: \"hidden_size\": want an integer, got string \"4096\"");
  EXPECT_EQ(reader.Int("layers").status().message(),
            "config.json: \"layers\" is missing: want an integer");
  EXPECT_EQ(reader.Dim("n").status().message(),
            "config.json: \"n\": want an integer from 1 to 2147483647, got number 0");
  EXPECT_EQ(reader.Int("f").status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(reader.IntList("list").status().message(), HasSubstr("array of 2"));
}

TEST(ConfigReaderTest, NullCountsAsAbsentAndAWrongKindNeverAsDefault) {
  const json::Value config = Json(R"({"a":null,"b":"x","c":2.0,"d":true,"e":[0.5,1],"s":["p"]})");
  ConfigReader reader(config, "config.json");
  EXPECT_FALSE(reader.Has("a"));
  EXPECT_EQ(reader.IntOr("a", 7).value(), 7);
  EXPECT_FALSE(reader.IntOr("b", 7).ok());
  EXPECT_EQ(reader.IntOr("c", 7).value(), 2);  // 2.0 is whole
  EXPECT_TRUE(reader.Bool("d").value());
  EXPECT_EQ(reader.FloatOr("none", 0.25).value(), 0.25);
  EXPECT_THAT(reader.FloatList("e").value(), ElementsAre(0.5, 1.0));
  EXPECT_THAT(reader.StringListOrEmpty("s").value(), ElementsAre("p"));
  EXPECT_TRUE(reader.IntListOrEmpty("none").value().empty());
  EXPECT_EQ(reader.StringOr("b", "y").value(), "x");
}

TEST(ConfigReaderTest, ListsKeysThatNobodyReadAndRefusesThem) {
  const json::Value config = Json(
      R"({"hidden_size":8,"use_cache":true,"_name_or_path":"x","odd":1.5,"gone":null,"known":2})");
  ConfigReader reader(config, "config.json");
  ASSERT_TRUE(reader.Dim("hidden_size").ok());
  reader.Ignore({"known"});
  EXPECT_THAT(reader.UnknownKeys(), ElementsAre("odd"));
  EXPECT_THAT(reader.HarmlessKeys(), ElementsAre("use_cache", "_name_or_path"));
  const Status status = reader.RefuseUnknownKeys();
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(status.message(), HasSubstr("\"odd\" (number 1.5)"));
  reader.Raw("odd");
  EXPECT_TRUE(reader.RefuseUnknownKeys().ok());
}

TEST(ConfigReaderTest, ExpectsTheOneValueThatAFamilyServes) {
  const json::Value config = Json(R"({"act":"gelu","bias":true,"n":2,"nothing":null})");
  ConfigReader reader(config, "config.json");
  EXPECT_TRUE(reader.ExpectString("act", "gelu").ok());
  EXPECT_EQ(reader.ExpectString("act", "silu").code(), StatusCode::kUnimplemented);
  EXPECT_EQ(reader.ExpectBool("bias", false).code(), StatusCode::kUnimplemented);
  EXPECT_EQ(reader.ExpectInt("n", 1).code(), StatusCode::kUnimplemented);
  EXPECT_EQ(reader.ExpectString("n", "1").code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(reader.ExpectBool("nothing", true).ok());
  EXPECT_TRUE(reader.ExpectInt("absent", 1).ok());
}

TEST(ConfigReaderTest, EveryHarmlessKeyIsFound) {
  for (const char* key : {"add_cross_attention", "architectures", "id2label", "pretraining_tp",
                          "top_p", "transformers.js_config", "transformers_version",
                          "unsloth_version", "use_cache", "vision_token_id"}) {
    EXPECT_TRUE(IsHarmlessConfigKey(key)) << key;
  }
  EXPECT_FALSE(IsHarmlessConfigKey("rms_norm_eps"));
  EXPECT_FALSE(IsHarmlessConfigKey("sliding_window"));
}

Result<RopeConfig> Rope(std::string_view text, const RopeOptions& options = {}) {
  static json::Value config;  // the reader borrows it
  config = Json(text);
  ConfigReader reader(config, "config.json");
  Result<RopeConfig> rope = ReadRopeConfig(&reader, options);
  EXPECT_TRUE(reader.UnknownKeys().empty());
  return rope;
}

TEST(RopeConfigTest, BothSpellingsSayTheSame) {
  const RopeConfig old_one = Rope(R"({"rope_theta":150000,"partial_rotary_factor":0.5,
      "rope_scaling":{"type":"yarn","factor":4.0,"original_max_position_embeddings":128,
      "beta_fast":32,"truncate":false}})")
                                 .value();
  const RopeConfig new_one = Rope(R"({"rope_parameters":{"rope_type":"yarn","rope_theta":150000.0,
      "partial_rotary_factor":0.5,"factor":4,"original_max_position_embeddings":128,
      "beta_fast":32.0,"truncate":false}})")
                                 .value();
  for (const RopeConfig& rope : {old_one, new_one}) {
    EXPECT_EQ(rope.type, RopeType::kYarn);
    EXPECT_EQ(rope.theta, 150000.0);
    EXPECT_EQ(rope.partial_rotary_factor, 0.5);
    EXPECT_EQ(rope.factor, 4.0);
    EXPECT_EQ(rope.original_max_positions, 128);
    EXPECT_EQ(rope.beta_fast, 32.0);
    EXPECT_FALSE(rope.beta_slow.has_value());
    EXPECT_FALSE(rope.truncate);
  }
}

TEST(RopeConfigTest, AbsentNullAndDefaultMeanPlain) {
  EXPECT_EQ(Rope("{}", {.default_theta = 5e6}).value().theta, 5e6);
  EXPECT_EQ(Rope(R"({"rope_scaling":null,"rope_theta":7})").value().theta, 7.0);
  EXPECT_EQ(Rope(R"({"rope_scaling":{"type":"mrope","mrope_section":[1,2]}})").value().type,
            RopeType::kPlain);
  EXPECT_EQ(Rope(R"({"rope_parameters":{"rope_type":"default"},"rope_theta":9})").value().theta,
            9.0);
}

TEST(RopeConfigTest, TakesTheLayerKindOfNestedParameters) {
  const char* text = R"({"rope_parameters":{
      "full_attention":{"rope_type":"proportional","rope_theta":1e6,"partial_rotary_factor":0.25},
      "sliding_attention":{"rope_type":"default","rope_theta":1e4}}})";
  EXPECT_EQ(Rope(text, {.layer_kind = "full_attention"}).value().type, RopeType::kProportional);
  EXPECT_EQ(Rope(text, {.layer_kind = "sliding_attention"}).value().theta, 1e4);
  EXPECT_EQ(Rope(text).status().code(), StatusCode::kInvalidArgument);
}

TEST(RopeConfigTest, RefusesWhatItDoesNotUnderstandOrWhatIsIncomplete) {
  EXPECT_EQ(Rope(R"({"rope_scaling":{"type":"ntk"}})").status().code(), StatusCode::kUnimplemented);
  EXPECT_EQ(Rope(R"({"rope_scaling":{"type":"linear","factor":2,"odd":1}})").status().code(),
            StatusCode::kUnimplemented);
  for (const char* text :
       {R"({"rope_scaling":{"type":"yarn"}})", R"({"rope_scaling":{"type":"llama3","factor":8}})",
        R"({"rope_scaling":{"type":"longrope","short_factor":[1]}})",
        R"({"rope_scaling":{"type":"dynamic"}})", R"({"rope_scaling":[]})",
        R"({"rope_parameters":3})", R"({"rope_theta":0})", R"({"rope_theta":"x"})",
        R"({"partial_rotary_factor":1.5})"}) {
    EXPECT_EQ(Rope(text).status().code(), StatusCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace ft
