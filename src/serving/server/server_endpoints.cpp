#include "serving/server/server_endpoints.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/address.hpp>
#include <cctype>
#include <ctime>
#include <optional>
#include <utility>

#include "serving/server/http_text.h"

namespace assay::server {
namespace {

constexpr std::uint64_t completion_tokens = 16;  // without a limit, as in OpenAI's API

// A body that is read within some tens of microseconds, and what may wait for its turn beside.
constexpr std::size_t quick_body = 64 << 10, most_aside = 256 << 20;

}  // namespace

struct Instance::Route {
  std::string_view path;
  Dialect dialect;
  bool always_streams;
};

namespace {

constexpr std::array<Instance::Route, 5> routes = {
    {{"/v1/completions", Dialect::completions, false},
     {"/v1/chat/completions", Dialect::chat, false},
     {"/completion", Dialect::llama_cpp, false},
     {"/generate", Dialect::tgi, false},
     {"/generate_stream", Dialect::tgi, true}}};

}  // namespace

Instance::Instance(Loop& loop, const ServedModelFacts& model, const TextTokens& text)
    : loop_(loop), model_(model), text_(text), listener_(loop, *this), aside_(loop.context()) {}

void Instance::on_request(const std::shared_ptr<Connection>& connection, HttpRequest request) {
  for (const Route& route : routes) {
    if (route.path != request.path) continue;
    if (request.method != "POST") {
      return refuse(*connection, request.keep_alive, 405, "this path allows POST",
                    "allow: POST\r\n");
    }
    return accept_generation(connection, std::move(request), route);
  }
  answer_simple(connection, std::move(request));
}

void Instance::answer_simple(const std::shared_ptr<Connection>& client, HttpRequest request) {
  Connection& connection = *client;
  struct Page {
    std::string_view path, methods;
  };
  constexpr std::array<Page, 6> pages = {{{"/health", "GET, HEAD"},
                                          {"/v1/models", "GET, HEAD"},
                                          {"/metrics", "GET, HEAD"},
                                          {"/steps", "GET, HEAD"},
                                          {"/reset_prefix_cache", "POST"},
                                          {"/tokenize", "POST"}}};
  const auto page = std::find_if(pages.begin(), pages.end(),
                                 [&](const Page& one) { return one.path == request.path; });
  if (page == pages.end()) return refuse(connection, request, 404, "no such path");
  const bool gets = request.method == "GET" || request.method == "HEAD";
  if (page->methods == "POST" ? request.method != "POST" : !gets) {
    return refuse(connection, request.keep_alive, 405,
                  fmt::format("this path allows {}", page->methods),
                  fmt::format("allow: {}\r\n", page->methods));
  }
  if (page->path == "/health") {
    const std::string wrong = problem();
    if (!wrong.empty()) return refuse(connection, request, 503, wrong);
    answer(connection, request, 200, "");
  } else if (page->path == "/v1/models") {
    answer(connection, request, 200, models_text());
  } else if (page->path == "/metrics") {
    answer(connection, request, 200, metrics_text(), "text/plain; version=0.0.4; charset=utf-8");
  } else if (page->path == "/steps") {
    const std::string steps = steps_json();
    if (steps.empty())
      return refuse(connection, request, 404, "this server does not log its steps");
    answer(connection, request, 200, steps);
  } else if (page->path == "/tokenize") {
    answer_tokens(client, std::move(request));
  } else if (reset_prefix_cache()) {
    answer(connection, request, 200, "");
  } else {
    refuse(connection, request, 500, "the prefix cache is in use");
  }
}

/// A web page can send other types without being asked for its origin. False: it is refused.
bool Instance::takes_type_of(Connection& connection, const HttpRequest& request) {
  if (request.is_json) return true;
  refuse(connection, request, 415,
         "the body must be JSON, and the request say so: Content-Type: application/json");
  return false;
}

void Instance::answer_tokens(const std::shared_ptr<Connection>& connection, HttpRequest request) {
  if (!takes_type_of(*connection, request)) return;
  const auto make = [&text = text_](const std::string& body) {
    return tokens_of_prompt(body, text);
  };
  read_body(connection, std::move(request), make,
            [this](const std::shared_ptr<Connection>& client, const HttpRequest& asked,
                   Result<std::vector<std::uint32_t>> tokens) {
              if (!tokens.ok()) return refuse(*client, asked, 400, tokens.error().message);
              answer(*client, asked, 200,
                     fmt::format("{{\"count\":{},\"max_model_len\":{},\"tokens\":[{}]}}",
                                 tokens->size(), model_.max_length, fmt::join(*tokens, ",")));
            });
}

/// Calls `use` with what `make` makes of the body: at once, or, where that may take long enough to
/// hold up streams, beside the loop and a little later.
template <typename Make, typename Use>
void Instance::read_body(const std::shared_ptr<Connection>& connection, HttpRequest request,
                         Make make, Use use) {
  const std::size_t bytes = request.body.size();
  if (bytes <= quick_body && text_.is_quick()) {
    return use(connection, request, make(request.body));
  }
  if (bytes_aside_ + bytes > most_aside) {
    return refuse(*connection, request, 503, "too many large requests wait; try again");
  }
  bytes_aside_ += bytes;
  struct Job {
    std::shared_ptr<Connection> connection;
    HttpRequest request;
    std::optional<decltype(make(request.body))> made = {};
  };
  const auto job = std::make_shared<Job>(Job{connection, std::move(request)});
  aside_.run([job, make] { job->made.emplace(make(job->request.body)); },
             [this, job, use, bytes] {
               bytes_aside_ -= bytes;
               // Its client may have left.
               if (job->connection->open()) {
                 use(job->connection, job->request, std::move(*job->made));
               }
             });
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
    const std::uint32_t largest = *std::max_element(prompt.begin(), prompt.end());
    if (largest < model_.vocabulary) continue;
    if (asked.ids) {
      return Error{ErrorKind::usage, fmt::format("Token id {} is out of vocabulary", largest)};
    }
    return Error{ErrorKind::usage,
                 fmt::format("The tokenizer makes token {} of this text, and the model has the "
                             "tokens 0 to {} only",
                             largest, model_.vocabulary - 1)};
  }
  return {};
}

