#include "core/config/yaml_file.h"

#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <utility>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "core/base/errors.h"

namespace ft {
namespace {

constexpr size_t kMaxFileBytes = size_t{1} << 20;

// Takes the parser's events and stops at the first thing that is not a flat mapping. Events rather
// than nodes: a bomb of aliases is refused at its first one, and a key that stands twice is seen.
class FlatReader : public YAML::EventHandler {
 public:
  explicit FlatReader(std::string name) : name_(std::move(name)) {}

  void OnDocumentStart(const YAML::Mark& /*mark*/) override {}

  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { Scalar(mark, anchor, ""); }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    Fail(mark, "aliases are not used here");
  }

  void OnScalar(const YAML::Mark& mark,
                const std::string& /*tag*/,
                YAML::anchor_t anchor,
                const std::string& value) override {
    Scalar(mark, anchor, value);
  }

  void OnSequenceStart(const YAML::Mark& mark,
                       const std::string& /*tag*/,
                       YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    if (depth_ != 1 || !has_key_ || anchor != 0) {
      Fail(mark, "a list belongs to a key, and holds plain values");
    }
    depth_ = 2;
    entries_.back().is_list = true;
  }

  void OnSequenceEnd() override {
    depth_ = 1;
    has_key_ = false;
  }

  void OnMapStart(const YAML::Mark& mark,
                  const std::string& /*tag*/,
                  YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    if (depth_ != 0 || anchor != 0) {
      Fail(mark, "settings are not nested: write one 'key: value' a line");
    }
    depth_ = 1;
  }

  void OnMapEnd() override { depth_ = 0; }

  std::vector<YamlEntry> Take() { return std::move(entries_); }

 private:
  [[noreturn]] void Fail(const YAML::Mark& mark, const std::string& what) const {
    throw YAML::ParserException(mark, what);  // caught in ParseYaml
  }

  void Scalar(const YAML::Mark& mark, YAML::anchor_t anchor, const std::string& value) {
    if (anchor != 0) {
      Fail(mark, "anchors are not used here");
    }
    if (depth_ == 0) {
      Fail(mark, "this is no mapping: write one 'key: value' a line");
    }
    if (depth_ == 2) {
      entries_.back().values.push_back(value);
      return;
    }
    if (has_key_) {
      entries_.back().values.push_back(value);
      has_key_ = false;
      return;
    }
    if (!keys_.insert(value).second) {
      Fail(mark, "the key '" + value + "' stands twice");
    }
    entries_.push_back({value, {}, false, mark.line + 1});
    has_key_ = true;
  }

  std::string name_;
  std::vector<YamlEntry> entries_;
  std::set<std::string> keys_;
  int depth_ = 0;         // 0 outside, 1 in the mapping, 2 in a list
  bool has_key_ = false;  // a key was read, its value comes next
};

}  // namespace

Result<std::vector<YamlEntry>> ParseYaml(const std::string& text, const std::string& name) {
  if (text.size() > kMaxFileBytes) {
    return DataLoss("{}: {} bytes are more than a config file may have ({})", name, text.size(),
                    kMaxFileBytes);
  }
  FlatReader reader(name);
  try {
    std::istringstream in(text);
    YAML::Parser parser(in);
    static_cast<void>(parser.HandleNextDocument(reader));
    if (parser) {
      return DataLoss("{}: more than one YAML document", name);
    }
  } catch (const YAML::Exception& error) {
    return DataLoss("{}:{}: {}", name, error.mark.line + 1, error.msg);
  }
  return reader.Take();
}

Result<std::vector<YamlEntry>> ReadYamlFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    return NotFound("the config file {} cannot be opened", path);
  }
  std::string text;
  text.resize(kMaxFileBytes + 1);
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad()) {
    return DataLoss("the config file {} cannot be read", path);
  }
  text.resize(static_cast<size_t>(in.gcount()));
  return ParseYaml(text, path);
}

}  // namespace ft
