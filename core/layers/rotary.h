// Rotary: the angles of rotary position embedding, for every kind that checkpoints name. The
// rotation itself is an op (core/ops/kernels.h). Source: ../shared/reference/models.md §0.3.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/status.h"
#include "core/checkpoint/rope_config.h"

namespace ft {

class Rotary {
 public:
  /// `rotated_dim`: dims of a head that turn (even, > 0). `max_positions`: the model's own.
  /// Errors: kInvalidArgument for numbers that make no frequencies (a factor list of another
  /// length), kUnimplemented for a kind that this does not compute.
  static Result<Rotary> Create(const RopeConfig& config,
                               int64_t rotated_dim,
                               int64_t max_positions);

  int64_t half() const { return static_cast<int64_t>(frequencies_.size()); }

  /// The angles' cosines and sines, times the kind's attention factor. `cos`, `sin` [half()].
  /// `length`: tokens of the sequence, for kinds that look at it (see SequenceInput).
  void Angles(int64_t position, int64_t length, float* cos, float* sin) const;

 private:
  RopeConfig config_;
  int64_t max_positions_ = 0;
  int64_t original_positions_ = 0;
  std::vector<float> frequencies_;       // [half]
  std::vector<float> long_frequencies_;  // longrope only
  float factor_ = 1;                     // on cos and sin
  float long_factor_ = 1;                // longrope above its original length
};

}  // namespace ft
