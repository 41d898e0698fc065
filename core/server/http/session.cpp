// Session: one HTTP/1.1 connection. Reads a request, answers it, streams while the engine works,
// and sees at once when the client leaves. One coroutine, and one that watches the peer.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>

#include "core/base/log.h"
#include "core/server/api/documents.h"
#include "core/server/api/prepare.h"
#include "core/server/api/routes.h"
#include "core/server/http/access.h"
#include "core/server/http/exchange.h"
#include "core/server/http/server_core.h"

namespace ft::server {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;
using RequestParser = http::request_parser<http::string_body>;

constexpr size_t kReadAheadBytes = size_t{64} << 10;  // of pipelined requests, while one is served
constexpr size_t kLingerBytes = size_t{32} << 20;     // of a refused body, read so that the client
constexpr std::chrono::seconds kLingerTime{5};        // gets to see the answer

// Counts a request as long as it is in hand.
class BusyCount {
 public:
  explicit BusyCount(ServerCore* core) : core_(core) {
    if (core_ != nullptr) {
      ++core_->num_busy;
    }
  }

  ~BusyCount() {
    if (core_ != nullptr && --core_->num_busy == 0 && core_->on_idle) {
      core_->on_idle();
    }
  }

  BusyCount(const BusyCount&) = delete;
  BusyCount& operator=(const BusyCount&) = delete;

 private:
  ServerCore* core_;
};

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(ServerCore* core, tcp::socket socket)
      : core_(*core), stream_(std::move(socket)), wake_(core->io), watch_end_(core->io) {
    error_code ignored;
    stream_.socket().set_option(tcp::no_delay(true), ignored);
  }

  ~Session() { core_.dispatcher.Leave(&live_); }

  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  asio::awaitable<void> Run() {
    bool goes_on = true;
    while (goes_on) {
      goes_on = co_await ServeOne();
    }
    if (!is_gone_) {
      co_await Linger();
    }
    stream_.close();
  }

 private:
  // Reads and answers one request. False: the connection is to be closed.
  asio::awaitable<bool> ServeOne() {
    exchange_ = Exchange();
    const ServerLimits& limits = core_.options.limits;
    parser_.emplace();
    parser_->header_limit(limits.max_header_bytes);
    parser_->body_limit(limits.max_body_bytes);
    stream_.expires_after(is_first_ ? limits.header_timeout : limits.idle_timeout);
    is_first_ = false;
    const auto [header_error, header_bytes] =
        co_await http::async_read_header(stream_, buffer_, *parser_, kAwait);
    exchange_.start = Clock::now();
    if (header_error) {
      co_await OnReadError(header_error);
      Log();
      co_return false;
    }
    const std::optional<ApiError> refusal = TakeHeader();
    const BusyCount busy(exchange_.is_quiet ? nullptr : &core_);
    co_await Answer(refusal);
    Log();
    co_return exchange_.keep_alive && !is_gone_;
  }

  // A request that could not be read. Silence and hang-ups get no answer.
  asio::awaitable<void> OnReadError(error_code error) {
    ApiError refusal =
        BadRequest("invalid_http", "", "not a valid HTTP request: {}", error.message());
    exchange_.has_unread_body = true;
    if (error == http::error::header_limit) {
      refusal.http_status = 431;
      refusal.message = fmt::format("the headers are longer than {} bytes",
                                    core_.options.limits.max_header_bytes);
    } else if (error == http::error::body_limit) {
      refusal = TooLarge();
    } else if (error.category() != http::make_error_code(http::error::bad_method).category() ||
               error == http::error::end_of_stream || error == http::error::partial_message) {
      is_gone_ = true;
      co_return;
    }
    exchange_.keep_alive = false;
    exchange_.request_id = exchange_.request_id.empty() ? RandomId("req_") : exchange_.request_id;
    co_await Send(ErrorResponse(refusal));
  }

  ApiError TooLarge() const {
    ApiError error = BadRequest("request_too_large", "", "the body is longer than {} bytes",
                                core_.options.limits.max_body_bytes);
    error.http_status = 413;
    return error;
  }

  std::string_view Header(std::string_view name) const {
    const auto found = parser_->get().find(beast::string_view(name.data(), name.size()));
    return found == parser_->get().end()
               ? std::string_view()
               : std::string_view(found->value().data(), found->value().size());
  }

