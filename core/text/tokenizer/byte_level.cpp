#include "core/text/tokenizer/byte_level.h"

#include <array>

#include "core/base/utf8.h"

namespace ft::text {
namespace {

constexpr uint32_t kNumStandIns = 0x144;

// Bytes that print stand for themselves; the others follow from U+0100 on.
constexpr bool IsPrinted(uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Tables {
  std::array<uint16_t, 256> stand_in = {};
  std::array<int16_t, kNumStandIns> byte = {};
};

constexpr Tables MakeTables() {
  Tables tables;
  for (auto& byte : tables.byte) {
    byte = -1;
  }
  uint16_t next = 0x100;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const auto stand_in = IsPrinted(byte) ? static_cast<uint16_t>(byte) : next++;
    tables.stand_in[byte] = stand_in;
    tables.byte[stand_in] = static_cast<int16_t>(byte);
  }
  return tables;
}

constexpr Tables kTables = MakeTables();

}  // namespace

void AppendByteLevel(std::string_view text, std::string* out) {
  out->reserve(out->size() + text.size() + text.size() / 4);
  for (const char c : text) {
    const uint32_t stand_in = kTables.stand_in[static_cast<uint8_t>(c)];
    if (stand_in >= 0x80) {  // all are below U+0800
      *out += static_cast<char>(0xC0 | (stand_in >> 6));
      *out += static_cast<char>(0x80 | (stand_in & 0x3F));
    } else {
      *out += static_cast<char>(stand_in);
    }
  }
}

std::optional<uint8_t> ByteOfStandIn(uint32_t code_point) {
  if (code_point >= kNumStandIns || kTables.byte[code_point] < 0) {
    return std::nullopt;
  }
  return static_cast<uint8_t>(kTables.byte[code_point]);
}

std::string BytesOfByteLevelToken(std::string_view token) {
  std::string bytes;
  for (size_t at = 0; at < token.size();) {
    const std::optional<uint8_t> byte = ByteOfStandIn(DecodeUtf8(token, &at));
    if (!byte) {
      return std::string(token);
    }
    bytes += static_cast<char>(*byte);
  }
  return bytes;
}

}  // namespace ft::text
