#include "core/engine/model_engine.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "core/json/write.h"

namespace ft {
namespace {

constexpr int64_t kVocab = 32;  // "a".."z" are 0..25, then added tokens

// The tokens <eos>, <pad>, … stand behind the letters.
std::unique_ptr<text::Tokenizer> LetterTokenizer() {
  json::Value vocab = json::Value::MakeObject();
  for (int i = 0; i < 26; ++i) {
    vocab.Set(std::string(1, static_cast<char>('a' + i)), json::Value(i));
  }
  json::Value added = json::Value::MakeArray();
  for (int i = 26; i < kVocab; ++i) {
    json::Value token = json::Value::MakeObject();
    token.Set("id", json::Value(i));
    token.Set("content", json::Value("<" + std::to_string(i) + ">"));
    for (const char* flag : {"single_word", "lstrip", "rstrip", "normalized"}) {
      token.Set(flag, json::Value(false));
    }
    token.Set("special", json::Value(i < 28));
    added.Append(std::move(token));
  }
  json::Value model = json::Value::MakeObject();
  model.Set("type", json::Value("BPE"));
  model.Set("vocab", std::move(vocab));
  model.Set("merges", json::Value::MakeArray());
  json::Value byte_level = json::Value::MakeObject();
  byte_level.Set("type", json::Value("ByteLevel"));
  for (const char* flag : {"add_prefix_space", "trim_offsets", "use_regex"}) {
    byte_level.Set(flag, json::Value(false));
  }
  json::Value root = json::Value::MakeObject();
  root.Set("version", json::Value("1.0"));
  root.Set("added_tokens", std::move(added));
  root.Set("pre_tokenizer", byte_level);
  root.Set("decoder", byte_level);
  root.Set("model", std::move(model));
  auto tokenizer = text::Tokenizer::FromJson(json::Write(root));
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  return std::move(tokenizer).value();
}

// A model whose next token is a function of every earlier token, read back through the page tables:
// a wrong page, position or chunk changes what it says.
class HashModel : public Model {
 public:
  explicit HashModel(int64_t num_pages, int64_t page_size) : page_size_(page_size) {
    info_.vocab_size = kVocab;
    info_.max_positions = 1 << 20;
    info_.cache_groups = {{.name = "full", .layer_ids = {0}, .elements_per_token = {1}}};
    cells_.assign(static_cast<size_t>(num_pages * page_size), -1);
  }

  const ModelInfo& info() const override { return info_; }

  int64_t max_tokens() const override { return 64; }

  int64_t max_logit_rows() const override { return 8; }

  Status Forward(const ForwardInput& input, KvMemory* /*kv*/, float* logits) override {
    if (fail_next) {
      fail_next = false;
      return Status(StatusCode::kUnavailable, "the disk went away");
    }
    size_t at = 0;
    size_t row = 0;
    for (const SequenceInput& sequence : input.sequences) {
      for (int32_t i = 0; i < sequence.num_tokens; ++i, ++at) {
        const int64_t position = sequence.start_position + i;
        Cell(sequence, position) = input.tokens[at];
        if (row < input.logit_rows.size() && static_cast<size_t>(input.logit_rows[row]) == at) {
          Predict(sequence, position, logits + row * kVocab);
          ++row;
        }
      }
    }
    ++num_steps;
    return Status();
  }

  static int32_t Next(const std::vector<int32_t>& tokens) {
    uint64_t hash = 17;
    for (const int32_t token : tokens) {
      hash = hash * 1000003U + static_cast<uint64_t>(token);
    }
    return static_cast<int32_t>((hash >> 7) % 25);  // never 'z', never an added token
  }

  bool fail_next = false;
  int num_steps = 0;

 private:
  int32_t& Cell(const SequenceInput& sequence, int64_t position) {
    const auto page = static_cast<size_t>(position / page_size_);
    return cells_[static_cast<size_t>(sequence.page_tables[0][page] * page_size_ +
                                      position % page_size_)];
  }

  void Predict(const SequenceInput& sequence, int64_t position, float* logits) {
    std::vector<int32_t> tokens;
    for (int64_t i = 0; i <= position; ++i) {
      tokens.push_back(Cell(sequence, i));
    }
    std::fill(logits, logits + kVocab, 0.0F);
    logits[Next(tokens)] = 10.0F;
  }

