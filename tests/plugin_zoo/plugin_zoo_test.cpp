// Every animal of the zoo gets its own verdict, and the process that asks survives all of them.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <sys/stat.h>

#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/json/parse.h"
#include "core/plugin_host/plugin_commands.h"
#include "core/plugin_host/plugin_host.h"
#include "core/plugin_host/sanitizers.h"
#include "core/text/parsers.h"

namespace ft {
namespace {

namespace fs = std::filesystem;

std::string Zoo(const std::string& name) {
  return std::string(FT_ZOO_DIR) + "/" + name + ".so";
}

std::string ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream content;
  content << in.rdbuf();
  return content.str();
}

PluginHostOptions OptionsFor(const std::string& plugin) {
  PluginHostOptions options;
  options.plugins = {plugin};
  options.built_in_dir = "/nonexistent";
  options.probe_timeout_ms = 1000;
  return options;
}

struct Judged {
  int exit_code = 0;
  std::string code;    // class of the failed step; empty when ready
  std::string detail;  // its words
  json::Value plugin;
};

// `ft plugins check FILE --json`
Judged Check(const std::string& path) {
  const CommandOutput output = PluginsCheck({OptionsFor(path), true}, path);
  Judged judged;
  judged.exit_code = output.exit_code;
  const Result<json::Value> document = json::Parse(output.text);
  EXPECT_TRUE(document.ok()) << output.text;
  EXPECT_EQ(document.value().Find("exit_code")->ToInt64(), output.exit_code);
  if (document.value().Find("plugins")->as_array().empty()) {
    return judged;
  }
  judged.plugin = document.value().Find("plugins")->as_array()[0];
  const json::Value* code = judged.plugin.Find("class");
  judged.code = code->is_null() ? "" : code->as_string();
  const json::Value* reason = judged.plugin.Find("reason");
  judged.detail = reason->is_null() ? "" : reason->as_string();
  return judged;
}

class PluginZooTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(FT_ZOO_DIR).parent_path() /
              ("made." + std::to_string(getpid()) + "." +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
  }

  void TearDown() override { fs::remove_all(folder_); }

  std::string Make(const std::string& name, const std::string& content) {
    const std::string path = (folder_ / name).string();
    std::ofstream(path, std::ios::binary) << content;
    chmod(path.c_str(), 0644);
    return path;
  }

  // The good plugin with some of its bytes changed.
  template <typename Change>
  Judged Mutate(Change change) {
    std::string bytes = ReadAll(Zoo("good"));
    change(bytes);
    return Check(Make("mutant.so", bytes));
  }

  fs::path folder_;
};

template <typename T>
T Peek(const std::string& bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

template <typename T>
void Poke(std::string& bytes, size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof(T));
}

// Offset of the first program header of this type.
size_t FindSegment(const std::string& bytes, uint32_t type) {
  const auto header = Peek<Elf64_Ehdr>(bytes, 0);
  for (size_t i = 0; i < header.e_phnum; ++i) {
    const size_t at = header.e_phoff + i * sizeof(Elf64_Phdr);
    if (Peek<uint32_t>(bytes, at) == type) {
      return at;
    }
  }
  ADD_FAILURE() << "no such segment";
  return 0;
}

TEST_F(PluginZooTest, AGoodPluginIsReady) {
  const Judged judged = Check(Zoo("good"));
  EXPECT_EQ(judged.exit_code, 0) << judged.detail;
  EXPECT_EQ(judged.plugin.Find("state")->as_string(), "ready");
  EXPECT_EQ(judged.plugin.Find("id")->as_string(), "org.example.zoo");
  EXPECT_EQ(judged.plugin.Find("name")->as_string(), "zoo");
}

TEST_F(PluginZooTest, WhatIsNoElfFileIsSaidToBeNone) {
  EXPECT_EQ(Check(Make("empty.so", "")).code, "file.not_elf");
  EXPECT_EQ(Check(Make("text.so", "#!/bin/sh\necho hello\n")).code, "file.not_elf");
  EXPECT_EQ(Check(Make("script.so", "INPUT(libm.so)")).exit_code, 1);
}

TEST_F(PluginZooTest, AFileCutAnywhereIsMalformedAndNeverLoaded) {
  const std::string bytes = ReadAll(Zoo("good"));
  for (size_t i = 1; i <= 64; ++i) {
    const size_t cut = bytes.size() * i / 65;
    const Judged judged = Check(Make("cut.so", bytes.substr(0, cut)));
    EXPECT_EQ(judged.code, cut < 4 ? "file.not_elf" : "file.malformed") << cut;
    EXPECT_EQ(judged.exit_code, 1) << cut;
  }
}

