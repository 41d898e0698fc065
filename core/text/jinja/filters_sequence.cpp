// Filters over sequences and mappings that give their result at once.
#include <algorithm>
#include <utility>

#include "core/base/errors.h"
#include "core/text/jinja/attribute_path.h"
#include "core/text/jinja/builtins.h"
#include "core/text/jinja/interp.h"
#include "core/text/jinja/json_dumps.h"
#include "core/text/jinja/number.h"
#include "core/text/jinja/ops.h"
#include "core/text/jinja/unicode.h"

namespace ft::jinja {
namespace {

struct Keyed {
  Value key;
  Value item;
};

// Merges the sorted [start, middle) and [middle, end) of `items` into the same places of `other`.
Status MergeRuns(Interp& interp,
                 std::vector<Keyed>* items,
                 size_t start,
                 size_t middle,
                 size_t end,
                 bool is_reversed,
                 std::vector<Keyed>* other) {
  size_t left = start;
  size_t right = middle;
  for (size_t at = start; at < end; ++at) {
    bool takes_right = left >= middle;
    if (left < middle && right < end) {
      FT_RETURN_IF_ERROR(interp.Enter());
      const Value& a = (*items)[left].key;
      const Value& b = (*items)[right].key;
      FT_ASSIGN_OR_RETURN(takes_right, is_reversed ? Less(interp, a, b) : Less(interp, b, a));
    }
    (*other)[at] = std::move((*items)[takes_right ? right++ : left++]);
  }
  return {};
}

// Stable merge sort; the order may fail, which std::sort's cannot.
Status SortByKey(Interp& interp, std::vector<Keyed>* items, bool is_reversed) {
  std::vector<Keyed> other(items->size());
  for (size_t width = 1; width < items->size(); width *= 2) {
    for (size_t start = 0; start < items->size(); start += 2 * width) {
      const size_t middle = std::min(start + width, items->size());
      const size_t end = std::min(start + 2 * width, items->size());
      FT_RETURN_IF_ERROR(MergeRuns(interp, items, start, middle, end, is_reversed, &other));
    }
    std::swap(*items, other);
  }
  return {};
}

Value ItemsOf(Interp& interp, std::vector<Keyed> keyed) {
  Values items;
  items.reserve(keyed.size());
  for (Keyed& each : keyed) {
    items.push_back(std::move(each.item));
  }
  return interp.heap().List(std::move(items));
}

Result<Value> Sort(Interp& interp, const Value& value, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(
      const BoundArgs bound,
      BoundArgs::Bind("sort", args, {"reverse", "case_sensitive", "attribute"}, {}));
  const bool ignores_case = !bound.Flag(1, /*otherwise=*/false);
  const Value attribute = bound.get(2, Value::None());
  std::vector<AttributePath> paths;
  if (attribute.is_str()) {
    const std::string& text = attribute.text();
    for (size_t at = 0; at <= text.size();) {
      const size_t comma = std::min(text.find(',', at), text.size());
      paths.emplace_back(interp, interp.heap().Str(text.substr(at, comma - at)));
      at = comma + 1;
    }
  } else {
    paths.emplace_back(interp, attribute);
  }
  FT_ASSIGN_OR_RETURN(const Values items, ToValues(interp, value));
  std::vector<Keyed> keyed;
  for (const Value& item : items) {
    Values keys;
    for (const AttributePath& path : paths) {
      FT_ASSIGN_OR_RETURN(Value key, path.Get(interp, item, Value::None()));
      keys.push_back(ignores_case ? IgnoreCase(interp, key) : key);
    }
    keyed.push_back({interp.heap().List(std::move(keys)), item});
  }
  FT_RETURN_IF_ERROR(SortByKey(interp, &keyed, bound.Flag(0, false)));
  return ItemsOf(interp, std::move(keyed));
}

Result<Value> DictSort(Interp& interp, const Value& value, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound,
                      BoundArgs::Bind("dictsort", args, {"case_sensitive", "by", "reverse"}, {}));
  const std::string by = bound.has(1) ? (bound.at(1).is_str() ? bound.at(1).text() : "?") : "key";
  if (by != "key" && by != "value") {
    return InvalidArgument("You can only sort by either \"key\" or \"value\"");
  }
  if (value.is_undefined()) {
    return UndefinedError(value);
  }
  if (!value.is(ObjectKind::kDict)) {
    return InvalidArgument("'{}' object has no attribute 'items'", TypeName(value));
  }
  std::vector<Keyed> keyed;
  for (const DictData::Entry& entry : value.As<DictObject>()->data.entries()) {
    const Value& key = by == "key" ? entry.key : entry.value;
    keyed.push_back({bound.Flag(0, /*otherwise=*/false) ? key : IgnoreCase(interp, key),
                     interp.heap().Tuple({entry.key, entry.value})});
  }
  FT_RETURN_IF_ERROR(SortByKey(interp, &keyed, bound.Flag(2, false)));
  return ItemsOf(interp, std::move(keyed));
}

Value Group(Interp& interp, const Value& grouper, Values items) {
  Value group = interp.heap().Tuple({grouper, interp.heap().List(std::move(items))});
  group.As<SequenceObject>()->is_group = true;
  return group;
}

Result<Value> GroupBy(Interp& interp, const Value& value, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound,
                      BoundArgs::Bind("groupby", args, {"attribute", "default", "case_sensitive"},
                                      {.num_required = 1}));
  const AttributePath path(interp, bound.at(0));
  const Value fallback = bound.get(1, Value::None());
  const bool ignores_case = !bound.Flag(2, /*otherwise=*/false);
  FT_ASSIGN_OR_RETURN(const Values items, ToValues(interp, value));
  std::vector<Keyed> keyed;
  for (const Value& item : items) {
    FT_ASSIGN_OR_RETURN(Value key, path.Get(interp, item, fallback));
    keyed.push_back({ignores_case ? IgnoreCase(interp, key) : key, item});
  }
  FT_RETURN_IF_ERROR(SortByKey(interp, &keyed, false));
  Values groups;
  for (size_t i = 0; i < keyed.size();) {
    Values members;
    size_t end = i;
    for (; end < keyed.size(); ++end) {
      FT_ASSIGN_OR_RETURN(const bool is_same, Equal(interp, keyed[end].key, keyed[i].key));
      if (!is_same && end > i) {
        break;
      }
      members.push_back(keyed[end].item);
    }
    // The group's name keeps the case of its first member.
    FT_ASSIGN_OR_RETURN(const Value grouper, path.Get(interp, keyed[i].item, fallback));
    groups.push_back(Group(interp, ignores_case ? grouper : keyed[i].key, std::move(members)));
    i = end;
  }
  return interp.heap().List(std::move(groups));
}

