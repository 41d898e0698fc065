// Keys, hosts and origins.
#include "core/server/http/access.h"

#include <gtest/gtest.h>

#include "core/server/api/routes.h"
#include "core/server/http/exchange.h"

namespace ft::server {
namespace {

TEST(AccessTest, KnowsLoopbackNamesInEverySpelling) {
  for (const char* host :
       {"localhost", "LOCALHOST:80", "127.0.0.1", "127.1.2.3:9", "[::1]", "[::1]:8000", "::1"}) {
    EXPECT_TRUE(IsLoopbackHost(host)) << host;
  }
  for (const char* host : {"", "localhost.evil.example", "127.0.0.1.evil.example", "128.0.0.1",
                           "[::2]:80", "0.0.0.0", "127.0.0.1@evil"}) {
    EXPECT_FALSE(IsLoopbackHost(host)) << host;
  }
}

TEST(AccessTest, ComparesKeysWhole) {
  EXPECT_TRUE(EqualInConstantTime("abc", "abc"));
  EXPECT_FALSE(EqualInConstantTime("abc", "abd"));
  EXPECT_FALSE(EqualInConstantTime("abc", "ab"));
  EXPECT_FALSE(EqualInConstantTime("", "a"));
}

TEST(AccessTest, BeyondLoopbackAnyHostGoes) {
  ServerOptions options;
  options.host = "0.0.0.0";
  options.api_key = "k";
  EXPECT_FALSE(CheckAccess(options, {.host = "example.org", .x_api_key = "k"}, true).has_value());
  EXPECT_EQ(CheckAccess(options, {.host = "example.org"}, true)->http_status, 401);
  EXPECT_FALSE(CheckAccess(options, {.host = "example.org"}, false).has_value());
}

TEST(RoutesTest, DecodesEscapesOrSaysTheyAreBroken) {
  EXPECT_EQ(PercentDecode("/a%2Fb%20c"), "/a/b c");
  EXPECT_FALSE(PercentDecode("%").has_value());
  EXPECT_FALSE(PercentDecode("%4").has_value());
  EXPECT_FALSE(PercentDecode("%4g").has_value());
  EXPECT_EQ(FindRoute("GET", "/v1/models/org/name")->argument, "org/name");
}

TEST(ExchangeTest, TakesNoRequestIdThatCouldBreakAHeader) {
  EXPECT_EQ(RequestIdOf("a-1.B_:"), "a-1.B_:");
  EXPECT_NE(RequestIdOf("a\r\nx: y"), "a\r\nx: y");
  EXPECT_NE(RequestIdOf(std::string(129, 'a')), std::string(129, 'a'));
}

}  // namespace
}  // namespace ft::server