TEST_F(PluginZooTest, ForeignElfFilesAreNamed) {
  EXPECT_EQ(Mutate([](std::string& b) { b[EI_CLASS] = ELFCLASS32; }).code, "file.class");
  EXPECT_EQ(Mutate([](std::string& b) { b[EI_DATA] = ELFDATA2MSB; }).code, "file.endian");
  EXPECT_EQ(Mutate([](std::string& b) {
              Poke<uint16_t>(b, offsetof(Elf64_Ehdr, e_machine), EM_AARCH64);
            }).code,
            "file.machine");
  EXPECT_EQ(
      Mutate([](std::string& b) { Poke<uint16_t>(b, offsetof(Elf64_Ehdr, e_type), ET_EXEC); }).code,
      "file.type");
  EXPECT_EQ(Check("/proc/self/exe").code, "file.type");
}

TEST_F(PluginZooTest, TablesOutsideTheFileAreMalformed) {
  EXPECT_EQ(Mutate([](std::string& b) {
              Poke<uint64_t>(b, offsetof(Elf64_Ehdr, e_shoff), b.size() * 2);
            }).code,
            "file.malformed");
  EXPECT_EQ(Mutate([](std::string& b) {
              Poke<uint64_t>(b, offsetof(Elf64_Ehdr, e_phoff), ~uint64_t{0} - 8);
            }).code,
            "file.malformed");
  EXPECT_EQ(
      Mutate([](std::string& b) { Poke<uint16_t>(b, offsetof(Elf64_Ehdr, e_phnum), 0); }).code,
      "file.malformed");
  EXPECT_EQ(Mutate([](std::string& b) {
              Poke<uint64_t>(b, FindSegment(b, PT_LOAD) + offsetof(Elf64_Phdr, p_offset),
                             ~uint64_t{0} - 4095);
            }).code,
            "file.malformed");
}

TEST_F(PluginZooTest, WritableCodeAndExecutableStacksAreRefused) {
  EXPECT_EQ(Mutate([](std::string& b) {
              Poke<uint32_t>(b, FindSegment(b, PT_LOAD) + offsetof(Elf64_Phdr, p_flags),
                             PF_R | PF_W | PF_X);
            }).code,
            "file.wx");
  EXPECT_EQ(Check(Zoo("exec_stack")).code, "file.execstack");
  EXPECT_EQ(
      Mutate([](std::string& b) { Poke<uint32_t>(b, FindSegment(b, PT_GNU_STACK), PT_NULL); }).code,
      "file.execstack")
      << "the loader takes no word about the stack for an executable one";
}

TEST_F(PluginZooTest, RandomlyChangedFilesNeverEndTheProcess) {
  const std::string good = ReadAll(Zoo("good"));
  uint64_t seed = 12345;
  for (int i = 0; i < 40; ++i) {
    std::string bytes = good;
    for (int flips = 0; flips < 4; ++flips) {
      seed = seed * 6364136223846793005U + 1442695040888963407U;
      bytes[(seed >> 20) % bytes.size()] ^= static_cast<char>(1U << ((seed >> 60) & 7));
    }
    Check(Make("mutant.so", bytes));  // any verdict will do
  }
}

TEST_F(PluginZooTest, WhatIsNoRegularFileIsRefusedWithoutWaiting) {
  const std::string fifo = (folder_ / "fifo.so").string();
  ASSERT_EQ(mkfifo(fifo.c_str(), 0644), 0);
  EXPECT_EQ(Check(fifo).code, "file.not_regular");
  fs::create_directory(folder_ / "folder.so");
  EXPECT_EQ(Check((folder_ / "folder.so").string()).code, "file.not_regular");
  EXPECT_EQ(Check((folder_ / "absent.so").string()).exit_code, 3);
}

TEST_F(PluginZooTest, FilesThatOthersCanWriteAreNotTrusted) {
  const std::string bytes = ReadAll(Zoo("good"));
  const std::string path = Make("open.so", bytes);
  chmod(path.c_str(), 0666);
  EXPECT_EQ(Check(path).code, "trust.writable");
  EXPECT_EQ(Check(path).exit_code, 4);
  chmod(path.c_str(), 0644);
  EXPECT_EQ(Check(path).exit_code, 0);
  chmod(folder_.c_str(), 01777);
  EXPECT_EQ(Check(path).code, "trust.dir_writable");
  chmod(folder_.c_str(), 0775);
  EXPECT_EQ(Check(path).exit_code, 4);
  chmod(folder_.c_str(), 0755);
  fs::create_symlink("loop.so", folder_ / "loop.so");
  EXPECT_EQ(Check((folder_ / "loop.so").string()).code, "trust.symlink");
}

TEST_F(PluginZooTest, AFileOfAnotherUserIsNotTrusted) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "needs root to give a file away";
  }
  const std::string path = Make("other.so", ReadAll(Zoo("good")));
  ASSERT_EQ(chown(path.c_str(), 12345, 12345), 0);
  EXPECT_EQ(Check(path).code, "trust.owner");
  EXPECT_EQ(Check(path).exit_code, 4);
}

