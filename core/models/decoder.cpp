// Decoder: weights by name, buffers, and the forward.
#include "core/models/decoder.h"

#include <algorithm>
#include <utility>

#include "core/base/errors.h"
#include "core/models/step_input.h"
#include "core/ops/norm.h"
#include "core/quant/exec.h"

namespace ft {
namespace {

struct LayerWeights {
  std::vector<float> input_norm, post_attention_norm;  // [hidden_dim]
  AttentionWeights attention;
  MlpWeights mlp;  // dense layers
  Linear router;   // MoE layers
};

struct DecoderWeights {
  Embedding embedding;
  std::vector<LayerWeights> layers;
  std::vector<float> norm;  // [hidden_dim]
  Linear output;
};

DecoderWeights LoadWeights(const DecoderConfig& config, WeightLoader* loader) {
  const int64_t hidden = config.info.hidden_dim;
  const MatrixExtent vocabulary = {config.info.vocab_size, hidden};
  DecoderWeights weights;
  weights.embedding = loader->Table("model.embed_tokens", vocabulary);
  for (size_t i = 0; i < config.layers.size(); ++i) {
    const DecoderLayerConfig& layer = config.layers[i];
    const std::string prefix = fmt::format("model.layers.{}", i);
    LayerWeights& w = weights.layers.emplace_back();
    w.input_norm = loader->Vector(prefix + ".input_layernorm.weight", hidden);
    w.attention = LoadAttention(layer.attention, prefix + ".self_attn", loader);
    w.post_attention_norm = loader->Vector(prefix + ".post_attention_layernorm.weight", hidden);
    const std::string mlp = prefix + "." + config.mlp_name;
    if (layer.moe_index < 0) {
      w.mlp = LoadMlp(layer.mlp, mlp, loader);
    } else {
      w.router = loader->Matrix(mlp + ".gate", {config.router.num_experts, hidden});
      loader->Experts(config.moe_layers[static_cast<size_t>(layer.moe_index)]);
    }
  }
  weights.norm = loader->Vector("model.norm.weight", hidden);
  weights.output = loader->Matrix(config.is_tied ? "model.embed_tokens" : "lm_head", vocabulary);
  return weights;
}

// Largest extents over the layers: layers share buffers.
struct Extents {
  int64_t q_dim = 0, kv_dim = 0, intermediate_dim = 0;
};

Extents LargestExtents(const DecoderConfig& config) {
  Extents largest;
  for (const DecoderLayerConfig& layer : config.layers) {
    const AttentionConfig& a = layer.attention;
    largest.q_dim = std::max(largest.q_dim, a.num_heads * a.head_dim);
    largest.kv_dim = std::max(largest.kv_dim, a.num_kv_heads * a.head_dim);
    if (layer.moe_index < 0) {
      largest.intermediate_dim = std::max(largest.intermediate_dim, layer.mlp.intermediate_dim);
    }
  }
  return largest;
}

// Working memory of a forward.
struct Buffers {
  Buffers(const DecoderConfig& config, const ModelBuildOptions& options)
      : x(Floats(options.max_tokens, config.info.hidden_dim)),
        normed(x.size()),
        added(x.size()),
        attention(options.max_tokens,
                  LargestExtents(config).q_dim,
                  LargestExtents(config).kv_dim,
                  options.pool->num_workers()),
        mlp(options.max_tokens, LargestExtents(config).intermediate_dim),
        moe(config.moe_layers.empty() ? 0 : options.max_tokens,
            config.router.num_experts,
            config.router.top_k) {}

  static size_t Floats(int64_t rows, int64_t cols) {
    return static_cast<size_t>(rows) * static_cast<size_t>(cols);
  }

