#include "core/engine/output_stage.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/check.h"

namespace ft {

OutputStage::OutputStage(const text::Tokenizer* tokenizer,
                         std::vector<std::string> stop_strings,
                         bool skip_special_tokens)
    : tokenizer_(tokenizer),
      decoder_(tokenizer, {.skip_special_tokens = skip_special_tokens}),
      stop_strings_(std::move(stop_strings)) {
  for (const std::string& stop : stop_strings_) {
    FT_CHECK(!stop.empty());
  }
}

bool OutputStage::Push(TokenOutput token, std::vector<TokenOutput>* out) {
  token.text = decoder_.Push(token.token_id);
  token.is_added_token = tokenizer_->is_added(token.token_id);
  pending_text_ += token.text;
  pending_.push_back(std::move(token));
  return Release(/*is_last=*/false, out);
}

bool OutputStage::Finish(std::vector<TokenOutput>* out) {
  TokenOutput rest;
  rest.text = decoder_.Finish();
  if (!rest.text.empty()) {
    pending_text_ += rest.text;
    pending_.push_back(std::move(rest));
  }
  return Release(/*is_last=*/true, out);
}

bool OutputStage::Release(bool is_last, std::vector<TokenOutput>* out) {
  size_t first = std::string::npos;
  for (const std::string& stop : stop_strings_) {
    const size_t at = pending_text_.find(stop);
    if (at < first) {  // of two at one place, the one listed first
      first = at;
      stop_string_ = stop;
    }
  }
  if (first != std::string::npos) {
    Emit(first, /*cut=*/true, out);
    pending_.clear();
    pending_text_.clear();
    return true;
  }
  Emit(is_last ? pending_text_.size() : HeldFrom(), /*cut=*/false, out);
  return false;
}

// Where the longest end of the pending text begins that could still become a stop string.
size_t OutputStage::HeldFrom() const {
  size_t held = 0;
  for (const std::string& stop : stop_strings_) {
    size_t length = std::min(stop.size() - 1, pending_text_.size());
    for (; length > held; --length) {
      if (pending_text_.ends_with(std::string_view(stop).substr(0, length))) {
        held = length;
        break;
      }
    }
  }
  return pending_text_.size() - held;
}

// Sends the pieces that lie within the first `num_bytes` of the pending text. A piece that only
// begins there stays, or with `cut` goes out shortened.
void OutputStage::Emit(size_t num_bytes, bool cut, std::vector<TokenOutput>* out) {
  size_t sent = 0;
  size_t count = 0;
  while (count < pending_.size() && sent + pending_[count].text.size() <= num_bytes) {
    if (cut && sent == num_bytes && pending_[count].text.empty()) {
      break;  // a token without text behind the cut belongs to what is cut off
    }
    sent += pending_[count].text.size();
    ++count;
  }
  out->insert(out->end(), std::make_move_iterator(pending_.begin()),
              std::make_move_iterator(pending_.begin() + static_cast<std::ptrdiff_t>(count)));
  if (cut && count < pending_.size() && sent < num_bytes) {
    pending_[count].text.resize(num_bytes - sent);
    out->push_back(std::move(pending_[count]));
  }
  pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(count));
  pending_text_.erase(0, sent);
}

}  // namespace ft
