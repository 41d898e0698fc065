#include "core/text/jinja/bigint.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/base/check.h"

namespace ft::jinja {

BigInt::BigInt(int64_t value) : is_negative_(value < 0) {
  uint64_t magnitude = static_cast<uint64_t>(value);
  if (is_negative_) {
    magnitude = ~magnitude + 1;
  }
  for (; magnitude != 0; magnitude >>= 32) {
    limbs_.push_back(static_cast<uint32_t>(magnitude));
  }
}

BigInt BigInt::Make(Limbs limbs, bool is_negative) {
  Trim(&limbs);
  BigInt result;
  result.is_negative_ = is_negative && !limbs.empty();
  result.limbs_ = std::move(limbs);
  return result;
}

void BigInt::Trim(Limbs* limbs) {
  while (!limbs->empty() && limbs->back() == 0) {
    limbs->pop_back();
  }
}

BigInt BigInt::FromDouble(double value) {
  int exponent = 0;
  const double mantissa = std::frexp(std::trunc(value), &exponent);
  // 53 bits of mantissa are an exact int64.
  const BigInt scaled(static_cast<int64_t>(std::ldexp(mantissa, 53)));
  return scaled.Shifted(exponent - 53);
}

BigInt BigInt::FromDigits(std::string_view digits, int base) {
  Limbs limbs;
  for (const char c : digits) {
    const int letter = c >= 'a' ? c - 'a' + 10 : (c >= 'A' ? c - 'A' + 10 : c - '0');
    uint64_t carry = static_cast<uint64_t>(letter);
    for (uint32_t& limb : limbs) {
      carry += static_cast<uint64_t>(limb) * static_cast<uint64_t>(base);
      limb = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
    if (carry != 0) {
      limbs.push_back(static_cast<uint32_t>(carry));
    }
  }
  return Make(std::move(limbs), /*is_negative=*/false);
}

size_t BigInt::BitLength() const {
  return limbs_.empty() ? 0
                        : limbs_.size() * 32 - static_cast<size_t>(std::countl_zero(limbs_.back()));
}

std::optional<int64_t> BigInt::ToInt64() const {
  if (limbs_.size() > 2) {
    return std::nullopt;
  }
  uint64_t magnitude = 0;
  for (size_t i = limbs_.size(); i-- > 0;) {
    magnitude = (magnitude << 32) | limbs_[i];
  }
  constexpr uint64_t kTop = uint64_t{1} << 63;
  if (magnitude > kTop || (magnitude == kTop && !is_negative_)) {
    return std::nullopt;
  }
  return static_cast<int64_t>(is_negative_ ? ~magnitude + 1 : magnitude);
}

double BigInt::ToDouble() const {
  return TrueDivide(*this, BigInt(1));
}

uint32_t BigInt::DivSmall(Limbs* limbs, uint32_t divisor) {
  uint64_t remainder = 0;
  for (size_t i = limbs->size(); i-- > 0;) {
    remainder = (remainder << 32) | (*limbs)[i];
    (*limbs)[i] = static_cast<uint32_t>(remainder / divisor);
    remainder %= divisor;
  }
  Trim(limbs);
  return static_cast<uint32_t>(remainder);
}

std::string BigInt::ToString(int base) const {
  if (is_zero()) {
    return "0";
  }
  // Several digits a division: the largest power of the base below 2^32.
  uint32_t chunk = static_cast<uint32_t>(base);
  int digits_per_chunk = 1;
  while (static_cast<uint64_t>(chunk) * static_cast<uint64_t>(base) < (uint64_t{1} << 32)) {
    chunk *= static_cast<uint32_t>(base);
    ++digits_per_chunk;
  }
  std::string reversed;
  Limbs rest = limbs_;
  while (!rest.empty()) {
    uint32_t part = DivSmall(&rest, chunk);
    for (int i = 0; i < digits_per_chunk && (part != 0 || !rest.empty()); ++i) {
      reversed += "0123456789abcdefghijklmnopqrstuvwxyz"[part % static_cast<uint32_t>(base)];
      part /= static_cast<uint32_t>(base);
    }
  }
  if (is_negative_) {
    reversed += '-';
  }
  std::reverse(reversed.begin(), reversed.end());
  return reversed;
}

BigInt BigInt::Negated() const {
  return Make(limbs_, !is_negative_);
}

BigInt BigInt::Shifted(int64_t num_bits) const {
  const auto distance = static_cast<size_t>(num_bits < 0 ? -num_bits : num_bits);
  const size_t num_whole = distance / 32;
  const auto part = static_cast<unsigned>(distance % 32);
  Limbs result;
  if (num_bits >= 0) {
    result.assign(num_whole, 0);
    uint64_t carry = 0;
    for (const uint32_t limb : limbs_) {
      carry |= static_cast<uint64_t>(limb) << part;
      result.push_back(static_cast<uint32_t>(carry));
      carry >>= 32;
    }
    result.push_back(static_cast<uint32_t>(carry));
  } else {
    for (size_t i = num_whole; i < limbs_.size(); ++i) {
      const uint64_t high = i + 1 < limbs_.size() ? limbs_[i + 1] : 0;
      result.push_back(static_cast<uint32_t>(((high << 32) | limbs_[i]) >> part));
    }
  }
  return Make(std::move(result), is_negative_);
}

int BigInt::CompareMagnitude(const Limbs& a, const Limbs& b) {
  if (a.size() != b.size()) {
    return a.size() < b.size() ? -1 : 1;
  }
  for (size_t i = a.size(); i-- > 0;) {
    if (a[i] != b[i]) {
      return a[i] < b[i] ? -1 : 1;
    }
  }
  return 0;
}

int BigInt::Compare(const BigInt& a, const BigInt& b) {
  if (a.is_negative_ != b.is_negative_) {
    return a.is_negative_ ? -1 : 1;
  }
  const int order = CompareMagnitude(a.limbs_, b.limbs_);
  return a.is_negative_ ? -order : order;
}

BigInt::Limbs BigInt::AddMagnitude(const Limbs& a, const Limbs& b) {
  Limbs result;
  uint64_t carry = 0;
  for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    carry += (i < a.size() ? uint64_t{a[i]} : 0) + (i < b.size() ? uint64_t{b[i]} : 0);
    result.push_back(static_cast<uint32_t>(carry));
    carry >>= 32;
  }
  result.push_back(static_cast<uint32_t>(carry));
  return result;
}

BigInt::Limbs BigInt::SubMagnitude(const Limbs& a, const Limbs& b) {
  Limbs result;
  int64_t borrow = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    int64_t digit = static_cast<int64_t>(a[i]) - (i < b.size() ? int64_t{b[i]} : 0) + borrow;
    borrow = digit < 0 ? -1 : 0;
    digit += borrow < 0 ? int64_t{1} << 32 : 0;
    result.push_back(static_cast<uint32_t>(digit));
  }
  return result;
}