  std::vector<float> x;       // [max_tokens, hidden_dim], the residual stream
  std::vector<float> normed;  // the same: input of a block
  std::vector<float> added;   // the same: output of a block
  AttentionBuffers attention;
  MlpBuffers mlp;
  MoeScratch moe;
};

class Decoder final : public Model {
 public:
  Decoder(DecoderConfig config, DecoderWeights weights, const ModelBuildOptions& options)
      : config_(std::move(config)),
        weights_(std::move(weights)),
        options_(options),
        buffers_(config_, options) {
    step_.pool = options.pool;
    step_.exec = MakeExec(options.pool);
    step_.kernels = &ops::BestKernels();
    PrepareStep(config_.rotaries, config_.info.cache_groups.size(), options.max_tokens, &step_);
    for (size_t i = 0; i < config_.layers.size(); ++i) {
      moe_.push_back(MakeMoeLayer(i));
    }
  }

  const ModelInfo& info() const override { return config_.info; }

  int64_t max_tokens() const override { return options_.max_tokens; }

  int64_t max_logit_rows() const override { return options_.max_logit_rows; }

  Status Forward(const ForwardInput& input, KvMemory* kv, float* logits) override;

 private:
  MoeLayer MakeMoeLayer(size_t index) const;
  Status FeedForward(size_t index);
  void Norm(const std::vector<float>& weight);
  void AddAndNorm(const std::vector<float>& weight);
  Status Logits(const ForwardInput& input, float* logits);

  DecoderConfig config_;
  DecoderWeights weights_;
  ModelBuildOptions options_;
  Buffers buffers_;
  StepContext step_;
  std::vector<MoeLayer> moe_;  // [layers], unused where dense
};

MoeLayer Decoder::MakeMoeLayer(size_t index) const {
  MoeLayer layer;
  const Linear& router = weights_.layers[index].router;
  layer.layer_id = static_cast<int>(index);
  layer.hidden_dim = config_.info.hidden_dim;
  layer.router = config_.router;
  layer.weights.format = router.format;
  layer.weights.layout = router.layout;
  layer.weights.packed = router.packed.data();
  return layer;
}

// normed = norm(x)
void Decoder::Norm(const std::vector<float>& weight) {
  const int64_t dim = config_.info.hidden_dim;
  ForEachToken(step_, step_.num_tokens, [&](int64_t token) {
    ops::RmsNormRow(*step_.kernels, buffers_.x.data() + token * dim, weight.data(),
                    config_.norm_epsilon, dim, buffers_.normed.data() + token * dim);
  });
}

// x += added; normed = norm(x)
void Decoder::AddAndNorm(const std::vector<float>& weight) {
  const int64_t dim = config_.info.hidden_dim;
  ForEachToken(step_, step_.num_tokens, [&](int64_t token) {
    float* x = buffers_.x.data() + token * dim;
    step_.kernels->add(buffers_.added.data() + token * dim, dim, x);
    ops::RmsNormRow(*step_.kernels, x, weight.data(), config_.norm_epsilon, dim,
                    buffers_.normed.data() + token * dim);
  });
}

Status Decoder::FeedForward(size_t index) {
  const DecoderLayerConfig& layer = config_.layers[index];
  if (layer.moe_index < 0) {
    return MlpForward(layer.mlp, weights_.layers[index].mlp, step_, buffers_.normed.data(),
                      buffers_.added.data(), &buffers_.mlp);
  }
  MoeLayerInput input;
  input.num_tokens = step_.num_tokens;
  input.x = buffers_.normed.data();
  input.x_stride = config_.info.hidden_dim;
  input.out = buffers_.added.data();
  input.out_stride = config_.info.hidden_dim;
  input.compute_mode = step_.compute_mode;
  input.is_deterministic = step_.is_deterministic;
  return moe_[index].Forward(input, step_.exec, options_.moe_backend, &buffers_.moe);
}

// The wanted rows, gathered to the front of `normed`, times the output matrix. normed holds the
// final norm of all rows.
Status Decoder::Logits(const ForwardInput& input, float* logits) {
  if (input.logit_rows.empty()) {
    return {};
  }
  const int64_t dim = config_.info.hidden_dim;
  for (size_t i = 0; i < input.logit_rows.size(); ++i) {
    std::copy_n(buffers_.normed.data() + input.logit_rows[i] * dim, dim,
                buffers_.added.data() + static_cast<int64_t>(i) * dim);
  }
  return weights_.output.Apply(buffers_.added.data(), static_cast<int64_t>(input.logit_rows.size()),
                               logits, step_.compute_mode, step_.exec);
}

Status Decoder::Forward(const ForwardInput& input, KvMemory* kv, float* logits) {
  FT_RETURN_IF_ERROR(CheckForwardInput(
      input, config_.info, {options_.max_tokens, options_.max_logit_rows, options_.max_sequences},
      *kv));
  if (input.tokens.empty()) {
    return {};
  }
  step_.kv = kv;
  step_.compute_mode = input.compute_mode;
  step_.is_deterministic = input.is_deterministic;
  FillStep(input, config_.rotaries, &step_);
  FT_RETURN_IF_ERROR(weights_.embedding.Gather(options_.pool, input.tokens, buffers_.x.data()));
  Norm(weights_.layers.front().input_norm);
  for (size_t i = 0; i < config_.layers.size(); ++i) {
    const LayerWeights& layer = weights_.layers[i];
    FT_RETURN_IF_ERROR(AttentionForward(config_.layers[i].attention, layer.attention, step_,
                                        buffers_.normed.data(), buffers_.added.data(),
                                        &buffers_.attention));
    AddAndNorm(layer.post_attention_norm);
    FT_RETURN_IF_ERROR(FeedForward(i));
    const bool is_last = i + 1 == config_.layers.size();
    AddAndNorm(is_last ? weights_.norm : weights_.layers[i + 1].input_norm);
  }
  return Logits(input, logits);
}

class DecoderBuilder final : public ModelBuilder {
 public:
  explicit DecoderBuilder(DecoderConfig config) : config_(std::move(config)) {}