template <bool kMax>
Result<Value> MinOrMax(Interp& interp, const Value& value, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound,
                      BoundArgs::Bind("max", args, {"case_sensitive", "attribute"}, {}));
  const bool ignores_case = !bound.Flag(0, /*otherwise=*/false);
  const AttributePath path(interp, bound.get(1, Value::None()));
  FT_ASSIGN_OR_RETURN(const Values items, ToValues(interp, value));
  if (items.empty()) {
    return interp.UndefinedHint("No aggregated item, sequence was empty.");
  }
  std::optional<Keyed> best;
  for (const Value& item : items) {
    FT_ASSIGN_OR_RETURN(Value key, path.Get(interp, item, Value::None()));
    key = ignores_case ? IgnoreCase(interp, key) : key;
    bool is_better = true;
    if (best) {
      FT_ASSIGN_OR_RETURN(is_better,
                          kMax ? Less(interp, best->key, key, ">") : Less(interp, key, best->key));
    }
    if (is_better) {
      best = Keyed{key, item};
    }
  }
  return best->item;
}

Result<Value> Sum(Interp& interp, const Value& value, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound,
                      BoundArgs::Bind("sum", args, {"attribute", "start"}, {}));
  const AttributePath path(interp, bound.get(0, Value::None()));
  Value total = bound.get(1, Value::Int(0));
  if (total.is_str()) {
    return InvalidArgument("sum() can't sum strings [use ''.join(seq) instead]");
  }
  FT_ASSIGN_OR_RETURN(const Values items, ToValues(interp, value));
  for (const Value& item : items) {
    FT_ASSIGN_OR_RETURN(const Value part, path.Get(interp, item, Value::None()));
    FT_ASSIGN_OR_RETURN(total, Arithmetic(interp, BinaryOp::kAdd, total, part));
  }
  return total;
}

