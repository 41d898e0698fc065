#include "core/moe/checkpoint_experts.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "core/base/errors.h"
#include "core/checkpoint/batch_reader.h"
#include "core/quant/float_formats.h"

namespace ft {
namespace {

constexpr size_t kMaxParts = 16;     // of one matrix; the formats we know have at most four
constexpr uint64_t kPartAlign = 64;  // of a part in the staging memory
constexpr int kReadDepth = 16;
// Of experts as stored; experts so large that two take more are read one by one.
constexpr uint64_t kMaxStagingBytes = uint64_t{96} << 20;

uint64_t RoundUp(uint64_t bytes, uint64_t align) {
  return (bytes + align - 1) / align * align;
}

float BiasValue(DType dtype, const std::byte* bytes, size_t index) {
  if (dtype == DType::kF32) {
    float value = 0;
    std::memcpy(&value, bytes + index * sizeof(value), sizeof(value));
    return value;
  }
  uint16_t code = 0;
  std::memcpy(&code, bytes + index * sizeof(code), sizeof(code));
  return dtype == DType::kBf16 ? Bf16ToFloat(code) : F16ToFloat(code);
}

// A bias as f32, in place behind the stored one.
struct BiasRoom {
  uint64_t stored = 0;
  uint64_t decoded = 0;
};

// Where one expert's parts lie in its share of the staging memory.
struct StagingLayout {
  std::array<std::vector<uint64_t>, 3> parts;  // of gate, up, down
  std::array<BiasRoom, 3> biases;
  uint64_t bytes = 0;
};

std::array<const MatrixPlaces*, 3> MatricesOf(const ExpertPlaces& places) {
  return {&places.gate, &places.up, &places.down};
}

std::array<const PartPlaces*, 3> BiasesOf(const ExpertPlaces& places) {
  return {&places.gate_bias, &places.up_bias, &places.down_bias};
}

Result<StagingLayout> LayoutOf(const ExpertPlaces& places) {
  StagingLayout layout;
  const auto take = [&](uint64_t bytes) {
    const uint64_t at = layout.bytes;
    layout.bytes += RoundUp(bytes, kPartAlign);
    return at;
  };
  for (size_t matrix = 0; matrix < 3; ++matrix) {
    const std::vector<PartPlaces>& parts = MatricesOf(places)[matrix]->parts;
    if (parts.size() > kMaxParts) {
      return PluginFault("experts of layer {}: a matrix of {} parts, at most {}", places.layer_id,
                         parts.size(), kMaxParts);
    }
    for (const PartPlaces& part : parts) {
      layout.parts[matrix].push_back(take(part.num_bytes));
    }
  }
  for (size_t matrix = 0; matrix < 3; ++matrix) {
    const PartPlaces& bias = *BiasesOf(places)[matrix];
    if (!bias.at.empty()) {
      layout.biases[matrix].stored = take(bias.num_bytes);
      layout.biases[matrix].decoded =
          take(static_cast<uint64_t>(bias.shape.front()) * sizeof(float));
    }
  }
  return layout;
}

}  // namespace

struct CheckpointExperts::State {
  MoeModel model;
  std::vector<ExpertPlaces> places;    // [MoE layers]
  std::vector<StagingLayout> layouts;  // [MoE layers]
  std::unique_ptr<BatchReader> reader;
  ThreadPool* pool = nullptr;
  size_t group_experts = 1;     // read at once; the staging memory holds two groups
  uint64_t staging_stride = 0;  // of one expert
  uint64_t reader_bytes = 0;    // the reader's own buffers, at most
  std::vector<std::byte> staging;
  std::vector<ReadRequest> requests;

  void AddRequests(size_t layer, uint32_t expert, std::byte* staged);
  Status PackOne(size_t layer, std::byte* staged, void* out) const;
  std::span<const ft_expert_read> TakeGroup(std::span<const ft_expert_read>* reads) const;
  Status ReadGroup(std::span<const ft_expert_read> reads, size_t half);
  Status PackAndRead(std::span<const ft_expert_read> group,
                     std::span<const ft_expert_read> next,
                     size_t half);

  size_t LayerOf(const ft_expert_read& read) const {
    return static_cast<size_t>(model.LayerIndex(static_cast<int>(read.layer_id)));
  }

