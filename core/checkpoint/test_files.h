// Small checkpoint files for the tests of this folder: a temporary folder and a safetensors writer.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace ft::test {

/// A folder that goes away with the object.
class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "ft_test_XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }

  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }

  std::string Write(const std::string& name, std::string_view content) const {
    const std::filesystem::path path = std::filesystem::path(path_) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << content;
    return path.string();
  }

 private:
  std::string path_;
};

/// Length, header and data as a safetensors file has them.
inline std::string SafetensorsBytes(std::string_view header, std::string_view data) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) {
    bytes += static_cast<char>((header.size() >> (8 * i)) & 0xFFU);
  }
  bytes += header;
  bytes += data;
  return bytes;
}

/// A file of U8 vectors, one per name, each `length` bytes that count up from the name's length.
inline std::string SafetensorsOf(const std::vector<std::string>& names, size_t length) {
  std::string header = "{";
  std::string data;
  for (const std::string& name : names) {
    header += header.size() == 1 ? "\"" : ",\"";
    header += name + R"(":{"dtype":"U8","shape":[)" + std::to_string(length) +
              "],\"data_offsets\":[" + std::to_string(data.size()) + "," +
              std::to_string(data.size() + length) + "]}";
    for (size_t i = 0; i < length; ++i) {
      data += static_cast<char>(name.size() + i);
    }
  }
  return SafetensorsBytes(header + "}", data);
}

}  // namespace ft::test