void Instance::accept_generation(const std::shared_ptr<Connection>& connection, HttpRequest request,
                                 const Route& route) {
  if (!takes_type_of(*connection, request)) return;
  const auto make = [&text = text_, dialect = route.dialect](const std::string& body) {
    return parse_generation(body, dialect, text);
  };
  read_body(connection, std::move(request), make,
            [this, &route](const std::shared_ptr<Connection>& client, const HttpRequest& asked,
                           Result<GenerationRequest> parsed) {
              if (!parsed.ok()) return refuse(*client, asked, 400, parsed.error().message);
              admit(client, asked, route, std::move(*parsed));
            });
}

void Instance::admit(const std::shared_ptr<Connection>& connection, const HttpRequest& request,
                     const Route& route, GenerationRequest asked) {
  if (!asked.model.empty() && asked.model != model_.name) {
    return refuse(*connection, request, 404,
                  fmt::format("The model `{}` does not exist.", asked.model));
  }
  AcceptedRequest accepted;
  accepted.tokens = asked.max_tokens                        ? *asked.max_tokens
                    : route.dialect == Dialect::completions ? completion_tokens
                                                            : usual_tokens(asked);
  if (const Status status = check(asked, accepted.tokens); !status.ok()) {
    return refuse(*connection, request, 400, status.error().message);
  }
  accepted.stream = route.always_streams || (asked.stream && route.dialect != Dialect::tgi);
  if (accepted.stream && !request.chunks) {
    return refuse(*connection, request, 400, "a stream needs HTTP/1.1");
  }
  accepted.asked = std::move(asked);
  accepted.dialect = route.dialect;
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
  connection.write_whole({.status = status, .content_type = type, .close = !request.keep_alive},
                         body);
  request.keep_alive ? connection.next() : connection.close();
}

void Instance::refuse(Connection& connection, bool keep_alive, int status, std::string_view message,
                      std::string_view more_headers) {
  connection.write_whole({.status = status, .close = !keep_alive, .extra = more_headers},
                         error_body(status, message));
  keep_alive ? connection.next() : connection.close();
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

std::string reach_note(const std::string& host) {
  const auto address = numeric_address(host);
  if (!address.ok() || address->is_loopback()) return {};
  return fmt::format(
      "whoever can reach this machine at {} can use the server: it has no password\n", host);
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
