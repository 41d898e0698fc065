// May ft run this file at all? Owner and mode of the file and of the folders above it: nobody but
// root and the user who runs ft could have written it.
#pragma once

#include <optional>
#include <string>

#include "core/base/file.h"
#include "core/plugin_host/elf_file.h"
#include "core/plugin_host/plugin_record.h"

namespace ft {

/// A plugin file, opened and judged.
struct TrustedFile {
  FileDescriptor file;
  std::string path;     ///< absolute, symbolic links resolved
  std::string content;  ///< all of it
};

/// Opens `path`, reads it and judges its trust. `stop_at`: folders from here up are not judged (for
/// built-in plugins the prefix that ft itself was started from: whoever can write there owns ft).
/// Codes: "file.unreadable", "file.not_regular", "file.path", "file.too_big"; "trust.owner",
/// "trust.writable", "trust.dir_writable", "trust.symlink" (in a folder of FT_PLUGIN_PATH).
/// A trust fault still leaves the content in `out`, so that the file can be described.
std::optional<FileFault> OpenTrusted(const std::string& path,
                                     PluginSource source,
                                     const std::string& stop_at,
                                     TrustedFile* out);

}  // namespace ft