TEST_F(PluginZooTest, ManifestsAreReadBeforeAnythingRuns) {
  EXPECT_EQ(Check(Zoo("no_note")).code, "manifest.absent");
  EXPECT_EQ(Check(Zoo("two_notes")).code, "manifest.multiple");
  EXPECT_EQ(Check(Zoo("bad_json")).code, "manifest.invalid");
}

TEST_F(PluginZooTest, CrashesHangsAndExitsAreVerdicts) {
  struct Case {
    const char* name;
    const char* code;
  };

  for (const Case& c :
       {Case{"crash_in_constructor", "probe.crashed"}, Case{"hang_in_constructor", "probe.hung"},
        Case{"exit_in_constructor", "probe.ended"}, Case{"forge_in_constructor", "probe.ended"},
        Case{"closes_protocol", "probe.ended"}, Case{"leaves_child", "probe.ended"},
        Case{"crash_in_entry", "probe.crashed"}, Case{"crash_in_start", "probe.crashed"},
        Case{"throws", "load.exception"}, Case{"chdir_in_constructor", "load.side_effect"},
        Case{"handler_in_constructor", "load.side_effect"}}) {
    if (kIsSanitized && std::string_view(c.name) == "throws") {
      continue;
    }
    const Judged judged = Check(Zoo(c.name));
    EXPECT_EQ(judged.code, c.code) << c.name << ": " << judged.detail;
    EXPECT_EQ(judged.exit_code, 5) << c.name;
  }
}

TEST_F(PluginZooTest, TheStageOfACrashIsNamed) {
  EXPECT_NE(Check(Zoo("crash_in_constructor")).detail.find("static constructor"),
            std::string::npos);
  EXPECT_NE(Check(Zoo("crash_in_entry")).detail.find("entry function"), std::string::npos);
  EXPECT_NE(Check(Zoo("crash_in_start")).detail.find("start function"), std::string::npos);
}

TEST_F(PluginZooTest, HarmlessHabitsAreForgiven) {
  EXPECT_EQ(Check(Zoo("chatty_constructor")).exit_code, 0);
  const Judged denormals = Check(Zoo("denormals_in_constructor"));
  EXPECT_EQ(denormals.exit_code, 0) << denormals.detail;
}

TEST_F(PluginZooTest, TablesAreComparedWithTheManifest) {
  struct Case {
    const char* name;
    const char* code;
  };

  for (const Case& c :
       {Case{"wrong_tag", "abi.table"}, Case{"short_table", "abi.table"},
        Case{"zero_table", "abi.table"}, Case{"wrong_major", "abi.major"},
        Case{"needs_newer", "abi.minor"}, Case{"other_version", "manifest.disagrees"},
        Case{"null_function", "abi.table"}, Case{"no_entry", "abi.entry"},
        Case{"refuses", "load.refused"}, Case{"undefined_symbol", "load.failed"}}) {
    const Judged judged = Check(Zoo(c.name));
    EXPECT_EQ(judged.code, c.code) << c.name << ": " << judged.detail;
    EXPECT_EQ(judged.exit_code, 1) << c.name;
    EXPECT_EQ(judged.detail.find('\033'), std::string::npos) << c.name;
  }
  EXPECT_EQ(Check(Zoo("long_table")).exit_code, 0) << "a later minor's table is longer";
}

TEST_F(PluginZooTest, MoreThanTheEntryIsNotExported) {
  if (kIsSanitized) {
    GTEST_SKIP() << "builds with a sanitizer export its runtime";
  }
  const Judged judged = Check(Zoo("two_exports"));
  EXPECT_EQ(judged.code, "file.exports");
  EXPECT_NE(judged.detail.find("zoo_second_export"), std::string::npos);
}

TEST_F(PluginZooTest, RequirementsBlockWithEvidence) {
  const Judged isa = Check(Zoo("needs_isa"));
  EXPECT_EQ(isa.exit_code, 1);
  const json::Value& requirement = isa.plugin.Find("requirements")->as_array().at(0);
  EXPECT_EQ(requirement.Find("verdict")->as_string(), "missing");
  EXPECT_FALSE(requirement.Find("evidence")->as_array().empty());
  const Judged unknown = Check(Zoo("needs_unknown"));
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_EQ(unknown.plugin.Find("requirements")->as_array().at(0).Find("verdict")->as_string(),
            "unchecked");
}

