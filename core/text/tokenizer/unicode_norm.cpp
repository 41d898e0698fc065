// UnicodeNormalizer over ICU's C API (unorm2), filtered to the characters of Unicode 9.
#include "core/text/tokenizer/unicode_norm.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <unicode/unorm2.h>
#include <unicode/uset.h>
#include <unicode/ustring.h>

#include "core/base/errors.h"

namespace ft::text {
namespace {

struct CloseSet {
  void operator()(USet* set) const { uset_close(set); }
};

struct CloseNormalizer {
  void operator()(UNormalizer2* normalizer) const { unorm2_close(normalizer); }
};

// Code points below it are unchanged by a form, so that most texts need no ICU.
uint8_t FirstLeadThatMayChange(NormalizationForm form) {
  return form == NormalizationForm::kNfc ? 0xCC : 0x80;  // U+0300, U+0080
}

const UNormalizer2* Instance(NormalizationForm form, UErrorCode* error) {
  switch (form) {
    case NormalizationForm::kNfc:
      return unorm2_getNFCInstance(error);
    case NormalizationForm::kNfd:
      return unorm2_getNFDInstance(error);
    case NormalizationForm::kNfkc:
      return unorm2_getNFKCInstance(error);
    case NormalizationForm::kNfkd:
      return unorm2_getNFKDInstance(error);
  }
  FT_CHECK(false);
  return nullptr;
}

Status IcuError(const char* what, UErrorCode error) {
  return Internal("ICU: {}: {}", what, u_errorName(error));
}

}  // namespace

struct UnicodeNormalizer::Impl {
  uint8_t first_lead_that_may_change = 0x80;
  std::unique_ptr<USet, CloseSet> unicode9;  // outlives the normalizer
  std::unique_ptr<UNormalizer2, CloseNormalizer> normalizer;
};

UnicodeNormalizer::UnicodeNormalizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

UnicodeNormalizer::~UnicodeNormalizer() = default;
UnicodeNormalizer::UnicodeNormalizer(UnicodeNormalizer&&) noexcept = default;
UnicodeNormalizer& UnicodeNormalizer::operator=(UnicodeNormalizer&&) noexcept = default;

Result<UnicodeNormalizer> UnicodeNormalizer::Create(NormalizationForm form) {
  UErrorCode error = U_ZERO_ERROR;
  auto impl = std::make_unique<Impl>();
  impl->first_lead_that_may_change = FirstLeadThatMayChange(form);
  impl->unicode9.reset(uset_openPattern(u"[:age=9.0:]", -1, &error));
  if (U_FAILURE(error)) {
    return IcuError("the set of Unicode 9", error);
  }
  uset_freeze(impl->unicode9.get());
  const UNormalizer2* all = Instance(form, &error);
  impl->normalizer.reset(unorm2_openFiltered(all, impl->unicode9.get(), &error));
  if (U_FAILURE(error)) {
    return IcuError("the normalizer", error);
  }
  return UnicodeNormalizer(std::move(impl));
}

Result<std::string> UnicodeNormalizer::Normalize(std::string_view text) const {
  const uint8_t limit = impl_->first_lead_that_may_change;
  if (std::all_of(text.begin(), text.end(),
                  [limit](char c) { return static_cast<uint8_t>(c) < limit; })) {
    return std::string(text);
  }
  UErrorCode error = U_ZERO_ERROR;
  std::vector<UChar> utf16(text.size());
  int32_t length = 0;
  u_strFromUTF8(utf16.data(), static_cast<int32_t>(utf16.size()), &length, text.data(),
                static_cast<int32_t>(text.size()), &error);
  if (U_FAILURE(error)) {
    return IcuError("reading UTF-8", error);
  }
  const UNormalizer2* const normalizer = impl_->normalizer.get();
  if (unorm2_spanQuickCheckYes(normalizer, utf16.data(), length, &error) == length) {
    return std::string(text);
  }
  std::vector<UChar> normal(static_cast<size_t>(length) + 16);
  int32_t normal_length = unorm2_normalize(normalizer, utf16.data(), length, normal.data(),
                                           static_cast<int32_t>(normal.size()), &error);
  if (error == U_BUFFER_OVERFLOW_ERROR) {
    error = U_ZERO_ERROR;
    normal.resize(static_cast<size_t>(normal_length) + 1);
    normal_length = unorm2_normalize(normalizer, utf16.data(), length, normal.data(),
                                     static_cast<int32_t>(normal.size()), &error);
  }
  if (U_FAILURE(error)) {
    return IcuError("normalizing", error);
  }
  std::string out(static_cast<size_t>(normal_length) * 3, '\0');
  int32_t out_length = 0;
  u_strToUTF8(out.data(), static_cast<int32_t>(out.size()), &out_length, normal.data(),
              normal_length, &error);
  if (U_FAILURE(error) && error != U_STRING_NOT_TERMINATED_WARNING) {
    return IcuError("writing UTF-8", error);
  }
  out.resize(static_cast<size_t>(out_length));
  return out;
}

}  // namespace ft::text
