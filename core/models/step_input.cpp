// Checks and spreads one batch.
#include "core/models/step_input.h"

#include <algorithm>

#include "core/base/errors.h"

namespace ft {
namespace {

Status CheckPages(const SequenceInput& sequence, size_t index, const KvMemory& kv) {
  const int64_t page_size = kv.options().page_size_tokens;
  const int64_t end = sequence.start_position + sequence.num_tokens;
  if (sequence.page_tables.size() != kv.groups().size()) {
    return InvalidArgument("forward: sequence {} has {} page tables for {} cache groups", index,
                           sequence.page_tables.size(), kv.groups().size());
  }
  for (size_t group = 0; group < kv.groups().size(); ++group) {
    const std::span<const int32_t> table = sequence.page_tables[group];
    const int64_t num_needed = (end + page_size - 1) / page_size;
    if (static_cast<int64_t>(table.size()) < num_needed) {
      return InvalidArgument("forward: sequence {} has {} pages for {} tokens", index, table.size(),
                             end);
    }
    const int64_t window = kv.groups()[group].window_tokens;
    const int64_t first =
        window > 0 ? std::max<int64_t>(0, sequence.start_position - window + 1) : 0;
    for (int64_t page = first / page_size; page < num_needed; ++page) {
      const int32_t id = table[static_cast<size_t>(page)];
      if (id < 0 || id >= kv.options().num_pages[group]) {
        return InvalidArgument("forward: sequence {} names page {} of {}", index, id,
                               kv.options().num_pages[group]);
      }
    }
  }
  return {};
}

}  // namespace

Status CheckForwardInput(const ForwardInput& input,
                         const ModelInfo& info,
                         const ForwardLimits& limits,
                         const KvMemory& kv) {
  if (static_cast<int64_t>(input.tokens.size()) > limits.max_tokens ||
      static_cast<int64_t>(input.logit_rows.size()) > limits.max_logit_rows ||
      input.sequences.size() > static_cast<size_t>(limits.max_sequences)) {
    return InvalidArgument(
        "forward: {} tokens, {} logit rows, {} sequences; the model was loaded for {}, {}, {}",
        input.tokens.size(), input.logit_rows.size(), input.sequences.size(), limits.max_tokens,
        limits.max_logit_rows, limits.max_sequences);
  }
  int64_t total = 0;
  for (size_t i = 0; i < input.sequences.size(); ++i) {
    const SequenceInput& sequence = input.sequences[i];
    if (sequence.num_tokens <= 0 || sequence.start_position < 0) {
      return InvalidArgument("forward: sequence {} has {} tokens from position {} on", i,
                             sequence.num_tokens, sequence.start_position);
    }
    total += sequence.num_tokens;
    FT_RETURN_IF_ERROR(CheckPages(sequence, i, kv));
  }
  if (total != static_cast<int64_t>(input.tokens.size())) {
    return InvalidArgument("forward: {} tokens, but the sequences have {}", input.tokens.size(),
                           total);
  }
  for (const int32_t token : input.tokens) {
    if (token < 0 || token >= info.vocab_size) {
      return InvalidArgument("token id {} is outside the vocabulary of {}", token, info.vocab_size);
    }
  }
  for (const int32_t row : input.logit_rows) {
    if (row < 0 || row >= total) {
      return InvalidArgument("forward: logits of row {} of {}", row, total);
    }
  }
  return {};
}

void PrepareStep(const std::vector<Rotary>& rotaries,
                 size_t num_cache_groups,
                 int64_t max_tokens,
                 StepContext* step) {
  for (const Rotary& rotary : rotaries) {
    RotaryAngles& angles = step->rotary.emplace_back();
    angles.half = rotary.half();
    angles.cos.resize(static_cast<size_t>(max_tokens * rotary.half()));
    angles.sin.resize(angles.cos.size());
  }
  step->queries.resize(num_cache_groups);
  for (auto& queries : step->queries) {
    queries.resize(static_cast<size_t>(max_tokens));
  }
}

void FillStep(const ForwardInput& input, const std::vector<Rotary>& rotaries, StepContext* step) {
  step->num_tokens = static_cast<int64_t>(input.tokens.size());
  size_t token = 0;
  for (const SequenceInput& sequence : input.sequences) {
    const size_t first = token;
    for (int32_t i = 0; i < sequence.num_tokens; ++i, ++token) {
      for (size_t group = 0; group < step->queries.size(); ++group) {
        step->queries[group][token] = {sequence.start_position + i,
                                       sequence.page_tables[group].data()};
      }
    }
    const auto count = static_cast<uint64_t>(sequence.num_tokens);
    for (size_t kind = 0; kind < rotaries.size(); ++kind) {
      RotaryAngles& angles = step->rotary[kind];
      step->pool->ParallelFor(count, 8, [&](uint32_t /*worker*/, uint64_t begin, uint64_t end) {
        for (uint64_t i = begin; i < end; ++i) {
          const int64_t position = sequence.start_position + static_cast<int64_t>(i);
          const size_t at = (first + i) * static_cast<size_t>(angles.half);
          rotaries[kind].Angles(position, std::max(sequence.prompt_tokens, position + 1),
                                angles.cos.data() + at, angles.sin.data() + at);
        }
      });
    }
  }
}

}  // namespace ft
