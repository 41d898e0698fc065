#include "core/checkpoint/hub_cache.h"

#include <filesystem>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/checkpoint/test_files.h"

namespace ft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

EnvironmentReader Variables(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const char* name) {
    const auto found = values.find(name);
    return found == values.end() ? std::string() : found->second;
  };
}

TEST(HubCacheTest, LooksInTheUsualPlacesInOrder) {
  EXPECT_THAT(HubCacheFolders(Variables({{"HF_HUB_CACHE", "/a"},
                                         {"HUGGINGFACE_HUB_CACHE", "/b"},
                                         {"HF_HOME", "/c"},
                                         {"XDG_CACHE_HOME", "/d"},
                                         {"HOME", "/e"}})),
              ElementsAre("/a", "/b", "/c/hub", "/d/huggingface/hub", "/e/.cache/huggingface/hub"));
  EXPECT_THAT(HubCacheFolders(Variables({{"HOME", "/e"}, {"XDG_CACHE_HOME", "/e/.cache"}})),
              ElementsAre("/e/.cache/huggingface/hub"));
}

TEST(HubCacheTest, ResolvesAnIdByItsRefOrCommit) {
  const test::TempFolder cache;
  cache.Write("models--org--name/refs/main", "abc123\n");
  cache.Write("models--org--name/snapshots/abc123/config.json", "{}");
  cache.Write("models--org--name/snapshots/def456/config.json", "{}");
  const EnvironmentReader environment = Variables(
      {{"HF_HUB_CACHE", cache.path() + "/none"}, {"HUGGINGFACE_HUB_CACHE", cache.path()}});
  const std::string snapshots = cache.path() + "/models--org--name/snapshots/";
  EXPECT_EQ(ResolveModelPath("org/name", environment).value(), snapshots + "abc123");
  EXPECT_EQ(ResolveModelPath("org/name@def456", environment).value(), snapshots + "def456");
  EXPECT_FALSE(ResolveModelPath("org/name@gone", environment).ok());
}

TEST(HubCacheTest, ListsThePlacesLookedAtWhenAbsent) {
  const auto result = ResolveModelPath("org/name", Variables({{"HF_HOME", "/x"}, {"HOME", "/y"}}));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(result.status().message(), HasSubstr("/x/hub/models--org--name"));
  EXPECT_THAT(result.status().message(), HasSubstr("/y/.cache/huggingface/hub/models--org--name"));
}

TEST(HubCacheTest, AFolderWinsAndAnythingElseIsNoId) {
  const test::TempFolder folder;
  EXPECT_EQ(ResolveModelPath(folder.path()).value(), folder.path());
  const std::string file = folder.Write("x", "");
  EXPECT_EQ(ResolveModelPath(file).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ResolveModelPath("/no/such/folder").status().code(), StatusCode::kNotFound);
  EXPECT_TRUE(LooksLikeHubId("org/name"));
  EXPECT_TRUE(LooksLikeHubId("org/na.me_1@v1.0"));
  for (const char* text :
       {"name", "../name", "a/..", "a/b/c", "/a/b", "a/b@", "a/b@../c", "a b/c"}) {
    EXPECT_FALSE(LooksLikeHubId(text)) << text;
  }
}

}  // namespace
}  // namespace ft