  // Judges the header alone, before a byte of the body is read.
  std::optional<ApiError> TakeHeader() {
    const auto& message = parser_->get();
    const std::string_view target(message.target().data(), message.target().size());
    exchange_.method.assign(message.method_string().data(), message.method_string().size());
    exchange_.is_head = exchange_.method == "HEAD";
    exchange_.is_http_10 = message.version() < 11;
    exchange_.keep_alive = message.keep_alive() && !core_.is_draining;
    exchange_.request_id = RequestIdOf(Header("x-request-id"));
    exchange_.origin = std::string(Header("origin"));
    const std::optional<std::string> path = PercentDecode(target.substr(0, target.find('?')));
    if (!path.has_value()) {
      return BadRequest("invalid_http", "", "the path has a broken percent escape");
    }
    exchange_.path = *path;
    if (!exchange_.is_http_10 && Header("host").empty()) {
      return BadRequest("invalid_http", "", "the Host header is missing");
    }
    route_ = FindRoute(exchange_.method, exchange_.path);
    if (route_->has_value()) {
      exchange_.route_name = (*route_)->name;
      exchange_.is_quiet = (*route_)->is_quiet;
    }
    AccessHeaders access;
    access.host = Header("host");
    access.origin = Header("origin");
    access.authorization = Header("authorization");
    access.x_api_key = Header("x-api-key");
    const bool is_preflight =
        exchange_.method == "OPTIONS" && !CorsOrigin(core_.options, exchange_.origin).empty();
    const bool needs_key = !is_preflight && (!route_->has_value() || (*route_)->needs_key);
    if (auto refusal = CheckAccess(core_.options, access, needs_key)) {
      return refusal;
    }
    return CheckBodyHeaders();
  }

  std::optional<ApiError> CheckBodyHeaders() const {
    const std::string_view encoding = Header("content-encoding");
    if (!encoding.empty() && encoding != "identity") {
      ApiError error = BadRequest("unsupported_encoding", "",
                                  "content-encoding is not supported; send the body as it is");
      error.http_status = 415;
      return error;
    }
    if (const auto length = parser_->content_length();
        length.has_value() && *length > core_.options.limits.max_body_bytes) {
      return TooLarge();
    }
    return std::nullopt;
  }

  asio::awaitable<void> Answer(const std::optional<ApiError>& refusal) {
    if (refusal.has_value()) {
      exchange_.has_unread_body = !parser_->is_done();
      exchange_.keep_alive = exchange_.keep_alive && parser_->is_done();
      co_await Send(ErrorResponse(*refusal));
      co_return;
    }
    const bool has_body = co_await ReadBody();
    if (!has_body) {
      co_return;
    }
    if (exchange_.method == "OPTIONS" && !CorsOrigin(core_.options, exchange_.origin).empty()) {
      HttpResponse preflight;
      preflight.status = 204;
      preflight.headers = {
          {"access-control-allow-methods", "GET, POST, OPTIONS"},
          {"access-control-allow-headers", "authorization, content-type, x-api-key, x-request-id"},
          {"access-control-max-age", "600"}};
      co_await Send(std::move(preflight));
    } else if (!route_->has_value()) {
      co_await Send(ErrorResponse(route_->error()));
    } else {
      co_await AnswerRoute(**route_);
    }
  }

  asio::awaitable<bool> ReadBody() {
    if (parser_->is_done()) {
      co_return true;
    }
    stream_.expires_after(core_.options.limits.body_timeout);
    const std::string_view expect = Header("expect");
    if (expect == "100-continue" && !exchange_.is_http_10) {
      static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
      co_await asio::async_write(stream_, asio::buffer(kContinue), kAwait);
    }
    const auto [error, bytes] = co_await http::async_read(stream_, buffer_, *parser_, kAwait);
    if (error) {
      co_await OnReadError(error);
      exchange_.keep_alive = false;
      co_return false;
    }
    co_return true;
  }

