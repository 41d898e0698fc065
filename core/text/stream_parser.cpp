// The chain reasoning parser -> tool parser over the C tables. What plugins send is checked: a call
// is handed on only when it is whole and its arguments are a JSON object.
#include <algorithm>
#include <utility>

#include "core/base/errors.h"
#include "core/base/utf8.h"
#include "core/json/parse.h"
#include "core/text/parser_call.h"
#include "core/text/parsers.h"

namespace ft::text {
namespace {

std::string ToText(ft_str text) {
  const std::string_view view =
      text.ptr == nullptr ? std::string_view() : std::string_view(text.ptr, text.len);
  return IsValidUtf8(view) ? std::string(view) : ReplaceInvalidUtf8(view);
}

void Append(ParserEvent event, std::vector<ParserEvent>* events) {
  const bool is_text =
      event.kind == ParserEventKind::kContent || event.kind == ParserEventKind::kReasoning;
  if (is_text && event.text.empty()) {
    return;
  }
  if (is_text && !events->empty() && events->back().kind == event.kind) {
    events->back().text += event.text;
    return;
  }
  events->push_back(std::move(event));
}

// One plugin instance; destroyed through its own table.
class Instance {
 public:
  Instance() = default;

  static Result<Instance> Create(const ParserChoice* choice, const StreamParserOptions& options) {
    Instance instance;
    if (choice == nullptr || choice->parser == nullptr) {
      return instance;
    }
    instance.parser_ = choice->parser;
    ft_parser_options out = {};
    out.hdr = {sizeof(out), FT_TAG_PARSER_OPTIONS, nullptr};
    out.starts_in_reasoning = options.starts_in_reasoning ? 1 : 0;
    out.n_markers = static_cast<uint32_t>(choice->marker_token_ids.size());
    out.marker_token_ids = choice->marker_token_ids.data();
    out.tools_json = {options.tools_json.data(), options.tools_json.size()};
    ft_error error = NewParserError();
    const ft_parser* table = instance.parser_->table();
    const ft_code code = table->create(instance.parser_->state(), &out, &instance.handle_, &error);
    if (code != FT_OK) {
      instance.handle_ = nullptr;
      return ParserFault(*instance.parser_, "create", code, error);
    }
    return instance;
  }

  Instance(Instance&& other) noexcept
      : parser_(std::exchange(other.parser_, nullptr)),
        handle_(std::exchange(other.handle_, nullptr)) {}

  Instance& operator=(Instance&& other) noexcept {
    std::swap(parser_, other.parser_);
    std::swap(handle_, other.handle_);
    return *this;
  }

  ~Instance() {
    if (handle_ != nullptr) {
      parser_->table()->destroy(handle_);
    }
  }

  bool is_there() const { return parser_ != nullptr; }

  Status Feed(const ft_piece& piece, ft_event_sink sink, void* ctx) const {
    ft_error error = NewParserError();
    const ft_code code = parser_->table()->feed(handle_, &piece, sink, ctx, &error);
    return code == FT_OK ? Status() : ParserFault(*parser_, "feed", code, error);
  }

  Status Finish(ft_event_sink sink, void* ctx) const {
    ft_error error = NewParserError();
    const ft_code code = parser_->table()->finish(handle_, sink, ctx, &error);
    return code == FT_OK ? Status() : ParserFault(*parser_, "finish", code, error);
  }

  const Parser* parser() const { return parser_; }

 private:
  const Parser* parser_ = nullptr;
  void* handle_ = nullptr;
};

}  // namespace

class StreamParser::Impl {
 public:
  Impl(Instance reasoning, Instance tools, const StreamParserOptions& options)
      : reasoning_(std::move(reasoning)),
        tools_(std::move(tools)),
        in_reasoning_(reasoning_.is_there() && options.starts_in_reasoning) {
    if (options.reasoning != nullptr) {
      reasoning_marker_ids_ = options.reasoning->marker_token_ids;
    }
  }

