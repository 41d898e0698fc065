#include "core/text/render_jsonl.h"

#include <sstream>

#include <gtest/gtest.h>

namespace ft::text {
namespace {

std::string RunTool(const std::string& lines) {
  std::istringstream in(lines);
  std::ostringstream out;
  const Status status = RenderJsonl(&in, &out);
  return out.str() + (status.ok() ? "" : "! " + status.message());
}

TEST(RenderJsonlTest, AnswersEachLineInOrder) {
  EXPECT_EQ(RunTool("{\"template\": \"{{ a }}\", \"context\": {\"a\": 1.0}}\n"
                    "{\"template\": \"{{ raise_exception('no') }}\"}\n"
                    "{\"template\": \"{{ strftime_now('%d %b %Y') }}\","
                    " \"now\": \"2025-03-07T09:05:03\"}"),
            "{\"text\":\"1.0\"}\n{\"error\":\"no\"}\n{\"text\":\"07 Mar 2025\"}\n");
}

TEST(RenderJsonlTest, ABadLineIsNamed) {
  EXPECT_NE(RunTool("{\"template\": \"\"}\nnot json\n").find("! line 2"), std::string::npos);
  EXPECT_NE(RunTool("{\"context\": {}}\n").find("! line 1"), std::string::npos);
  EXPECT_NE(RunTool("{\"template\": \"\", \"now\": \"yesterday\"}\n").find("! line 1"),
            std::string::npos);
}

}  // namespace
}  // namespace ft::text
