// What Python's str methods do, on UTF-8 text: shared by methods and filters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"

namespace ft::jinja {

class Interp;

enum class StripSides : uint8_t {
  kLeft,
  kRight,
  kBoth
};

std::string_view StripSpace(std::string_view text, StripSides sides);
std::string_view StripChars(std::string_view text, std::u32string_view chars, StripSides sides);

/// str.split / rsplit; `max_splits` negative: all. Views into `text`.
std::vector<std::string_view> SplitSpace(std::string_view text,
                                         int64_t max_splits,
                                         bool from_right);
std::vector<std::string_view> SplitText(std::string_view text,
                                        std::string_view separator,
                                        int64_t max_splits,
                                        bool from_right);
/// str.splitlines: "\n", "\r\n", "\r", and Unicode's other line ends.
std::vector<std::string_view> SplitLines(std::string_view text, bool keeps_ends);

/// str.replace; `count` negative: all. Errors: the result is too long.
Result<std::string> ReplaceText(Interp& interp,
                                std::string_view text,
                                std::string_view old_text,
                                std::string_view new_text,
                                int64_t count);
Result<std::string> ExpandTabs(Interp& interp, std::string_view text, int64_t tab_size);

bool IsLowerText(std::string_view text);
bool IsUpperText(std::string_view text);
bool IsTitleText(std::string_view text);

}  // namespace ft::jinja
