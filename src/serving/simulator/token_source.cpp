#include "serving/simulator/token_source.h"

namespace assay::simulator {
namespace {

class FixedSource final : public Due, public std::enable_shared_from_this<FixedSource> {
 public:
  FixedSource(Loop& loop, const FixedTiming& timing, std::uint64_t seed, std::size_t choices,
              std::uint64_t tokens, std::shared_ptr<TokenSink> sink)
      : loop_(loop),
        timing_(timing),
        random_(seed),
        choices_(choices),
        tokens_(tokens),
        sink_(std::move(sink)) {}

  void start(double received) {
    sink_->on_started(received);
    loop_.at(received + timing_.ttft * timing_.spread.factor(random_), shared_from_this());
  }

  void on_due(double due) override {
    ++number_;
    for (std::size_t choice = 0; choice < choices_; ++choice) {
      if (!sink_->on_token(
              {.choice = choice, .number = number_, .last = number_ == tokens_, .due = due}))
        return;
    }
    if (number_ == tokens_) return;
    loop_.at(due + timing_.itl * timing_.spread.factor(random_), shared_from_this());
  }

 private:
  Loop& loop_;
  FixedTiming timing_;
  Random random_;
  std::size_t choices_;
  std::uint64_t tokens_, number_ = 0;
  std::shared_ptr<TokenSink> sink_;
};

}  // namespace

void start_fixed(Loop& loop, const FixedTiming& timing, std::uint64_t seed, double received,
                 std::size_t choices, std::uint64_t tokens, std::shared_ptr<TokenSink> sink) {
  std::make_shared<FixedSource>(loop, timing, seed, choices, tokens, std::move(sink))
      ->start(received);
}

std::uint64_t EngineDriver::submit(SequenceRequest request, std::size_t choice,
                                   std::shared_ptr<TokenSink> sink) {
  request.id = ++last_id_;
  readers_.emplace(last_id_, Reader{choice, std::move(sink)});
  scheduler().submit(std::move(request));
  // Requests that arrive in one turn of the loop, e.g. several prompts of one request, share one
  // step.
  if (!stepping_) {
    stepping_ = true;
    step_ = {};
    loop_.at(loop_.now(), shared_from_this());
  }
  return last_id_;
}

void EngineDriver::cancel(std::uint64_t id) {
  scheduler().cancel(id);
  readers_.erase(id);
}

void EngineDriver::on_due(double due) {
  for (const YieldedToken& token : step_.tokens) {
    const auto reader = readers_.find(token.id);
    if (reader == readers_.end()) continue;
    const Reader to = reader->second;  // a copy: on_token() may change the map
    if (token.last) readers_.erase(reader);
    if (!to.sink->on_token(
            {.choice = to.choice, .number = token.number, .last = token.last, .due = due}))
      cancel(token.id);
  }
  begin_step(due);
}

void EngineDriver::begin_step(double when) {
  stepping_ = !scheduler().idle();
  if (!stepping_) return;
  step_ = engine_.step();
  for (const std::uint64_t id : step_.started) {
    const auto reader = readers_.find(id);
    if (reader != readers_.end()) reader->second.sink->on_started(when);
  }
  loop_.at(when + step_.seconds, shared_from_this());
}

}  // namespace assay::simulator
