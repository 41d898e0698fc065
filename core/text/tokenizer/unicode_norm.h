// Unicode normalisation as the `tokenizers` library has it: the data of Unicode 9. The only owner
// of ICU in ft.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/base/status.h"

namespace ft::text {

enum class NormalizationForm {
  kNfc,
  kNfd,
  kNfkc,
  kNfkd
};

/// Immutable; Normalize may run on many threads.
class UnicodeNormalizer {
 public:
  /// Errors: kInternal: ICU has no data.
  static Result<UnicodeNormalizer> Create(NormalizationForm form);

  ~UnicodeNormalizer();
  UnicodeNormalizer(UnicodeNormalizer&&) noexcept;
  UnicodeNormalizer& operator=(UnicodeNormalizer&&) noexcept;

  /// Characters newer than Unicode 9 stay as they are: marks among them are not reordered, pairs
  /// not composed. Requires valid UTF-8 of less than 512 MiB. Errors: kInternal: ICU failed.
  Result<std::string> Normalize(std::string_view text) const;

 private:
  struct Impl;
  explicit UnicodeNormalizer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ft::text