  ModelInfo info_;
  int64_t page_size_;
  std::vector<int32_t> cells_;
};

struct Answer {
  std::string text;
  std::vector<int32_t> ids;
  int num_finishes = 0;
  RequestOutput last;
};

class CollectingSink : public OutputSink {
 public:
  void OnOutputs(std::vector<RequestOutput> outputs) override {
    for (RequestOutput& output : outputs) {
      Answer& answer = answers[output.request];
      for (const TokenOutput& token : output.tokens) {
        answer.text += token.text;
        answer.ids.push_back(token.token_id);
      }
      if (output.finish.has_value()) {
        ++answer.num_finishes;
        answer.last = std::move(output);
      }
    }
  }

  std::map<RequestId, Answer> answers;
};

class ModelEngineTest : public testing::Test {
 protected:
  void Make(int64_t num_pages, int max_running = 4) {
    options_.scheduler.max_running = max_running;
    options_.scheduler.page_size_tokens = 4;
    options_.scheduler.max_prefill_tokens = 8;
    options_.scheduler.growth_tokens = 4;
    options_.scheduler.groups = {{.num_pages = num_pages, .window_tokens = 0}};
    options_.max_model_len = num_pages * 4;
    options_.stop_token_ids = {26};
    model_ = std::make_unique<HashModel>(num_pages, 4);
    engine_ =
        std::make_unique<ModelEngine>(options_, model_.get(), nullptr, tokenizer_.get(), &sink_);
  }

  static Request Greedy(std::vector<int32_t> prompt, int64_t max_tokens) {
    Request request;
    request.prompt_ids = std::move(prompt);
    request.sampling.temperature = 0;
    request.max_tokens = max_tokens;
    return request;
  }

  static std::vector<int32_t> Expected(std::vector<int32_t> tokens, int64_t count) {
    const size_t num_prompt = tokens.size();
    for (int64_t i = 0; i < count; ++i) {
      tokens.push_back(HashModel::Next(tokens));
    }
    return {tokens.begin() + static_cast<std::ptrdiff_t>(num_prompt), tokens.end()};
  }

  void RunToEnd() {
    for (int i = 0; i < 100000 && engine_->RunStep(); ++i) {
    }
  }

