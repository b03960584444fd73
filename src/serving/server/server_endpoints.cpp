#include "serving/server/server_endpoints.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/address.hpp>
#include <cctype>
#include <ctime>

#include "serving/server/http_text.h"

namespace assay::server {
namespace {

constexpr std::uint64_t completion_tokens = 16;  // without a limit, as in OpenAI's API

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

}  // namespace

Instance::Instance(Loop& loop, const ServedModelFacts& model, const TextTokens& text)
    : loop_(loop), model_(model), text_(text), acceptor_(loop.context()), retry_(loop.context()) {}

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
      accept_generation(connection, request, route.dialect, route.always_streams);
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
    const std::string wrong = problem();
    if (!wrong.empty()) return refuse(connection, request, 503, wrong);
    answer(connection, request, 200, "");
  } else if (is("GET", "/v1/models")) {
    answer(connection, request, 200, models_text());
  } else if (is("GET", "/metrics")) {
    answer(connection, request, 200, metrics_text(), "text/plain; version=0.0.4; charset=utf-8");
  } else if (is("POST", "/reset_prefix_cache")) {
    if (reset_prefix_cache()) {
      answer(connection, request, 200, "");
    } else {
      refuse(connection, request, 500, "the prefix cache is in use");
    }
  } else if (is("POST", "/tokenize")) {
    answer_tokens(connection, request);
  } else {
    constexpr std::array<std::string_view, 5> known = {"/health", "/v1/models", "/metrics",
                                                       "/reset_prefix_cache", "/tokenize"};
    const bool other_method = std::find(known.begin(), known.end(), request.path) != known.end();
    refuse(connection, request, other_method ? 405 : 404,
           other_method ? "this path does not allow this method" : "no such path");
  }
}

void Instance::answer_tokens(Connection& connection, const HttpRequest& request) {
  const auto tokens = tokens_of_prompt(request.body, text_);
  if (!tokens.ok()) return refuse(connection, request, 400, tokens.error().message);
  answer(connection, request, 200,
         fmt::format("{{\"count\":{},\"max_model_len\":{},\"tokens\":[{}]}}", tokens->size(),
                     model_.max_length, fmt::join(*tokens, ",")));
}

/// Rejects what the server cannot do, in vLLM's words.
Status Instance::check(const GenerationRequest& asked, std::uint64_t tokens) const {
  for (const auto& prompt : asked.prompts) {
    if (prompt.size() + tokens > model_.max_length) {
      return Error{ErrorKind::usage,
                   fmt::format("This model's maximum context length is {} tokens. However, you "
                               "requested {} tokens ({} in the prompt, {} in the completion)",
                               model_.max_length, prompt.size() + tokens, prompt.size(), tokens)};
    }
    if (!asked.ids) continue;
    const std::uint32_t largest = *std::max_element(prompt.begin(), prompt.end());
    if (largest < model_.vocabulary) continue;
    return Error{ErrorKind::usage, fmt::format("Token id {} is out of vocabulary", largest)};
  }
  return {};
}

void Instance::accept_generation(const std::shared_ptr<Connection>& connection,
                                 const HttpRequest& request, Dialect dialect, bool always_streams) {
  auto asked = parse_generation(request.body, dialect, text_);
  if (!asked.ok()) return refuse(*connection, request, 400, asked.error().message);
  if (!asked->model.empty() && asked->model != model_.name) {
    return refuse(*connection, request, 404,
                  fmt::format("The model `{}` does not exist.", asked->model));
  }
  AcceptedRequest accepted;
  accepted.tokens = asked->max_tokens                 ? *asked->max_tokens
                    : dialect == Dialect::completions ? completion_tokens
                                                      : usual_tokens(*asked);
  if (const Status status = check(*asked, accepted.tokens); !status.ok()) {
    return refuse(*connection, request, 400, status.error().message);
  }
  accepted.stream = always_streams || (asked->stream && dialect != Dialect::tgi);
  if (accepted.stream && !request.chunks) {
    return refuse(*connection, request, 400, "a stream needs HTTP/1.1");
  }
  accepted.asked = std::move(*asked);
  accepted.dialect = dialect;
  accepted.keep_alive = request.keep_alive;
  accepted.received = request.received;
  generate(connection, std::move(accepted));
}

ReplyFacts Instance::facts_of(const AcceptedRequest& request, std::uint64_t number) const {
  const GenerationRequest& asked = request.asked;
  ReplyFacts facts;
  facts.request = number;
  facts.model = model_.name;
  facts.created = std::time(nullptr);
  for (const auto& prompt : asked.prompts) facts.prompt_tokens += prompt.size();
  const bool on_request =
      request.dialect == Dialect::completions || request.dialect == Dialect::chat;
  facts.usage = asked.include_usage || !request.stream || !on_request;
  facts.continuous_usage = asked.continuous_usage;
  facts.stamps = asked.stamps;
  facts.return_ids = asked.return_ids;
  return facts;
}

void Instance::answer(Connection& connection, const HttpRequest& request, int status,
                      std::string_view body, std::string_view type) {
  connection.write(
      whole_reply({.status = status, .content_type = type, .close = !request.keep_alive}, body));
  request.keep_alive ? connection.next() : connection.close();
}

void Instance::refuse(Connection& connection, bool keep_alive, int status, std::string_view message,
                      std::string_view more_headers) {
  connection.write(whole_reply({.status = status, .close = !keep_alive, .extra = more_headers},
                               error_body(status, message)));
  keep_alive ? connection.next() : connection.close();
}

void Instance::close() {
  SystemError ignored;
  acceptor_.close(ignored);
  retry_.cancel();
}

/// The vocabulary is where llama.cpp has it.
std::string Instance::models_text() const {
  return fmt::format(
      "{{\"object\":\"list\",\"data\":[{{\"id\":\"{}\",\"object\":\"model\",\"created\":0,"
      "\"owned_by\":\"{}\",\"max_model_len\":{},\"meta\":{{\"n_vocab\":{}}}}}]}}",
      model_.name, model_.owner, model_.max_length, model_.vocabulary);
}

Result<asio::ip::address> numeric_address(const std::string& host) {
  SystemError error;
  const auto address = asio::ip::make_address(host, error);
  if (!error) return address;
  return Error{
      ErrorKind::usage,
      fmt::format("bad address \"{}\": give a numeric one, e.g. 127.0.0.1 or 0.0.0.0", host)};
}

Status check_model_name(std::string_view name) {
  const bool plain =
      !name.empty() && name.size() <= 200 &&
      std::all_of(name.begin(), name.end(), [](unsigned char c) {
        return std::isalnum(c) != 0 ||
               std::string_view("-._/:").find(static_cast<char>(c)) != std::string_view::npos;
      });
  if (plain) return {};
  return Error{ErrorKind::usage,
               fmt::format("bad model name \"{}\": letters, digits and -._/: are allowed", name)};
}

std::string url_of(const asio::ip::address& address, std::uint16_t port) {
  const bool v6 = address.is_v6();
  return fmt::format("http://{}{}{}:{}", v6 ? "[" : "", address.to_string(), v6 ? "]" : "", port);
}

}  // namespace assay::server
