#include "serving/engine/engine_instance.h"

#include <fmt/format.h>

#include "core/descriptor.h"
#include "core/random.h"
#include "serving/server/escaped_text.h"

namespace assay::engine {
namespace {

using server::AcceptedRequest;
using server::append_escaped;
using server::Connection;

constexpr int bad_request = 400, unavailable = 503, failed = 500;

}  // namespace

EngineInstance::EngineInstance(server::Loop& loop, const server::ServedModelFacts& model,
                               const server::TextTokens& text, Engine& engine, std::uint64_t seed)
    : Instance(loop, model, text), engine_(engine), seed_(seed), events_there_(loop.context()) {
  server::SystemError error;
  events_there_.assign(duplicate(engine.descriptor()), error);
  if (!error) wait_for_events();
}

std::optional<Error> EngineInstance::failure() const {
  if (!events_there_.is_open()) {
    return Error{ErrorKind::exhausted,
                 "too many files are open, so the server cannot hear of new tokens; "
                 "raise `ulimit -n`"};
  }
  return engine_.state().failure;
}

std::string EngineInstance::problem() const {
  const std::optional<Error> why = failure();
  return why ? why->message : "";
}

std::uint64_t EngineInstance::usual_tokens(const server::GenerationRequest& asked) const {
  std::uint64_t longest = 0;
  for (const auto& prompt : asked.prompts)
    longest = std::max<std::uint64_t>(longest, prompt.size());
  return model().max_length > longest ? model().max_length - longest : 1;
}

void EngineInstance::generate(const std::shared_ptr<Connection>& connection,
                              AcceptedRequest request) {
  const std::string wrong = closed_ ? "the server is shutting down" : problem();
  if (!wrong.empty()) return refuse(*connection, false, unavailable, wrong);
  if (!request.asked.unsupported.empty()) {
    return refuse(*connection, request.keep_alive, bad_request,
                  fmt::format("field \"{}\" asks for something that this server does not support",
                              request.asked.unsupported));
  }
  server::ReplyPlan plan;
  plan.format = server::make_reply_format(request.dialect, facts_of(request, requests_));
  plan.choices = request.asked.prompts.size();
  plan.stream = request.stream;
  plan.keep_alive = request.keep_alive;
  plan.received = request.received;
  const auto reply =
      std::make_shared<server::Reply>(loop(), connection, metrics_, this, std::move(plan));
  connection->tell(reply);
  reply->begin();
  server::Sampling sampling = request.asked.sampling;
  if (!sampling.seed) sampling.seed = Random(seed_ ^ requests_).next();
  ++requests_;
  std::optional<std::uint32_t> logprobs = request.asked.logprobs;
  if (logprobs) logprobs = std::min(*logprobs, model().vocabulary);
  for (std::size_t choice = 0; choice < request.asked.prompts.size(); ++choice) {
    const std::uint64_t id = ++last_id_;
    readers_.emplace(id,
                     Reader{choice, reply, text().stream(), server::StopTexts(request.asked.stops),
                            request.asked.min_tokens, logprobs.value_or(0)});
    reply->add_source_id(id);
    const Status taken = engine_.submit({.id = id,
                                         .prompt = std::move(request.asked.prompts[choice]),
                                         .output_tokens = request.tokens,
                                         .min_tokens = request.asked.min_tokens,
                                         .ignore_end = request.asked.ignore_eos,
                                         .sampling = sampling,
                                         .logprobs = logprobs});
    if (taken.ok()) continue;
    reply->on_failure(bad_request, taken.error().message);
    return reply->abandoned();  // its other choices end, too
  }
}

void EngineInstance::cancel(std::uint64_t id) {
  if (readers_.erase(id) > 0) engine_.cancel(id);
}

void EngineInstance::wait_for_events() {
  events_there_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                           [this](const server::SystemError& error) {
                             if (!error) on_events();
                           });
}

void EngineInstance::on_events() {
  engine_.take(events_);
  for (const EngineEvent& event : events_) {
    if (event.kind == EngineEvent::Kind::token) {
      on_token(event);
      continue;
    }
    const auto reader = readers_.find(event.id);
    if (reader != readers_.end()) reader->second.sink->on_started(loop().at(event.when));
  }
  const std::string wrong = problem();
  if (!wrong.empty()) return fail_all(failed, wrong);
  wait_for_events();
}

