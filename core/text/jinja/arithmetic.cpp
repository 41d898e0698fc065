// Python's arithmetic operators over Values.
#include <cmath>
#include <limits>

#include "core/base/errors.h"
#include "core/text/jinja/format.h"
#include "core/text/jinja/interp.h"
#include "core/text/jinja/number.h"
#include "core/text/jinja/ops.h"

namespace ft::jinja {
namespace {

const char* OpText(BinaryOp op) {
  switch (op) {
    case BinaryOp::kAdd:
      return "+";
    case BinaryOp::kSub:
      return "-";
    case BinaryOp::kMul:
      return "*";
    case BinaryOp::kDiv:
      return "/";
    case BinaryOp::kFloorDiv:
      return "//";
    case BinaryOp::kMod:
      return "%";
    case BinaryOp::kPow:
      return "** or pow()";
  }
  return "?";
}

Status Unsupported(BinaryOp op, const Value& a, const Value& b) {
  return InvalidArgument("unsupported operand type(s) for {}: '{}' and '{}'", OpText(op),
                         TypeName(a), TypeName(b));
}

double FloorMod(double a, double b) {
  double mod = std::fmod(a, b);
  if (mod != 0) {
    if ((b < 0) != (mod < 0)) {
      mod += b;
    }
  } else {
    mod = std::copysign(0.0, b);
  }
  return mod;
}

double FloorDivide(double a, double b) {
  double mod = std::fmod(a, b);
  double div = (a - mod) / b;
  if (mod != 0 && (b < 0) != (mod < 0)) {
    div -= 1.0;
  }
  if (div == 0) {
    return std::copysign(0.0, a / b);
  }
  double floored = std::floor(div);
  if (div - floored > 0.5) {
    floored += 1.0;
  }
  return floored;
}

Result<Value> FloatPow(double a, double b) {
  if (a == 0 && b < 0) {
    return InvalidArgument("0.0 cannot be raised to a negative power");
  }
  if (a < 0 && std::isfinite(a) && std::isfinite(b) && std::floor(b) != b) {
    return Unimplemented("complex numbers are not supported in templates");
  }
  const double result = std::pow(a, b);
  if (std::isinf(result) && std::isfinite(a) && std::isfinite(b)) {
    return InvalidArgument("(34, 'Numerical result out of range')");
  }
  return Value::Float(result);
}

Result<Value> FloatArithmetic(BinaryOp op, double a, double b) {
  switch (op) {
    case BinaryOp::kAdd:
      return Value::Float(a + b);
    case BinaryOp::kSub:
      return Value::Float(a - b);
    case BinaryOp::kMul:
      return Value::Float(a * b);
    case BinaryOp::kPow:
      return FloatPow(a, b);
    case BinaryOp::kDiv:
    case BinaryOp::kFloorDiv:
    case BinaryOp::kMod:
      break;
  }
  if (b == 0) {
    return InvalidArgument("float division by zero");
  }
  if (op == BinaryOp::kDiv) {
    return Value::Float(a / b);
  }
  return Value::Float(op == BinaryOp::kMod ? FloorMod(a, b) : FloorDivide(a, b));
}

// The fast path: nothing when the result does not fit.
std::optional<Value> SmallArithmetic(BinaryOp op, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (op) {
    case BinaryOp::kAdd:
      return __builtin_add_overflow(a, b, &result) ? std::nullopt
                                                   : std::optional(Value::Int(result));
    case BinaryOp::kSub:
      return __builtin_sub_overflow(a, b, &result) ? std::nullopt
                                                   : std::optional(Value::Int(result));
    case BinaryOp::kMul:
      return __builtin_mul_overflow(a, b, &result) ? std::nullopt
                                                   : std::optional(Value::Int(result));
    case BinaryOp::kFloorDiv:
    case BinaryOp::kMod: {
      if (b == 0 || (a == std::numeric_limits<int64_t>::min() && b == -1)) {
        return std::nullopt;
      }
      int64_t quotient = a / b;
      int64_t remainder = a % b;
      if (remainder != 0 && (remainder < 0) != (b < 0)) {
        --quotient;
        remainder += b;
      }
      return Value::Int(op == BinaryOp::kMod ? remainder : quotient);
    }
    case BinaryOp::kDiv:
    case BinaryOp::kPow:
      return std::nullopt;
  }
  return std::nullopt;
}

Status CheckBits(size_t num_bits) {
  if (num_bits > kMaxBigIntLimbs * 32) {
    return ResourceExhausted("an integer of {} bits is more than a template may make", num_bits);
  }
  return {};
}

Result<Value> IntPow(Interp& interp, const Value& a, const Value& b) {
  if (ToBigInt(b).is_negative()) {
    FT_ASSIGN_OR_RETURN(const double base, ToDouble(a));
    FT_ASSIGN_OR_RETURN(const double exponent, ToDouble(b));
    return FloatPow(base, exponent);
  }
  BigInt base = ToBigInt(a);
  if (base.is_zero() || base == BigInt(1) || base == BigInt(-1)) {
    const BigInt exponent = ToBigInt(b);
    if (exponent.is_zero()) {
      return Value::Int(1);
    }
    const bool is_odd = !BigInt::FloorDivMod(exponent, BigInt(2)).second.is_zero();
    return Value::Int(base.is_zero() ? 0 : (base.is_negative() && is_odd ? -1 : 1));
  }
  const int64_t exponent = *ToIndex(b);
  if (exponent > static_cast<int64_t>(kMaxBigIntLimbs * 32)) {
    return CheckBits(static_cast<size_t>(exponent));
  }
  FT_RETURN_IF_ERROR(CheckBits(base.BitLength() * static_cast<size_t>(exponent)));
  BigInt result(1);
  for (int64_t rest = exponent; rest != 0; rest >>= 1) {
    FT_RETURN_IF_ERROR(interp.Work(static_cast<int64_t>(base.num_limbs() * base.num_limbs())));
    if ((rest & 1) != 0) {
      result = result * base;
    }
    if (rest > 1) {
      base = base * base;
    }
  }
  return interp.heap().Integer(std::move(result));
}

Result<Value> IntArithmetic(Interp& interp, BinaryOp op, const Value& a, const Value& b) {
  if (!a.is_big_int() && !b.is_big_int()) {
    if (const auto small = SmallArithmetic(op, a.as_int(), b.as_int())) {
      return *small;
    }
  }
  if (op == BinaryOp::kPow) {
    return IntPow(interp, a, b);
  }
  const BigInt x = ToBigInt(a);
  const BigInt y = ToBigInt(b);
  FT_RETURN_IF_ERROR(interp.Work(static_cast<int64_t>(x.num_limbs() * (y.num_limbs() + 1))));
  switch (op) {
    case BinaryOp::kAdd:
      FT_RETURN_IF_ERROR(CheckBits(std::max(x.BitLength(), y.BitLength()) + 1));
      return interp.heap().Integer(x + y);
    case BinaryOp::kSub:
      FT_RETURN_IF_ERROR(CheckBits(std::max(x.BitLength(), y.BitLength()) + 1));
      return interp.heap().Integer(x - y);
    case BinaryOp::kMul:
      FT_RETURN_IF_ERROR(CheckBits(x.BitLength() + y.BitLength()));
      return interp.heap().Integer(x * y);
    case BinaryOp::kDiv: {
      if (y.is_zero()) {
        return InvalidArgument("division by zero");
      }
      const double quotient = BigInt::TrueDivide(x, y);
      if (std::isinf(quotient)) {
        return InvalidArgument("integer division result too large for a float");
      }
      return Value::Float(quotient);
    }
    case BinaryOp::kFloorDiv:
    case BinaryOp::kMod: {
      if (y.is_zero()) {
        return InvalidArgument("integer division or modulo by zero");
      }
      auto [quotient, remainder] = BigInt::FloorDivMod(x, y);
      return interp.heap().Integer(op == BinaryOp::kMod ? std::move(remainder)
                                                        : std::move(quotient));
    }
    case BinaryOp::kPow:
      break;
  }
  return Unsupported(op, a, b);
}

Result<Value> Repeat(Interp& interp, const Value& sequence, const Value& times) {
  if (times.is_big_int()) {
    return InvalidArgument("cannot fit 'int' into an index-sized integer");
  }
  if (sequence.is(ObjectKind::kBytes)) {
    FT_ASSIGN_OR_RETURN(
        const Value text,
        Repeat(interp, interp.heap().Str(sequence.As<BytesObject>()->bytes), times));
    return interp.heap().Bytes(text.text());
  }
  const int64_t count = std::max<int64_t>(0, *ToIndex(times));
  const size_t size =
      sequence.is_str() ? sequence.text().size() : sequence.As<SequenceObject>()->items.size();
  const size_t unit = sequence.is_str() ? 1 : sizeof(Value);
  if (size != 0 && static_cast<uint64_t>(count) > interp.max_string_bytes() / (size * unit)) {
    return ResourceExhausted("a repetition of {} times {} is more than a template may make", size,
                             count);
  }
  FT_RETURN_IF_ERROR(interp.WorkBytes(size * unit * static_cast<size_t>(count)));
  if (sequence.is_str()) {
    std::string text;
    text.reserve(size * static_cast<size_t>(count));
    for (int64_t i = 0; size != 0 && i < count; ++i) {
      text += sequence.text();
    }
    return interp.heap().MakeStr(std::move(text), sequence.is_markup());
  }
  Values items;
  const Values& source = sequence.As<SequenceObject>()->items;
  for (int64_t i = 0; size != 0 && i < count; ++i) {
    items.insert(items.end(), source.begin(), source.end());
  }
  return sequence.is(ObjectKind::kList) ? interp.heap().List(std::move(items))
                                        : interp.heap().Tuple(std::move(items));
}

Result<Value> Concatenate(Interp& interp, const Value& a, const Value& b) {
  if (a.is_str() && b.is_str()) {
    const bool is_markup = a.is_markup() || b.is_markup();
    FT_RETURN_IF_ERROR(interp.WorkBytes(a.text().size() + b.text().size()));
    if (is_markup) {
      FT_ASSIGN_OR_RETURN(const Value left, Escape(interp, a));
      FT_ASSIGN_OR_RETURN(const Value right, Escape(interp, b));
      return interp.heap().Markup(left.text() + right.text());
    }
    return interp.heap().Str(a.text() + b.text());
  }
  if (a.is(ObjectKind::kBytes) && b.is(ObjectKind::kBytes)) {
    return interp.heap().Bytes(a.As<BytesObject>()->bytes + b.As<BytesObject>()->bytes);
  }
  if ((a.is(ObjectKind::kList) && b.is(ObjectKind::kList)) ||
      (a.is(ObjectKind::kTuple) && b.is(ObjectKind::kTuple))) {
    const Values& left = a.As<SequenceObject>()->items;
    const Values& right = b.As<SequenceObject>()->items;
    FT_RETURN_IF_ERROR(interp.WorkBytes((left.size() + right.size()) * sizeof(Value)));
    Values items;
    items.reserve(left.size() + right.size());
    items.insert(items.end(), left.begin(), left.end());
    items.insert(items.end(), right.begin(), right.end());
    return a.is(ObjectKind::kList) ? interp.heap().List(std::move(items))
                                   : interp.heap().Tuple(std::move(items));
  }
  if (a.is_str()) {
    return InvalidArgument("can only concatenate str (not \"{}\") to str", TypeName(b));
  }
  if (a.is(ObjectKind::kList) || a.is(ObjectKind::kTuple)) {
    return InvalidArgument("can only concatenate {} (not \"{}\") to {}", TypeName(a), TypeName(b),
                           TypeName(a));
  }
  return Unsupported(BinaryOp::kAdd, a, b);
}

bool IsRepeatable(const Value& value) {
  return value.is_str() || value.is(ObjectKind::kList) || value.is(ObjectKind::kTuple) ||
         value.is(ObjectKind::kBytes);
}

}  // namespace

Result<Value> Arithmetic(Interp& interp, BinaryOp op, const Value& a, const Value& b) {
  if (a.is_int_like() && b.is_int_like()) {
    return IntArithmetic(interp, op, a, b);
  }
  if (a.is_number() && b.is_number()) {
    FT_ASSIGN_OR_RETURN(const double x, ToDouble(a));
    FT_ASSIGN_OR_RETURN(const double y, ToDouble(b));
    return FloatArithmetic(op, x, y);
  }
  if (op == BinaryOp::kMod && a.is_str()) {
    return PercentFormat(interp, a, b);
  }
  if (a.is_undefined()) {
    return UndefinedError(a);
  }
  if (b.is_undefined()) {
    return UndefinedError(b);
  }
  if (op == BinaryOp::kAdd) {
    return Concatenate(interp, a, b);
  }
  if (op == BinaryOp::kMul) {
    if (IsRepeatable(a) && b.is_int_like()) {
      return Repeat(interp, a, b);
    }
    if (a.is_int_like() && IsRepeatable(b)) {
      return Repeat(interp, b, a);
    }
  }
  return Unsupported(op, a, b);
}

Result<Value> Negate(Interp& interp, const Value& value) {
  if (value.is_float()) {
    return Value::Float(-value.as_float());
  }
  if (value.is_int_like()) {
    return IntArithmetic(interp, BinaryOp::kSub, Value::Int(0), value);
  }
  if (value.is_undefined()) {
    return UndefinedError(value);
  }
  return InvalidArgument("bad operand type for unary -: '{}'", TypeName(value));
}

Result<Value> Positive(Interp& interp, const Value& value) {
  if (value.is_float()) {
    return value;
  }
  if (value.is_int_like()) {
    return IntArithmetic(interp, BinaryOp::kAdd, Value::Int(0), value);
  }
  if (value.is_undefined()) {
    return UndefinedError(value);
  }
  return InvalidArgument("bad operand type for unary +: '{}'", TypeName(value));
}

}  // namespace ft::jinja