  asio::awaitable<void> AnswerRoute(const Route& route) {
    switch (route.endpoint) {
      case Endpoint::kChatCompletions:
      case Endpoint::kCompletions:
      case Endpoint::kTokenize:
      case Endpoint::kDetokenize:
        if (auto refusal = RefusalOf(route.endpoint)) {
          co_await Send(ErrorResponse(*refusal));
        } else {
          co_await AnswerWithWork(route.endpoint);
        }
        co_return;
      case Endpoint::kHealth:
      case Endpoint::kReady:
      case Endpoint::kMetrics:
      case Endpoint::kModels:
      case Endpoint::kModel:
      case Endpoint::kConfig:
      case Endpoint::kPlugins:
      case Endpoint::kStats:
        break;
    }
    co_await Send(GetDocument(route, core_.options, core_.state, core_.metrics));
  }

  // Tokenizing needs no engine: it goes on while the server drains.
  std::optional<ApiError> RefusalOf(Endpoint endpoint) const {
    const bool generates =
        endpoint == Endpoint::kChatCompletions || endpoint == Endpoint::kCompletions;
    return generates || core_.state.model() == nullptr ? core_.state.Refusal() : std::nullopt;
  }

  // Work for the workers, then maybe for the engine; the peer is watched all the while.
  asio::awaitable<void> AnswerWithWork(Endpoint endpoint) {
    is_watching_ = true;
    asio::co_spawn(stream_.get_executor(), Watch(shared_from_this()), asio::detached);
    live_ = LiveGeneration();
    live_.arrival = exchange_.start;
    std::optional<HttpResponse> response = co_await Prepare(endpoint);
    if (!response.has_value() && !is_gone_) {
      if (auto refusal = core_.state.Refusal()) {
        response = ErrorResponse(*refusal);  // the drain began while the request was prepared
      } else if (auto error = core_.dispatcher.Enter(&live_)) {
        response = ErrorResponse(*error);
      } else {
        live_.on_news = [this] { wake_.cancel(); };
        if (live_.generation->stream) {
          co_await Stream();
        } else {
          response = co_await Wait();
        }
        core_.dispatcher.Leave(&live_);
        NoteGeneration(live_, &exchange_);
      }
    }
    co_await StopWatching();
    if (is_gone_) {
      OnClientGone();
    } else if (response.has_value()) {
      co_await Send(std::move(*response));
    }
    live_ = LiveGeneration();
  }

  // Fills live_.generation, or returns the answer there is already.
  asio::awaitable<std::optional<HttpResponse>> Prepare(Endpoint endpoint) {
    const std::string body = std::move(parser_->get().body());
    const PrepareContext context{core_.options, *core_.state.model()};
    std::optional<HttpResponse> response;
    std::unique_ptr<Generation> generation;
    const auto work = [&]() -> asio::awaitable<void> {
      if (endpoint == Endpoint::kTokenize || endpoint == Endpoint::kDetokenize) {
        response =
            endpoint == Endpoint::kTokenize ? Tokenize(context, body) : Detokenize(context, body);
        co_return;
      }
      ApiResult<std::unique_ptr<Generation>> prepared = endpoint == Endpoint::kChatCompletions
                                                            ? PrepareChat(context, body)
                                                            : PrepareCompletion(context, body);
      if (prepared.has_value()) {
        generation = std::move(*prepared);
      } else {
        response = ErrorResponse(prepared.error());
      }
    };
    co_await asio::co_spawn(core_.workers, work, asio::use_awaitable);
    live_.generation = std::move(generation);
    co_return response;
  }

  // Waits for news, the end, the peer's leaving, or until `deadline`. False: the deadline passed.
  asio::awaitable<bool> WaitForNews(std::optional<std::chrono::milliseconds> limit) {
    while (live_.sse.empty() && !live_.ended && !is_gone_) {
      wake_.expires_after(limit.value_or(std::chrono::hours(24)));
      const auto [error] = co_await wake_.async_wait(kAwait);
      if (!error && limit.has_value()) {
        co_return false;
      }
    }
    co_return true;
  }

  asio::awaitable<std::optional<HttpResponse>> Wait() {
    co_await WaitForNews(std::nullopt);
    if (is_gone_) {
      co_return std::nullopt;
    }
    co_return live_.error.has_value() ? ErrorResponse(*live_.error) : live_.generation->Whole();
  }

