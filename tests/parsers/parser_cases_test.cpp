// The shared case runner: every case of plugins/parsers/cases, through the loader and the built
// parsers.so, fed whole, byte by byte, and at random cuts. The events must not depend on the cuts.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/utf8.h"
#include "core/json/parse.h"
#include "core/json/write.h"
#include "core/plugin_host/plugin_host.h"
#include "core/text/parsers.h"
#include "core/text/tokenizer/tokenizer.h"

namespace ft::text {
namespace {

namespace fs = std::filesystem;
using json::Value;

const ParserRegistry& Registry() {
  static const ParserRegistry* const kRegistry = [] {
    auto* registry = new ParserRegistry;
    PluginHostOptions options;
    options.built_in_dir = FT_PLUGIN_DIR;
    options.plugins = {"parsers"};
    PluginHost host(options);
    PluginRegistries registries;
    registries.parsers = registry;
    const Status status = host.LoadAll(registries);
    EXPECT_TRUE(status.ok()) << status.message();
    return registry;
  }();
  return *kRegistry;
}

// One piece of a case's input: text, or a marker that is a token.
struct Part {
  std::string text;
  int32_t token_id = -1;
};

struct Case {
  std::string name;
  std::string reasoning_parser, tool_call_parser;  // empty: none
  std::string prompt;
  std::string tools_json;
  std::vector<Part> parts;
  bool has_tokens = false;
  Value expect;
};

std::string ReadAll(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream content;
  content << in.rdbuf();
  return content.str();
}

// Ids of the tokens that cases name: any number will do, as long as it is one for one.
int32_t IdOfToken(std::string_view text) {
  const std::vector<std::string_view> tokens = {"<think>", "</think>", "<tool_call>",
                                                "</tool_call>"};
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] == text) {
      return static_cast<int32_t>(1000 + i);
    }
  }
  return -1;
}

Case ReadCase(const Value& value) {
  Case c;
  c.name = value.Find("name")->as_string();
  const auto text = [&value](const char* key) {
    const Value* member = value.Find(key);
    return member->is_null() ? std::string() : member->as_string();
  };
  c.reasoning_parser = text("reasoning_parser");
  c.tool_call_parser = text("tool_call_parser");
  c.prompt = text("prompt");
  c.tools_json = json::Write(*value.Find("tools"));
  for (const Value& part : value.Find("input")->as_array()) {
    if (part.is_string()) {
      c.parts.push_back({part.as_string(), -1});
    } else {
      const std::string& token = part.Find("token")->as_string();
      c.parts.push_back({token, IdOfToken(token)});
      c.has_tokens = true;
    }
  }
  c.expect = *value.Find("expect");
  return c;
}

std::vector<Case> AllCases() {
  std::vector<Case> cases;
  for (const auto& entry :
       fs::directory_iterator(fs::path(FT_SOURCE_DIR) / "plugins/parsers/cases")) {
    const Result<Value> document = json::Parse(ReadAll(entry.path()));
    EXPECT_TRUE(document.ok()) << entry.path();
    for (const Value& value : document.value().as_array()) {
      cases.push_back(ReadCase(value));
      cases.back().name = entry.path().stem().string() + ": " + cases.back().name;
    }
  }
  return cases;
}

ParserChoice Choose(ParserKind kind, const std::string& name, bool has_tokens) {
  const MarkerLookup lookup = [has_tokens](std::string_view text) {
    const int32_t id = IdOfToken(text);
    return has_tokens && id >= 0 ? std::optional<int32_t>(id) : std::nullopt;
  };
  Result<ParserChoice> choice =
      ChooseParser(Registry(), kind, name.empty() ? "none" : name, "--parser", "", lookup);
  EXPECT_TRUE(choice.ok()) << choice.status().message();
  return std::move(choice).value();
}

// How long the next piece of a text is, in bytes; cut to whole characters by the caller.
using NextLength = std::function<size_t()>;