BigInt operator+(const BigInt& a, const BigInt& b) {
  if (a.is_negative_ == b.is_negative_) {
    return BigInt::Make(BigInt::AddMagnitude(a.limbs_, b.limbs_), a.is_negative_);
  }
  if (BigInt::CompareMagnitude(a.limbs_, b.limbs_) >= 0) {
    return BigInt::Make(BigInt::SubMagnitude(a.limbs_, b.limbs_), a.is_negative_);
  }
  return BigInt::Make(BigInt::SubMagnitude(b.limbs_, a.limbs_), b.is_negative_);
}

BigInt operator-(const BigInt& a, const BigInt& b) {
  return a + b.Negated();
}

BigInt operator*(const BigInt& a, const BigInt& b) {
  BigInt::Limbs result(a.limbs_.size() + b.limbs_.size(), 0);
  for (size_t i = 0; i < a.limbs_.size(); ++i) {
    uint64_t carry = 0;
    for (size_t j = 0; j < b.limbs_.size(); ++j) {
      carry += static_cast<uint64_t>(a.limbs_[i]) * b.limbs_[j] + result[i + j];
      result[i + j] = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
    result[i + b.limbs_.size()] = static_cast<uint32_t>(carry);
  }
  return BigInt::Make(std::move(result), a.is_negative_ != b.is_negative_);
}

// Knuth, The Art of Computer Programming, volume 2, 4.3.1, algorithm D.
std::pair<BigInt::Limbs, BigInt::Limbs> BigInt::DivMod(const Limbs& a, const Limbs& b) {
  if (CompareMagnitude(a, b) < 0) {
    return {{}, a};
  }
  if (b.size() == 1) {
    Limbs quotient = a;
    const uint32_t remainder = DivSmall(&quotient, b[0]);
    return {quotient, remainder == 0 ? Limbs{} : Limbs{remainder}};
  }
  const int shift = std::countl_zero(b.back());
  const Limbs divisor = Make(b, /*is_negative=*/false).Shifted(shift).limbs_;
  Limbs rest = Make(a, /*is_negative=*/false).Shifted(shift).limbs_;
  rest.resize(std::max(rest.size(), a.size()) + 1, 0);
  const size_t n = divisor.size();
  Limbs quotient(rest.size() - n, 0);
  for (size_t j = rest.size() - n; j-- > 0;) {
    const uint64_t top = (static_cast<uint64_t>(rest[j + n]) << 32) | rest[j + n - 1];
    uint64_t guess = top / divisor[n - 1];
    uint64_t remainder = top % divisor[n - 1];
    while (guess >> 32 != 0 || guess * divisor[n - 2] > ((remainder << 32) | rest[j + n - 2])) {
      --guess;
      remainder += divisor[n - 1];
      if (remainder >> 32 != 0) {
        break;
      }
    }
    int64_t borrow = 0;
    uint64_t carry = 0;
    for (size_t i = 0; i < n; ++i) {
      carry += guess * divisor[i];
      const int64_t digit =
          static_cast<int64_t>(rest[i + j]) - static_cast<int64_t>(carry & 0xFFFFFFFF) + borrow;
      rest[i + j] = static_cast<uint32_t>(digit);
      borrow = digit < 0 ? -1 : 0;
      carry >>= 32;
    }
    const int64_t last = static_cast<int64_t>(rest[j + n]) - static_cast<int64_t>(carry) + borrow;
    rest[j + n] = static_cast<uint32_t>(last);
    if (last < 0) {
      --guess;
      uint64_t sum = 0;
      for (size_t i = 0; i < n; ++i) {
        sum += static_cast<uint64_t>(rest[i + j]) + divisor[i];
        rest[i + j] = static_cast<uint32_t>(sum);
        sum >>= 32;
      }
      rest[j + n] += static_cast<uint32_t>(sum);
    }
    quotient[j] = static_cast<uint32_t>(guess);
  }
  Trim(&quotient);
  return {quotient, Make(std::move(rest), /*is_negative=*/false).Shifted(-shift).limbs_};
}

std::pair<BigInt, BigInt> BigInt::FloorDivMod(const BigInt& a, const BigInt& b) {
  FT_CHECK(!b.is_zero());
  auto [quotient, remainder] = DivMod(a.limbs_, b.limbs_);
  BigInt q = Make(std::move(quotient), a.is_negative_ != b.is_negative_);
  BigInt r = Make(std::move(remainder), a.is_negative_);
  if (!r.is_zero() && r.is_negative_ != b.is_negative_) {
    q = q - BigInt(1);
    r = r + b;
  }
  return {std::move(q), std::move(r)};
}

double BigInt::TrueDivide(const BigInt& a, const BigInt& b) {
  FT_CHECK(!b.is_zero());
  const bool is_negative = a.is_negative_ != b.is_negative_;
  if (a.is_zero()) {
    return is_negative ? -0.0 : 0.0;
  }
  // Scale so that the quotient has 66 bits or more, keep a sticky bit for what is cut, round once.
  const int64_t extra = static_cast<int64_t>(a.BitLength()) - static_cast<int64_t>(b.BitLength());
  const int64_t shift = 66 - extra;
  const Limbs numerator = shift > 0 ? a.Shifted(shift).limbs_ : a.limbs_;
  const Limbs denominator = shift < 0 ? b.Shifted(-shift).limbs_ : b.limbs_;
  auto [quotient, remainder] = DivMod(numerator, denominator);
  BigInt q = Make(std::move(quotient), /*is_negative=*/false);
  const int64_t num_bits = static_cast<int64_t>(q.BitLength());
  // Below the smallest normal number fewer bits are kept.
  const int64_t exponent = num_bits - shift;  // value is in [2^(exponent-1), 2^exponent)
  const int64_t kept = std::min<int64_t>(53, exponent + 1074);
  if (kept < 0) {
    return is_negative ? -0.0 : 0.0;
  }
  const int64_t drop = num_bits - kept;
  const BigInt high = q.Shifted(-drop);
  const BigInt low = q - high.Shifted(drop);
  const int order = Compare(low.Shifted(1), BigInt(1).Shifted(drop));
  uint64_t mantissa = static_cast<uint64_t>(high.ToInt64().value_or(0));
  const bool is_above_half = order > 0 || (order == 0 && !remainder.empty());
  const bool is_half = order == 0 && remainder.empty();
  mantissa += (is_above_half || (is_half && (mantissa & 1) != 0)) ? 1 : 0;
  const double value = std::ldexp(static_cast<double>(mantissa),
                                  static_cast<int>(std::clamp<int64_t>(drop - shift, -5000, 5000)));
  return is_negative ? -value : value;
}

}  // namespace ft::jinja