Result<Value> Join(Interp& interp, const Value& value, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound, BoundArgs::Bind("join", args, {"d", "attribute"}, {}));
  const AttributePath path(interp, bound.get(1, Value::None()));
  const Value separator = bound.get(0, interp.heap().Str(""));
  FT_ASSIGN_OR_RETURN(Values items, ToValues(interp, value));
  bool is_markup = interp.autoescape() && separator.is_markup();
  for (Value& item : items) {
    FT_ASSIGN_OR_RETURN(item, path.Get(interp, item, Value::None()));
    is_markup |= interp.autoescape() && item.is_markup();
  }
  const auto text_of = [&](const Value& part) -> Result<std::string> {
    if (!is_markup) {
      return ToStr(interp, part);
    }
    FT_ASSIGN_OR_RETURN(const Value escaped, Escape(interp, part));
    return escaped.text();
  };
  FT_ASSIGN_OR_RETURN(const std::string between, text_of(separator));
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) {
    FT_ASSIGN_OR_RETURN(const std::string text, text_of(items[i]));
    out += i == 0 ? "" : between;
    out += text;
    FT_RETURN_IF_ERROR(interp.WorkBytes(text.size() + between.size()));
    if (out.size() > interp.max_string_bytes()) {
      return ResourceExhausted("joined text is longer than {} bytes", interp.max_string_bytes());
    }
  }
  return interp.heap().MakeStr(std::move(out), is_markup);
}

Result<Value> First(Interp& interp, const Value& value, CallArgs& args) {
  FT_RETURN_IF_ERROR(NoArgs("first", args));
  FT_ASSIGN_OR_RETURN(IteratorObject * iterator, Iterate(interp, value));
  Value item;
  FT_ASSIGN_OR_RETURN(const bool has_item, Next(interp, iterator, &item));
  return has_item ? item : interp.UndefinedHint("No first item, sequence was empty.");
}

// What Python's reversed() takes.
bool IsReversible(const Value& value) {
  return IsIterable(value) && !value.is(ObjectKind::kIterator) && !value.is(ObjectKind::kLoop);
}

Result<Value> Last(Interp& interp, const Value& value, CallArgs& args) {
  FT_RETURN_IF_ERROR(NoArgs("last", args));
  if (!IsReversible(value)) {
    return InvalidArgument("'{}' object is not reversible", TypeName(value));
  }
  FT_ASSIGN_OR_RETURN(const Values items, ToValues(interp, value));
  return items.empty() ? interp.UndefinedHint("No last item, sequence was empty.") : items.back();
}

Result<Value> Reverse(Interp& interp, const Value& value, CallArgs& args) {
  FT_RETURN_IF_ERROR(NoArgs("reverse", args));
  if (value.is_str()) {
    FT_RETURN_IF_ERROR(interp.WorkBytes(value.text().size() * 4));
    std::u32string chars = Decode(value.text());
    std::reverse(chars.begin(), chars.end());
    return interp.heap().MakeStr(Encode(chars), value.is_markup());
  }
  if (!IsIterable(value)) {
    return InvalidArgument("argument must be iterable");
  }
  FT_ASSIGN_OR_RETURN(Values items, ToValues(interp, value));
  std::reverse(items.begin(), items.end());
  Value list = interp.heap().List(std::move(items));
  if (!IsReversible(value)) {
    return list;
  }
  FT_ASSIGN_OR_RETURN(IteratorObject * iterator, Iterate(interp, list));
  return Value::Obj(iterator);
}

// Any item will do; a prompt should not change from one request to the next.
Result<Value> Random(Interp& interp, const Value& value, CallArgs& args) {
  FT_RETURN_IF_ERROR(NoArgs("random", args));
  FT_ASSIGN_OR_RETURN(const int64_t length, Length(interp, value));
  if (length == 0) {
    return interp.UndefinedHint("No random item, sequence was empty.");
  }
  FT_ASSIGN_OR_RETURN(const std::optional<Value> item, Subscript(interp, value, Value::Int(0)));
  return item ? *item : Result<Value>(InvalidArgument("'{}' has no item 0", TypeName(value)));
}

