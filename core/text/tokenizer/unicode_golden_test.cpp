// The classes and NFC against shared/golden/tokenizers/unicode_classes.json, code point by code
// point.
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/utf8.h"
#include "core/json/parse.h"
#include "core/text/tokenizer/code_point_set.h"
#include "core/text/tokenizer/unicode_norm.h"

namespace ft::text {
namespace {

CodePointSet ReadRanges(const json::Value& list) {
  std::vector<CodePointRange> ranges;
  for (const json::Value& item : list.as_array()) {
    char* end = nullptr;
    CodePointRange range;
    range.first = static_cast<uint32_t>(std::strtoul(item.as_string().c_str(), &end, 16));
    range.last =
        *end == '-' ? static_cast<uint32_t>(std::strtoul(end + 1, nullptr, 16)) : range.first;
    ranges.push_back(range);
  }
  return CodePointSet(ranges);
}

std::string Text(std::initializer_list<uint32_t> code_points) {
  std::string text;
  for (const uint32_t code_point : code_points) {
    AppendUtf8(code_point, &text);
  }
  return text;
}

class UnicodeGoldenTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ifstream file(FT_SOURCE_DIR "/../shared/golden/tokenizers/unicode_classes.json");
    if (!file) {
      GTEST_SKIP() << "shared/golden/tokenizers is not here";
    }
    std::ostringstream text;
    text << file.rdbuf();
    golden_ = *json::Parse(text.str());
  }

  json::Value golden_;
};

TEST_F(UnicodeGoldenTest, EveryClassIsEqual) {
  for (const char* name : {"L", "Lu", "Ll", "Lt", "Lm", "Lo", "M", "N", "P", "S", "Han", "space"}) {
    EXPECT_EQ(*CodePointSet::Named(name), ReadRanges(*golden_.Find(name))) << name;
  }
}

TEST_F(UnicodeGoldenTest, NfcIsThatOfUnicode9) {
  const Result<UnicodeNormalizer> nfc = UnicodeNormalizer::Create(NormalizationForm::kNfc);
  ASSERT_TRUE(nfc.ok());
  const CodePointSet changed = ReadRanges(*golden_.Find("nfc_changes_alone"));
  const CodePointSet kept = ReadRanges(*golden_.Find("nfc_not_reordered"));
  for (uint32_t c = 0; c <= kMaxCodePoint; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) {
      continue;
    }
    const std::string text = Text({c});
    EXPECT_EQ(*nfc->Normalize(text) != text, changed.Contains(c)) << std::hex << c;
    if (kept.Contains(c)) {
      // Two marks that would change places if this one had a combining class.
      const std::string before = Text({'a', 0x0345, c});
      const std::string after = Text({'a', c, 0x0316});
      EXPECT_EQ(*nfc->Normalize(before), before) << std::hex << c;
      EXPECT_EQ(*nfc->Normalize(after), after) << std::hex << c;
    }
  }
  EXPECT_EQ(*nfc->Normalize(Text({0x11935, 0x11930})), Text({0x11935, 0x11930}));
  EXPECT_EQ(*nfc->Normalize("e\u0327\u0301"), "\u0229\u0301");
}

}  // namespace
}  // namespace ft::text