TEST_F(PluginZooTest, FoldersAreSearchedInOrderAndTheWorkingFolderNever) {
  const std::string bytes = ReadAll(Zoo("good"));
  Make("b.so", bytes);
  Make("notes.txt", "no plugin");
  Make("plain.so", ReadAll(Zoo("no_note")));
  fs::create_directory(folder_ / "built_in");
  std::ofstream((folder_ / "built_in/a.so").string(), std::ios::binary) << bytes;
  PluginHostOptions options;
  options.search_path = {folder_.string(), "relative"};
  options.built_in_dir = (folder_ / "built_in").string();
  PluginHost host(options);
  ASSERT_TRUE(host.Discover().ok());
  ASSERT_EQ(host.records().size(), 2U);
  EXPECT_EQ(host.records()[0].state, PluginState::kReady);
  EXPECT_EQ(host.records()[1].state, PluginState::kShadowed);
  ASSERT_EQ(host.dirs().size(), 3U);
  EXPECT_EQ(host.dirs()[0].num_plugins, 1);
  EXPECT_FALSE(host.dirs()[1].note.empty());
  EXPECT_EQ(host.Find("zoo"), &host.records()[0]);
}

TEST_F(PluginZooTest, TwoFilesOfOneIdInOneFolderAreBothRefused) {
  const std::string bytes = ReadAll(Zoo("good"));
  Make("a.so", bytes);
  Make("b.so", bytes);
  PluginHostOptions options;
  options.built_in_dir = folder_.string();
  PluginHost host(options);
  ASSERT_TRUE(host.Discover().ok());
  for (const PluginRecord& record : host.records()) {
    EXPECT_EQ(record.state, PluginState::kRefused);
    EXPECT_EQ(record.failed_step()->code, "file.duplicate");
  }
}

TEST_F(PluginZooTest, AnUnknownNameListsWhatThereIs) {
  Make("a.so", ReadAll(Zoo("good")));
  PluginHostOptions options;
  options.built_in_dir = folder_.string();
  options.plugins = {"moe-nothing"};
  PluginHost host(options);
  const Status status = host.Discover();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_NE(status.message().find("zoo"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find(folder_.string()), std::string::npos) << status.message();
}

TEST_F(PluginZooTest, OneBadFileDoesNotSpoilTheOthersOfItsFolder) {
  Make("a.so", ReadAll(Zoo("throws")));
  Make("b.so", ReadAll(Zoo("crash_in_constructor")));
  PluginHostOptions options;
  options.built_in_dir = folder_.string();
  options.probe_timeout_ms = 1000;
  text::ParserRegistry parsers;
  PluginRegistries registries;
  registries.parsers = &parsers;
  PluginHost host(options);
  const Status status = host.LoadAll(registries);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(host.records()[1].failed_step()->code, "probe.crashed");
}

TEST_F(PluginZooTest, ALoadedPluginIsRegisteredAndFloatingPointStaysAsItWas) {
  const std::string path = Zoo("denormals_in_constructor");
  text::ParserRegistry parsers;
  PluginRegistries registries;
  registries.parsers = &parsers;
  PluginHost host(OptionsFor(path));
  const Status status = host.LoadAll(registries);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(host.records()[0].state, PluginState::kLoaded);
  EXPECT_NE(parsers.Find(text::ParserKind::kToolCalls, "zoo"), nullptr);
  volatile float small = 1e-40F;
  EXPECT_NE(small * 1.0F, 0.0F);
}

TEST_F(PluginZooTest, ANamedPluginThatIsNotReadyStopsTheStart) {
  PluginHost host(OptionsFor(Zoo("exit_in_constructor")));
  const Status status = host.LoadAll({});
  EXPECT_EQ(status.code(), StatusCode::kPluginFault);
  PluginHost blocked(OptionsFor(Zoo("needs_isa")));
  EXPECT_EQ(blocked.LoadAll({}).code(), StatusCode::kFailedPrecondition);
}

TEST_F(PluginZooTest, CommandsKnowTheirWords) {
  PluginHostOptions options;
  options.built_in_dir = folder_.string();
  Make("a.so", ReadAll(Zoo("good")));
  EXPECT_EQ(PluginsCommand(options, {"list"}).exit_code, 0);
  EXPECT_EQ(PluginsCommand(options, {"dirs", "--json"}).exit_code, 0);
  EXPECT_EQ(PluginsCommand(options, {"info", "zoo"}).exit_code, 0);
  EXPECT_EQ(PluginsCommand(options, {"info", "nobody"}).exit_code, 3);
  EXPECT_EQ(PluginsCommand(options, {"check"}).exit_code, 0);
  EXPECT_EQ(PluginsCommand(options, {"enable", "x"}).exit_code, 2);
  EXPECT_EQ(PluginsCommand(options, {"dance"}).exit_code, 2);
  EXPECT_EQ(PluginsCommand(options, {}).exit_code, 2);
}

}  // namespace
}  // namespace ft

// The probe runs this very program again.
int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], ft::kPluginProbeCommand) == 0) {
    return ft::RunPluginProbe(argc, argv);
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
