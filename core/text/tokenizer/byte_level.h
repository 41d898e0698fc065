// The stand-in characters of byte-level tokenizers: each byte has one printable character.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ft::text {

/// Appends the stand-ins (UTF-8) of the bytes of `text`.
/// Source: GPT-2's bytes_to_unicode.
void AppendByteLevel(std::string_view text, std::string* out);

/// The byte that `code_point` stands for.
std::optional<uint8_t> ByteOfStandIn(uint32_t code_point);

/// The bytes of a token; a token with any character that stands for no byte is kept as it is.
std::string BytesOfByteLevelToken(std::string_view token);

}  // namespace ft::text
