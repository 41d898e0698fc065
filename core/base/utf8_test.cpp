#include "core/base/utf8.h"

#include <gtest/gtest.h>

namespace ft {
namespace {

TEST(Utf8Test, BrokenSequencesBecomeOneMarkPerMaximalPart) {
  const std::string mark = "\xEF\xBF\xBD";
  EXPECT_EQ(ReplaceInvalidUtf8("\xF0\x9F\x98"), mark);                // cut: one
  EXPECT_EQ(ReplaceInvalidUtf8("\xED\xA0\x80"), mark + mark + mark);  // surrogate: three
  EXPECT_EQ(ReplaceInvalidUtf8("\xF4\x90\x80\x80"), mark + mark + mark + mark);
  EXPECT_EQ(ReplaceInvalidUtf8("a\xC0\xAF z"), "a" + mark + mark + " z");
}

TEST(Utf8Test, EveryCodePointComesBack) {
  for (uint32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) {
      continue;
    }
    std::string text;
    AppendUtf8(c, &text);
    size_t at = 0;
    bool is_valid = false;
    ASSERT_EQ(DecodeUtf8(text, &at, &is_valid), c);
    ASSERT_TRUE(is_valid);
    ASSERT_EQ(at, text.size());
  }
}

TEST(Utf8Test, SaysHowMuchOfACharacterIsPending) {
  EXPECT_EQ(IncompleteUtf8Suffix("ab"), 0U);
  EXPECT_EQ(IncompleteUtf8Suffix("a\xF0\x9F\x98"), 3U);
  EXPECT_EQ(IncompleteUtf8Suffix("a\xE2\x82"), 2U);
  EXPECT_EQ(IncompleteUtf8Suffix("a\xC3"), 1U);
  EXPECT_EQ(IncompleteUtf8Suffix("a\xED\xA0"), 0U);  // can no longer become a character
  EXPECT_EQ(IncompleteUtf8Suffix("\xE2\x82\xAC"), 0U);
}

}  // namespace
}  // namespace ft
