// Filters about numbers.
#include <cmath>

#include "core/base/errors.h"
#include "core/text/jinja/builtins.h"
#include "core/text/jinja/interp.h"
#include "core/text/jinja/number.h"
#include "core/text/jinja/ops.h"

namespace ft::jinja {
namespace {

Result<Value> Abs(Interp& interp, const Value& value, CallArgs& args) {
  FT_RETURN_IF_ERROR(NoArgs("abs", args));
  if (!value.is_number()) {
    return InvalidArgument("bad operand type for abs(): '{}'", TypeName(value));
  }
  if (value.is_float()) {
    return Value::Float(std::fabs(value.as_float()));
  }
  return ToBigInt(value).is_negative() ? Negate(interp, value) : Positive(interp, value);
}

// int(number): towards zero. Errors: NaN and infinities.
Result<Value> Truncated(Interp& interp, double value) {
  if (std::isnan(value)) {
    return InvalidArgument("cannot convert float NaN to integer");
  }
  if (std::isinf(value)) {
    return InvalidArgument("cannot convert float infinity to integer");
  }
  return interp.heap().Integer(BigInt::FromDouble(value));
}

Result<Value> Int(Interp& interp, const Value& value, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound, BoundArgs::Bind("int", args, {"default", "base"}, {}));
  const Value otherwise = bound.get(0, Value::Int(0));
  if (value.is_undefined()) {
    return UndefinedError(value);
  }
  if (value.is_int_like()) {
    return Positive(interp, value);
  }
  if (value.is_float()) {
    return std::isnan(value.as_float()) ? Result<Value>(otherwise)
                                        : Truncated(interp, value.as_float());
  }
  if (!value.is_str()) {
    return otherwise;
  }
  FT_RETURN_IF_ERROR(interp.WorkBytes(value.text().size()));
  const std::optional<int64_t> base = bound.has(1) ? ToIndex(bound.at(1)) : int64_t{10};
  if (base && (*base == 0 || (*base >= 2 && *base <= 36))) {
    if (const auto number = ParseInt(value.text(), static_cast<int>(*base))) {
      return interp.heap().Integer(*number);
    }
  }
  const std::optional<double> number = ParseFloat(value.text());
  if (!number || !std::isfinite(*number)) {
    return otherwise;
  }
  return Truncated(interp, *number);
}

Result<Value> Float(Interp& interp, const Value& value, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound, BoundArgs::Bind("float", args, {"default"}, {}));
  if (value.is_undefined()) {
    return UndefinedError(value);
  }
  if (value.is_number()) {
    FT_ASSIGN_OR_RETURN(const double number, ToDouble(value));
    return Value::Float(number);
  }
  if (value.is_str()) {
    FT_RETURN_IF_ERROR(interp.WorkBytes(value.text().size()));
    if (const auto number = ParseFloat(value.text())) {
      return Value::Float(*number);
    }
  }
  return bound.get(0, Value::Float(0));
}

// round(integer, digits) with digits below zero: to tens, hundreds …, half to even.
Result<Value> RoundInt(Interp& interp, const Value& value, int64_t digits) {
  if (digits >= 0) {
    return Positive(interp, value);
  }
  if (digits < -static_cast<int64_t>(kMaxIntDigits)) {
    return Value::Int(0);
  }
  const BigInt number = ToBigInt(value);
  const BigInt unit = BigInt::FromDigits("1" + std::string(static_cast<size_t>(-digits), '0'), 10);
  auto [quotient, remainder] = BigInt::FloorDivMod(number, unit);
  const int order = BigInt::Compare(remainder.Shifted(1), unit);
  const bool is_odd = !BigInt::FloorDivMod(quotient, BigInt(2)).second.is_zero();
  if (order > 0 || (order == 0 && is_odd)) {
    quotient = quotient + BigInt(1);
  }
  return interp.heap().Integer(quotient * unit);
}

