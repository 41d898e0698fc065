// Python's container protocols over Values: len, iteration, membership, subscripts, slices.
#include <algorithm>

#include "core/base/errors.h"
#include "core/base/utf8.h"
#include "core/text/jinja/interp.h"
#include "core/text/jinja/number.h"
#include "core/text/jinja/ops.h"
#include "core/text/jinja/text_util.h"
#include "core/text/jinja/unicode.h"

namespace ft::jinja {
namespace {

Status NotIterable(const Value& value) {
  return InvalidArgument("'{}' object is not iterable", TypeName(value));
}

// One item of a view, a new tuple for items.
Value ViewItem(Interp& interp, DictViewKind view, const DictData::Entry& entry) {
  switch (view) {
    case DictViewKind::kKeys:
      return entry.key;
    case DictViewKind::kValues:
      return entry.value;
    case DictViewKind::kItems:
      return interp.heap().Tuple({entry.key, entry.value});
  }
  return entry.key;
}

// The number of items of what has a fixed order and size; -1 for others.
int64_t IndexableSize(const Value& value) {
  if (value.is_str()) {
    return static_cast<int64_t>(value.str().num_chars);
  }
  if (!value.is_object()) {
    return -1;
  }
  if (value.is(ObjectKind::kList) || value.is(ObjectKind::kTuple)) {
    return static_cast<int64_t>(value.As<SequenceObject>()->items.size());
  }
  if (value.is(ObjectKind::kRange)) {
    return value.As<RangeObject>()->size();
  }
  return value.is(ObjectKind::kBytes) ? static_cast<int64_t>(value.As<BytesObject>()->bytes.size())
                                      : -1;
}

// The item at `index`, which is within the size.
Value ItemAt(Interp& interp, const Value& value, int64_t index) {
  if (value.is_str()) {
    return interp.heap().MakeStr(std::string(Substring(value.str(), index, index + 1)),
                                 value.is_markup());
  }
  if (value.is(ObjectKind::kRange)) {
    const auto* range = value.As<RangeObject>();
    return Value::Int(
        static_cast<int64_t>(static_cast<uint64_t>(range->start) +
                             static_cast<uint64_t>(index) * static_cast<uint64_t>(range->step)));
  }
  if (value.is(ObjectKind::kBytes)) {
    return Value::Int(
        static_cast<uint8_t>(value.As<BytesObject>()->bytes[static_cast<size_t>(index)]));
  }
  return value.As<SequenceObject>()->items[static_cast<size_t>(index)];
}

// Characters of a marked string are plain ones, as Python's iteration over str gives them.
IteratorObject::Next StringNext(Interp& interp, const Value& value) {
  return [&interp, value, at = size_t{0}](Value* item) mutable -> Result<bool> {
    const std::string& text = value.text();
    if (at >= text.size()) {
      return false;
    }
    const size_t start = at;
    static_cast<void>(DecodeUtf8(text, &at));
    *item = interp.heap().Str(text.substr(start, at - start));
    return true;
  };
}

IteratorObject::Next IndexedNext(Interp& interp, const Value& value) {
  return [&interp, value, at = int64_t{0}](Value* item) mutable -> Result<bool> {
    if (at >= IndexableSize(value)) {
      return false;
    }
    *item = ItemAt(interp, value, at++);
    return true;
  };
}

IteratorObject::Next DictNext(Interp& interp, DictObject* dict, DictViewKind view) {
  return [&interp, dict, view, at = size_t{0}](Value* item) mutable -> Result<bool> {
    if (at >= dict->data.size()) {
      return false;
    }
    *item = ViewItem(interp, view, dict->data.entries()[at++]);
    return true;
  };
}

Result<bool> IsIn(Interp& interp, const Values& items, const Value& item) {
  for (const Value& other : items) {
    FT_RETURN_IF_ERROR(interp.Work(1));
    FT_ASSIGN_OR_RETURN(const bool is_equal, Equal(interp, other, item));
    if (is_equal) {
      return true;
    }
  }
  return false;
}

Result<bool> ViewContains(Interp& interp, const DictViewObject& view, const Value& item) {
  const DictData& data = view.dict->data;
  if (view.view == DictViewKind::kKeys) {
    FT_ASSIGN_OR_RETURN(const uint64_t hash, Hash(item));
    return data.Find(item, hash) != nullptr;
  }
  if (view.view == DictViewKind::kItems) {
    if (!item.is(ObjectKind::kTuple) || item.As<SequenceObject>()->items.size() != 2) {
      return false;
    }
    const Values& pair = item.As<SequenceObject>()->items;
    FT_ASSIGN_OR_RETURN(const uint64_t hash, Hash(pair[0]));
    const Value* found = data.Find(pair[0], hash);
    return found == nullptr ? Result<bool>(/*value=*/false) : Equal(interp, *found, pair[1]);
  }
  for (const DictData::Entry& entry : data.entries()) {
    FT_ASSIGN_OR_RETURN(const bool is_equal, Equal(interp, entry.value, item));
    if (is_equal) {
      return true;
    }
  }
  return false;
}

}  // namespace

Result<int64_t> Length(Interp& interp, const Value& value) {
  if (const int64_t size = IndexableSize(value); size >= 0) {
    return size;
  }
  if (value.is_undefined()) {
    return int64_t{0};
  }
  if (value.is(ObjectKind::kDict)) {
    return static_cast<int64_t>(value.As<DictObject>()->data.size());
  }
  if (value.is(ObjectKind::kDictView)) {
    return static_cast<int64_t>(value.As<DictViewObject>()->dict->data.size());
  }
  if (value.is(ObjectKind::kLoop)) {
    return LoopLength(interp, value);
  }
  return InvalidArgument("object of type '{}' has no len()", TypeName(value));
}

bool IsIterable(const Value& value) {
  return IndexableSize(value) >= 0 || value.is_undefined() || value.is(ObjectKind::kDict) ||
         value.is(ObjectKind::kDictView) || value.is(ObjectKind::kIterator) ||
         value.is(ObjectKind::kLoop) || value.is(ObjectKind::kTemplateRef);
}

Result<IteratorObject*> Iterate(Interp& interp, const Value& value) {
  if (value.is(ObjectKind::kIterator)) {
    return value.As<IteratorObject>();
  }
  IteratorObject::Next next;
  if (value.is_str()) {
    next = StringNext(interp, value);
  } else if (IndexableSize(value) >= 0) {
    next = IndexedNext(interp, value);
  } else if (value.is_undefined()) {
    next = [](Value* /*item*/) -> Result<bool> { return false; };
  } else if (value.is(ObjectKind::kDict)) {
    next = DictNext(interp, value.As<DictObject>(), DictViewKind::kKeys);
  } else if (value.is(ObjectKind::kDictView)) {
    const auto* view = value.As<DictViewObject>();
    next = DictNext(interp, view->dict, view->view);
  } else if (value.is(ObjectKind::kLoop)) {
    next = [&interp, value](Value* item) -> Result<bool> {
      FT_ASSIGN_OR_RETURN(const bool has_item, LoopNext(interp, value, item));
      if (has_item) {
        *item = interp.heap().Tuple({*item, value});
      }
      return has_item;
    };
  } else {
    return NotIterable(value);
  }
  return interp.heap().New<IteratorObject>("iterator", std::move(next));
}

Result<bool> Next(Interp& interp, IteratorObject* iterator, Value* item) {
  FT_RETURN_IF_ERROR(interp.Enter());
  if (iterator->is_done) {
    return false;
  }
  FT_ASSIGN_OR_RETURN(const bool has_item, iterator->next(item));
  iterator->is_done = !has_item;
  return has_item;
}

Result<Values> ToValues(Interp& interp, const Value& value) {
  if (value.is(ObjectKind::kList) || value.is(ObjectKind::kTuple)) {
    const Values& items = value.As<SequenceObject>()->items;
    FT_RETURN_IF_ERROR(interp.WorkBytes(items.size() * sizeof(Value)));
    return items;
  }
  FT_ASSIGN_OR_RETURN(IteratorObject * iterator, Iterate(interp, value));
  Values items;
  for (Value item;;) {
    FT_ASSIGN_OR_RETURN(const bool has_item, Next(interp, iterator, &item));
    if (!has_item) {
      return items;
    }
    items.push_back(item);
    if (items.size() * sizeof(Value) > interp.max_memory_bytes()) {
      return ResourceExhausted("a list of {} items is more than a template may make", items.size());
    }
  }
}

Result<bool> Contains(Interp& interp, const Value& container, const Value& item) {
  if (container.is_str()) {
    if (!item.is_str()) {
      return InvalidArgument("'in <string>' requires string as left operand, not {}",
                             TypeName(item));
    }
    FT_RETURN_IF_ERROR(interp.WorkBytes(container.text().size()));
    return FindText(container.text(), item.text()) != std::string_view::npos;
  }
  if (container.is(ObjectKind::kBytes)) {
    const std::string& bytes = container.As<BytesObject>()->bytes;
    if (item.is(ObjectKind::kBytes)) {
      return FindText(bytes, item.As<BytesObject>()->bytes) != std::string_view::npos;
    }
    const std::optional<int64_t> byte = ToIndex(item);
    if (!byte) {
      return InvalidArgument("a bytes-like object is required, not '{}'", TypeName(item));
    }
    if (*byte < 0 || *byte > 255) {
      return InvalidArgument("byte must be in range(0, 256)");
    }
    return bytes.find(static_cast<char>(*byte)) != std::string::npos;
  }
  if (container.is(ObjectKind::kDict)) {
    FT_ASSIGN_OR_RETURN(const uint64_t hash, Hash(item));
    return container.As<DictObject>()->data.Find(item, hash) != nullptr;
  }
  if (container.is(ObjectKind::kDictView)) {
    return ViewContains(interp, *container.As<DictViewObject>(), item);
  }
  if (container.is(ObjectKind::kList) || container.is(ObjectKind::kTuple)) {
    return IsIn(interp, container.As<SequenceObject>()->items, item);
  }
  if (!IsIterable(container)) {
    return InvalidArgument("argument of type '{}' is not iterable", TypeName(container));
  }
  FT_ASSIGN_OR_RETURN(IteratorObject * iterator, Iterate(interp, container));
  for (Value other;;) {
    FT_ASSIGN_OR_RETURN(const bool has_item, Next(interp, iterator, &other));
    if (!has_item) {
      return false;
    }
    FT_ASSIGN_OR_RETURN(const bool is_equal, Equal(interp, other, item));
    if (is_equal) {
      return true;
    }
  }
}

Result<std::optional<Value>> Subscript(Interp& interp, const Value& container, const Value& index) {
  const std::optional<Value> nothing;
  if (container.is_undefined()) {
    return UndefinedError(container);
  }
  if (index.is(ObjectKind::kSlice)) {
    if (IndexableSize(container) < 0) {
      return nothing;
    }
    FT_ASSIGN_OR_RETURN(Value part, Slice(interp, container, *index.As<SliceObject>()));
    return std::optional<Value>(std::move(part));
  }
  if (container.is(ObjectKind::kDict)) {
    const Result<uint64_t> hash = Hash(index);
    if (!hash.ok()) {
      return nothing;
    }
    const Value* found = container.As<DictObject>()->data.Find(index, *hash);
    return found == nullptr ? nothing : std::optional<Value>(*found);
  }
  const int64_t size = IndexableSize(container);
  const std::optional<int64_t> position = ToIndex(index);
  if (size < 0 || !position) {
    return nothing;
  }
  const int64_t at = *position < 0 ? *position + size : *position;
  if (at < 0 || at >= size) {
    return nothing;
  }
  return std::optional<Value>(ItemAt(interp, container, at));
}

std::string_view Substring(const StrData& data, int64_t start, int64_t stop) {
  const std::string_view text = data.text;
  if (start >= stop) {
    return {};
  }
  if (data.is_ascii()) {
    return text.substr(static_cast<size_t>(start), static_cast<size_t>(stop - start));
  }
  size_t at = 0;
  size_t first = text.size();
  for (int64_t i = 0; at < text.size(); ++i) {
    if (i == start) {
      first = at;
    }
    if (i == stop) {
      return text.substr(first, at - first);
    }
    static_cast<void>(DecodeUtf8(text, &at));
  }
  return text.substr(first);
}

Result<SliceBounds> ResolveSlice(const SliceObject& slice, int64_t size) {
  const auto read = [](const Value& part, int64_t otherwise) -> Result<int64_t> {
    if (part.is_none()) {
      return otherwise;
    }
    const std::optional<int64_t> index = ToIndex(part);
    if (!index) {
      return InvalidArgument("slice indices must be integers or None or have an __index__ method");
    }
    return *index;
  };
  SliceBounds bounds;
  FT_ASSIGN_OR_RETURN(bounds.step, read(slice.step, 1));
  if (bounds.step == 0) {
    return InvalidArgument("slice step cannot be zero");
  }
  bounds.step = std::clamp<int64_t>(bounds.step, -size - 1, size + 1);
  const bool is_forward = bounds.step > 0;
  const int64_t low = is_forward ? 0 : -1;
  const int64_t high = is_forward ? size : size - 1;
  const auto place = [&](int64_t index) {
    index = std::clamp<int64_t>(index, -size - 1, size);
    return std::clamp<int64_t>(index < 0 ? index + size : index, low, high);
  };
  bounds.start = is_forward ? low : high;
  if (!slice.start.is_none()) {
    FT_ASSIGN_OR_RETURN(const int64_t index, read(slice.start, 0));
    bounds.start = place(index);
  }
  bounds.stop = is_forward ? high : low;
  if (!slice.stop.is_none()) {
    FT_ASSIGN_OR_RETURN(const int64_t index, read(slice.stop, 0));
    bounds.stop = place(index);
  }
  bounds.count = RangeObject(bounds.start, bounds.stop, bounds.step).size();
  return bounds;
}

Result<Value> Slice(Interp& interp, const Value& container, const SliceObject& slice) {
  if (container.is_undefined()) {
    return UndefinedError(container);
  }
  const int64_t size = IndexableSize(container);
  if (size < 0) {
    if (container.is(ObjectKind::kDict)) {
      return InvalidArgument("unhashable type: 'slice'");
    }
    return InvalidArgument("'{}' object is not subscriptable", TypeName(container));
  }
  FT_ASSIGN_OR_RETURN(const SliceBounds bounds, ResolveSlice(slice, size));
  FT_RETURN_IF_ERROR(interp.WorkBytes(static_cast<size_t>(container.is_str() ? size : 0)));
  if (container.is_str() && bounds.step == 1) {
    return interp.heap().MakeStr(std::string(Substring(container.str(), bounds.start, bounds.stop)),
                                 container.is_markup());
  }
  if (container.is_str()) {
    const std::u32string chars = Decode(container.text());
    std::u32string picked;
    for (int64_t i = 0; i < bounds.count; ++i) {
      picked += chars[static_cast<size_t>(bounds.start + i * bounds.step)];
    }
    return interp.heap().MakeStr(Encode(picked), container.is_markup());
  }
  if (container.is(ObjectKind::kRange)) {
    const auto* range = container.As<RangeObject>();
    // Unsigned: one step beyond the end of an extreme range wraps, and is never used.
    const auto at = [range](int64_t index) {
      return static_cast<int64_t>(static_cast<uint64_t>(range->start) +
                                  static_cast<uint64_t>(index) *
                                      static_cast<uint64_t>(range->step));
    };
    const auto step = static_cast<int64_t>(static_cast<uint64_t>(range->step) *
                                           static_cast<uint64_t>(bounds.step));
    return Value::Obj(
        interp.heap().New<RangeObject>(at(bounds.start), at(bounds.stop), step == 0 ? 1 : step));
  }
  if (container.is(ObjectKind::kBytes)) {
    std::string bytes;
    for (int64_t i = 0; i < bounds.count; ++i) {
      bytes +=
          container.As<BytesObject>()->bytes[static_cast<size_t>(bounds.start + i * bounds.step)];
    }
    return interp.heap().Bytes(std::move(bytes));
  }
  Values items;
  FT_RETURN_IF_ERROR(interp.WorkBytes(static_cast<size_t>(bounds.count) * sizeof(Value)));
  items.reserve(static_cast<size_t>(bounds.count));
  for (int64_t i = 0; i < bounds.count; ++i) {
    items.push_back(
        container.As<SequenceObject>()->items[static_cast<size_t>(bounds.start + i * bounds.step)]);
  }
  return container.is(ObjectKind::kList) ? interp.heap().List(std::move(items))
                                         : interp.heap().Tuple(std::move(items));
}

}  // namespace ft::jinja
