#include "core/config/settings.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "core/config/yaml_file.h"

namespace ft {
namespace {

std::vector<OptionSpec> Specs() {
  return {
      {.name = "port",
       .aliases = {},
       .type = OptionType::kInt,
       .default_value = "8000",
       .help = "",
       .group = "",
       .min = 0,
       .max = 65535},
      {.name = "api-key",
       .aliases = {},
       .type = OptionType::kString,
       .default_value = "",
       .help = "",
       .group = "",
       .is_secret = true},
      {.name = "config",
       .aliases = {},
       .type = OptionType::kString,
       .default_value = "",
       .help = "",
       .group = ""},
      {.name = "moe-backend",
       .aliases = {"moe-strategy"},
       .type = OptionType::kString,
       .default_value = "auto",
       .help = "",
       .group = ""},
      {.name = "plugin",
       .aliases = {},
       .type = OptionType::kList,
       .default_value = "",
       .help = "",
       .group = ""},
      {.name = "deterministic",
       .aliases = {},
       .type = OptionType::kSwitch,
       .default_value = "false",
       .help = "",
       .group = ""},
      {.name = "cache",
       .aliases = {},
       .type = OptionType::kSize,
       .default_value = "",
       .help = "",
       .group = ""},
      {.name = "mode",
       .aliases = {},
       .type = OptionType::kChoice,
       .default_value = "a",
       .help = "",
       .group = "",
       .choices = {"a", "b"}},
  };
}

class SettingsTest : public testing::Test {
 protected:
  std::string Write(const std::string& text) {
    std::ofstream(path_) << text;
    return path_;
  }

  ~SettingsTest() override { std::filesystem::remove(path_); }

  std::string path_ = (std::filesystem::temp_directory_path() /
                       ("ft_settings_" + std::to_string(getpid()) + ".yaml"))
                          .string();
};

TEST_F(SettingsTest, AFlagWinsOverEnvironmentOverFileOverDefault) {
  const std::string file = Write("port: 1\nmode: b\nmoe_strategy: offload\nplugin: [x, y]\n");
  auto settings = Settings::Resolve(Specs(), {}, {}, file);
  ASSERT_TRUE(settings.ok()) << settings.status().message();
  EXPECT_EQ(settings->Int("port"), 1);
  EXPECT_EQ(settings->Get("port").origin, file + ":1");
  EXPECT_EQ(settings->String("moe-backend"), "offload");
  EXPECT_EQ(settings->List("plugin"), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(settings->Get("deterministic").origin, "default");
  settings = Settings::Resolve(Specs(), {}, {{"FT_PORT", "2"}}, file);
  EXPECT_EQ(settings->Int("port"), 2);
  EXPECT_EQ(settings->Get("port").origin, "environment FT_PORT");
  settings = Settings::Resolve(Specs(), {{"port", {"3"}}}, {{"FT_PORT", "2"}}, file);
  EXPECT_EQ(settings->Int("port"), 3);
  EXPECT_EQ(settings->Get("port").origin, "flag --port");
}

TEST_F(SettingsTest, WhatIsWrongIsNamedWithItsPlace) {
  const auto message = [&](const std::string& yaml) {
    const auto settings = Settings::Resolve(Specs(), {}, {}, Write(yaml));
    return settings.ok() ? std::string("accepted") : settings.status().message();
  };
  EXPECT_NE(message("prot: 1").find("did you mean 'port'"), std::string::npos);
  EXPECT_NE(message("mode: a\nport: x").find(":2"), std::string::npos);
  EXPECT_NE(message("port: 70000").find("between 0 and 65535"), std::string::npos);
  EXPECT_NE(message("mode: c").find("one of a, b"), std::string::npos);
  EXPECT_NE(message("port: 1\nport: 2").find("stands twice"), std::string::npos);
  EXPECT_NE(message("moe_backend: a\nmoe_strategy: b").find("already set in line 1"),
            std::string::npos);
  EXPECT_NE(message("port: [1, 2]").find("not a list"), std::string::npos);
  EXPECT_NE(message("serve:\n  port: 1").find("not nested"), std::string::npos);
  EXPECT_NE(message("a: &x [1]\nb: *x").find(":1"), std::string::npos);
  EXPECT_NE(message("- 1\n- 2").find("list"), std::string::npos);
  EXPECT_NE(message("port: 1\n---\nport: 2").find("more than one"), std::string::npos);
  EXPECT_NE(message("config: other.yaml").find("cannot name another"), std::string::npos);
  EXPECT_EQ(message(""), "accepted");
  EXPECT_EQ(Settings::Resolve(Specs(), {}, {}, "/does/not/exist").status().code(),
            StatusCode::kNotFound);
}

TEST_F(SettingsTest, ASecretNeverShowsInAMessage) {
  const auto settings = Settings::Resolve(Specs(), {{"api-key", {"a", "hunter2"}}}, {}, "");
  ASSERT_FALSE(settings.ok());
  EXPECT_EQ(settings.status().message().find("hunter2"), std::string::npos);
}

TEST_F(SettingsTest, ASecretIsWhatAHeaderCanCarry) {
  for (const std::string key : {"two words", "line\nbreak", "\x01", "sch\xc3\xbcssel"}) {
    const auto settings = Settings::Resolve(Specs(), {{"api-key", {key}}}, {}, "");
    ASSERT_FALSE(settings.ok()) << key;
    EXPECT_EQ(settings.status().message().find(key), std::string::npos);
  }
  EXPECT_TRUE(Settings::Resolve(Specs(), {{"api-key", {"sk-!~_=.9"}}}, {}, "").ok());
}

TEST(OptionSpecTest, SizesHaveUnits) {
  EXPECT_EQ(ParseSize("12GiB").value(), uint64_t{12} << 30);
  EXPECT_EQ(ParseSize("1.5G").value(), uint64_t{3} << 29);
  EXPECT_EQ(ParseSize("512m").value(), uint64_t{512} << 20);
  EXPECT_EQ(ParseSize("7").value(), 7U);
  for (const char* bad : {"", "G", "1X", "-1G", "1e30", "nan", "12 apples"}) {
    EXPECT_FALSE(ParseSize(bad).ok()) << bad;
  }
}

TEST(ClosestWordTest, FindsSlipsAndNothingFarOff) {
  EXPECT_EQ(ClosestWord("prot", {"port", "host"}), "port");
  EXPECT_EQ(ClosestWord("zzzzzz", {"port", "host"}), "");
}

}  // namespace
}  // namespace ft
