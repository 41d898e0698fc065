// Values of the template engine, with Python's semantics: immutable strings, lists and mappings,
// unlimited integers, undefined. Not JSON: json::Value is converted on the way in (convert.h).
//
// Containers live in the Heap of one render and die with it, all at once: reference counting would
// leak cycles (a namespace may hold itself) and recurse through deep nests. Strings are counted,
// because templates build long ones piece by piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "core/text/jinja/bigint.h"

namespace ft::jinja {

class Interp;

enum class ObjectKind : uint8_t {
  kUndefined,
  kBigInt,
  kBytes,
  kList,
  kTuple,
  kDict,
  kDictView,
  kRange,
  kIterator,
  kFunction,
  kMacro,
  kNamespace,
  kCycler,
  kJoiner,
  kLoop,
  kTemplateRef,
  kBlockRef,
  kSlice,
};

/// Base of everything that lives in the Heap. The destructor is virtual for the Heap's sake alone.
struct Object {
  explicit Object(ObjectKind object_kind) : kind(object_kind) {}

  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() = default;

  const ObjectKind kind;
};

/// Counts the bytes of live values of one render.
struct MemoryMeter {
  size_t live_bytes = 0;
};

/// Text of a string value, UTF-8.
struct StrData {
  StrData(std::string value, bool markup, MemoryMeter* memory_meter);
  StrData(const StrData&) = delete;
  StrData& operator=(const StrData&) = delete;
  ~StrData();

  const std::string text;
  const size_t num_chars;  ///< code points
  const bool is_markup;    ///< escaped for HTML already (jinja2's Markup)
  MemoryMeter* const meter;

  bool is_ascii() const { return num_chars == text.size(); }
};

enum class Type : uint8_t {
  kMissing,  ///< a variable without a value; never seen by templates
  kNone,
  kBool,
  kInt,
  kFloat,
  kStr,
  kObject
};

/// One value. Small, cheap to copy.
class Value {
 public:
  Value() = default;

  static Value Missing() {
    Value value;
    value.type_ = Type::kMissing;
    return value;
  }

  static Value None() { return {}; }

  static Value Bool(bool flag) {
    Value value;
    value.type_ = Type::kBool;
    value.scalar_.as_int = flag ? 1 : 0;
    return value;
  }

  static Value Int(int64_t number) {
    Value value;
    value.type_ = Type::kInt;
    value.scalar_.as_int = number;
    return value;
  }

  static Value Float(double number) {
    Value value;
    value.type_ = Type::kFloat;
    value.scalar_.as_float = number;
    return value;
  }

  static Value Obj(Object* object) {
    Value value;
    value.type_ = Type::kObject;
    value.scalar_.as_object = object;
    return value;
  }

  /// A string that no Heap counts: constants of a template.
  static Value ConstStr(std::string text) {
    return Str(std::make_shared<const StrData>(std::move(text), /*markup=*/false,
                                               /*memory_meter=*/nullptr));
  }

  static Value Str(std::shared_ptr<const StrData> data) {
    Value value;
    value.type_ = Type::kStr;
    value.str_ = std::move(data);
    return value;
  }

  Type type() const { return type_; }

  bool is_missing() const { return type_ == Type::kMissing; }

  bool is_none() const { return type_ == Type::kNone; }

  bool is_bool() const { return type_ == Type::kBool; }

  bool is_str() const { return type_ == Type::kStr; }

  bool is_float() const { return type_ == Type::kFloat; }

  bool is_small_int() const { return type_ == Type::kInt; }

  bool is_object() const { return type_ == Type::kObject; }

  bool is(ObjectKind kind) const { return is_object() && scalar_.as_object->kind == kind; }

  bool is_undefined() const { return is(ObjectKind::kUndefined); }

  bool is_big_int() const { return is(ObjectKind::kBigInt); }

  /// An int of any size, or a bool (Python's bool is an int).
  bool is_int_like() const { return is_small_int() || is_bool() || is_big_int(); }

  bool is_number() const { return is_int_like() || is_float(); }

  bool is_markup() const { return is_str() && str_->is_markup; }

  // Each requires the matching type.
  bool as_bool() const { return scalar_.as_int != 0; }

  /// A small int or a bool.
  int64_t as_int() const { return scalar_.as_int; }

  double as_float() const { return scalar_.as_float; }

  Object* object() const { return scalar_.as_object; }

  const StrData& str() const { return *str_; }

  const std::string& text() const { return str_->text; }

  const void* str_identity() const { return str_.get(); }

  template <typename T>
  T* As() const {
    return static_cast<T*>(scalar_.as_object);
  }

 private:
  union Scalar {
    int64_t as_int = 0;
    double as_float;
    Object* as_object;
  };

  Type type_ = Type::kNone;
  Scalar scalar_;

  // Shared: a string is in as many lists and variables as templates put it; it never changes.
  std::shared_ptr<const StrData> str_;
};

using Values = std::vector<Value>;

/// Insertion-ordered mapping with Python's equality of keys (1 == 1.0 == True).
class DictData {
 public:
  struct Entry {
    Value key;
    Value value;
    uint64_t hash = 0;
  };

  const std::vector<Entry>& entries() const { return entries_; }

  size_t size() const { return entries_.size(); }

  /// `key` must be hashable (see Hash in ops.h). Null when absent.
  const Value* Find(const Value& key, uint64_t hash) const;
  const Value* FindStr(std::string_view key) const;
  void Set(const Value& key, uint64_t hash, Value value);
  void SetStr(const Value& key, Value value);
  /// Takes out a key; false when absent.
  bool Erase(std::string_view key);