  std::unique_ptr<text::Tokenizer> tokenizer_ = LetterTokenizer();
  ModelEngineOptions options_;
  CollectingSink sink_;
  std::unique_ptr<HashModel> model_;
  std::unique_ptr<ModelEngine> engine_;
};

TEST_F(ModelEngineTest, ManyRequestsAtOnceGetWhatTheyGetAlone) {
  Make(/*num_pages=*/12, /*max_running=*/4);  // 48 tokens: far too few for four at once
  std::map<RequestId, std::vector<int32_t>> expected;
  for (int i = 0; i < 12; ++i) {
    std::vector<int32_t> prompt;
    for (int j = 0; j < 1 + i * 2; ++j) {
      prompt.push_back((i * 7 + j * 3) % 25);
    }
    const int64_t max_tokens = 20;
    const RequestId id = engine_->Submit(Greedy(prompt, max_tokens)).value();
    expected[id] = Expected(prompt, max_tokens);
  }
  RunToEnd();
  ASSERT_EQ(sink_.answers.size(), expected.size());
  for (const auto& [id, ids] : expected) {
    EXPECT_EQ(sink_.answers[id].ids, ids) << "request " << id;
    EXPECT_EQ(sink_.answers[id].num_finishes, 1);
    EXPECT_EQ(sink_.answers[id].last.finish, FinishReason::kLength);
  }
  EXPECT_GT(engine_->stats().num_preemptions, 0U);
  EXPECT_EQ(engine_->stats().num_pages_used, 0);
}

TEST_F(ModelEngineTest, TheWindowIsExactAndTheRefusalHasBothNumbers) {
  Make(/*num_pages=*/4);  // 16 tokens
  EXPECT_TRUE(engine_->Submit(Greedy(std::vector<int32_t>(15, 1), 1)).ok());
  const auto refused = engine_->Submit(Greedy(std::vector<int32_t>(16, 1), 1));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(refused.status().message().find("context_length_exceeded"), 0U);
  EXPECT_NE(refused.status().message().find("16 tokens"), std::string::npos);
  RunToEnd();
  EXPECT_EQ(sink_.answers.begin()->second.ids.size(), 1U);
}

TEST_F(ModelEngineTest, AStopTokenEndsTheTextAndIsNotInIt) {
  Make(8);
  const std::vector<int32_t> prompt = {3, 1, 4};
  const std::vector<int32_t> free_run = Expected(prompt, 6);
  Request request = Greedy(prompt, 6);
  request.stop_token_ids = {free_run[3]};
  const RequestId id = engine_->Submit(request).value();
  request.ignore_eos = true;
  const RequestId ignoring = engine_->Submit(request).value();
  RunToEnd();
  const auto first = static_cast<size_t>(std::find(free_run.begin(), free_run.end(), free_run[3]) -
                                         free_run.begin());
  EXPECT_EQ(sink_.answers[id].ids.size(), first);
  EXPECT_EQ(sink_.answers[id].last.finish, FinishReason::kStop);
  EXPECT_EQ(sink_.answers[id].last.stop_token_id, free_run[3]);
  EXPECT_EQ(sink_.answers[id].last.num_output_tokens, static_cast<int64_t>(first) + 1);
  EXPECT_EQ(sink_.answers[ignoring].ids, free_run);
}

TEST_F(ModelEngineTest, AStopStringIsCutOutWhereverItsLettersCome) {
  Make(16);
  const std::vector<int32_t> prompt = {5};
  std::string text;
  for (const int32_t token : Expected(prompt, 20)) {
    text += static_cast<char>('a' + token);
  }
  Request request = Greedy(prompt, 20);
  request.stop_strings = {"QQ", text.substr(6, 3)};
  const RequestId id = engine_->Submit(request).value();
  RunToEnd();
  EXPECT_EQ(sink_.answers[id].text, text.substr(0, text.find(text.substr(6, 3))));
  EXPECT_EQ(sink_.answers[id].last.stop_string, text.substr(6, 3));
  EXPECT_EQ(sink_.answers[id].last.finish, FinishReason::kStop);
}

TEST_F(ModelEngineTest, CancellingFreesThePagesWithinOneStep) {
  Make(8);
  const RequestId id = engine_->Submit(Greedy({1, 2}, 20)).value();
  EXPECT_TRUE(engine_->RunStep());
  EXPECT_GT(engine_->stats().num_pages_used, 0);
  engine_->Cancel(id);
  engine_->Cancel(id);
  engine_->Cancel(12345);
  engine_->RunStep();
  EXPECT_EQ(engine_->stats().num_pages_used, 0);
  EXPECT_EQ(sink_.answers[id].last.finish, FinishReason::kCancelled);
  EXPECT_EQ(sink_.answers[id].num_finishes, 1);
  EXPECT_FALSE(engine_->RunStep());
}

TEST_F(ModelEngineTest, AFailedStepFailsItsRequestsAndTheNextOnesRun) {
  Make(8);
  const RequestId failed = engine_->Submit(Greedy({1}, 4)).value();
  model_->fail_next = true;
  engine_->RunStep();
  EXPECT_EQ(sink_.answers[failed].last.finish, FinishReason::kError);
  EXPECT_EQ(sink_.answers[failed].last.error.message(), "the disk went away");
  const RequestId good = engine_->Submit(Greedy({1}, 4)).value();
  RunToEnd();
  EXPECT_EQ(sink_.answers[good].ids, Expected({1}, 4));
}

TEST_F(ModelEngineTest, BadRequestsAreRefusedBeforeTheyQueue) {
  Make(8);
  EXPECT_EQ(engine_->Submit(Greedy({}, 4)).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(engine_->Submit(Greedy({99}, 4)).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(engine_->Submit(Greedy({1}, 0)).status().code(), StatusCode::kInvalidArgument);
  engine_->Drain();
  EXPECT_EQ(engine_->Submit(Greedy({1}, 1)).status().code(), StatusCode::kUnavailable);
}

TEST_F(ModelEngineTest, StoppingTheThreadEndsWhatRuns) {
  Make(8);
  engine_->Start();
  ASSERT_TRUE(engine_->Submit(Greedy({1}, 20)).ok());
  ASSERT_TRUE(engine_->Submit(Greedy({2}, 20)).ok());
  engine_->Stop();
  for (const auto& [id, answer] : sink_.answers) {
    EXPECT_EQ(answer.num_finishes, 1) << id;
  }
}

}  // namespace
}  // namespace ft
