// Python's textwrap.wrap, as far as the wordwrap filter asks it: tabs and white space stay.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ft::jinja {

struct WrapOptions {
  int64_t width = 79;  ///< characters; at least 1
  bool breaks_long_words = true;
  bool breaks_on_hyphens = true;
};

/// The lines that `text`, one line, becomes; none of an empty line.
std::vector<std::string> WrapLine(std::string_view text, const WrapOptions& options);

}  // namespace ft::jinja
