#include "serving/simulator/instance.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "serving/simulator/block_hash.h"
#include "serving/simulator/http_text.h"
#include "serving/simulator/reply.h"

namespace assay::simulator {
namespace {

constexpr std::uint64_t usual_tokens = 16;     // default of /v1/completions, as in OpenAI's API
constexpr std::uint64_t natural_tokens = 128;  // where a reply without a limit ends

struct Route {
  std::string_view path;
  Dialect dialect;
  bool always_streams;
};
constexpr std::array<Route, 5> routes = {{{"/v1/completions", Dialect::completions, false},
                                          {"/v1/chat/completions", Dialect::chat, false},
                                          {"/completion", Dialect::llama_cpp, false},
                                          {"/generate", Dialect::tgi, false},
                                          {"/generate_stream", Dialect::tgi, true}}};

bool is_refusal(Fault fault) {
  return fault == Fault::http500 || fault == Fault::http429;
}

std::uint64_t tokens_with(Fault fault, std::uint64_t tokens) {
  if (fault == Fault::empty) return 0;
  return fault == Fault::cut ? std::max<std::uint64_t>(1, tokens / 2) : tokens;
}

}  // namespace

Instance::Instance(Loop& loop, const ServerSettings& settings, std::uint64_t index)
    : loop_(loop),
      settings_(settings),
      seed_(Random(settings.seed ^ (index << 48)).next()),
      acceptor_(loop.context()),
      retry_(loop.context()) {
  if (settings.fixed) return;
  EngineSettings engine = settings.engine;
  engine.seed = seed_;
  driver_ = std::make_shared<EngineDriver>(loop, engine);
}

Status Instance::listen(const Tcp::endpoint& endpoint) {
  SystemError error;
  const auto failed = [&](std::string_view what) {
    return Error{ErrorKind::unavailable,
                 fmt::format("cannot {} {}:{}: {}", what, endpoint.address().to_string(),
                             endpoint.port(), error.message())};
  };
  if (acceptor_.open(endpoint.protocol(), error)) return failed("open a socket for");
  acceptor_.set_option(Tcp::acceptor::reuse_address(true), error);
  if (acceptor_.bind(endpoint, error)) return failed("listen on");
  if (acceptor_.listen(asio::socket_base::max_listen_connections, error)) {
    return failed("listen on");
  }
  accept();
  return {};
}

std::uint16_t Instance::port() const {
  SystemError ignored;
  return acceptor_.local_endpoint(ignored).port();
}

void Instance::accept() {
  acceptor_.async_accept([this](const SystemError& error, Tcp::socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (!error) {
      std::make_shared<Connection>(loop_, std::move(socket), *this)->start();
      accept();
      return;
    }
    // Most likely out of descriptors; some will be free soon.
    retry_.expires_after(std::chrono::milliseconds(10));
    retry_.async_wait([this](const SystemError& stopped) {
      if (!stopped) accept();
    });
  });
}

void Instance::on_request(const std::shared_ptr<Connection>& connection, HttpRequest request) {
  for (const Route& route : routes) {
    if (route.path != request.path) continue;
    if (request.method == "POST") {
      generate(connection, request, route.dialect, route.always_streams);
    } else {
      refuse(*connection, request, 405, "this path allows POST");
    }
    return;
  }
  answer_simple(*connection, request);
}

void Instance::answer_simple(Connection& connection, const HttpRequest& request) {
  const auto is = [&](std::string_view method, std::string_view path) {
    return request.method == method && request.path == path;
  };
  if (is("GET", "/health")) {
    answer(connection, request, 200, "");
  } else if (is("GET", "/v1/models")) {
    answer(connection, request, 200, models_text());
  } else if (is("GET", "/metrics")) {
    answer(connection, request, 200, metrics_text(), "text/plain; version=0.0.4; charset=utf-8");
  } else if (is("POST", "/reset_prefix_cache")) {
    const bool done = !driver_ || driver_->engine().reset_prefix_cache();
    if (done) {
      answer(connection, request, 200, "");
    } else {
      refuse(connection, request, 500, "the prefix cache is in use");
    }
  } else if (is("POST", "/tokenize")) {
    const auto count = count_tokens(request.body);
    if (count.ok()) {
      answer(connection, request, 200,
             fmt::format("{{\"count\":{},\"max_model_len\":{}}}", *count, settings_.max_length));
    } else {
      refuse(connection, request, 400, count.error().message);
    }
  } else {
    constexpr std::array<std::string_view, 5> known = {"/health", "/v1/models", "/metrics",
                                                       "/reset_prefix_cache", "/tokenize"};
    const bool other_method = std::find(known.begin(), known.end(), request.path) != known.end();
    refuse(connection, request, other_method ? 405 : 404,
           other_method ? "this path does not allow this method" : "no such path");
  }
}

/// Rejects what the server cannot do, in vLLM's words.
Status Instance::check(const GenerationRequest& asked, std::uint64_t tokens) const {
  for (const auto& prompt : asked.prompts) {
    if (prompt.size() + tokens > settings_.max_length) {
      return Error{
          ErrorKind::usage,
          fmt::format("This model's maximum context length is {} tokens. However, you "
                      "requested {} tokens ({} in the prompt, {} in the completion)",
                      settings_.max_length, prompt.size() + tokens, prompt.size(), tokens)};
    }
    if (!asked.ids) continue;
    const std::uint32_t largest = *std::max_element(prompt.begin(), prompt.end());
    if (largest < settings_.vocabulary) continue;
    return Error{ErrorKind::usage, fmt::format("Token id {} is out of vocabulary", largest)};
  }
  return {};
}

void Instance::generate(const std::shared_ptr<Connection>& connection, const HttpRequest& request,
                        Dialect dialect, bool always_streams) {
  const auto asked = parse_generation(request.body, dialect);
  if (!asked.ok()) return refuse(*connection, request, 400, asked.error().message);
  if (!asked->model.empty() && asked->model != settings_.model) {
    return refuse(*connection, request, 404,
                  fmt::format("The model `{}` does not exist.", asked->model));
  }
  const bool has_usual = dialect == Dialect::completions;
  const std::uint64_t limit = asked->max_tokens.value_or(has_usual ? usual_tokens : natural_tokens);
  if (const Status status = check(*asked, limit); !status.ok()) {
    return refuse(*connection, request, 400, status.error().message);
  }
  ReplyPlan plan;
  plan.stream = always_streams || (asked->stream && dialect != Dialect::tgi);
  if (plan.stream && !request.chunks) {
    return refuse(*connection, request, 400, "a stream needs HTTP/1.1");
  }
  plan.request = requests_++;
  plan.fault = settings_.faults.of(plan.request, seed_);
  if (only_streamed(plan.fault) && !plan.stream) plan.fault = Fault::none;
  plan.natural_end =
      plan.fault == Fault::cut || plan.fault == Fault::empty || (!asked->max_tokens && !has_usual);
  ReplyFacts facts;
  facts.request = plan.request;
  facts.model = settings_.model;
  facts.created = std::time(nullptr);
  for (const auto& prompt : asked->prompts) facts.prompt_tokens += prompt.size();
  const bool on_request = dialect == Dialect::completions || dialect == Dialect::chat;
  facts.usage =
      plan.fault != Fault::nousage && (asked->include_usage || !plan.stream || !on_request);
  facts.continuous_usage = asked->continuous_usage;
  facts.stamps = asked->stamps;
  facts.finish_reason = plan.natural_end ? "stop" : "length";
  plan.prompt_tokens = facts.prompt_tokens;
  plan.format = make_reply_format(dialect, std::move(facts));
  if (plan.fault == Fault::nodone && !plan.format->has_end_mark()) plan.fault = Fault::none;
  ++metrics_->faults[static_cast<std::size_t>(plan.fault)];
  if (is_refusal(plan.fault)) {
    if (plan.fault == Fault::http500) return refuse(*connection, request, 500, "a fault");
    connection->write(
        whole_reply({.status = 429, .close = !request.keep_alive, .extra = "retry-after: 1\r\n"},
                    error_body(429, "a fault")));
    return request.keep_alive ? connection->next() : connection->close();
  }
  plan.choices = asked->prompts.size();
  plan.tokens = tokens_with(plan.fault, limit);
  plan.keep_alive = request.keep_alive && plan.fault != Fault::slowclose;
  plan.received = request.received;
  const std::uint64_t number = plan.request, tokens = plan.tokens;
  const auto reply =
      std::make_shared<Reply>(loop_, connection, metrics_, driver_.get(), std::move(plan));
  connection->tell(reply);
  reply->begin();
  if (tokens == 0) return;
  if (!driver_) {
    start_fixed(loop_, *settings_.fixed, Random(seed_ ^ number).next(), request.received,
                asked->prompts.size(), tokens, reply);
    return;
  }
  for (std::size_t choice = 0; choice < asked->prompts.size(); ++choice) {
    const auto& prompt = asked->prompts[choice];
    reply->add_engine_id(
        driver_->submit({0, prompt.size(), tokens, block_hashes(prompt)}, choice, reply));
  }
}

void Instance::answer(Connection& connection, const HttpRequest& request, int status,
                      std::string_view body, std::string_view type) {
  connection.write(
      whole_reply({.status = status, .content_type = type, .close = !request.keep_alive}, body));
  request.keep_alive ? connection.next() : connection.close();
}

void Instance::refuse(Connection& connection, const HttpRequest& request, int status,
                      std::string_view message) {
  answer(connection, request, status, error_body(status, message));
}

std::string Instance::metrics_text() {
  if (driver_) {
    const Engine& engine = driver_->engine();
    metrics_->running = engine.running();
    metrics_->waiting = engine.waiting();
    metrics_->cache_usage = engine.cache_usage();
    metrics_->engine = engine.counters();
  }
  return metrics_page(*metrics_, settings_.model);
}

std::string Instance::models_text() const {
  return fmt::format(
      "{{\"object\":\"list\",\"data\":[{{\"id\":\"{}\",\"object\":\"model\",\"created\":0,"
      "\"owned_by\":\"assay-sim\",\"max_model_len\":{}}}]}}",
      settings_.model, settings_.max_length);
}

}  // namespace assay::simulator
