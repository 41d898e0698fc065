#include "core/plugin_host/manifest.h"

#include <string>

#include <gtest/gtest.h>

#include "core/plugin_host/requirements.h"

namespace ft {
namespace {

const std::string kGood =
    R"({"schema":"ft.plugin/1","id":"org.example.x-y","version":"1.0.0","title":"T","license":"MIT",)"
    R"("abi":{"core":"0.1","need_core":"0.1"},)"
    R"("provides":[{"kind":"tool_parser","name":"x","version":"0.1"}]})";

std::string Replace(std::string text, const std::string& what, const std::string& with) {
  const size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return at == std::string::npos ? text : text.replace(at, what.size(), with);
}

// The class of the fault; empty when it is read.
std::string CodeOf(const std::string& text) {
  Manifest manifest;
  const auto fault = ReadManifest({text}, &manifest);
  return fault.has_value() ? fault->code : "";
}

std::string AbiCodeOf(const std::string& text) {
  Manifest manifest;
  EXPECT_FALSE(ReadManifest({text}, &manifest).has_value()) << text;
  const auto fault = CheckManifestAbi(manifest);
  return fault.has_value() ? fault->code : "";
}

std::vector<RequirementRecord> Evaluate(const std::string& entry, const std::string& cpuinfo = "") {
  Manifest manifest;
  const auto fault =
      ReadManifest({Replace(kGood, "}]}", "}],\"requires\":[" + entry + "]}")}, &manifest);
  EXPECT_FALSE(fault.has_value()) << (fault.has_value() ? fault->message : "");
  RequirementSources sources;
  if (!cpuinfo.empty()) {
    sources.cpuinfo = cpuinfo;
  }
  return EvaluateRequirements(manifest, sources);
}

TEST(ManifestTest, ReadsWhatAPluginSaysOfItself) {
  Manifest manifest;
  ASSERT_FALSE(ReadManifest({kGood}, &manifest).has_value());
  EXPECT_EQ(manifest.id, "org.example.x-y");
  EXPECT_EQ(manifest.name, "x-y");
  ASSERT_EQ(manifest.provides.size(), 1U);
  EXPECT_EQ(manifest.provides[0].kind, "tool_parser");
  EXPECT_FALSE(CheckManifestAbi(manifest).has_value());
}

TEST(ManifestTest, WantsExactlyOneOfBoundedLength) {
  Manifest manifest;
  EXPECT_EQ(ReadManifest({}, &manifest)->code, "manifest.absent");
  EXPECT_EQ(ReadManifest({kGood, kGood}, &manifest)->code, "manifest.multiple");
  EXPECT_EQ(CodeOf(kGood + std::string(kMaxManifestBytes, ' ')), "manifest.too_big");
}

TEST(ManifestTest, IsStrict) {
  const std::string invalid = "manifest.invalid";
  EXPECT_EQ(CodeOf("[]"), invalid);
  EXPECT_EQ(CodeOf("{"), invalid);
  EXPECT_EQ(CodeOf(Replace(kGood, "\"title\"", "\"titel\"")), invalid);
  EXPECT_EQ(CodeOf(Replace(kGood, "\"title\":\"T\"", "\"title\":7")), invalid);
  EXPECT_EQ(CodeOf(Replace(kGood, "\"title\":\"T\",", "")), invalid);
  EXPECT_EQ(CodeOf(Replace(kGood, "\"title\":\"T\"", "\"title\":\"T\",\"title\":\"T\"")), invalid);
  EXPECT_EQ(CodeOf(Replace(kGood, "\"T\"", "\"a\\u001b[31m\"")), invalid);
  EXPECT_EQ(CodeOf(Replace(kGood, "\"T\"", "\"\xff\"")), invalid);
  EXPECT_EQ(CodeOf(Replace(kGood, "org.example.x-y", "Org.Example")), invalid);
  EXPECT_EQ(CodeOf(Replace(kGood, "org.example.x-y", "org.")), invalid);
  EXPECT_EQ(CodeOf(Replace(kGood, "\"name\":\"x\"", "\"name\":\"x/y\"")), invalid);
  EXPECT_EQ(CodeOf(Replace(kGood, "\"core\":\"0.1\"", "\"core\":\"0.1.2\"")), invalid);
  EXPECT_EQ(CodeOf(Replace(kGood, "\"core\":\"0.1\",", "")), invalid);
  EXPECT_EQ(CodeOf(Replace(kGood, "[{\"kind\"", "[7,{\"kind\"")), invalid);
  EXPECT_EQ(CodeOf(Replace(kGood, "}]}", "}],\"requires\":[{\"id\":\"a\"}]}")), invalid);
  EXPECT_EQ(CodeOf(Replace(kGood, "}]}",
                           "}],\"gpu\":" + std::string(20, '[') + std::string(20, ']') + "}")),
            invalid);
}

TEST(ManifestTest, ANewerSchemaIsSaidToNeedANewerFt) {
  EXPECT_EQ(CodeOf(Replace(kGood, "ft.plugin/1", "ft.plugin/2")), "manifest.schema");
  EXPECT_EQ(CodeOf(Replace(kGood, "ft.plugin/1", "other")), "manifest.invalid");
}

TEST(ManifestTest, VersionsAreNegotiated) {
  EXPECT_EQ(AbiCodeOf(Replace(kGood, "\"core\":\"0.1\"", "\"core\":\"1.0\"")), "abi.major");
  EXPECT_EQ(AbiCodeOf(Replace(kGood, "\"need_core\":\"0.1\"", "\"need_core\":\"0.99\"")),
            "abi.minor");
  EXPECT_EQ(AbiCodeOf(Replace(kGood, "\"core\":\"0.1\"", "\"core\":\"0.0\"")), "abi.minor");
  EXPECT_EQ(AbiCodeOf(Replace(kGood, "\"core\":\"0.1\"", "\"core\":\"0.7\"")), "");
  EXPECT_EQ(AbiCodeOf(Replace(kGood, "tool_parser", "teapot")), "abi.kind");
  EXPECT_EQ(AbiCodeOf(Replace(kGood, "\"version\":\"0.1\"", "\"version\":\"0.2\"")),
            "abi.component");
}

TEST(RequirementsTest, CpuFlagsAreTriedInOrder) {
  const std::string entry =
      R"({"id":"isa","kind":"cpu_isa","any_of":[["no_flag"],["first","second"]]})";
  const std::string path = ::testing::TempDir() + "/ft_cpuinfo_test";
  std::FILE* file = std::fopen(path.c_str(), "w");
  ASSERT_NE(file, nullptr);
  std::fputs("processor\t: 0\nflags\t\t: zero first second\n", file);
  std::fclose(file);
  const auto found = Evaluate(entry, path);
  EXPECT_EQ(found[0].verdict, Verdict::kOk);
  EXPECT_EQ(found[0].evidence.size(), 2U);
  const auto absent = Evaluate(entry, "/nonexistent");
  EXPECT_EQ(absent[0].verdict, Verdict::kUnchecked);
  const auto lacking = Evaluate(R"({"id":"isa","kind":"cpu_isa","any_of":[["third"]]})", path);
  EXPECT_EQ(lacking[0].verdict, Verdict::kMissing);
  EXPECT_NE(lacking[0].evidence[0].detail.find("third"), std::string::npos);
  std::remove(path.c_str());
}

TEST(RequirementsTest, WhatIsNotUnderstoodIsUncheckedAndNeverOk) {
  for (const char* entry :
       {R"({"id":"a","kind":"moon_phase"})", R"({"id":"a","kind":"cpu_isa"})",
        R"({"id":"a","kind":"cpu_isa","any_of":[]})",
        R"({"id":"a","kind":"cpu_isa","any_of":[[]]})",
        R"({"id":"a","kind":"cpu_isa","level":"x86-64-v9"})", R"({"id":"a","kind":"os"})",
        R"({"id":"a","kind":"os","kernel":">=1.0","when":"x"})",
        R"({"id":"a","kind":"abi","core":"new"})"}) {
    EXPECT_EQ(Evaluate(entry)[0].verdict, Verdict::kUnchecked) << entry;
  }
}

TEST(RequirementsTest, SystemVersionsAreComparedAsNumbers) {
  EXPECT_EQ(Evaluate(R"({"id":"a","kind":"os","kernel":">=2.6","glibc":"2.9"})")[0].verdict,
            Verdict::kOk);
  EXPECT_EQ(Evaluate(R"({"id":"a","kind":"os","kernel":"999.0"})")[0].verdict, Verdict::kMismatch);
  EXPECT_EQ(Evaluate(R"({"id":"a","kind":"os","arch":"vax"})")[0].verdict, Verdict::kMismatch);
  EXPECT_EQ(Evaluate(R"({"id":"a","kind":"abi","core":">=0.1"})")[0].verdict, Verdict::kOk);
  EXPECT_EQ(Evaluate(R"({"id":"a","kind":"abi","core":"0.9"})")[0].verdict, Verdict::kMismatch);
}

}  // namespace
}  // namespace ft