std::vector<TextPiece> Cut(const std::vector<Part>& parts, const NextLength& next) {
  std::vector<TextPiece> pieces;
  for (const Part& part : parts) {
    const std::string_view text = part.text;
    if (part.token_id >= 0) {
      pieces.push_back({text, part.token_id, true});
      continue;
    }
    for (size_t at = 0; at < text.size();) {
      size_t end = std::min(text.size(), at + next());
      while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {
        ++end;
      }
      pieces.push_back({text.substr(at, end - at), 7, false});
      at = end;
    }
  }
  return pieces;
}

class Runner {
 public:
  explicit Runner(const Case& c)
      : case_(c),
        reasoning_(Choose(ParserKind::kReasoning, c.reasoning_parser, c.has_tokens)),
        tools_(Choose(ParserKind::kToolCalls, c.tool_call_parser, c.has_tokens)) {}

  ParsedReply Run(const std::vector<TextPiece>& pieces) const {
    StreamParserOptions options;
    options.reasoning = &reasoning_;
    options.tool_calls = &tools_;
    options.tools_json = case_.tools_json;
    if (reasoning_.parser != nullptr) {
      options.starts_in_reasoning = reasoning_.parser->PromptEndsInThought(case_.prompt).value();
    }
    Result<ParsedReply> reply = ParseReply(options, pieces);
    EXPECT_TRUE(reply.ok()) << case_.name << ": " << reply.status().message();
    return reply.ok() ? std::move(reply).value() : ParsedReply();
  }

  void ExpectRight(const ParsedReply& reply, const std::string& how) const {
    EXPECT_EQ(reply.reasoning, case_.expect.Find("reasoning")->as_string()) << case_.name << how;
    EXPECT_EQ(reply.content, case_.expect.Find("content")->as_string()) << case_.name << how;
    const json::Array& calls = case_.expect.Find("tool_calls")->as_array();
    ASSERT_EQ(reply.tool_calls.size(), calls.size()) << case_.name << how;
    for (size_t i = 0; i < calls.size(); ++i) {
      EXPECT_EQ(reply.tool_calls[i].name, calls[i].Find("name")->as_string()) << case_.name << how;
      const Result<Value> arguments = json::Parse(reply.tool_calls[i].arguments);
      ASSERT_TRUE(arguments.ok()) << case_.name << how << reply.tool_calls[i].arguments;
      EXPECT_EQ(arguments.value(), *calls[i].Find("arguments"))
          << case_.name << how << ": " << reply.tool_calls[i].arguments;
    }
  }

 private:
  const Case& case_;
  ParserChoice reasoning_, tools_;
};

TEST(ParserCasesTest, EveryCaseIsRightWhole) {
  const std::vector<Case> cases = AllCases();
  ASSERT_GT(cases.size(), 60U);
  for (const Case& c : cases) {
    const Runner runner(c);
    runner.ExpectRight(runner.Run(Cut(c.parts, [] { return size_t{1} << 30; })), " (whole)");
  }
}

TEST(ParserCasesTest, EveryCaseIsRightCharacterByCharacter) {
  for (const Case& c : AllCases()) {
    const Runner runner(c);
    runner.ExpectRight(runner.Run(Cut(c.parts, [] { return size_t{1}; })), " (each character)");
  }
}

TEST(ParserCasesTest, EveryCaseIsRightAtTwoHundredRandomCuts) {
  std::mt19937 random(20261201);
  for (const Case& c : AllCases()) {
    const Runner runner(c);
    for (int round = 0; round < 200 && !::testing::Test::HasFailure(); ++round) {
      const size_t longest = round % 2 == 0 ? 4 : 40;
      runner.ExpectRight(
          runner.Run(Cut(c.parts, [&random, longest] { return random() % longest + 1; })),
          " (random round " + std::to_string(round) + ")");
    }
  }
}

