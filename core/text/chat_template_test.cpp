#include "core/text/chat_template.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "core/json/parse.h"
#include "core/json/write.h"

namespace ft::text {
namespace {

namespace fs = std::filesystem;

const fs::path kGolden = fs::path(FT_SOURCE_DIR) / ".." / "shared" / "golden" / "templates";

std::string ReadText(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

json::Value ParseJson(const std::string& text) {
  Result<json::Value> value = json::Parse(text, {.max_depth = 512});
  EXPECT_TRUE(value.ok()) << value.status().message();
  return value.ok() ? *value : json::Value();
}

// The time the goldens were made at: a Friday.
std::tm GoldenNow() {
  std::tm now = {};
  now.tm_year = 2025 - 1900;
  now.tm_mon = 2;
  now.tm_mday = 7;
  now.tm_hour = 9;
  now.tm_min = 5;
  now.tm_sec = 3;
  return now;
}

std::tm NowOf(const json::Value& test) {
  std::tm now = GoldenNow();
  if (const json::Value* text = test.Find("now"); text != nullptr && text->is_string()) {
    now = {};
    EXPECT_NE(strptime(text->as_string().c_str(), "%Y-%m-%dT%H:%M:%S", &now), nullptr);
  }
  return now;
}

// What is wrong with a result, or nothing. An error's message counts where a template raised it.
std::string Difference(const json::Value& test, const Result<std::string>& got) {
  if (const json::Value* rendered = test.Find("rendered")) {
    if (!got.ok()) {
      return "failed: " + got.status().message();
    }
    return *got == rendered->as_string() ? ""
                                         : "got  " + *got + "\n  want " + rendered->as_string();
  }
  if (got.ok()) {
    return "did not fail, got " + *got;
  }
  const json::Value& error = *test.Find("error");
  const json::Value* message = error.Find("message");
  if (message == nullptr) {
    return "";
  }
  const bool is_raised = error.Find("kind")->as_string() == "TemplateError";
  const std::string& text = got.status().message();
  const bool matches = is_raised ? text == message->as_string()
                                 : text.find(message->as_string()) != std::string::npos;
  return matches ? "" : "message " + text + "\n  want " + message->as_string();
}

Result<std::string> RenderCase(const std::string& source, const json::Value& test) {
  Result<ChatTemplate> parsed = ChatTemplate::Parse(source);
  if (!parsed.ok()) {
    return parsed.status();
  }
  RenderOptions options;
  options.now = NowOf(test);
  return parsed->Render(*test.Find("context"), options);
}

TEST(ChatTemplateGoldenTest, RendersEveryTemplateAsPythonDoes) {
  if (!fs::exists(kGolden)) {
    GTEST_SKIP() << "no " << kGolden << ": the goldens are not part of the repository";
  }
  int num_cases = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(kGolden)) {
    if (!entry.is_directory()) {
      continue;
    }
    const std::string source = ReadText(entry.path() / "template.jinja");
    const json::Value cases = ParseJson(ReadText(entry.path() / "cases.json"));
    for (const json::Value& test : cases.as_array()) {
      ++num_cases;
      EXPECT_EQ(Difference(test, RenderCase(source, test)), "")
          << entry.path().filename() << " " << test.Find("name")->as_string();
    }
  }
  EXPECT_GT(num_cases, 600);
}

TEST(ChatTemplateGoldenTest, RendersEveryExpressionAsPythonDoes) {
  std::ifstream in(kGolden / "expressions.jsonl");
  if (!in) {
    GTEST_SKIP() << "no " << kGolden << ": the goldens are not part of the repository";
  }
  int num_cases = 0;
  for (std::string line; std::getline(in, line);) {
    const json::Value test = ParseJson(line);
    ++num_cases;
    const std::string& source = test.Find("template")->as_string();
    EXPECT_EQ(Difference(test, RenderCase(source, test)), "") << source;
  }
  EXPECT_GT(num_cases, 1000);
}

// The special tokens of the tokenizer that apply.json was made with.
const std::map<std::string, std::string> kTokens = {{"eos_token", "<|im_end|>"},
                                                    {"pad_token", "<|endoftext|>"}};

Result<json::Value> ApplyCase(const json::Value& test) {
  std::map<std::string, std::string> named;
  ApplyOptions options;
  const json::Value* given = test.Find("template");
  if (const json::Value* templates = test.Find("templates")) {
    for (const json::Member& member : templates->as_object()) {
      named[member.key] = member.value.as_string();
    }
    if (given->is_string()) {
      options.chat_template = given->as_string();
    }
  } else if (given->is_string()) {
    named["default"] = given->as_string();
  }
  Result<ChatTemplateSet> set = ChatTemplateSet::Make(named, kTokens);
  if (!set.ok()) {
    return set.status();
  }
  options.tools = test.Find("tools");
  options.kwargs = test.Find("kwargs");
  options.render.now = GoldenNow();
  const json::Value& messages = *test.Find("messages");
  if (messages.is_array() && !messages.as_array().empty() && messages.as_array()[0].is_array()) {
    FT_ASSIGN_OR_RETURN(const std::vector<std::string> prompts, set->ApplyBatch(messages, options));
    json::Value list = json::Value::MakeArray();
    for (const std::string& prompt : prompts) {
      list.Append(prompt);
    }
    return list;
  }
  FT_ASSIGN_OR_RETURN(std::string prompt, set->Apply(messages, options));
  return json::Value(std::move(prompt));
}

TEST(ChatTemplateGoldenTest, AppliesTemplatesAsTransformersDoes) {
  if (!fs::exists(kGolden / "apply.json")) {
    GTEST_SKIP() << "no " << kGolden << ": the goldens are not part of the repository";
  }
  const json::Value cases = ParseJson(ReadText(kGolden / "apply.json"));
  for (const json::Value& test : cases.as_array()) {
    const std::string& name = test.Find("name")->as_string();
    const Result<json::Value> got = ApplyCase(test);
    if (const json::Value* rendered = test.Find("rendered")) {
      ASSERT_TRUE(got.ok()) << name << ": " << got.status().message();
      EXPECT_EQ(json::Write(*got), json::Write(*rendered)) << name;
    } else {
      EXPECT_FALSE(got.ok()) << name << ": " << (got.ok() ? json::Write(*got) : "");
    }
  }
}

Result<std::string> RenderText(const std::string& source,
                               const std::string& context = "{}",
                               const RenderLimits& limits = {}) {
  Result<ChatTemplate> parsed = ChatTemplate::Parse(source);
  if (!parsed.ok()) {
    return parsed.status();
  }
  RenderOptions options;
  options.now = GoldenNow();
  options.limits = limits;
  return parsed->Render(ParseJson(context), options);
}

TEST(ChatTemplateTest, NumbersKeepTheirWrittenKind) {
  EXPECT_EQ(*RenderText("{{ a }} {{ b }} {{ c | tojson }}",
                        R"({"a": 1.0, "b": 123456789012345678901234567890, "c": -0.0})"),
            "1.0 123456789012345678901234567890 -0.0");
}

TEST(ChatTemplateTest, ARaisedMessageIsPassedOnAlone) {
  const Result<std::string> text = RenderText("{{ raise_exception('roles must alternate') }}");
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.status().message(), "roles must alternate");
  EXPECT_EQ(text.status().code(), StatusCode::kInvalidArgument);
}

TEST(ChatTemplateTest, ErrorsNameTheLine) {
  const Result<std::string> syntax = RenderText("a\n\n{% if %}");
  ASSERT_FALSE(syntax.ok());
  EXPECT_NE(syntax.status().message().find("line 3"), std::string::npos);
  const Result<std::string> runtime = RenderText("a\n{{ x.y.z }}");
  ASSERT_FALSE(runtime.ok());
  EXPECT_NE(runtime.status().message().find("line 2"), std::string::npos);
}

struct Sample {
  const char* source;
  const char* text;
};

// What Python's jinja2 3.1.6 gave in the same environment, for trees without the goldens.
TEST(ChatTemplateTest, RendersSamplesAsPythonDoes) {
  static constexpr Sample kSamples[] = {
      {"{{ 2 ** 3 ** 2 }} {{ -2 ** 2 }} {{ 1 ~ 2 * 3 }} {{ 'a' ~ 'b'|upper }}", "64 4 16 aB"},
      {"{{ 1e16 }} {{ 1e-7 }} {{ 10 ** 20 }} {{ -7 // 2 }} {{ 7 / 2 }}",
       "1e+16 1e-07 100000000000000000000 -4 3.5"},
      {"{% for i in l %}{% continue %}{% else %}E{% endfor %}", "E"},
      {"{% if true %}{% set v = 1 %}{% endif %}{% for i in l %}{% set v = i %}{% endfor %}{{ v }}",
       "1"},
      {"{% macro m() %}{{ g }}{% endmacro %}{% set g = 2 %}{{ m() }}", "2"},
      {"{% for i in [1, [2]] recursive %}{{ i if i is number else loop(i) }}{% endfor %}", "12"},
      {"{{ '%5.1f|%-4d|%x' % (1.25, 3, 255) }} {{ '{:>4}|{:,}'.format(1, 1234567) }}",
       "  1.2|3   |ff    1|1,234,567"},
      {"{{ [none, true, 1.0, \"it's\"] }} {{ {'a': (1,)} }}",
       "[None, True, 1.0, \"it's\"] {'a': (1,)}"},
      {"{{ 'ΑΣ ß ﬁ'.lower() }} {{ 'ß ﬁ' | upper }}", "ας ß ﬁ SS FI"},
      {"a\n  {% if l %}\n  b\n  {% endif %}\nc\n", "a\n  b\nc"},
      {"{{ l | tojson(indent=2) }} {{ {'é': none} | tojson }}",
       "[\n  3,\n  1,\n  2\n] {\"é\": null}"},
  };
  for (const Sample& sample : kSamples) {
    const Result<std::string> text = RenderText(sample.source, R"({"l": [3, 1, 2]})");
    EXPECT_TRUE(text.ok()) << sample.source << ": " << (text.ok() ? "" : text.status().message());
    if (text.ok()) {
      EXPECT_EQ(*text, sample.text) << sample.source;
    }
  }
}

class HostileTemplateTest : public testing::TestWithParam<const char*> {};

TEST_P(HostileTemplateTest, EndsWithAnError) {
  RenderLimits limits;
  limits.max_output_bytes = size_t{1} << 20;
  limits.max_memory_bytes = size_t{64} << 20;
  limits.max_steps = 2'000'000;
  EXPECT_FALSE(RenderText(GetParam(), R"({"l": [1, 2, 3]})", limits).ok());
}

INSTANTIATE_TEST_SUITE_P(
    All,
    HostileTemplateTest,
    testing::Values(
        "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
        "{% for a in range(100000) %}{{ 'x' * 1000 }}{% endfor %}",
        "{{ 'x' * 10 ** 12 }}",
        "{{ [0] * 10 ** 12 }}",
        "{{ 10 ** (10 ** 10) }}",
        "{{ range(10 ** 9) | list }}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% for i in l recursive %}{{ loop(l) }}{% endfor %}",
        "{% set ns = namespace(x=[]) %}{% for i in range(100000) %}{% set ns.x = [ns.x] %}"
        "{% endfor %}{{ ns.x }}",
        "{% set ns = namespace(x='a') %}{% for i in range(100) %}{% set ns.x = ns.x ~ ns.x %}"
        "{% endfor %}",
        "{{ '%1000000000d' % 1 }}",
        "{{ '{:1000000000}'.format(1) }}",
        "{{ 'x'.ljust(10 ** 12) }}",
        "{{ 'a' | center(10 ** 12) }}",
        "{{ ('a' * 1000000) | replace('', 'b' * 1000) }}",
        "{{ l | batch(10 ** 9, 0) | list }}",
        "{{ l | slice(10 ** 12) | list }}",
        "{{ l | tojson(indent=10 ** 9) }}",
        "{% set ns = namespace() %}{% set ns.a = ns %}{{ ns }}"));

TEST(ChatTemplateTest, DeeplyNestedSourceIsRefused) {
  EXPECT_FALSE(RenderText("{{ " + std::string(100000, '(')).ok());
  EXPECT_FALSE(RenderText("{{ " + std::string(100000, '[')).ok());
  std::string minus = "{{ ";
  std::string ifs;
  std::string sum = "{{ x";
  for (int i = 0; i < 20000; ++i) {
    minus += "- ";
    ifs += "{% if true %}";
    sum += " + x";
  }
  EXPECT_FALSE(RenderText(minus + "1 }}").ok());
  EXPECT_FALSE(RenderText(ifs).ok());
  EXPECT_FALSE(RenderText(sum + " }}").ok());
}

TEST(NormalizeMessagesTest, ArgumentsInTextBecomeTheSameAsObjects) {
  const auto prompt = [](const std::string& arguments) {
    const json::Value messages = ParseJson(
        R"([{"role": "user", "content": "q"}, {"role": "assistant", "content": null,
            "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": )" +
        arguments + R"(}}]}])");
    const Result<json::Value> normal = NormalizeMessages(messages);
    if (!normal.ok()) {
      return "error " + normal.status().message();
    }
    return *ChatTemplateSet::Make({{"default", "{{ messages | tojson }}"}}, {})->Apply(*normal);
  };
  const std::string object = prompt(R"({"city": "Paris", "n": 2, "x": 1.0})");
  EXPECT_EQ(prompt(R"("{\"city\":\"Paris\",\"n\":2,\"x\":1.0}")"), object);
  EXPECT_NE(object.find("\"n\": 2, \"x\": 1.0"), std::string::npos);
  const std::string empty = prompt("{}");
  EXPECT_EQ(prompt("\"\""), empty);
  EXPECT_EQ(prompt("\"null\""), empty);
  EXPECT_EQ(prompt("null"), empty);
  EXPECT_NE(prompt("\"{broken\"").find("error message 1"), std::string::npos);
  EXPECT_NE(prompt("\"[1]\"").find("error message 1"), std::string::npos);
}

TEST(NormalizeMessagesTest, NoCallsEqualAbsentCalls) {
  const json::Value with =
      ParseJson(R"([{"role": "assistant", "content": "a", "tool_calls": []}])");
  const json::Value without = ParseJson(R"([{"role": "assistant", "content": "a"}])");
  EXPECT_EQ(json::Write(*NormalizeMessages(with)), json::Write(*NormalizeMessages(without)));
}

TEST(ChatTemplateSetTest, LoadsTheTinyModel) {
  const fs::path dir = fs::path(FT_SOURCE_DIR) / ".." / "shared" / "models" / "tiny-moe-bf16";
  if (!fs::exists(dir)) {
    GTEST_SKIP() << "no " << dir << ": the models are not part of the repository";
  }
  const Result<ChatTemplateSet> set = ChatTemplateSet::Load(dir.string());
  ASSERT_TRUE(set.ok()) << set.status().message();
  EXPECT_EQ(set->special_tokens().at("eos_token"), "<|im_end|>");
  EXPECT_FALSE(set->default_source().empty());
}

TEST(ChatTemplateSetTest, AMissingFolderIsNamed) {
  const Result<ChatTemplateSet> set = ChatTemplateSet::Load("/nowhere/at/all");
  ASSERT_FALSE(set.ok());
  EXPECT_EQ(set.status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace ft::text
