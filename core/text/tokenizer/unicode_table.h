// The generated table of Unicode classes (unicode_table.cpp). Read through CodePointSet.
#pragma once

#include <cstddef>

namespace ft::text {

/// One class: `ranges` is "41-5A,AA,…", hexadecimal, ascending.
struct UnicodeTableEntry {
  const char* name;
  const char* ranges;
};

/// General categories (two letters), some scripts, "space", and what `\w` takes beyond letters,
/// marks, Nd, Nl and Pc in split patterns and beside single_word tokens.
extern const UnicodeTableEntry kUnicodeTable[];
extern const size_t kUnicodeTableSize;

}  // namespace ft::text
