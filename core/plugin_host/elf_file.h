// Reads a shared object as bytes, without loading it: the static gate in front of dlopen, which
// would crash on a truncated file, and the facts that the manifest and `ft plugins info` need.
// Pure: no file is opened here, and every offset in the file is distrusted.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ft {

/// Why a file is not let in. `code` is its class: "file.not_elf", "file.malformed", "file.class",
/// "file.endian", "file.machine", "file.type", "file.wx", "file.execstack", "file.textrel",
/// "file.runpath", "file.exports".
struct FileFault {
  std::string code;
  std::string message;
};

/// What a good file says about itself. Views point into the bytes.
struct ElfFacts {
  std::vector<std::string> exports;         ///< dynamic symbols others can bind to, sorted
  std::vector<std::string> needed;          ///< DT_NEEDED
  std::string build_id;                     ///< hexadecimal; empty when there is none
  std::vector<std::string_view> manifests;  ///< the text of every ft manifest note
};

struct ElfGateOptions {
  /// Also let in files that export more than ft_plugin_*: builds with sanitizers or gcov do.
  bool allow_other_exports = false;
};

/// Longest plugin file that is read.
inline constexpr size_t kMaxPluginBytes = size_t{1} << 30;

/// Judges `file` as an x86-64 shared object and fills `facts`; a FileFault when it is not let in.
/// Linear in the file's size, whatever its bytes are.
/// Source: System V ABI, AMD64 supplement; the gABI's note and GNU hash formats.
std::optional<FileFault> ReadElf(std::span<const std::byte> file,
                                 const ElfGateOptions& options,
                                 ElfFacts* facts);

}  // namespace ft