  std::byte* StagedAt(size_t half, size_t index) {
    return staging.data() + (half * group_experts + index) * staging_stride;
  }
};

CheckpointExperts::CheckpointExperts(std::unique_ptr<State> state) : state_(std::move(state)) {}

CheckpointExperts::~CheckpointExperts() = default;

Result<std::unique_ptr<CheckpointExperts>> CheckpointExperts::Create(
    const TensorIndex* index,
    const QuantizationRegistry* formats,
    std::span<const MoeLayerSpec> layers,
    const CheckpointExpertsOptions& options) {
  auto state = std::make_unique<State>();
  state->pool = options.pool;
  size_t most_parts = 0;
  uint64_t largest_part = 4096;
  for (const MoeLayerSpec& spec : layers) {
    FT_ASSIGN_OR_RETURN(ExpertPlaces places, FindExperts(*index, *formats, spec));
    FT_ASSIGN_OR_RETURN(const int kind, state->model.FindOrAddKind(spec.kind, places.gate_up_format,
                                                                   places.down_format));
    state->model.AddLayer(spec.layer_id, kind);
    FT_ASSIGN_OR_RETURN(StagingLayout layout, LayoutOf(places));
    state->staging_stride = std::max(state->staging_stride, layout.bytes);
    size_t num_parts = 3;  // biases
    for (const MatrixPlaces* matrix : MatricesOf(places)) {
      num_parts += matrix->parts.size();
      for (const PartPlaces& part : matrix->parts) {
        largest_part = std::max(largest_part, part.num_bytes);
      }
    }
    most_parts = std::max(most_parts, num_parts);
    state->places.push_back(std::move(places));
    state->layouts.push_back(std::move(layout));
  }
  const uint64_t most_experts = kMaxStagingBytes / std::max<uint64_t>(state->staging_stride, 1);
  const auto wanted = static_cast<uint64_t>(std::clamp(options.staging_experts, 2, 256));
  state->group_experts = std::max<size_t>(std::min(wanted, most_experts) / 2, 1);
  state->staging.resize(2 * state->group_experts * state->staging_stride);
  state->requests.reserve(state->group_experts * most_parts);
  BatchReaderOptions reader_options;
  reader_options.depth = kReadDepth;
  reader_options.allow_direct = options.allow_direct;
  reader_options.allow_io_uring = options.allow_io_uring;
  reader_options.chunk_bytes = RoundUp(std::min<uint64_t>(largest_part, uint64_t{1} << 20), 4096);
  state->reader_bytes = kReadDepth * (reader_options.chunk_bytes + 8192);
  std::vector<std::string> paths;
  for (const CheckpointFile& file : index->files()) {
    paths.push_back(file.path);
  }
  FT_ASSIGN_OR_RETURN(state->reader, BatchReader::Create(paths, reader_options));
  return std::unique_ptr<CheckpointExperts>(new CheckpointExperts(std::move(state)));
}

const MoeModel& CheckpointExperts::model() const {
  return state_->model;
}

uint64_t CheckpointExperts::staging_bytes() const {
  return state_->staging.size() + state_->reader_bytes;
}

uint64_t CheckpointExperts::stored_bytes() const {
  uint64_t bytes = 0;
  for (size_t layer = 0; layer < state_->places.size(); ++layer) {
    const int layer_id = state_->places[layer].layer_id;
    bytes += state_->places[layer].stored_bytes() *
             static_cast<uint64_t>(state_->model.codec_of_layer(layer_id).kind().num_experts);
  }
  return bytes;
}

const ExpertPlaces& CheckpointExperts::places(int layer_id) const {
  const int index = state_->model.LayerIndex(layer_id);
  FT_CHECK(index >= 0);
  return state_->places[static_cast<size_t>(index)];
}

const char* CheckpointExperts::read_mode() const {
  return state_->reader->mode();
}

// Groups take turns in the two halves of the staging memory: while one is packed, one worker reads
// the next.
Status CheckpointExperts::Read(std::span<const ft_expert_read> reads) {
  State& state = *state_;
  size_t half = 0;
  std::span<const ft_expert_read> group = state.TakeGroup(&reads);
  if (!group.empty()) {
    FT_RETURN_IF_ERROR(state.ReadGroup(group, half));
  }
  while (!group.empty()) {
    const std::span<const ft_expert_read> next = state.TakeGroup(&reads);
    FT_RETURN_IF_ERROR(state.PackAndRead(group, next, half));
    group = next;
    half = 1 - half;
  }
  return Status();
}

void CheckpointExperts::State::AddRequests(size_t layer, uint32_t expert, std::byte* staged) {
  const StagingLayout& layout = layouts[layer];
  const auto add = [&](const PartPlaces& part, uint64_t at) {
    const FilePlace& place = part.at[expert];
    requests.push_back({place.file_index, place.offset, std::span(staged + at, part.num_bytes)});
  };
  for (size_t matrix = 0; matrix < 3; ++matrix) {
    const std::vector<PartPlaces>& parts = MatricesOf(places[layer])[matrix]->parts;
    for (size_t i = 0; i < parts.size(); ++i) {
      add(parts[i], layout.parts[matrix][i]);
    }
    const PartPlaces& bias = *BiasesOf(places[layer])[matrix];
    if (!bias.at.empty()) {
      add(bias, layout.biases[matrix].stored);
    }
  }
}

Status CheckpointExperts::State::PackOne(size_t layer, std::byte* staged, void* out) const {
  const StagingLayout& layout = layouts[layer];
  std::array<std::array<ft_tensor, kMaxParts>, 3> tensors = {};
  std::array<const float*, 3> biases = {};
  ft_expert_parts parts = {};
  parts.hdr = {sizeof(parts), FT_TAG_EXPERT_PARTS, nullptr};
  const std::array<ft_matrix_parts*, 3> out_matrices = {&parts.gate, &parts.up, &parts.down};
  for (size_t matrix = 0; matrix < 3; ++matrix) {
    const MatrixPlaces& from = *MatricesOf(places[layer])[matrix];
    for (size_t i = 0; i < from.parts.size(); ++i) {
      ft_tensor& tensor = tensors[matrix][i];
      tensor.data = staged + layout.parts[matrix][i];
      tensor.dtype = static_cast<uint16_t>(from.parts[i].dtype);
      tensor.ndim = static_cast<int32_t>(from.parts[i].shape.size());
      tensor.shape = from.parts[i].shape.data();
      tensor.bytes = from.parts[i].num_bytes;
    }
    *out_matrices[matrix] = {from.spelling, static_cast<uint32_t>(from.parts.size()),
                             tensors[matrix].data()};
    const PartPlaces& bias = *BiasesOf(places[layer])[matrix];
    if (!bias.at.empty()) {
      const std::byte* stored = staged + layout.biases[matrix].stored;
      std::byte* decoded = staged + layout.biases[matrix].decoded;
      for (size_t i = 0; i < static_cast<size_t>(bias.shape.front()); ++i) {
        const float value = BiasValue(bias.dtype, stored, i);
        std::memcpy(decoded + i * sizeof(value), &value, sizeof(value));
      }
      biases[matrix] = reinterpret_cast<const float*>(decoded);
    }
  }
  parts.gate_bias = biases[0];
  parts.up_bias = biases[1];
  parts.down_bias = biases[2];
  return model.codec_of_layer(places[layer].layer_id).Pack(parts, out);
}

std::span<const ft_expert_read> CheckpointExperts::State::TakeGroup(
    std::span<const ft_expert_read>* reads) const {
  const auto group = reads->first(std::min(reads->size(), group_experts));
  *reads = reads->subspan(group.size());
  return group;
}

Status CheckpointExperts::State::ReadGroup(std::span<const ft_expert_read> reads, size_t half) {
  requests.clear();
  for (size_t i = 0; i < reads.size(); ++i) {
    AddRequests(LayerOf(reads[i]), reads[i].expert_id, StagedAt(half, i));
  }
  return reader->Read(requests);
}

Status CheckpointExperts::State::PackAndRead(std::span<const ft_expert_read> group,
                                             std::span<const ft_expert_read> next,
                                             size_t half) {
  const uint64_t num_reads = next.empty() ? 0 : 1;  // item 0, so that it starts first
  std::atomic<bool> has_failed{false};
  Status read_status;
  Status pack_status;
  const auto run = [&](uint32_t /*worker*/, uint64_t begin, uint64_t end) {
    for (uint64_t item = begin; item < end; ++item) {
      if (item < num_reads) {
        read_status = ReadGroup(next, 1 - half);
        continue;
      }
      const ft_expert_read& read = group[item - num_reads];
      Status status = PackOne(LayerOf(read), StagedAt(half, item - num_reads), read.dst);
      if (!status.ok() && !has_failed.exchange(true)) {
        pack_status =
            status.WithContext(fmt::format("expert {} of layer {}", read.expert_id, read.layer_id));
      }
    }
  };
  if (pool != nullptr) {
    pool->ParallelFor(group.size() + num_reads, 1, run);
  } else {
    run(0, 0, group.size() + num_reads);
  }
  return pack_status.ok() ? read_status : pack_status;
}

}  // namespace ft