 private:
  template <typename Matches>
  const Value* Lookup(uint64_t hash, const Matches& matches) const;
  void Insert(const Value& key, uint64_t hash, Value value);
  void Rehash();

  std::vector<Entry> entries_;
  std::vector<int32_t> slots_;  // open addressing; -1 free; empty while there are few entries
};

struct UndefinedObject : Object {
  UndefinedObject() : Object(ObjectKind::kUndefined) {}

  std::string hint;  ///< the message, when not made of the two below
  Value owner = Value::Missing();
  Value name;
  bool is_security = false;  ///< fails as the sandbox's refusal
};

struct BigIntObject : Object {
  explicit BigIntObject(BigInt value) : Object(ObjectKind::kBigInt), number(std::move(value)) {}

  const BigInt number;
};

struct BytesObject : Object {
  explicit BytesObject(std::string value) : Object(ObjectKind::kBytes), bytes(std::move(value)) {}

  const std::string bytes;
};

/// A list or a tuple (ObjectKind tells).
struct SequenceObject : Object {
  SequenceObject(ObjectKind sequence_kind, Values values)
      : Object(sequence_kind), items(std::move(values)) {}

  Values items;
  bool is_group = false;  ///< groupby's named tuple: (grouper, list)
};

struct DictObject : Object {
  DictObject() : Object(ObjectKind::kDict) {}

  DictData data;
};

enum class DictViewKind : uint8_t {
  kKeys,
  kValues,
  kItems
};

struct DictViewObject : Object {
  DictViewObject(DictObject* of, DictViewKind which)
      : Object(ObjectKind::kDictView), dict(of), view(which) {}

  DictObject* const dict;
  const DictViewKind view;
};

struct RangeObject : Object {
  RangeObject(int64_t first, int64_t last, int64_t by)
      : Object(ObjectKind::kRange), start(first), stop(last), step(by) {}

  const int64_t start;
  const int64_t stop;
  const int64_t step;

  int64_t size() const;
};

/// A Python iterator: gives each item once. `next` says false at the end.
struct IteratorObject : Object {
  using Next = std::function<Result<bool>(Value* item)>;

  IteratorObject(std::string python_type, Next function)
      : Object(ObjectKind::kIterator),
        type_name(std::move(python_type)),
        next(std::move(function)) {}

  const std::string type_name;
  Next next;
  bool is_done = false;
};

/// Arguments of a call.
struct CallArgs {
  Values positional;
  std::vector<std::pair<std::string, Value>> keywords;
};

/// A built-in function, class or bound method.
struct FunctionObject : Object {
  using Body = std::function<Result<Value>(Interp& interp, CallArgs& args)>;

  FunctionObject(std::string function_name, Body function)
      : Object(ObjectKind::kFunction), name(std::move(function_name)), body(std::move(function)) {}

  const std::string name;
  Body body;
  std::string type_name = "builtin_function_or_method";
  std::string repr;  ///< what it prints as; empty: an address, as Python does
};

struct NamespaceObject : Object {
  NamespaceObject() : Object(ObjectKind::kNamespace) {}

  DictData attributes;
};

struct CyclerObject : Object {
  explicit CyclerObject(Values values) : Object(ObjectKind::kCycler), items(std::move(values)) {}

  const Values items;
  size_t position = 0;
};

struct JoinerObject : Object {
  explicit JoinerObject(Value between)
      : Object(ObjectKind::kJoiner), separator(std::move(between)) {}

  const Value separator;
  bool is_used = false;
};

struct SliceObject : Object {
  SliceObject() : Object(ObjectKind::kSlice) {}

  Value start;
  Value stop;
  Value step;
};

/// Owns the containers of one render.
class Heap {
 public:
  Heap() = default;
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  template <typename T, typename... Args>
  T* New(Args&&... args) {
    auto owned = std::make_unique<T>(std::forward<Args>(args)...);
    T* object = owned.get();
    meter_.live_bytes += sizeof(T) + kOverheadBytes;
    objects_.push_back(std::move(owned));
    return object;
  }

  /// Counts bytes that a container grew by.
  void Count(size_t num_bytes) { meter_.live_bytes += num_bytes; }

  void Uncount(size_t num_bytes) { meter_.live_bytes -= num_bytes; }

  size_t live_bytes() const { return meter_.live_bytes; }

  Value Str(std::string text) { return MakeStr(std::move(text), /*is_markup=*/false); }

  Value Markup(std::string text) { return MakeStr(std::move(text), /*is_markup=*/true); }

  Value MakeStr(std::string text, bool is_markup) {
    return Value::Str(std::make_shared<const StrData>(std::move(text), is_markup, &meter_));
  }

  Value Integer(BigInt number);
  Value List(Values items);
  Value Tuple(Values items);

  Value Bytes(std::string bytes) {
    meter_.live_bytes += bytes.size();
    return Value::Obj(New<BytesObject>(std::move(bytes)));
  }

 private:
  static constexpr size_t kOverheadBytes = 32;  // allocator and the entry in objects_

  // Before objects_: strings in there tell it when they die.
  MemoryMeter meter_;
  std::vector<std::unique_ptr<Object>> objects_;
};

/// Python's name of the value's type: "str", "dict", "NoneType", "jinja2.runtime.Macro" …
std::string TypeName(const Value& value);

}  // namespace ft::jinja
