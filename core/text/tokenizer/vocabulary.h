// Vocabulary: token text <-> id, both ways, packed for a few hundred thousand tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ft::text {

class Vocabulary {
 public:
  /// Room for `num_tokens` tokens, so that adding them is cheap.
  explicit Vocabulary(size_t num_tokens = 0);

  /// Adds a token. Requires 0 <= id; the text is not in the vocabulary yet. Of two tokens with one
  /// id, the last one gives Text.
  void Add(std::string_view text, int32_t id);

  std::optional<int32_t> Find(std::string_view text) const;

  /// Nothing for an unused id. Valid until the next Add.
  std::optional<std::string_view> Text(int32_t id) const;

  /// Number of tokens.
  size_t size() const { return num_tokens_; }

  /// Highest id + 1.
  int32_t end_id() const { return static_cast<int32_t>(spans_.size()); }

 private:
  struct Span {
    uint32_t offset = 0;
    uint32_t size = 0;
    bool is_used = false;
  };

  struct Slot {
    Span text;
    int32_t id = -1;
  };

  std::string_view View(const Span& span) const {
    return std::string_view(pool_).substr(span.offset, span.size);
  }

  size_t SlotOf(std::string_view text) const;
  void Grow();

  std::string pool_;
  std::vector<Span> spans_;  // by id
  std::vector<Slot> slots_;  // open addressing, a power of two
  size_t num_tokens_ = 0;
};

}  // namespace ft::text
