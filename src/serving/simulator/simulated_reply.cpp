#include "serving/simulator/simulated_reply.h"

#include <algorithm>

#include "serving/simulator/simulated_text.h"

namespace assay::simulator {
namespace {

constexpr std::size_t pieces_of_a_split = 10, events_of_a_merged = 4;
constexpr std::uint64_t tokens_before_a_hang = 3;
constexpr std::size_t long_line = 10'000'000;
constexpr double slow_close_seconds = 1;
constexpr std::string_view two_byte_text = " n\xc3\xa9";

std::string long_text() {
  std::string text;
  while (text.size() < long_line) text += " and";
  return text;
}

}  // namespace

SimulatedReply::SimulatedReply(Loop& loop, std::shared_ptr<Connection> connection,
                               std::shared_ptr<ServerMetrics> metrics, TokenSource* source,
                               ReplyPlan plan, SimulatedReplyPlan simulated)
    : Reply(loop, std::move(connection), std::move(metrics), source, std::move(plan)),
      simulated_(simulated),
      fixed_(source == nullptr) {
  if (fixed_) ++SimulatedReply::metrics().running;
}

SimulatedReply::~SimulatedReply() {
  if (fixed_) --metrics().running;
}

void SimulatedReply::begin() {
  Reply::begin();
  if (simulated_.tokens == 0) finish();
}

bool SimulatedReply::on_token(const SourceToken& token) {
  if (over()) return false;
  if (simulated_.fault == Fault::hang && token.number > tokens_before_a_hang) {
    stop();
    return false;
  }
  if (simulated_.fault == Fault::reset && 2 * token.number > simulated_.tokens) {
    stop();
    connection().reset();
    return false;
  }
  SourceToken told = token;
  told.id = 1;
  told.text = token_text(simulated_.request, token.number);
  told.finish = plan().finish;
  // A hanging reply is never finished, streamed or not.
  if (simulated_.fault == Fault::hang) told.last = false;
  return Reply::on_token(told);
}

void SimulatedReply::write_token(const TokenEvent& event) {
  const Fault fault = simulated_.fault;
  const bool odd = event.number == std::min<std::uint64_t>(2, simulated_.tokens);
  if (fault != Fault::merged &&
      (!odd || (fault != Fault::line && fault != Fault::utf8 && fault != Fault::split))) {
    return Reply::write_token(event);
  }
  write_opening(event);
  TokenEvent changed = event;
  const std::string text = fault == Fault::line ? long_text() : "";
  if (fault == Fault::line) changed.text = text;
  if (fault == Fault::utf8) changed.text = two_byte_text;
  std::string events;
  plan().format->token(changed, events);
  if (fault == Fault::merged) {
    write_merged(events, event.last);
  } else if (fault == Fault::split) {
    write_split(events);
  } else if (fault == Fault::utf8) {
    const std::size_t half = events.find(two_byte_text) + two_byte_text.size() - 1;
    const std::string_view all = events;
    connection().write_apart({chunk_of(all.substr(0, half)), chunk_of(all.substr(half))});
  } else {
    connection().write(chunk_of(events));
  }
}

void SimulatedReply::write_split(std::string_view event) {
  std::vector<std::string> pieces;
  for (std::size_t i = 0; i < pieces_of_a_split; ++i) {
    const std::size_t begin = event.size() * i / pieces_of_a_split;
    const std::size_t end = event.size() * (i + 1) / pieces_of_a_split;
    pieces.push_back(chunk_of(event.substr(begin, end - begin)));
  }
  connection().write_apart(std::move(pieces));
}

void SimulatedReply::write_merged(std::string_view event, bool all) {
  merged_events_ += event;
  if (++merged_ < events_of_a_merged && !all) return;
  connection().write(chunk_of(merged_events_));
  merged_events_.clear();
  merged_ = 0;
}

void SimulatedReply::observe(const SourceToken& token, double now) {
  if (fixed_) {
    // Without an engine, count here; an engine does its own counting.
    ++metrics().scheduler.generation_tokens;
    if (token.number == 1 && token.choice == 0) {
      metrics().scheduler.prompt_tokens += simulated_.prompt_tokens;
    }
  }
  Reply::observe(token, now);
}

void SimulatedReply::close_or_next() {
  if (simulated_.fault != Fault::slowclose) return Reply::close_or_next();
  loop().at(loop().now() + slow_close_seconds,
            std::static_pointer_cast<SimulatedReply>(shared_from_this()));
}

void SimulatedReply::on_due(double) {
  connection().close();
}

}  // namespace assay::simulator
