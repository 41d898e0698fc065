// Unlimited integers for templates: Python's int beyond 64 bits. Schoolbook arithmetic; sizes are
// bounded by kMaxBigIntLimbs so that no template computes for long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ft::jinja {

/// 128k bits, about 39,000 decimal digits.
inline constexpr size_t kMaxBigIntLimbs = 4096;

class BigInt {
 public:
  BigInt() = default;
  explicit BigInt(int64_t value);

  /// The integer nearest to zero of a finite `value`.
  static BigInt FromDouble(double value);
  /// Digits only, in `base` 2..36; no sign, no separators. Requires valid digits.
  static BigInt FromDigits(std::string_view digits, int base);

  bool is_zero() const { return limbs_.empty(); }

  bool is_negative() const { return is_negative_; }

  size_t num_limbs() const { return limbs_.size(); }

  size_t BitLength() const;
  std::optional<int64_t> ToInt64() const;
  /// Nearest double, ties to even; infinite when beyond.
  double ToDouble() const;
  /// Digits in `base` 2..36 with a sign.
  std::string ToString(int base = 10) const;

  BigInt Negated() const;
  BigInt Shifted(int64_t num_bits) const;  ///< left when positive; right truncates the magnitude

  friend BigInt operator+(const BigInt& a, const BigInt& b);
  friend BigInt operator-(const BigInt& a, const BigInt& b);
  friend BigInt operator*(const BigInt& a, const BigInt& b);
  friend bool operator==(const BigInt& a, const BigInt& b) = default;

  /// -1, 0, 1.
  static int Compare(const BigInt& a, const BigInt& b);
  /// Quotient rounded down and remainder with the divisor's sign. Requires b != 0.
  static std::pair<BigInt, BigInt> FloorDivMod(const BigInt& a, const BigInt& b);
  /// a / b as the nearest double (infinite when beyond). Requires b != 0.
  static double TrueDivide(const BigInt& a, const BigInt& b);

 private:
  using Limbs = std::vector<uint32_t>;

  static int CompareMagnitude(const Limbs& a, const Limbs& b);
  static Limbs AddMagnitude(const Limbs& a, const Limbs& b);
  static Limbs SubMagnitude(const Limbs& a, const Limbs& b);  // a >= b
  static std::pair<Limbs, Limbs> DivMod(const Limbs& a, const Limbs& b);
  static uint32_t DivSmall(Limbs* limbs, uint32_t divisor);  // returns the remainder
  static void Trim(Limbs* limbs);
  static BigInt Make(Limbs limbs, bool is_negative);

  bool is_negative_ = false;
  Limbs limbs_;  // little endian, no leading zeros
};

}  // namespace ft::jinja
