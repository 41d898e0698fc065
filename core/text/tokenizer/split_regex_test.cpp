// Split patterns: what they match, as the library's engine does, and what is refused.
#include "core/text/tokenizer/split_regex.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/text/tokenizer/code_point_set.h"
#include "core/text/tokenizer/split_pattern.h"

namespace ft::text {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> Matches(std::string_view pattern, std::string_view text) {
  const Result<SplitRegex> regex = SplitRegex::Compile(pattern);
  EXPECT_TRUE(regex.ok()) << (regex.ok() ? "" : regex.status().message());
  RegexScratch scratch;
  std::vector<TextSpan> spans;
  EXPECT_TRUE(regex->Find(text, &scratch, &spans).ok());
  std::vector<std::string> found;
  for (const TextSpan& span : spans) {
    found.emplace_back(text.substr(span.begin, span.end - span.begin));
  }
  return found;
}

std::string Refusal(std::string_view pattern) {
  const Result<SplitRegex> regex = SplitRegex::Compile(pattern);
  return regex.ok() ? "accepted" : regex.status().message();
}

TEST(SplitRegexTest, ClassesAreThoseOfUnicode16) {
  EXPECT_THAT(Matches(R"(\s)", "a\u180E\u0085\u3000\u200B"), ElementsAre("\u0085", "\u3000"));
  EXPECT_THAT(Matches(R"(\p{Han}+)", "漢、字。々"), ElementsAre("漢", "字", "々"));
  EXPECT_THAT(Matches(R"(\p{Lu})", "aAǅ\U00010D50"), ElementsAre("A", "\U00010D50"));
}

TEST(SplitRegexTest, DoubleAmpersandIntersects) {
  EXPECT_THAT(Matches(R"([\p{L}&&[^\p{Han}]]+)", "ab漢é"), ElementsAre("ab", "é"));
  EXPECT_THAT(Matches(R"([a-d&&b-e&&[^c]]+)", "abcde"), ElementsAre("b", "d"));
}

TEST(SplitRegexTest, WordCharactersInBracketsLeaveOutSuperscripts) {
  EXPECT_THAT(Matches(R"(\w+)", "a²b"), ElementsAre("a²b"));
  EXPECT_THAT(Matches(R"([\w]+)", "a²b"), ElementsAre("a", "b"));
}

TEST(SplitRegexTest, IgnoringCaseTakesLongS) {
  EXPECT_THAT(Matches(R"((?i:'s|'ll))", "'S 'ſ 'Ll 's ’s"), ElementsAre("'S", "'ſ", "'Ll", "'s"));
}

TEST(SplitRegexTest, AnIntervalWithPlusRepeatsTheInterval) {
  EXPECT_THAT(Matches(R"(\p{N}{1,3}+)", "1234567 1"), ElementsAre("1234567", "1"));
  EXPECT_THAT(Matches(R"(\p{N}{1,3})", "1234567"), ElementsAre("123", "456", "7"));
}

TEST(SplitRegexTest, DollarStandsBeforeEveryNewline) {
  EXPECT_THAT(Matches(R"(a$)", "aa\nab\na"), ElementsAre("a", "a"));
  EXPECT_THAT(Matches(R"(^a)", "aa\nab"), ElementsAre("a", "a"));
}

TEST(SplitRegexTest, EmptyMatchesDoNotFollowAnotherMatch) {
  EXPECT_THAT(Matches(R"(a*)", "baac"), ElementsAre("", "aa", ""));
}

TEST(SplitRegexTest, LiteralsMatchLeftToRight) {
  RegexScratch scratch;
  std::vector<TextSpan> spans;
  ASSERT_TRUE(SplitRegex::Literal("aa").Find("aaaaa", &scratch, &spans).ok());
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[1].begin, 2U);
}

TEST(SplitRegexTest, UnknownSyntaxIsRefusedByName) {
  EXPECT_THAT(Refusal(R"(\bword)"), HasSubstr("\\b"));
  EXPECT_THAT(Refusal(R"(\p{Klingon})"), HasSubstr("Klingon"));
  EXPECT_THAT(Refusal(R"((?<name>a))"), HasSubstr("group"));
  EXPECT_THAT(Refusal(R"((a)\1)"), HasSubstr("\\1"));
  EXPECT_THAT(Refusal(R"([[:alpha:]])"), HasSubstr("POSIX"));
  EXPECT_THAT(Refusal(R"((?i:straße))"), HasSubstr("(?i:"));
  EXPECT_THAT(Refusal(R"((?i:miss))"), HasSubstr("\"ss\""));
  EXPECT_THAT(Refusal(R"(a{2}?)"), HasSubstr("{n}?"));
  EXPECT_THAT(Refusal(R"((?R))"), HasSubstr("group"));
}

TEST(SplitRegexTest, BrokenPatternsAreErrors) {
  for (const char* pattern :
       {"(", ")", "[a", "[", "*a", "\\", "[b-a]", "a**", "(?=a)*", "\\x{110000}"}) {
    EXPECT_NE(Refusal(pattern), "accepted") << pattern;
  }
  EXPECT_NE(Refusal(std::string(200, '(')), "accepted");
  EXPECT_NE(Refusal(std::string(200, '[')), "accepted");
  EXPECT_NE(Refusal(std::string(kMaxPatternBytes + 1, 'a')), "accepted");
}

TEST(SplitRegexTest, EndlessBacktrackingEndsWithAnError) {
  const Result<SplitRegex> regex = SplitRegex::Compile("(?:a+)+(?:a+)+(?:a+)+[bc]d");
  ASSERT_TRUE(regex.ok());
  RegexScratch scratch;
  std::vector<TextSpan> spans;
  const Status status = regex->Find(std::string(5000, 'a') + "d", &scratch, &spans);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
}

TEST(SplitRegexTest, LongRunsNeedNoDeepStack) {
  const std::string pattern =
      R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*)"
      R"([\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t)?|\s*[\r\n]+|\s+(?!\S)|\s+|\p{Lu}+)";
  const size_t size = size_t{1} << 20;
  for (const char unit : {'Z', 'z', ' ', '\n'}) {
    EXPECT_THAT(Matches(pattern, std::string(size, unit)), ElementsAre(std::string(size, unit)));
  }
}

TEST(CodePointSetTest, AlgebraKeepsRangesApart) {
  const CodePointSet a({{10, 20}, {30, 40}});
  const CodePointSet b({{15, 35}});
  EXPECT_THAT(a.Union(b).ranges(), ElementsAre(CodePointRange{10, 40}));
  EXPECT_THAT(a.Intersect(b).ranges(), ElementsAre(CodePointRange{15, 20}, CodePointRange{30, 35}));
  EXPECT_EQ(a.Complement().Complement(), a);
  EXPECT_THAT(CodePointSet::All().Complement().ranges(), IsEmpty());
  EXPECT_FALSE(a.Contains(25));
  EXPECT_TRUE(a.Contains(40));
}

TEST(CodePointSetTest, GroupsAreUnionsAndOtherNamesAreUnknown) {
  EXPECT_EQ(CodePointSet::Named("N")->ranges(), CodePointSet::Named("Nd")
                                                    ->Union(*CodePointSet::Named("Nl"))
                                                    .Union(*CodePointSet::Named("No"))
                                                    .ranges());
  EXPECT_TRUE(CodePointSet::Named("C")->Contains(0x378));  // not assigned
  EXPECT_FALSE(CodePointSet::Named("Xx").has_value());
  EXPECT_FALSE(CodePointSet::Named("split_word_extra").has_value());
}

}  // namespace
}  // namespace ft::text
