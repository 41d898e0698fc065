#include "core/app/arguments.h"

#include <gtest/gtest.h>

namespace ft::app {
namespace {

std::vector<Command> Commands() {
  std::vector<Command> all;
  all.push_back({.words = {"serve"},
                 .summary = "serves",
                 .options = {{.name = "port", .type = OptionType::kInt},
                             {.name = "moe-backend", .aliases = {"moe-strategy"}},
                             {.name = "plugin", .type = OptionType::kList},
                             {.name = "deterministic", .type = OptionType::kSwitch}},
                 .positionals = {{.name = "DIR", .help = "a folder", .is_required = false}}});
  all.push_back({.words = {"eval", "logits"}, .summary = "logits"});
  all.push_back(
      {.words = {"plugins"},
       .summary = "plugins",
       .options = {{.name = "json", .type = OptionType::kSwitch}},
       .positionals = {
           {.name = "VERB", .help = "what"},
           {.name = "NAME", .help = "which", .is_required = false, .is_repeated = true}}});
  return all;
}

std::string ErrorOf(const std::vector<std::string>& args) {
  const auto parsed = ParseArguments(Commands(), args);
  return parsed.ok() ? "accepted" : parsed.status().message();
}

TEST(ArgumentsTest, FlagsPositionalsAndAliasesAreReadInAnyOrder) {
  const std::vector<Command> commands = Commands();
  const auto parsed =
      ParseArguments(commands, {"serve", "--plugin", "a", "model", "--moe-strategy=offload",
                                "--plugin", "b", "--deterministic", "--port", "-1"});
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(parsed->positionals, std::vector<std::string>{"model"});
  EXPECT_EQ(parsed->flags.at("plugin"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(parsed->flags.at("moe-backend"), std::vector<std::string>{"offload"});
  EXPECT_EQ(parsed->flags.at("deterministic"), std::vector<std::string>{"true"});
  EXPECT_EQ(parsed->flags.at("port"), std::vector<std::string>{"-1"});
}

TEST(ArgumentsTest, AFlagGivenTwiceIsKeptTwiceSoThatItCanBeRefused) {
  const std::vector<Command> commands = Commands();
  const auto parsed = ParseArguments(commands, {"serve", "--port", "1", "--port", "2"});
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->flags.at("port"), (std::vector<std::string>{"1", "2"}));
}

TEST(ArgumentsTest, AFlagTakesOneWordAndTheNextIsAnOperand) {
  const std::vector<Command> commands = Commands();
  for (const std::string flag : {"--plugin", "--moe-backend"}) {
    const auto parsed = ParseArguments(commands, {"serve", flag, "[a,b]", "model"});
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    EXPECT_EQ(parsed->flags.at(flag.substr(2)), std::vector<std::string>{"[a,b]"});
    EXPECT_EQ(parsed->positionals, std::vector<std::string>{"model"});
  }
}

TEST(ArgumentsTest, BehindTwoDashesOnlyOperandsStand) {
  const std::vector<Command> commands = Commands();
  const auto parsed = ParseArguments(commands, {"serve", "--port", "1", "--", "--plugin"});
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(parsed->positionals, std::vector<std::string>{"--plugin"});
  EXPECT_EQ(parsed->flags.count("plugin"), 0U);
  EXPECT_EQ(ErrorOf({"serve", "--"}), "accepted");
  EXPECT_NE(ErrorOf({"serve", "--", "a", "--port"}).find("'--port'"), std::string::npos);
}

TEST(ArgumentsTest, AFlagWithoutItsValueTakesNoOtherWord) {
  EXPECT_EQ(ErrorOf({"serve", "--port"}), "ft serve: --port needs a value");
  EXPECT_EQ(ErrorOf({"serve", "--port="}), "ft serve: --port needs a value");
  EXPECT_EQ(ErrorOf({"serve", "--port=", "8000"}), "ft serve: --port needs a value");
  EXPECT_NE(ErrorOf({"serve", "--prot=", "8000"}).find("--port?"), std::string::npos);
}

TEST(ArgumentsTest, MistakesAreNamedWithTheClosestWord) {
  EXPECT_NE(ErrorOf({"sreve"}).find("did you mean 'serve'"), std::string::npos);
  EXPECT_NE(ErrorOf({"serve", "--prot", "1"}).find("did you mean --port"), std::string::npos);
  EXPECT_NE(ErrorOf({"eval"}).find("logits"), std::string::npos);
  EXPECT_NE(ErrorOf({"eval", "logit"}).find("did you mean 'logits'"), std::string::npos);
  EXPECT_NE(ErrorOf({"serve", "a", "b"}).find("'b'"), std::string::npos);
  EXPECT_NE(ErrorOf({"serve", "--port"}).find("port"), std::string::npos);
  EXPECT_NE(ErrorOf({"plugins"}).find("VERB"), std::string::npos);
  EXPECT_NE(ErrorOf({}).find("--help"), std::string::npos);
  EXPECT_EQ(ErrorOf({"plugins", "check", "x", "--json"}), "accepted");
}

TEST(ArgumentsTest, HelpIsThereForTheProgramAndEveryCommand) {
  const std::vector<Command> commands = Commands();
  EXPECT_NE(ParseArguments(commands, {"--help"})->text.find("serve"), std::string::npos);
  EXPECT_NE(ParseArguments(commands, {"serve", "--help"})->text.find("--moe-strategy"),
            std::string::npos);
  EXPECT_NE(ParseArguments(commands, {"eval", "--help"})->text.find("eval logits"),
            std::string::npos);
  EXPECT_NE(ParseArguments(commands, {"--version"})->text.find("ft "), std::string::npos);
}

TEST(CommandTableTest, EveryCommandRunsSomethingAndItsDefaultsAreValid) {
  for (const Command& command : AllCommands()) {
    EXPECT_NE(command.run, nullptr) << command.words[0];
    EXPECT_FALSE(command.summary.empty());
    EXPECT_TRUE(Settings::Resolve(command.options, {}, {}, "").ok()) << command.words[0];
    for (const OptionSpec& spec : command.options) {
      EXPECT_FALSE(spec.help.empty()) << spec.name;
    }
  }
}

}  // namespace
}  // namespace ft::app