  asio::awaitable<void> Stream() {
    HttpResponse head;
    head.content_type = "text/event-stream; charset=utf-8";
    head.headers = {{"cache-control", "no-cache"}, {"x-accel-buffering", "no"}};
    exchange_.keep_alive = exchange_.keep_alive && !exchange_.is_http_10;
    exchange_.status = head.status;
    std::string out = ResponseHead(exchange_, head, std::nullopt, core_.options);
    while (!is_gone_) {
      if (!out.empty()) {
        co_await Write(std::exchange(out, {}));
        continue;
      }
      if (live_.ended && live_.sse.empty()) {
        if (!exchange_.is_http_10) {
          co_await Write("0\r\n\r\n");
        }
        co_return;
      }
      const bool has_news = co_await WaitForNews(core_.options.ping_interval);
      out = has_news ? AsChunk(std::exchange(live_.sse, {})) : AsChunk(": ping\n\n");
    }
  }

  std::string AsChunk(std::string data) const {
    if (exchange_.is_http_10 || data.empty()) {
      return data;
    }
    return fmt::format("{:x}\r\n{}\r\n", data.size(), data);
  }

  void OnClientGone() {
    exchange_.status = kStatusClientGone;
    exchange_.log_notes += " client left";
    core_.metrics.OnClientGone();
  }

  // Reads ahead into the buffer until told to stop: an end or error is the client's leaving.
  static asio::awaitable<void> Watch(std::shared_ptr<Session> self) {
    while (!self->stop_watching_ && self->buffer_.size() < kReadAheadBytes) {
      const auto [error, bytes] =
          co_await self->stream_.socket().async_read_some(self->buffer_.prepare(4096), kAwait);
      self->buffer_.commit(bytes);
      if (error && !(self->stop_watching_ && error == asio::error::operation_aborted)) {
        self->is_gone_ = true;
        self->wake_.cancel();
        break;
      }
    }
    self->is_watching_ = false;
    self->watch_end_.cancel();
  }

  asio::awaitable<void> StopWatching() {
    stop_watching_ = true;
    error_code ignored;
    if (is_watching_) {
      stream_.socket().cancel(ignored);
    }
    while (is_watching_) {
      watch_end_.expires_after(std::chrono::hours(24));
      co_await watch_end_.async_wait(kAwait);
    }
    stop_watching_ = false;
  }

  asio::awaitable<void> Send(HttpResponse response) {
    exchange_.status = response.status;
    exchange_.keep_alive = exchange_.keep_alive && !core_.is_draining;
    std::string out = ResponseHead(exchange_, response, response.body.size(), core_.options);
    if (!exchange_.is_head) {
      out += response.body;
    }
    co_await Write(std::move(out));
  }

  // A failed write means that the client is gone.
  asio::awaitable<void> Write(std::string data) {
    stream_.expires_after(core_.options.limits.write_timeout);
    const auto [error, bytes] = co_await asio::async_write(stream_, asio::buffer(data), kAwait);
    stream_.expires_never();
    is_gone_ = is_gone_ || error;
  }

  // Closing with unread bytes would reset the connection, and the client would miss the answer.
  asio::awaitable<void> Linger() {
    error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    if (!exchange_.has_unread_body) {
      co_return;
    }
    stream_.expires_after(kLingerTime);
    std::string dump(size_t{64} << 10, '\0');
    for (size_t total = 0; total < kLingerBytes;) {
      const auto [error, bytes] = co_await stream_.async_read_some(asio::buffer(dump), kAwait);
      if (error) {
        break;
      }
      total += bytes;
    }
  }

  void Log() {
    if (exchange_.status == 0) {
      return;  // nothing was answered
    }
    core_.metrics.OnHttpRequest(exchange_.route_name.empty() ? "other" : exchange_.route_name,
                                exchange_.status);
    LogExchange(exchange_);
  }

  ServerCore& core_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  std::optional<RequestParser> parser_;
  std::optional<ApiResult<Route>> route_;
  Exchange exchange_;
  LiveGeneration live_;
  asio::steady_timer wake_;       // cancelled when live_ has news or the peer left
  asio::steady_timer watch_end_;  // cancelled when Watch has ended
  bool is_first_ = true;
  bool is_gone_ = false;
  bool is_watching_ = false;
  bool stop_watching_ = false;
};

}  // namespace

asio::awaitable<void> RunSession(ServerCore* core, tcp::socket socket) {
  ++core->num_connections;
  try {
    const auto session = std::make_shared<Session>(core, std::move(socket));
    co_await session->Run();
  } catch (const std::exception& error) {
    FT_LOG(kError, "a connection ended with an exception: {}", error.what());
  }
  --core->num_connections;
}

}  // namespace ft::server
