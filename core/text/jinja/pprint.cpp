#include "core/text/jinja/pprint.h"

#include <algorithm>
#include <vector>

#include "core/base/errors.h"
#include "core/text/jinja/interp.h"
#include "core/text/jinja/ops.h"
#include "core/text/jinja/pystring.h"
#include "core/text/jinja/unicode.h"

namespace ft::jinja {
namespace {

constexpr int kWidth = 80;

int Width(std::string_view text) {
  return static_cast<int>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; }));
}

class Printer {
 public:
  explicit Printer(Interp& interp) : interp_(interp) {}

  Status Format(const Value& value, int indent, int allowance, int depth) {
    if (depth > kMaxValueDepth) {
      return ResourceExhausted("values are nested too deeply to print");
    }
    FT_RETURN_IF_ERROR(interp_.Enter());
    FT_ASSIGN_OR_RETURN(const std::string text, Flat(value));
    if (Width(text) > kWidth - indent - allowance) {
      if (value.is(ObjectKind::kDict)) {
        return FormatDict(value.As<DictObject>()->data, indent, allowance, depth);
      }
      if (value.is(ObjectKind::kList) || value.is(ObjectKind::kTuple)) {
        return FormatItems(value, indent, allowance, depth);
      }
      if (value.is_str() && !value.is_markup()) {
        return FormatText(value.text(), indent, allowance, depth == 1);
      }
    }
    out_ += text;
    return {};
  }

  std::string Take() { return std::move(out_); }

  // repr with the keys of mappings sorted.
  Result<std::string> Flat(const Value& value, int depth = 0) {
    if (depth > kMaxValueDepth) {
      return ResourceExhausted("values are nested too deeply to print");
    }
    FT_RETURN_IF_ERROR(interp_.Enter());
    std::string out;
    if (value.is(ObjectKind::kDict)) {
      FT_ASSIGN_OR_RETURN(const auto entries, Sorted(value.As<DictObject>()->data));
      for (const DictData::Entry* entry : entries) {
        FT_ASSIGN_OR_RETURN(const std::string key, Flat(entry->key, depth + 1));
        FT_ASSIGN_OR_RETURN(const std::string item, Flat(entry->value, depth + 1));
        out += out.empty() ? "" : ", ";
        out += key;
        out += ": ";
        out += item;
        FT_RETURN_IF_ERROR(interp_.WorkBytes(out.size()));
      }
      return "{" + out + "}";
    }
    if (!value.is(ObjectKind::kList) && !value.is(ObjectKind::kTuple)) {
      return ToRepr(interp_, value);
    }
    const Values& items = value.As<SequenceObject>()->items;
    for (const Value& item : items) {
      FT_ASSIGN_OR_RETURN(const std::string text, Flat(item, depth + 1));
      out += (out.empty() ? "" : ", ") + text;
      FT_RETURN_IF_ERROR(interp_.WorkBytes(out.size()));
    }
    if (value.is(ObjectKind::kList)) {
      return "[" + out + "]";
    }
    return "(" + out + (items.size() == 1 ? ",)" : ")");
  }

 private:
  Result<std::vector<const DictData::Entry*>> Sorted(const DictData& data) {
    std::vector<const DictData::Entry*> entries;
    for (const DictData::Entry& entry : data.entries()) {
      entries.push_back(&entry);
    }
    // Keys of mixed types are sorted by the name of the type, as pprint's _safe_key does.
    std::stable_sort(entries.begin(), entries.end(),
                     [this](const DictData::Entry* a, const DictData::Entry* b) {
                       const Result<bool> less = Less(interp_, a->key, b->key);
                       return less.ok() ? *less : TypeName(a->key) < TypeName(b->key);
                     });
    return entries;
  }

  void NewLine(int indent) {
    out_ += ",\n";
    out_.append(static_cast<size_t>(indent), ' ');
  }

