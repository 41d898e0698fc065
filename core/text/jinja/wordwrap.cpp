#include "core/text/jinja/wordwrap.h"

#include <algorithm>
#include <deque>

#include "core/text/jinja/unicode.h"

namespace ft::jinja {
namespace {

using Chars = std::u32string;

bool IsBlank(char32_t c) {
  return c == '\t' || c == '\n' || c == 0x0B || c == 0x0C || c == '\r' || c == ' ';
}

// [\w!"'&.,?]
bool IsWordPunct(char32_t c) {
  return IsWord(c) || c == '!' || c == '"' || c == '\'' || c == '&' || c == '.' || c == ',' ||
         c == '?';
}

// [^\d\W]
bool IsLetter(char32_t c) {
  return IsWord(c) && !IsDecimal(c);
}

// Cuts text into chunks that stay together: textwrap's wordsep_re, by hand.
class Chunker {
 public:
  Chunker(const Chars& text, bool breaks_on_hyphens)
      : text_(text), breaks_on_hyphens_(breaks_on_hyphens) {}

  std::deque<Chars> Run() const {
    std::deque<Chars> chunks;
    for (size_t at = 0; at < text_.size();) {
      const size_t end = ChunkEnd(at);
      chunks.push_back(text_.substr(at, end - at));
      at = end;
    }
    return chunks;
  }

 private:
  bool Is(bool (*predicate)(char32_t), size_t at) const {
    return at < text_.size() && predicate(text_[at]);
  }

  size_t ChunkEnd(size_t at) const {
    size_t end = at;
    if (IsBlank(text_[at])) {
      while (Is(IsBlank, end)) {
        ++end;
      }
      return end;
    }
    if (!breaks_on_hyphens_) {
      while (end < text_.size() && !IsBlank(text_[end])) {
        ++end;
      }
      return end;
    }
    if (const size_t dash_end = DashEnd(at); dash_end > at && at > 0 && Is(IsWordPunct, at - 1)) {
      return dash_end;
    }
    for (end = at + 1;; ++end) {
      if (IsHyphenBreak(end)) {
        return end + 1;
      }
      if (end >= text_.size() || IsBlank(text_[end])) {
        return end;
      }
      if (Is(IsWordPunct, end - 1) && DashEnd(end) > end) {
        return end;
      }
    }
  }

  // The end of two dashes or more with a word behind them; `at` when there are none.
  size_t DashEnd(size_t at) const {
    size_t end = at;
    while (end < text_.size() && text_[end] == '-') {
      ++end;
    }
    return end >= at + 2 && Is(IsWord, end) ? end : at;
  }

  // A hyphen at `at` within a word of letters, which may be broken behind it.
  bool IsHyphenBreak(size_t at) const {
    if (at >= text_.size() || text_[at] != '-') {
      return false;
    }
    const bool after_letters = at >= 2 && IsLetter(text_[at - 1]) && IsLetter(text_[at - 2]);
    const bool after_hyphen =
        at >= 3 && IsLetter(text_[at - 3]) && text_[at - 2] == '-' && IsWordPunct(text_[at - 1]);
    const size_t second = at + 2 < text_.size() && text_[at + 2] == '-' ? at + 3 : at + 2;
    return (after_letters || after_hyphen) && Is(IsLetter, at + 1) && Is(IsLetter, second);
  }

  const Chars& text_;
  const bool breaks_on_hyphens_;
};

bool IsAllSpace(const Chars& chunk) {
  return std::all_of(chunk.begin(), chunk.end(), IsSpace);
}

// Takes as much of a chunk that fits no line as there is room for.
void TakeLongWord(std::deque<Chars>* chunks,
                  std::vector<Chars>* line,
                  size_t room,
                  const WrapOptions& options) {
  Chars& chunk = chunks->front();
  if (options.breaks_long_words) {
    size_t end = room;
    if (options.breaks_on_hyphens && chunk.size() > room && room > 0) {
      const size_t hyphen = chunk.rfind(U'-', room - 1);
      if (hyphen != Chars::npos && hyphen > 0 && chunk.find_first_not_of(U'-') < hyphen) {
        end = hyphen + 1;
      }
    }
    line->push_back(chunk.substr(0, end));
    chunk = chunk.substr(std::min(end, chunk.size()));
  } else if (line->empty()) {
    line->push_back(std::move(chunk));
    chunks->pop_front();
  }
}

}  // namespace

std::vector<std::string> WrapLine(std::string_view text, const WrapOptions& options) {
  const Chars chars = Decode(text);
  std::deque<Chars> chunks = Chunker(chars, options.breaks_on_hyphens).Run();
  const auto width = static_cast<size_t>(options.width);
  std::vector<std::string> lines;
  while (!chunks.empty()) {
    std::vector<Chars> line;
    size_t size = 0;
    if (!lines.empty() && IsAllSpace(chunks.front())) {
      chunks.pop_front();
    }
    while (!chunks.empty() && size + chunks.front().size() <= width) {
      size += chunks.front().size();
      line.push_back(std::move(chunks.front()));
      chunks.pop_front();
    }
    if (!chunks.empty() && chunks.front().size() > width) {
      TakeLongWord(&chunks, &line, width - size, options);
    }
    if (!line.empty() && IsAllSpace(line.back())) {
      line.pop_back();
    }
    if (!line.empty()) {
      std::string joined;
      for (const Chars& part : line) {
        joined += Encode(part);
      }
      lines.push_back(std::move(joined));
    }
  }
  return lines;
}

}  // namespace ft::jinja