  Status Feed(const TextPiece& piece, std::vector<ParserEvent>* events) {
    if (!failure_.ok()) {
      return failure_;
    }
    events_ = events;
    const ft_piece raw = {
        {piece.text.data(), piece.text.size()}, piece.token_id, piece.is_added_token ? 1U : 0U};
    Status status =
        reasoning_.is_there() ? reasoning_.Feed(raw, &OnReasoningEvent, this) : FeedTools(raw);
    NoteMarker(piece.token_id);
    return Close(std::move(status));
  }

  Status Finish(std::vector<ParserEvent>* events) {
    if (!failure_.ok()) {
      return failure_;
    }
    if (is_finished_) {
      return Status();
    }
    is_finished_ = true;
    events_ = events;
    Status status;
    if (reasoning_.is_there()) {
      status = reasoning_.Finish(&OnReasoningEvent, this);
    }
    if (status.ok() && tools_.is_there()) {
      status = tools_.Finish(&OnToolEvent, this);
    }
    return Close(std::move(status));
  }

  bool in_reasoning() const { return in_reasoning_; }

  uint32_t num_tool_calls() const { return num_calls_; }

 private:
  // The first failure stays: what a broken parser says afterwards is worth nothing.
  Status Close(Status status) {
    events_ = nullptr;
    if (failure_.ok()) {
      failure_ = std::move(status);
    }
    return failure_;
  }

  // A marker's own token says at once where the reply is; its letters only with the text behind.
  void NoteMarker(int32_t token_id) {
    if (token_id < 0 || !reasoning_.is_there()) {
      return;
    }
    const std::vector<ParserMarker>& markers = reasoning_.parser()->markers();
    for (size_t i = 0; i < markers.size() && i < reasoning_marker_ids_.size(); ++i) {
      if (reasoning_marker_ids_[i] == token_id) {
        in_reasoning_ = markers[i].role == FT_MARKER_THINK_OPEN;
      }
    }
  }

  Status FeedTools(const ft_piece& piece) {
    if (tools_.is_there()) {
      return tools_.Feed(piece, &OnToolEvent, this);
    }
    Append({ParserEventKind::kContent, 0, ToText(piece.text)}, events_);
    return Status();
  }

  static ft_code OnReasoningEvent(void* ctx, const ft_event_rec* event) {
    return static_cast<Impl*>(ctx)->TakeReasoningEvent(*event);
  }

  static ft_code OnToolEvent(void* ctx, const ft_event_rec* event) {
    return static_cast<Impl*>(ctx)->TakeToolEvent(*event);
  }

  ft_code Fail(Status status) {
    failure_ = std::move(status);
    return FT_E_CANCELLED;
  }

  ft_code TakeReasoningEvent(const ft_event_rec& event) {
    switch (event.type) {
      case FT_EV_REASONING:
        in_reasoning_ = true;
        Append({ParserEventKind::kReasoning, 0, ToText(event.text)}, events_);
        return FT_OK;
      case FT_EV_CONTENT: {
        in_reasoning_ = false;
        const ft_piece piece = {event.text, event.token_id, event.is_marker_token};
        Status status = FeedTools(piece);
        return status.ok() ? FT_OK : Fail(std::move(status));
      }
      case FT_EV_WARNING:
        Append({ParserEventKind::kWarning, 0, ToText(event.text)}, events_);
        return FT_OK;
      default:
        return Fail(PluginFault("{} ({}): sent an event of type {}", reasoning_.parser()->name(),
                                reasoning_.parser()->origin(), event.type));
    }
  }

  ft_code TakeToolEvent(const ft_event_rec& event) {
    switch (event.type) {
      case FT_EV_CONTENT:
        Append({ParserEventKind::kContent, 0, ToText(event.text)}, events_);
        return FT_OK;
      case FT_EV_WARNING:
        Append({ParserEventKind::kWarning, 0, ToText(event.text)}, events_);
        return FT_OK;
      case FT_EV_TOOL_BEGIN:
        call_ = {ToText(event.text), ""};
        is_call_open_ = true;
        return FT_OK;
      case FT_EV_TOOL_ARGS:
        if (is_call_open_) {
          call_.arguments += ToText(event.text);
          return FT_OK;
        }
        break;
      case FT_EV_TOOL_END:
        if (is_call_open_) {
          return EndCall();
        }
        break;
      default:
        break;
    }
    return Fail(PluginFault("{} ({}): sent an event of type {} where none can be",
                            tools_.parser()->name(), tools_.parser()->origin(), event.type));
  }

