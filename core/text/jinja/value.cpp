#include "core/text/jinja/value.h"

#include "core/text/jinja/ops.h"

namespace ft::jinja {
namespace {

size_t CountChars(std::string_view text) {
  size_t count = 0;
  for (const char c : text) {
    count += (static_cast<uint8_t>(c) & 0xC0) != 0x80 ? 1 : 0;
  }
  return count;
}

constexpr size_t kIndexFrom = 8;  // fewer entries are looked through one by one

}  // namespace

StrData::StrData(std::string value, bool markup, MemoryMeter* memory_meter)
    : text(std::move(value)), num_chars(CountChars(text)), is_markup(markup), meter(memory_meter) {
  if (meter != nullptr) {
    meter->live_bytes += text.size() + sizeof(StrData);
  }
}

StrData::~StrData() {
  if (meter != nullptr) {
    meter->live_bytes -= text.size() + sizeof(StrData);
  }
}

template <typename Matches>
const Value* DictData::Lookup(uint64_t hash, const Matches& matches) const {
  if (slots_.empty()) {
    for (const Entry& entry : entries_) {
      if (entry.hash == hash && matches(entry.key)) {
        return &entry.value;
      }
    }
    return nullptr;
  }
  for (size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
    if (slots_[at] < 0) {
      return nullptr;
    }
    const Entry& entry = entries_[static_cast<size_t>(slots_[at])];
    if (entry.hash == hash && matches(entry.key)) {
      return &entry.value;
    }
  }
}

const Value* DictData::Find(const Value& key, uint64_t hash) const {
  return Lookup(hash, [&key](const Value& other) { return KeysEqual(key, other); });
}

const Value* DictData::FindStr(std::string_view key) const {
  return Lookup(HashText(key),
                [key](const Value& other) { return other.is_str() && other.text() == key; });
}

void DictData::Set(const Value& key, uint64_t hash, Value value) {
  if (const Value* found = Find(key, hash)) {
    const_cast<Value&>(*found) = std::move(value);  // NOLINT: it is in our own entries_
    return;
  }
  Insert(key, hash, std::move(value));
}

void DictData::SetStr(const Value& key, Value value) {
  Set(key, HashText(key.text()), std::move(value));
}

void DictData::Insert(const Value& key, uint64_t hash, Value value) {
  entries_.push_back(Entry{key, std::move(value), hash});
  if (entries_.size() > kIndexFrom && entries_.size() * 2 > slots_.size()) {
    Rehash();
  } else if (!slots_.empty()) {
    size_t at = hash & (slots_.size() - 1);
    while (slots_[at] >= 0) {
      at = (at + 1) & (slots_.size() - 1);
    }
    slots_[at] = static_cast<int32_t>(entries_.size() - 1);
  }
}

void DictData::Rehash() {
  size_t size = 16;
  while (size < entries_.size() * 4) {
    size *= 2;
  }
  slots_.assign(size, -1);
  for (size_t i = 0; i < entries_.size(); ++i) {
    size_t at = entries_[i].hash & (size - 1);
    while (slots_[at] >= 0) {
      at = (at + 1) & (size - 1);
    }
    slots_[at] = static_cast<int32_t>(i);
  }
}

bool DictData::Erase(std::string_view key) {
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].key.is_str() && entries_[i].key.text() == key) {
      entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(i));
      slots_.clear();
      if (entries_.size() > kIndexFrom) {
        Rehash();
      }
      return true;
    }
  }
  return false;
}

int64_t RangeObject::size() const {
  // As unsigned: the distance of two int64 may not fit one.
  if (step > 0 && start < stop) {
    return static_cast<int64_t>((static_cast<uint64_t>(stop) - static_cast<uint64_t>(start) - 1) /
                                    static_cast<uint64_t>(step) +
                                1);
  }
  if (step < 0 && start > stop) {
    return static_cast<int64_t>((static_cast<uint64_t>(start) - static_cast<uint64_t>(stop) - 1) /
                                    (~static_cast<uint64_t>(step) + 1) +
                                1);
  }
  return 0;
}

Value Heap::Integer(BigInt number) {
  if (const auto small = number.ToInt64()) {
    return Value::Int(*small);
  }
  Count(number.num_limbs() * sizeof(uint32_t));
  return Value::Obj(New<BigIntObject>(std::move(number)));
}

Value Heap::List(Values items) {
  Count(items.size() * sizeof(Value));
  return Value::Obj(New<SequenceObject>(ObjectKind::kList, std::move(items)));
}

Value Heap::Tuple(Values items) {
  Count(items.size() * sizeof(Value));
  return Value::Obj(New<SequenceObject>(ObjectKind::kTuple, std::move(items)));
}

std::string TypeName(const Value& value) {
  switch (value.type()) {
    case Type::kMissing:
    case Type::kNone:
      return "NoneType";
    case Type::kBool:
      return "bool";
    case Type::kInt:
      return "int";
    case Type::kFloat:
      return "float";
    case Type::kStr:
      return value.is_markup() ? "markupsafe.Markup" : "str";
    case Type::kObject:
      break;
  }
  switch (value.object()->kind) {
    case ObjectKind::kUndefined:
      return "jinja2.runtime.Undefined";
    case ObjectKind::kBigInt:
      return "int";
    case ObjectKind::kBytes:
      return "bytes";
    case ObjectKind::kList:
      return "list";
    case ObjectKind::kTuple:
      return value.As<SequenceObject>()->is_group ? "jinja2.filters._GroupTuple" : "tuple";
    case ObjectKind::kDict:
      return "dict";
    case ObjectKind::kDictView: {
      const DictViewKind view = value.As<DictViewObject>()->view;
      return view == DictViewKind::kKeys
                 ? "dict_keys"
                 : (view == DictViewKind::kValues ? "dict_values" : "dict_items");
    }
    case ObjectKind::kRange:
      return "range";
    case ObjectKind::kIterator:
      return value.As<IteratorObject>()->type_name;
    case ObjectKind::kFunction:
      return value.As<FunctionObject>()->type_name;
    case ObjectKind::kMacro:
      return "jinja2.runtime.Macro";
    case ObjectKind::kNamespace:
      return "transformers.utils.chat_template_utils.TemplateNamespace";
    case ObjectKind::kCycler:
      return "jinja2.utils.Cycler";
    case ObjectKind::kJoiner:
      return "jinja2.utils.Joiner";
    case ObjectKind::kLoop:
      return "jinja2.runtime.LoopContext";
    case ObjectKind::kTemplateRef:
      return "jinja2.runtime.TemplateReference";
    case ObjectKind::kBlockRef:
      return "jinja2.runtime.BlockReference";
    case ObjectKind::kSlice:
      return "slice";
  }
  return "object";
}

}  // namespace ft::jinja
