// `ft chat`: talk to a running server, or with --model to one started for the occasion, in the
// terminal.
#include <atomic>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <memory>
#include <thread>
#include <utility>

#include <editline/readline.h>
#include <unistd.h>

#include "core/app/chat_client.h"
#include "core/app/commands.h"
#include "core/app/serve_options.h"
#include "core/app/serve_session.h"
#include "core/base/errors.h"
#include "core/base/log.h"
#include "core/server/server.h"

namespace ft::app {
namespace {

// Set by Ctrl-C while a reply streams: a signal handler can reach nothing but a global.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
volatile std::sig_atomic_t g_interrupted = 0;

constexpr const char* kHelp =
    "  /think on|off   thoughts before answers\n"
    "  /system TEXT    instruction for the whole chat; starts it anew\n"
    "  /reset          forget the chat\n"
    "  /exit           leave (also Ctrl-D); Ctrl-C stops a reply\n";

// A server in this process, for --model.
class LocalServer {
 public:
  explicit LocalServer(const Settings& settings) : session_(settings) {}

  ~LocalServer() {
    if (server_ != nullptr) {
      server_->StopNow();
    }
    if (thread_.joinable()) {
      thread_.join();
    }
    session_.StopEngine();
  }

  LocalServer(const LocalServer&) = delete;
  LocalServer& operator=(const LocalServer&) = delete;

  Status Start(const std::string& model) {
    FT_RETURN_IF_ERROR(session_.Check(model));
    server::ServerOptions options;
    options.port = 0;
    options.served_model_name = session_.served_name();
    options.version = FT_VERSION;
    options.handle_signals = false;
    FT_ASSIGN_OR_RETURN(server_, server::Server::Bind(std::move(options)));
    FT_RETURN_IF_ERROR(session_.Load(server_->output_sink(), nullptr));
    server_->SetModel({.engine = session_.engine(),
                       .text = &session_.text(),
                       .root = session_.model_dir(),
                       .default_sampling = session_.DefaultSampling(),
                       .default_template_kwargs = session_.template_kwargs()});
    thread_ = std::thread([this] { static_cast<void>(server_->Run()); });
    return Status();
  }

  std::string url() const { return server_->url(); }

 private:
  ServeSession session_;
  std::unique_ptr<server::Server> server_;
  std::thread thread_;
};

class Chat {
 public:
  Chat(ServerAddress server, std::string api_key, const Settings& settings)
      : server_(std::move(server)), api_key_(std::move(api_key)), settings_(settings) {
    if (settings.IsSet("system")) {
      system_ = settings.String("system");
    }
    Reset();
  }

  /// One line of the user. False: leave.
  bool Handle(const std::string& line) {
    if (line.empty()) {
      return true;
    }
    if (line[0] == '/') {
      return Command(line);
    }
    Say(line);
    return true;
  }

  bool had_error() const { return had_error_; }

 private:
  void Reset() {
    messages_ = json::Value::MakeArray();
    if (!system_.empty()) {
      Add("system", system_);
    }
  }

  void Add(const char* role, const std::string& content) {
    json::Value message = json::Value::MakeObject();
    message.Set("role", json::Value(role));
    message.Set("content", json::Value(content));
    messages_.Append(std::move(message));
  }

  bool Command(const std::string& line) {
    if (line == "/exit" || line == "/quit") {
      return false;
    }
    if (line == "/reset") {
      Reset();
    } else if (line == "/think on" || line == "/think off") {
      think_ = line == "/think on";
      has_think_ = true;
    } else if (line.starts_with("/system ")) {
      system_ = line.substr(8);
      Reset();
    } else {
      if (line != "/help") {
        std::printf("there is no command '%s'\n", line.c_str());
      }
      static_cast<void>(std::fputs(kHelp, stdout));
    }
    return true;
  }

  json::Value MakeRequest() const {
    json::Value request = json::Value::MakeObject();
    request.Set("messages", messages_);
    request.Set("stream", json::Value(/*value=*/true));
    json::Value options = json::Value::MakeObject();
    options.Set("include_usage", json::Value(/*value=*/true));
    request.Set("stream_options", std::move(options));
    if (settings_.IsSet("temperature")) {
      request.Set("temperature", json::Value(settings_.Float("temperature")));
    }
    if (settings_.IsSet("max-tokens")) {
      request.Set("max_tokens", json::Value(settings_.Int("max-tokens")));
    }
    if (has_think_) {
      json::Value kwargs = json::Value::MakeObject();
      kwargs.Set("enable_thinking", json::Value(think_));
      request.Set("chat_template_kwargs", std::move(kwargs));
    }
    return request;
  }