// C09: wherever max_tokens cuts, no marker shows, and a call is there only if it is what the whole
// reply has.
TEST(ParserCasesTest, AReplyCutAnywhereShowsNoPartOfACall) {
  for (const Case& c : AllCases()) {
    const bool is_cut_by_nature = c.parts.size() != 1 || c.name.find("(C06)") == std::string::npos;
    if (is_cut_by_nature) {
      continue;
    }
    const Runner runner(c);
    const ParsedReply whole = runner.Run(Cut(c.parts, [] { return size_t{1} << 30; }));
    for (size_t length = 0; length < c.parts[0].text.size(); ++length) {
      const std::string text = c.parts[0].text.substr(0, length);
      const ParsedReply reply = runner.Run({{text, -1, false}});
      EXPECT_EQ(reply.content.find("<too"), std::string::npos) << c.name << " at " << length;
      EXPECT_EQ(reply.content.find("function"), std::string::npos) << c.name << " at " << length;
      ASSERT_LE(reply.tool_calls.size(), whole.tool_calls.size());
      for (size_t i = 0; i < reply.tool_calls.size(); ++i) {
        EXPECT_EQ(reply.tool_calls[i].arguments, whole.tool_calls[i].arguments)
            << c.name << " at " << length;
      }
    }
  }
}

TEST(ParserCasesTest, WhereTheReplyIsFollowsTheMarkersTokensAtOnce) {
  const ParserChoice reasoning = Choose(ParserKind::kReasoning, "qwen3", true);
  StreamParserOptions options;
  options.reasoning = &reasoning;
  auto parser = StreamParser::Create(options);
  ASSERT_TRUE(parser.ok());
  std::vector<ParserEvent> events;
  const auto feed = [&](std::string_view text, int32_t id) {
    EXPECT_TRUE(parser.value().Feed({text, id, id >= 1000}, &events).ok());
    return parser.value().in_reasoning();
  };
  EXPECT_TRUE(feed("<think>", IdOfToken("<think>")));
  EXPECT_TRUE(feed("hm", 7));
  EXPECT_FALSE(feed("</think>", IdOfToken("</think>")));
  EXPECT_FALSE(feed("ok", 7));
}

TEST(ParserCasesTest, AutoFollowsTheTemplate) {
  struct Row {
    const char* chat_template;
    const char* reasoning;
    const char* tools;
  };

  for (const Row& row :
       {Row{"{{ messages }}", "", ""},
        Row{"<think> </think> <tool_call>\n<function= <parameter=", "qwen3", "qwen3_coder"},
        Row{"<tool_call>\n{\"name\": ...}\n</tool_call>", "", "qwen25"}, Row{"", "", ""}}) {
    const auto reasoning = ChooseParser(Registry(), ParserKind::kReasoning, "auto",
                                        "--reasoning-parser", row.chat_template, nullptr);
    const auto tools = ChooseParser(Registry(), ParserKind::kToolCalls, "auto",
                                    "--tool-call-parser", row.chat_template, nullptr);
    ASSERT_TRUE(reasoning.ok() && tools.ok());
    const auto name = [](const ParserChoice& choice) {
      return choice.parser == nullptr ? std::string() : choice.parser->name();
    };
    EXPECT_EQ(name(reasoning.value()), row.reasoning) << row.chat_template;
    EXPECT_EQ(name(tools.value()), row.tools) << row.chat_template;
    EXPECT_FALSE(tools.value().reason.empty());
  }
}

TEST(ParserCasesTest, AnUnknownNameListsTheNamesThereAre) {
  const auto choice =
      ChooseParser(Registry(), ParserKind::kToolCalls, "qwen4", "--tool-call-parser", "", nullptr);
  ASSERT_FALSE(choice.ok());
  EXPECT_EQ(choice.status().code(), StatusCode::kNotFound);
  for (const char* word : {"--tool-call-parser qwen4", "qwen3_coder", "qwen25", "hermes", "auto"}) {
    EXPECT_NE(choice.status().message().find(word), std::string::npos) << choice.status().message();
  }
}

