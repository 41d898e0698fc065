// The same model in other guises: experts stored fused, and sequences that share a batch.
#include <cstring>
#include <filesystem>
#include <map>
#include <numeric>

#include <gtest/gtest.h>

#include "core/checkpoint/safetensors_writer.h"
#include "core/checkpoint/tensor_index.h"
#include "core/kv_memory/kv_memory.h"
#include "tests/golden/model_fixture.h"

namespace ft::testing {
namespace {

constexpr const char* kPlain = FT_SOURCE_DIR "/tests/golden/models/qwen3_moe-plain";
constexpr int64_t kExperts = 8, kIntermediate = 48, kHidden = 64;

// Writes kPlain with the experts of a layer in two tensors.
void WriteFused(const std::string& folder) {
  const TensorIndex index = *TensorIndex::Open(std::string(kPlain) + "/model.safetensors");
  std::map<std::string, std::string> fused;  // bytes
  std::vector<NamedTensor> tensors;
  for (const TensorInfo& info : index.tensors()) {
    if (info.name.find(".experts.") == std::string::npos) {
      tensors.push_back({info.name, index.Map(info)});
    }
  }
  for (int layer = 0; layer < 3; ++layer) {
    const std::string prefix = "model.layers." + std::to_string(layer) + ".mlp.experts.";
    for (int64_t expert = 0; expert < kExperts; ++expert) {
      for (const char* name : {"gate_proj", "up_proj", "down_proj"}) {
        const TensorView view =
            *index.Map(prefix + std::to_string(expert) + "." + name + ".weight");
        const bool is_down = std::strcmp(name, "down_proj") == 0;
        fused[prefix + (is_down ? "down_proj" : "gate_up_proj")].append(
            static_cast<const char*>(view.data), view.num_bytes());
      }
    }
  }
  for (const auto& [name, bytes] : fused) {
    const bool is_down = name.find("down") != std::string::npos;
    const Shape shape = is_down ? Shape{kExperts, kHidden, kIntermediate}
                                : Shape{kExperts, 2 * kIntermediate, kHidden};
    tensors.push_back({name, {bytes.data(), DType::kBf16, shape}});
  }
  ASSERT_TRUE(WriteSafetensors(folder + "/model.safetensors", tensors).ok());
}

TEST(ModelVariantsTest, ReadsExpertsThatAreStoredFused) {
  const std::string folder = ::testing::TempDir() + "/ft_fused_experts";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  std::filesystem::copy(std::string(kPlain) + "/config.json", folder + "/config.json");
  WriteFused(folder);
  const Golden golden = ReadGolden(kPlain);
  for (const char* backend : {"resident", "offload"}) {
    LoadOptions load = OptionsFor(folder);
    load.moe_backend = backend;
    auto loaded = LoadModel(load);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    const auto result = EvalLogits(&*loaded, golden.input_ids, 0, {});
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_LE(LargestDifference(result->logits, golden.logits), 1e-4 * LargestOf(golden.logits));
  }
  std::filesystem::remove_all(folder);
}

TEST(ModelVariantsTest, HonoursOrRefusesASizeOfTheExpertCache) {
  LoadOptions load = OptionsFor(kPlain);
  load.expert_cache.num_slots = 4;
  auto loaded = LoadModel(load);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  bool is_offload = false;
  for (const Choice& choice : loaded->choices) {
    is_offload |= choice.what == "moe_backend" && choice.value == "offload";
  }
  EXPECT_TRUE(is_offload);
  load.moe_backend = "resident";
  EXPECT_EQ(LoadModel(load).status().code(), StatusCode::kInvalidArgument);
}

// One sequence of a batch: its ids, how many are done, and where its pages are.
struct Running {
  std::vector<int32_t> ids;
  int64_t done = 0;
  std::vector<int32_t> pages;
  std::vector<float> logits;  // [ids.size(), vocab]
};

// A step over all sequences, each with its own number of new tokens.
void Step(Model* model,
          KvMemory* kv,
          const std::vector<int64_t>& counts,
          std::vector<Running>* all) {
  std::vector<int32_t> tokens;
  std::vector<SequenceInput> sequences;
  for (size_t i = 0; i < all->size(); ++i) {
    Running& running = (*all)[i];
    const int64_t count =
        std::min(counts[i], static_cast<int64_t>(running.ids.size()) - running.done);
    if (count == 0) {
      continue;
    }
    SequenceInput& sequence = sequences.emplace_back();
    sequence.start_position = running.done;
    sequence.num_tokens = static_cast<int32_t>(count);
    sequence.page_tables.assign(kv->groups().size(), running.pages);
    sequence.prompt_tokens = static_cast<int64_t>(running.ids.size());
    tokens.insert(tokens.end(), running.ids.begin() + running.done,
                  running.ids.begin() + running.done + count);
  }
  std::vector<int32_t> rows(tokens.size());
  std::iota(rows.begin(), rows.end(), 0);
  std::vector<float> logits(tokens.size() * static_cast<size_t>(model->info().vocab_size));
  ForwardInput input;
  input.tokens = tokens;
  input.sequences = sequences;
  input.logit_rows = rows;
  input.compute_mode = FT_COMPUTE_SERVED;
  input.is_deterministic = true;
  const Status status = model->Forward(input, kv, logits.data());
  ASSERT_TRUE(status.ok()) << status.message();
  const float* at = logits.data();
  size_t next = 0;
  for (size_t i = 0; i < all->size(); ++i) {
    Running& running = (*all)[i];
    if (next < sequences.size() && running.done == sequences[next].start_position &&
        running.done < static_cast<int64_t>(running.ids.size())) {
      const int64_t count = sequences[next].num_tokens;
      const float* end = at + count * model->info().vocab_size;
      running.logits.insert(running.logits.end(), at, end);
      running.done += count;
      at = end;
      ++next;
    }
  }
}

TEST(ModelVariantsTest, GivesASequenceTheSameBitsWhoeverSharesItsBatch) {
  for (const std::string& folder : GoldenFolders()) {
    if (folder.find("/tests/golden/models/") == std::string::npos) {
      continue;
    }
    const Golden golden = ReadGolden(folder);
    auto loaded = LoadModel(OptionsFor(folder));
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    const ModelInfo& info = loaded->model()->info();
    KvMemoryOptions options;
    options.page_size_tokens = 8;
    options.num_pages.assign(info.cache_groups.size(), 64);
    auto kv = KvMemory::Create(info.cache_groups, info.recurrent_blocks, options);
    ASSERT_TRUE(kv.ok());
    std::vector<Running> all(4);
    for (size_t i = 0; i < all.size(); ++i) {
      all[i].ids.assign(golden.input_ids.begin() + static_cast<ptrdiff_t>(3 * i),
                        golden.input_ids.begin() + static_cast<ptrdiff_t>(30 + 5 * i));
      for (int32_t page = 0; page < 8; ++page) {
        all[i].pages.push_back(page * 4 + static_cast<int32_t>(i));  // interleaved
      }
    }
    std::vector<Running> together = all;
    for (int64_t step = 0; step < 64; ++step) {
      Step(loaded->model(), kv->get(), {1, 3, 8 + step % 3, 64}, &together);
    }
    for (size_t i = 0; i < all.size(); ++i) {
      std::vector<Running> alone = {all[i]};
      Step(loaded->model(), kv->get(), {64}, &alone);
      EXPECT_TRUE(alone[0].logits == together[i].logits) << folder << " sequence " << i;
    }
  }
}

}  // namespace
}  // namespace ft::testing