  const ModelInfo& info() const override { return config_.info; }

  const std::vector<MoeLayerSpec>& moe_layers() const override { return config_.moe_layers; }

  uint64_t ScratchBytes(const ModelBuildOptions& options) const override {
    const Extents largest = LargestExtents(config_);
    const int64_t per_token = 3 * config_.info.hidden_dim + 2 * largest.q_dim + 2 * largest.kv_dim +
                              2 * largest.intermediate_dim;
    return static_cast<uint64_t>(options.max_tokens) * static_cast<uint64_t>(per_token) *
               sizeof(float) +
           MoeScratch::Bytes(config_.moe_layers.empty() ? 0 : options.max_tokens,
                             config_.router.num_experts, config_.router.top_k);
  }

  void CheckWeights(WeightLoader* loader) const override { LoadWeights(config_, loader); }

  Result<std::unique_ptr<Model>> Build(WeightLoader* loader,
                                       const ModelBuildOptions& options) const override {
    DecoderWeights weights = LoadWeights(config_, loader);
    FT_RETURN_IF_ERROR(loader->status());
    return std::unique_ptr<Model>(std::make_unique<Decoder>(config_, std::move(weights), options));
  }

 private:
  DecoderConfig config_;
};

}  // namespace

void AssignCacheGroups(DecoderConfig* config) {
  std::vector<CacheGroup>& groups = config->info.cache_groups;
  groups.clear();
  for (size_t i = 0; i < config->layers.size(); ++i) {
    AttentionConfig& attention = config->layers[i].attention;
    auto group = std::find_if(groups.begin(), groups.end(), [&](const CacheGroup& g) {
      return g.window_tokens == attention.window_tokens;
    });
    if (group == groups.end()) {
      CacheGroup added;
      added.name = attention.window_tokens == 0 ? "full" : "sliding";
      added.window_tokens = attention.window_tokens;
      group = groups.insert(groups.end(), std::move(added));
    }
    attention.cache_group = static_cast<int>(group - groups.begin());
    attention.cache_index = static_cast<int>(group->layer_ids.size());
    group->layer_ids.push_back(static_cast<int>(i));
    group->elements_per_token.push_back(CacheElements(attention));
  }
}

std::unique_ptr<ModelBuilder> MakeDecoderBuilder(DecoderConfig config) {
  return std::make_unique<DecoderBuilder>(std::move(config));
}

}  // namespace ft