// What the tiny models really say, token by token, against the message a client should get.
TEST(ParserCasesTest, TheTinyModelsChatsAreParsedAsTaught) {
  const fs::path models = fs::path(FT_SOURCE_DIR) / "../shared/models";
  if (!fs::exists(models / "tiny-moe-bf16/chats.jsonl")) {
    GTEST_SKIP() << "no ../shared/models";
  }
  int judged = 0;
  for (const auto& entry : fs::directory_iterator(models)) {
    if (!fs::exists(entry.path() / "chats.jsonl")) {
      continue;
    }
    Result<std::unique_ptr<Tokenizer>> loaded = Tokenizer::Load(entry.path().string());
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    const Tokenizer& tokenizer = *loaded.value();
    const std::string chat_template = ReadAll(entry.path() / "chat_template.jinja");
    const auto reasoning = ChooseParser(Registry(), ParserKind::kReasoning, "auto", "--r",
                                        chat_template, LookupIn(&tokenizer));
    const auto tools = ChooseParser(Registry(), ParserKind::kToolCalls, "auto", "--t",
                                    chat_template, LookupIn(&tokenizer));
    ASSERT_TRUE(reasoning.ok() && tools.ok());
    ASSERT_NE(reasoning.value().parser, nullptr);
    ASSERT_NE(tools.value().parser, nullptr);
    std::ifstream lines(entry.path() / "chats.jsonl");
    for (std::string line; std::getline(lines, line);) {
      const Value chat = json::Parse(line).value();
      const Value* parsed = chat.Find("parsed");
      if (parsed == nullptr) {
        continue;
      }
      StreamParserOptions options;
      options.reasoning = &reasoning.value();
      options.tool_calls = &tools.value();
      const std::string tools_json = json::Write(*chat.Find("tools"));
      options.tools_json = tools_json;
      options.starts_in_reasoning =
          reasoning.value().parser->PromptEndsInThought(chat.Find("prompt")->as_string()).value();
      auto parser = StreamParser::Create(options);
      ASSERT_TRUE(parser.ok());
      StreamDecoder decoder(&tokenizer);
      std::vector<ParserEvent> events;
      for (const Value& id_value : chat.Find("reply_ids")->as_array()) {
        const auto id = static_cast<int32_t>(*id_value.ToInt64());
        if (tokenizer.TokenText(id) == "<|im_end|>") {
          break;  // the engine's stop token
        }
        const std::string text = decoder.Push(id);
        ASSERT_TRUE(parser.value().Feed({text, id, tokenizer.is_added(id)}, &events).ok());
      }
      ASSERT_TRUE(parser.value().Finish(&events).ok());
      ParsedReply reply;
      CollectEvents(events, &reply);
      const Value* content = parsed->Find("content");
      EXPECT_EQ(reply.content, content->is_null() ? "" : content->as_string()) << line;
      const Value* thought = parsed->Find("reasoning_content");
      EXPECT_EQ(reply.reasoning, thought == nullptr ? "" : thought->as_string()) << line;
      const Value* calls = parsed->Find("tool_calls");
      ASSERT_EQ(reply.tool_calls.size(), calls == nullptr ? 0 : calls->as_array().size()) << line;
      for (size_t i = 0; i < reply.tool_calls.size(); ++i) {
        const Value* function = calls->as_array()[i].Find("function");
        EXPECT_EQ(reply.tool_calls[i].name, function->Find("name")->as_string());
        EXPECT_EQ(json::Parse(reply.tool_calls[i].arguments).value(), *function->Find("arguments"));
      }
      ++judged;
    }
  }
  EXPECT_GT(judged, 50);
}

}  // namespace
}  // namespace ft::text

// The probe runs this very program again.
int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], ft::kPluginProbeCommand) == 0) {
    return ft::RunPluginProbe(argc, argv);
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