Result<Value> LengthFilter(Interp& interp, const Value& value, CallArgs& args) {
  FT_RETURN_IF_ERROR(NoArgs("len", args));
  FT_ASSIGN_OR_RETURN(const int64_t length, Length(interp, value));
  return Value::Int(length);
}

Result<Value> List(Interp& interp, const Value& value, CallArgs& args) {
  FT_RETURN_IF_ERROR(NoArgs("list", args));
  FT_ASSIGN_OR_RETURN(Values items, ToValues(interp, value));
  return interp.heap().List(std::move(items));
}

Result<Value> Default(Interp& /*interp*/, const Value& value, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound,
                      BoundArgs::Bind("default", args, {"default_value", "boolean"}, {}));
  if (value.is_undefined() || (bound.Flag(1, /*otherwise=*/false) && !IsTrue(value))) {
    return bound.get(0, Value::ConstStr(""));
  }
  return value;
}

Result<Value> Attr(Interp& interp, const Value& value, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound,
                      BoundArgs::Bind("attr", args, {"name"}, {.num_required = 1}));
  const Value& name = bound.at(0);
  if (!name.is_str()) {
    return InvalidArgument("attribute name must be string, not '{}'", TypeName(name));
  }
  FT_ASSIGN_OR_RETURN(const Value found, interp.GetAttr(value, name));
  if (value.is(ObjectKind::kDict)) {
    // Attributes only: what GetAttr found among the keys does not count.
    FT_ASSIGN_OR_RETURN(const auto attribute, FindAttribute(interp, value, name.text()));
    return attribute || found.is_undefined() ? found : interp.UndefinedMember(value, name);
  }
  return found;
}

Result<Value> ToJson(Interp& interp, const Value& value, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(
      const BoundArgs bound,
      BoundArgs::Bind("tojson", args, {"ensure_ascii", "indent", "separators", "sort_keys"}, {}));
  FT_ASSIGN_OR_RETURN(JsonStyle style, MakeJsonStyle(interp, bound));
  FT_ASSIGN_OR_RETURN(std::string text, JsonDumps(interp, value, style));
  return interp.heap().Str(std::move(text));
}

}  // namespace

AttributePath::AttributePath(Interp& interp, const Value& attribute) {
  if (attribute.is_none()) {
    return;
  }
  if (!attribute.is_str()) {
    parts_.push_back(attribute);
    return;
  }
  const std::string& text = attribute.text();
  for (size_t at = 0; at <= text.size();) {
    const size_t dot = std::min(text.find('.', at), text.size());
    const std::string part = text.substr(at, dot - at);
    const std::u32string chars = Decode(part);
    const bool is_index = !chars.empty() && std::all_of(chars.begin(), chars.end(), IsDigit);
    const auto index = is_index ? ParseInt(part, 10) : std::nullopt;
    parts_.push_back(index ? interp.heap().Integer(*index) : interp.heap().Str(part));
    at = dot + 1;
  }
}

Result<Value> AttributePath::Get(Interp& interp, Value item, const Value& fallback) const {
  for (const Value& part : parts_) {
    FT_ASSIGN_OR_RETURN(item, interp.GetItem(item, part));
    if (!fallback.is_none() && item.is_undefined()) {
      item = fallback;
    }
  }
  return item;
}

Value IgnoreCase(Interp& interp, const Value& value) {
  return value.is_str() ? interp.heap().MakeStr(Lower(value.text()), value.is_markup()) : value;
}

std::span<const NamedFilter> SequenceFilters() {
  static constexpr NamedFilter kFilters[] = {
      {"length", LengthFilter}, {"count", LengthFilter},  {"tojson", ToJson},
      {"default", Default},     {"d", Default},           {"join", Join},
      {"list", List},           {"first", First},         {"last", Last},
      {"sort", Sort},           {"dictsort", DictSort},   {"groupby", GroupBy},
      {"max", MinOrMax<true>},  {"min", MinOrMax<false>}, {"sum", Sum},
      {"reverse", Reverse},     {"random", Random},       {"attr", Attr}};
  return kFilters;
}

}  // namespace ft::jinja
