// Frequencies in double, rounded to float as checkpoints' authors had them; angles in float.
#include "core/layers/rotary.h"

#include <algorithm>
#include <cmath>

#include "core/base/errors.h"

namespace ft {
namespace {

constexpr double kPi = 3.14159265358979323846;

std::vector<double> PlainFrequencies(double theta, int64_t rotated_dim) {
  std::vector<double> frequencies;
  for (int64_t i = 0; i < rotated_dim; i += 2) {
    frequencies.push_back(
        std::pow(theta, -static_cast<double>(i) / static_cast<double>(rotated_dim)));
  }
  return frequencies;
}

void ScaleLlama3(const RopeConfig& config, double original, std::vector<double>* frequencies) {
  const double low = config.low_freq_factor.value_or(1.0);
  const double high = config.high_freq_factor.value_or(4.0);
  for (double& frequency : *frequencies) {
    const double wavelength = 2 * kPi / frequency;
    if (wavelength > original / low) {
      frequency /= config.factor;
    } else if (wavelength >= original / high) {
      const double smooth = (original / wavelength - low) / (high - low);
      frequency = (1 - smooth) * frequency / config.factor + smooth * frequency;
    }
  }
}

void ScaleYarn(const RopeConfig& config,
               double original,
               int64_t rotated_dim,
               std::vector<double>* frequencies) {
  const auto dim = static_cast<double>(rotated_dim);
  const auto correction = [&](double rotations) {
    return dim * std::log(original / (rotations * 2 * kPi)) / (2 * std::log(config.theta));
  };
  double low = correction(config.beta_fast.value_or(32.0));
  double high = correction(config.beta_slow.value_or(1.0));
  if (config.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, dim - 1);
  if (low == high) {
    high += 0.001;
  }
  for (size_t i = 0; i < frequencies->size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    double& frequency = (*frequencies)[i];
    frequency = frequency / config.factor * ramp + frequency * (1 - ramp);
  }
}

double YarnAttentionFactor(const RopeConfig& config) {
  if (config.attention_factor) {
    return *config.attention_factor;
  }
  const auto magnitude = [&](double scale) {
    return config.factor <= 1 ? 1.0 : 0.1 * scale * std::log(config.factor) + 1.0;
  };
  if (config.mscale && config.mscale_all_dim && *config.mscale != 0 &&
      *config.mscale_all_dim != 0) {
    return magnitude(*config.mscale) / magnitude(*config.mscale_all_dim);
  }
  return magnitude(1.0);
}

double LongRopeAttentionFactor(const RopeConfig& config, double positions, double original) {
  if (config.attention_factor) {
    return *config.attention_factor;
  }
  // A factor that is written wins over the ratio of the lengths.
  const double factor = config.factor != 1.0 ? config.factor : positions / original;
  return factor <= 1 ? 1.0 : std::sqrt(1 + std::log(factor) / std::log(original));
}

Result<std::vector<float>> DivideBy(const std::vector<double>& frequencies,
                                    const std::vector<double>& factors,
                                    const char* name) {
  if (factors.size() != frequencies.size()) {
    return InvalidArgument("config.json: rope {} has {} numbers, the head has {} frequencies", name,
                           factors.size(), frequencies.size());
  }
  std::vector<float> divided;
  for (size_t i = 0; i < factors.size(); ++i) {
    divided.push_back(static_cast<float>(frequencies[i] / factors[i]));
  }
  return divided;
}

// The theta of `dynamic` for a sequence of `length` tokens. Source: models.md §0.3.
double DynamicTheta(const RopeConfig& config, int64_t dim, int64_t positions, int64_t length) {
  const auto r = static_cast<double>(dim);
  if (config.alpha) {
    return config.theta * std::pow(*config.alpha, r / (r - 2));
  }
  const double ratio = static_cast<double>(length) / static_cast<double>(positions);
  return config.theta * std::pow(config.factor * ratio - (config.factor - 1), r / (r - 2));
}

}  // namespace

Result<Rotary> Rotary::Create(const RopeConfig& config,
                              int64_t rotated_dim,
                              int64_t max_positions) {
  if (rotated_dim <= 0 || rotated_dim % 2 != 0 || max_positions <= 0 || config.theta <= 0) {
    return InvalidArgument(
        "config.json: rope over {} dims, {} positions, theta {}: want an even count and positive "
        "numbers",
        rotated_dim, max_positions, config.theta);
  }
  Rotary rotary;
  rotary.config_ = config;
  rotary.max_positions_ = max_positions;
  rotary.original_positions_ = config.original_max_positions.value_or(max_positions);
  const auto original = static_cast<double>(rotary.original_positions_);
  std::vector<double> frequencies = PlainFrequencies(config.theta, rotated_dim);
  switch (config.type) {
    case RopeType::kPlain:
      break;
    case RopeType::kLinear:
      for (double& frequency : frequencies) {
        frequency /= config.factor;
      }
      break;
    case RopeType::kDynamic:
      if (rotated_dim <= 2) {
        return InvalidArgument("config.json: dynamic rope needs heads of more than 2 dims");
      }
      if (config.alpha) {
        frequencies = PlainFrequencies(
            DynamicTheta(config, rotated_dim, max_positions, max_positions), rotated_dim);
      }
      break;
    case RopeType::kYarn:
      ScaleYarn(config, original, rotated_dim, &frequencies);
      rotary.factor_ = static_cast<float>(YarnAttentionFactor(config));
      break;
    case RopeType::kLlama3:
      ScaleLlama3(config, original, &frequencies);
      break;
    case RopeType::kLongRope: {
      FT_ASSIGN_OR_RETURN(rotary.frequencies_,
                          DivideBy(frequencies, config.short_factor, "short_factor"));
      FT_ASSIGN_OR_RETURN(rotary.long_frequencies_,
                          DivideBy(frequencies, config.long_factor, "long_factor"));
      const double factor =
          LongRopeAttentionFactor(config, static_cast<double>(max_positions), original);
      rotary.factor_ = static_cast<float>(config.short_mscale.value_or(factor));
      rotary.long_factor_ = static_cast<float>(config.long_mscale.value_or(factor));
      return rotary;
    }
    case RopeType::kProportional:
      return Unimplemented("config.json: rope_type \"proportional\" in this family");
  }
  rotary.frequencies_.assign(frequencies.size(), 0.0F);
  std::transform(frequencies.begin(), frequencies.end(), rotary.frequencies_.begin(),
                 [](double frequency) { return static_cast<float>(frequency); });
  return rotary;
}

void Rotary::Angles(int64_t position, int64_t length, float* cos, float* sin) const {
  const auto at = static_cast<float>(position);
  const bool is_long = !long_frequencies_.empty() && length > original_positions_;
  const bool is_stretched =
      config_.type == RopeType::kDynamic && !config_.alpha && length > max_positions_;
  const int64_t dim = 2 * half();
  const double theta =
      is_stretched ? DynamicTheta(config_, dim, max_positions_, length) : config_.theta;
  const float factor = is_long ? long_factor_ : factor_;
  for (size_t i = 0; i < frequencies_.size(); ++i) {
    float frequency = is_long ? long_frequencies_[i] : frequencies_[i];
    if (is_stretched) {
      frequency = static_cast<float>(
          std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(dim)));
    }
    const float angle = at * frequency;
    cos[i] = static_cast<float>(std::cos(static_cast<double>(angle))) * factor;
    sin[i] = static_cast<float>(std::sin(static_cast<double>(angle))) * factor;
  }
}

}  // namespace ft