Result<Value> RoundCommon(Interp& interp, const Value& value, const Value& precision) {
  if (!value.is_number()) {
    return InvalidArgument("type {} doesn't define __round__ method", TypeName(value));
  }
  if (precision.is_none()) {
    if (!value.is_float()) {
      return Positive(interp, value);
    }
    return Truncated(interp, std::nearbyint(value.as_float()));
  }
  const std::optional<int64_t> digits = ToIndex(precision);
  if (!digits) {
    return InvalidArgument("'{}' object cannot be interpreted as an integer", TypeName(precision));
  }
  if (value.is_float()) {
    return Value::Float(RoundFloat(value.as_float(), *digits));
  }
  return RoundInt(interp, value, *digits);
}

Result<Value> Round(Interp& interp, const Value& value, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound,
                      BoundArgs::Bind("round", args, {"precision", "method"}, {}));
  const std::string method =
      bound.has(1) ? (bound.at(1).is_str() ? bound.at(1).text() : "?") : "common";
  const Value precision = bound.get(0, Value::Int(0));
  if (method == "common") {
    return RoundCommon(interp, value, precision);
  }
  if (method != "ceil" && method != "floor") {
    return InvalidArgument("method must be common, ceil or floor");
  }
  FT_ASSIGN_OR_RETURN(const Value scale,
                      Arithmetic(interp, BinaryOp::kPow, Value::Int(10), precision));
  FT_ASSIGN_OR_RETURN(Value scaled, Arithmetic(interp, BinaryOp::kMul, value, scale));
  if (!scaled.is_number()) {
    return InvalidArgument("must be real number, not {}", TypeName(scaled));
  }
  if (scaled.is_float()) {
    const double number = scaled.as_float();
    FT_ASSIGN_OR_RETURN(
        scaled, Truncated(interp, method == "ceil" ? std::ceil(number) : std::floor(number)));
  }
  return Arithmetic(interp, BinaryOp::kDiv, scaled, scale);
}

Result<Value> FileSizeFormat(Interp& interp, const Value& value, CallArgs& args) {
  FT_ASSIGN_OR_RETURN(const BoundArgs bound,
                      BoundArgs::Bind("filesizeformat", args, {"binary"}, {}));
  const bool is_binary = bound.Flag(0, /*otherwise=*/false);
  double bytes = 0;
  if (value.is_number()) {
    FT_ASSIGN_OR_RETURN(bytes, ToDouble(value));
  } else if (value.is_str() && ParseFloat(value.text())) {
    bytes = *ParseFloat(value.text());
  } else if (value.is_undefined()) {
    return UndefinedError(value);
  } else {
    return InvalidArgument("could not convert {} to float", TypeName(value));
  }
  const double base = is_binary ? 1024 : 1000;
  if (bytes == 1) {
    return interp.heap().Str("1 Byte");
  }
  if (bytes < base) {
    FT_ASSIGN_OR_RETURN(const Value whole, Truncated(interp, bytes));
    FT_ASSIGN_OR_RETURN(const std::string text, IntToString(whole));
    return interp.heap().Str(text + " Bytes");
  }
  static constexpr const char* kDecimal[] = {"kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"};
  static constexpr const char* kBinary[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"};
  double unit = base;
  size_t i = 0;
  for (; i < 8; ++i) {
    unit *= base;
    if (bytes < unit) {
      break;
    }
  }
  i = std::min<size_t>(i, 7);
  return interp.heap().Str(FormatFixed(base * bytes / unit, 1) + " " +
                           (is_binary ? kBinary[i] : kDecimal[i]));
}

}  // namespace

std::span<const NamedFilter> NumberFilters() {
  static constexpr NamedFilter kFilters[] = {{"abs", Abs},
                                             {"int", Int},
                                             {"float", Float},
                                             {"round", Round},
                                             {"filesizeformat", FileSizeFormat}};
  return kFilters;
}

}  // namespace ft::jinja