  ft_code EndCall() {
    is_call_open_ = false;
    if (call_.arguments.empty()) {
      call_.arguments = "{}";
    }
    const Result<json::Value> arguments = json::Parse(call_.arguments);
    if (call_.name.empty() || !arguments.ok() || !arguments.value().is_object()) {
      return Fail(PluginFault("{} ({}): reported a call '{}' whose arguments are no JSON object",
                              tools_.parser()->name(), tools_.parser()->origin(), call_.name));
    }
    Append({ParserEventKind::kToolBegin, num_calls_, std::move(call_.name)}, events_);
    Append({ParserEventKind::kToolArgs, num_calls_, std::move(call_.arguments)}, events_);
    Append({ParserEventKind::kToolEnd, num_calls_, ""}, events_);
    ++num_calls_;
    return FT_OK;
  }

  Instance reasoning_;
  Instance tools_;
  std::vector<int32_t> reasoning_marker_ids_;
  std::vector<ParserEvent>* events_ = nullptr;  // of the call that runs
  ParsedToolCall call_;                         // open until its end
  bool is_call_open_ = false;
  bool is_finished_ = false;
  bool in_reasoning_ = false;
  uint32_t num_calls_ = 0;
  Status failure_;
};

Result<StreamParser> StreamParser::Create(const StreamParserOptions& options) {
  FT_ASSIGN_OR_RETURN(Instance reasoning, Instance::Create(options.reasoning, options));
  FT_ASSIGN_OR_RETURN(Instance tools, Instance::Create(options.tool_calls, options));
  return StreamParser(std::make_unique<Impl>(std::move(reasoning), std::move(tools), options));
}

StreamParser::StreamParser(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

StreamParser::~StreamParser() = default;
StreamParser::StreamParser(StreamParser&&) noexcept = default;
StreamParser& StreamParser::operator=(StreamParser&&) noexcept = default;

Status StreamParser::Feed(const TextPiece& piece, std::vector<ParserEvent>* events) {
  return impl_->Feed(piece, events);
}

Status StreamParser::Finish(std::vector<ParserEvent>* events) {
  return impl_->Finish(events);
}

bool StreamParser::in_reasoning() const {
  return impl_->in_reasoning();
}

uint32_t StreamParser::num_tool_calls() const {
  return impl_->num_tool_calls();
}

void CollectEvents(const std::vector<ParserEvent>& events, ParsedReply* reply) {
  for (const ParserEvent& event : events) {
    switch (event.kind) {
      case ParserEventKind::kContent:
        reply->content += event.text;
        break;
      case ParserEventKind::kReasoning:
        reply->reasoning += event.text;
        break;
      case ParserEventKind::kToolBegin:
        reply->tool_calls.push_back({event.text, ""});
        break;
      case ParserEventKind::kToolArgs:
        reply->tool_calls.back().arguments += event.text;
        break;
      case ParserEventKind::kToolEnd:
        break;
      case ParserEventKind::kWarning:
        reply->warnings.push_back(event.text);
        break;
    }
  }
}

Result<ParsedReply> ParseReply(const StreamParserOptions& options,
                               const std::vector<TextPiece>& pieces) {
  FT_ASSIGN_OR_RETURN(StreamParser parser, StreamParser::Create(options));
  std::vector<ParserEvent> events;
  for (const TextPiece& piece : pieces) {
    FT_RETURN_IF_ERROR(parser.Feed(piece, &events));
  }
  FT_RETURN_IF_ERROR(parser.Finish(&events));
  ParsedReply reply;
  CollectEvents(events, &reply);
  return reply;
}

}  // namespace ft::text
