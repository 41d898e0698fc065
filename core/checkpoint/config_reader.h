// ConfigReader: typed access to one JSON object of a checkpoint's config that remembers which keys
// were read, so that a model family can refuse a key that it does not understand.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/json/value.h"

namespace ft {

/// Keys that never change what a served model computes (training, bookkeeping, output options,
/// token ids read elsewhere). Keys that begin with '_' count as such, too.
bool IsHarmlessConfigKey(std::string_view key);

/// Borrows the object, which must outlive it. Every getter marks its key as read. null counts as
/// absent. Errors of all getters: kInvalidArgument with file, key, what was wanted and what is
/// there: "config.json: \"hidden_size\": want an integer, got string \"4096\"".
class ConfigReader {
 public:
  /// `where` begins every message: "config.json", "config.json text_config". A `config` that is no
  /// object reads as an empty one.
  ConfigReader(const json::Value& config, std::string where);

  /// True when the key is there and not null. Does not mark it as read.
  bool Has(std::string_view key) const;

  Result<int64_t> Int(std::string_view key);
  /// 1 … 2^31−1: sizes and counts.
  Result<int64_t> Dim(std::string_view key);
  Result<double> Float(std::string_view key);  ///< finite
  Result<bool> Bool(std::string_view key);
  Result<std::string> String(std::string_view key);
  Result<std::vector<int64_t>> IntList(std::string_view key);
  Result<std::vector<double>> FloatList(std::string_view key);
  Result<std::vector<std::string>> StringList(std::string_view key);

  // The same with a value for "absent or null". A value of the wrong kind is still an error.
  Result<int64_t> IntOr(std::string_view key, int64_t otherwise);
  Result<int64_t> DimOr(std::string_view key, int64_t otherwise);
  Result<double> FloatOr(std::string_view key, double otherwise);
  Result<bool> BoolOr(std::string_view key, bool otherwise);
  Result<std::string> StringOr(std::string_view key, std::string_view otherwise);
  Result<std::vector<int64_t>> IntListOrEmpty(std::string_view key);
  Result<std::vector<std::string>> StringListOrEmpty(std::string_view key);

  /// The raw value (also null), or nullptr when the key is absent.
  const json::Value* Raw(std::string_view key);

  /// Fails (kUnimplemented) unless the key is absent, null or equal to `only`: "ft serves only …".
  Status ExpectBool(std::string_view key, bool only);
  Status ExpectInt(std::string_view key, int64_t only);
  Status ExpectString(std::string_view key, std::string_view only);

  /// Marks keys as understood and without effect in this family.
  void Ignore(std::initializer_list<std::string_view> keys);

  /// Keys that are there, not null, were never read and are not harmless; in file order.
  std::vector<std::string> UnknownKeys() const;

  /// Keys that were skipped as harmless; in file order. For `ft inspect`.
  std::vector<std::string> HarmlessKeys() const;

  /// Errors: kUnimplemented that lists UnknownKeys() with their values, when there are any.
  Status RefuseUnknownKeys() const;

  const std::string& where() const { return where_; }

 private:
  /// The value, marked as read; null when absent or null.
  const json::Value* Take(std::string_view key);
  Status Missing(std::string_view key, std::string_view want) const;
  Status Wrong(std::string_view key, std::string_view want, const json::Value& got) const;

  const json::Value* config_;
  std::string where_;
  std::set<std::string, std::less<>> read_;
};

/// "string \"4096\"", "number 3.5", "array of 3", cut at about 60 characters: for messages.
std::string DescribeJson(const json::Value& value);

}  // namespace ft
