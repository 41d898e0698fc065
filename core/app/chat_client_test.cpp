#include "core/app/chat_client.h"

#include <gtest/gtest.h>

#include "core/json/write.h"

namespace ft::app {
namespace {

TEST(ServerUrlTest, ReadsHostAndPort) {
  EXPECT_EQ(ParseServerUrl("http://localhost:8000/v1/")->port, "8000");
  EXPECT_EQ(ParseServerUrl("http://[::1]:9")->host, "::1");
  EXPECT_EQ(ParseServerUrl("http://example")->port, "80");
  for (const char* bad : {"", "localhost", "https://x", "http://", "http://a:b", "http://a/b"}) {
    EXPECT_FALSE(ParseServerUrl(bad).ok()) << bad;
  }
}

TEST(SseReaderTest, EventsDoNotDependOnHowTheStreamWasCut) {
  const std::string stream =
      ": ping\n\ndata: {\"a\":1}\r\n\r\ndata: two\ndata:  lines\n\ndata: [DONE]\n\n";
  const std::vector<std::string> expected = {"{\"a\":1}", "two\n lines", "[DONE]"};
  for (size_t cut = 1; cut <= stream.size(); ++cut) {
    SseReader reader;
    std::vector<std::string> seen;
    for (size_t at = 0; at < stream.size(); at += cut) {
      reader.Push(stream.substr(at, cut), [&](std::string_view data) { seen.emplace_back(data); });
    }
    EXPECT_EQ(seen, expected) << "pieces of " << cut;
  }
}

TEST(AddChunkTest, TextsThoughtsCallsAndUsageAddUp) {
  ChatReply reply;
  std::string shown;
  const auto on_text = [&](bool is_reasoning, std::string_view text) {
    shown += (is_reasoning ? "(" : "") + std::string(text) + (is_reasoning ? ")" : "");
  };
  for (
      const char* chunk :
      {R"({"choices":[{"delta":{"role":"assistant","content":null},"finish_reason":null}]})",
       R"({"choices":[{"delta":{"reasoning_content":"hm"}}]})",
       R"({"choices":[{"delta":{"content":"hi"}}]})",
       R"({"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{"}}]}}]})",
       R"({"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]},"finish_reason":"tool_calls"}]})",
       R"({"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":5}})", "[DONE]"}) {
    ASSERT_TRUE(AddChunk(chunk, &reply, on_text).ok()) << chunk;
  }
  EXPECT_EQ(shown, "(hm)hi");
  EXPECT_EQ(reply.finish_reason, "tool_calls");
  EXPECT_EQ(reply.num_output_tokens, 5);
  EXPECT_EQ(json::Write(reply.tool_calls),
            R"([{"type":"function","function":{"name":"f","arguments":"{}"},"id":"c"}])");
  const Status status = AddChunk(R"({"error":{"message":"gone"}})", &reply, on_text);
  EXPECT_EQ(status.message(), "gone");
  EXPECT_FALSE(AddChunk("{", &reply, on_text).ok());
}

}  // namespace
}  // namespace ft::app