void EngineInstance::on_token(const EngineEvent& event) {
  const auto at = readers_.find(event.id);
  if (at == readers_.end()) return;  // cancelled meanwhile
  Reader& reader = at->second;
  text_of_token_.clear();
  escaped_.clear();
  reader.text->append(event.token, text_of_token_);
  if (event.last) reader.text->end(text_of_token_);
  const bool stopped = take_text(reader, event);
  append_escaped(told_, escaped_);
  const auto sink = reader.sink;
  const std::size_t choice = reader.choice;
  std::optional<server::ChosenLogprobs> logprobs;
  if (event.logprobs) logprobs = named(*event.logprobs, event.token, reader.likeliest);
  const bool last = event.last || stopped;
  if (last) readers_.erase(at);
  if (stopped) engine_.cancel(event.id);
  const bool wanted = sink->on_token({.choice = choice,
                                      .number = event.number,
                                      .last = last,
                                      .due = loop().at(event.when),
                                      .id = event.token,
                                      .text = escaped_,
                                      .finish = stopped              ? server::Finish::stop_text
                                                : event.at_end_token ? server::Finish::end_token
                                                                     : server::Finish::length,
                                      .logprobs = logprobs ? &*logprobs : nullptr});
  if (!wanted) cancel(event.id);
}

/// The log probabilities of a place with their tokens' texts.
server::ChosenLogprobs EngineInstance::named(const RowLogprobs& row, std::uint32_t chosen,
                                             std::uint32_t likeliest) const {
  server::ChosenLogprobs made = {{text().bytes_of(chosen), row.of(row.chosen)}, {}};
  for (std::uint32_t i = 0; i < likeliest; ++i) {
    made.likeliest.push_back(
        {text().bytes_of(static_cast<std::uint32_t>(row.tokens[i])), row.of(row.logits[i])});
  }
  return made;
}

/// Makes `told_` what the client is told of the token's text. True: a text at which it stops has
/// come.
bool EngineInstance::take_text(Reader& reader, const EngineEvent& event) {
  told_.clear();
  const bool may_end = event.number >= reader.min_tokens;
  const bool stopped = reader.stops.take(text_of_token_, may_end, told_);
  if (event.last && !stopped) reader.stops.end(told_);
  return stopped;
}

void EngineInstance::fail_all(int status, std::string_view message) {
  auto readers = std::exchange(readers_, {});
  for (const auto& [id, reader] : readers) {
    engine_.cancel(id);
    reader.sink->on_failure(status, message);
  }
}

void EngineInstance::shut_down() {
  closed_ = true;
  close();
  fail_all(unavailable, "the server is shutting down");
}

std::string EngineInstance::metrics_text() {
  const EngineState state = engine_.state();
  metrics_->running = state.running;
  metrics_->waiting = state.waiting;
  metrics_->blocks = state.blocks;
  metrics_->free_blocks = state.free_blocks;
  metrics_->scheduler = state.counters;
  server::MetricsPage page(model().name);
  page.add(*metrics_, "assay_serve_write_lag_seconds");
  page.counter("assay_serve_steps_total", "Passes computed.", static_cast<double>(state.steps));
  page.counter("assay_serve_rows_total", "Tokens that they computed, prompts included.",
               static_cast<double>(state.rows));
  page.counter("assay_serve_device_seconds_total", "From a step's first upload to its tokens.",
               state.device_seconds);
  page.counter("assay_serve_host_seconds_total", "Scheduling and handing out, the device idle.",
               state.host_seconds);
  page.head("gauge", "assay_serve_cache", "What the cache of keys and values holds.");
  page.labelled("assay_serve_cache", "type", engine_.cache_type(), 1);
  if (!engine_.inputs_of_products().empty()) {
    page.head("gauge", "assay_serve_inputs", "What products of quantized matrices read, and why.");
    page.labelled("assay_serve_inputs", "inputs", engine_.inputs_of_products(), 1);
  }
  page.head("gauge", "assay_serve_products",
            "How products are computed in passes of up to a number of rows.");
  for (const auto& [rows, ways] : engine_.product_choices()) {
    page.labelled("assay_serve_products", "products", rows + ": " + ways, 1);
  }
  return std::move(page).text();
}

}  // namespace assay::engine