  Status FormatDict(const DictData& data, int indent, int allowance, int depth) {
    out_ += '{';
    FT_ASSIGN_OR_RETURN(const auto entries, Sorted(data));
    for (size_t i = 0; i < entries.size(); ++i) {
      if (i != 0) {
        NewLine(indent + 1);
      }
      FT_ASSIGN_OR_RETURN(const std::string key, Flat(entries[i]->key));
      out_ += key + ": ";
      const bool is_last = i + 1 == entries.size();
      FT_RETURN_IF_ERROR(Format(entries[i]->value, indent + 1 + Width(key) + 2,
                                is_last ? allowance + 1 : 1, depth + 1));
    }
    out_ += '}';
    return {};
  }

  Status FormatItems(const Value& value, int indent, int allowance, int depth) {
    const Values& items = value.As<SequenceObject>()->items;
    const bool is_list = value.is(ObjectKind::kList);
    const std::string end = is_list ? "]" : (items.size() == 1 ? ",)" : ")");
    out_ += is_list ? '[' : '(';
    for (size_t i = 0; i < items.size(); ++i) {
      if (i != 0) {
        NewLine(indent + 1);
      }
      const bool is_last = i + 1 == items.size();
      FT_RETURN_IF_ERROR(Format(items[i], indent + 1,
                                is_last ? allowance + static_cast<int>(end.size()) : 1, depth + 1));
    }
    out_ += end;
    return {};
  }

  // Long text as several literals, cut at lines and behind white space.
  Status FormatText(std::string_view text, int indent, int allowance, bool is_top) {
    std::vector<std::string> chunks;
    const std::vector<std::string_view> lines = SplitLines(text, /*keeps_ends=*/true);
    if (is_top) {
      ++indent;
      ++allowance;
    }
    int max_width = kWidth - indent;
    for (size_t i = 0; i < lines.size(); ++i) {
      FT_RETURN_IF_ERROR(interp_.WorkBytes(lines[i].size() * 16));
      const std::string repr = ReprText(lines[i]);
      max_width -= i + 1 == lines.size() ? allowance : 0;
      if (Width(repr) <= max_width) {
        chunks.push_back(repr);
        continue;
      }
      AppendWords(lines[i], max_width + (i + 1 == lines.size() ? allowance : 0),
                  i + 1 == lines.size() ? allowance : 0, &chunks);
    }
    if (chunks.size() == 1) {
      out_ += ReprText(text);
      return {};
    }
    out_ += is_top ? "(" : "";
    for (size_t i = 0; i < chunks.size(); ++i) {
      if (i != 0) {
        out_ += '\n';
        out_.append(static_cast<size_t>(indent), ' ');
      }
      out_ += chunks[i];
    }
    out_ += is_top ? ")" : "";
    return {};
  }

  // \S*\s* pieces, as many to a literal as fit.
  static void AppendWords(std::string_view line,
                          int max_width,
                          int allowance,
                          std::vector<std::string>* chunks) {
    const std::u32string chars = Decode(line);
    std::u32string current;
    for (size_t at = 0; at < chars.size();) {
      size_t end = at;
      while (end < chars.size() && !IsSpace(chars[end])) {
        ++end;
      }
      while (end < chars.size() && IsSpace(chars[end])) {
        ++end;
      }
      const std::u32string candidate = current + chars.substr(at, end - at);
      const int room = max_width - (end == chars.size() ? allowance : 0);
      if (Width(ReprText(Encode(candidate))) > room && !current.empty()) {
        chunks->push_back(ReprText(Encode(current)));
        current = chars.substr(at, end - at);
      } else {
        current = candidate;
      }
      at = end;
    }
    if (!current.empty()) {
      chunks->push_back(ReprText(Encode(current)));
    }
  }

  Interp& interp_;
  std::string out_;
};

}  // namespace

Result<std::string> PrettyFormat(Interp& interp, const Value& value) {
  Printer printer(interp);
  FT_RETURN_IF_ERROR(printer.Format(value, 0, 0, 1));
  return printer.Take();
}

}  // namespace ft::jinja
