// Python's operators and protocols over Values: equality, order, arithmetic, iteration, printing.
// Failures carry Python's messages; the engine adds the line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/status.h"
#include "core/text/jinja/value.h"

namespace ft::jinja {

// Equality and order (compare.cpp).

/// Deepest nest of values that is compared, hashed or printed.
inline constexpr int kMaxValueDepth = 400;

uint64_t HashText(std::string_view text);
/// hash(value). Errors: unhashable type, or tuples nested too deeply.
Result<uint64_t> Hash(const Value& value);
/// Equality of two hashable values.
bool KeysEqual(const Value& a, const Value& b);
Result<bool> Equal(Interp& interp, const Value& a, const Value& b);
/// a < b. Errors: not ordered types ("'<' not supported …", with `op` in the message).
Result<bool> Less(Interp& interp, const Value& a, const Value& b, const char* op = "<");
/// a <= b, or with `is_reversed` a >= b. Not the negation of Less: NaN is neither.
Result<bool> LessOrEqual(Interp& interp, const Value& a, const Value& b, bool is_reversed);
/// Python's `is`, as far as it can be seen.
bool IsSame(const Value& a, const Value& b);
bool IsTrue(const Value& value);

// Arithmetic (arithmetic.cpp).

enum class BinaryOp : uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kFloorDiv,
  kMod,
  kPow
};

Result<Value> Arithmetic(Interp& interp, BinaryOp op, const Value& a, const Value& b);
Result<Value> Negate(Interp& interp, const Value& value);
Result<Value> Positive(Interp& interp, const Value& value);

// Containers (sequence.cpp).

/// len(value).
Result<int64_t> Length(Interp& interp, const Value& value);
/// Whether iter(value) works.
bool IsIterable(const Value& value);
/// iter(value).
Result<IteratorObject*> Iterate(Interp& interp, const Value& value);
/// Next item of an iterator; false at its end.
Result<bool> Next(Interp& interp, IteratorObject* iterator, Value* item);
/// list(value).
Result<Values> ToValues(Interp& interp, const Value& value);
/// item in container.
Result<bool> Contains(Interp& interp, const Value& container, const Value& item);
/// container[index] as Python's [] does it; nothing where it raises TypeError or LookupError.
/// Errors: what Python would let through (an undefined container).
Result<std::optional<Value>> Subscript(Interp& interp, const Value& container, const Value& index);
/// container[start:stop:step]; None for a part left out.
Result<Value> Slice(Interp& interp, const Value& container, const SliceObject& slice);

/// Start, stop and step for a sequence of `size` items. Errors: step 0, parts that are no integers.
struct SliceBounds {
  int64_t start = 0;
  int64_t stop = 0;
  int64_t step = 1;
  int64_t count = 0;
};

Result<SliceBounds> ResolveSlice(const SliceObject& slice, int64_t size);
/// The characters [start, stop) of a string.
std::string_view Substring(const StrData& data, int64_t start, int64_t stop);

// Printing (repr.cpp).

Status AppendStr(Interp& interp, const Value& value, std::string* out);
Status AppendRepr(Interp& interp, const Value& value, std::string* out, int depth = 0);
Result<std::string> ToStr(Interp& interp, const Value& value);
Result<std::string> ToRepr(Interp& interp, const Value& value);
std::string ReprText(std::string_view text);
/// markupsafe.escape(value): what is no Markup gets & < > " ' replaced.
Result<Value> Escape(Interp& interp, const Value& value);
std::string EscapeText(std::string_view text);

// Undefined (repr.cpp).

std::string UndefinedMessage(const UndefinedObject& undefined);
/// The failure of using an undefined value.
Status UndefinedError(const Value& undefined);

}  // namespace ft::jinja