  void Say(const std::string& line) {
    Add("user", line);
    const bool is_terminal = isatty(STDOUT_FILENO) != 0;
    bool in_reasoning = false;
    g_interrupted = 0;
    const auto show = [&](bool is_reasoning, std::string_view text) {
      if (is_terminal && is_reasoning != in_reasoning) {
        static_cast<void>(std::fputs(is_reasoning ? "\033[2m" : "\033[0m\n", stdout));
      }
      in_reasoning = is_reasoning;
      if (is_terminal || !is_reasoning) {
        static_cast<void>(std::fwrite(text.data(), 1, text.size(), stdout));
        static_cast<void>(std::fflush(stdout));
      }
    };
    const Result<ChatReply> reply =
        StreamChat(server_, api_key_, MakeRequest(), show, [] { return g_interrupted != 0; });
    if (is_terminal && in_reasoning) {
      static_cast<void>(std::fputs("\033[0m", stdout));
    }
    static_cast<void>(std::fputs("\n", stdout));
    if (!reply.ok()) {
      PrintError(reply.status());
      had_error_ = true;
      messages_.as_array().pop_back();  // the question may be asked again
      return;
    }
    json::Value message = json::Value::MakeObject();
    message.Set("role", json::Value("assistant"));
    message.Set("content", json::Value(reply->content));
    if (!reply->reasoning.empty()) {
      message.Set("reasoning_content", json::Value(reply->reasoning));
    }
    messages_.Append(std::move(message));
    if (g_interrupted == 0 && reply->finish_reason == "length") {
      static_cast<void>(std::fputs("(cut: the limit of tokens was reached)\n", stdout));
    }
  }

  ServerAddress server_;
  std::string api_key_;
  const Settings& settings_;
  std::string system_;
  json::Value messages_;
  bool think_ = true;
  bool has_think_ = false;
  bool had_error_ = false;
};

// With a terminal: line editing and history. Without one: plain lines, so that it can be scripted.
void TalkInTerminal(Chat* chat) {
  std::printf("/help says what there is; Ctrl-D leaves\n");
  using_history();
  for (;;) {
    char* line = readline("> ");
    if (line == nullptr) {
      static_cast<void>(std::fputs("\n", stdout));
      return;
    }
    const std::string text(line);
    std::free(line);  // NOLINT: readline's own way
    if (!text.empty()) {
      add_history(text.c_str());
    }
    if (!chat->Handle(text)) {
      return;
    }
  }
}

Status Talk(const Settings& settings) {
  if (settings.IsSet("server") && settings.IsExplicit("server") && settings.IsSet("model")) {
    return InvalidArgument("--server and --model contradict each other; give one");
  }
  std::unique_ptr<LocalServer> local;
  std::string url = settings.String("server");
  if (settings.IsSet("model")) {
    local = std::make_unique<LocalServer>(settings);
    FT_RETURN_IF_ERROR(local->Start(settings.String("model")));
    url = local->url();
  }
  FT_ASSIGN_OR_RETURN(const ServerAddress server, ParseServerUrl(url));
  const std::string key = settings.String("api-key");
  FT_RETURN_IF_ERROR([&]() -> Status {
    const Result<json::Value> models = GetJson(server, key, "/v1/models");
    return models.ok() ? Status() : models.status();
  }());
  static_cast<void>(std::signal(SIGINT, [](int) { g_interrupted = 1; }));
  Chat chat(server, key, settings);
  if (settings.IsSet("prompt")) {
    static_cast<void>(chat.Handle(settings.String("prompt")));
  } else if (isatty(STDIN_FILENO) != 0) {
    TalkInTerminal(&chat);
    return Status();
  } else {
    for (std::string line; std::getline(std::cin, line) && chat.Handle(line);) {
    }
  }
  return chat.had_error() ? Unavailable("not every question was answered") : Status();
}

}  // namespace

std::vector<OptionSpec> ChatOptionSpecs() {
  std::vector<OptionSpec> all = {
      {.name = "server",
       .aliases = {"base-url"},
       .default_value = "http://127.0.0.1:8000",
       .help = "a running server",
       .group = "chat",
       .value_name = "URL"},
      {.name = "system", .help = "instruction for the whole chat", .group = "chat"},
      {.name = "prompt", .help = "say this, print the answer, and leave", .group = "chat"},
      {.name = "temperature",
       .type = OptionType::kFloat,
       .help = "0 = always the likeliest token (default: the server's)",
       .group = "chat",
       .min = 0,
       .max = 100},
      {.name = "max-tokens",
       .type = OptionType::kInt,
       .help = "longest reply, in tokens",
       .group = "chat",
       .min = 1,
       .max = 1e9},
  };
  for (OptionSpec& spec : ServeOptionSpecs()) {
    if (spec.group == "server" && spec.name != "api-key" && spec.name != "served-model-name") {
      continue;  // the occasional server listens on a free loopback port
    }
    if (spec.name == "log-level") {
      spec.default_value = "warning";
    }
    if (spec.name != "config") {
      all.push_back(spec);
    }
  }
  return all;
}

int RunChat(const Invocation& invocation) {
  const Status status = Talk(invocation.settings);
  return status.ok() ? 0 : PrintError(status);
}

}  // namespace ft::app
