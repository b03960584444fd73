#include "serving/engine/engine.h"

#include <fmt/format.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <system_error>

#include "core/unix_time.h"
#include "serving/server/block_hash.h"

namespace assay::engine {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

server::SchedulerSettings scheduler_settings(const EngineSettings& settings) {
  const ExecutorSettings& executor = settings.executor;
  return {.blocks = static_cast<std::uint32_t>(executor.blocks),
          .max_sequences = static_cast<std::uint32_t>(executor.max_sequences),
          .max_batched_tokens = static_cast<std::uint64_t>(executor.max_batched_tokens),
          .prefix_cache = settings.prefix_cache,
          .whole_prompts = true};
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::start(Device& device, const EngineSettings& settings) {
  auto executor = TRY(StepExecutor::create(device, settings.executor));
  std::unique_ptr<Engine> engine(new Engine(device, settings, std::move(executor)));
  if (!engine->events_there_.is_open()) {
    return Error{ErrorKind::exhausted, "cannot make an eventfd: too many files are open"};
  }
  try {
    engine->thread_ = std::thread([raw = engine.get()] { raw->work(); });
  } catch (const std::system_error& error) {  // it passes no further
    return Error{ErrorKind::exhausted, fmt::format("cannot start a thread: {}", error.what())};
  }
  return engine;
}

Engine::Engine(Device& device, const EngineSettings& settings,
               std::unique_ptr<StepExecutor> executor)
    : device_(device),
      settings_(settings),
      executor_(std::move(executor)),
      inputs_of_products_(executor_->decoder().inputs_of_products()),
      cache_type_(executor_->cache_type()),
      product_choices_(executor_->decoder().variants().product_choices()),
      events_there_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      scheduler_(scheduler_settings(settings)) {}

Engine::~Engine() {
  {
    const MutexLock lock(mail_mutex_);
    stopping_ = true;
  }
  mail_came_.notify_one();
  if (thread_.joinable()) thread_.join();
}

Status Engine::check(const EngineRequest& request) const {
  const ExecutorSettings& executor = settings_.executor;
  const auto wrong = [](std::string what) { return Error{ErrorKind::usage, std::move(what)}; };
  if (request.prompt.empty()) return wrong("a prompt is empty");
  const std::uint32_t largest = *std::max_element(request.prompt.begin(), request.prompt.end());
  if (largest >= executor.shape.vocabulary) {
    return wrong(fmt::format("a prompt has the token {}; the model has the tokens 0 to {}", largest,
                             executor.shape.vocabulary - 1));
  }
  const auto most = static_cast<std::uint64_t>(executor.max_length);
  const std::int64_t likeliest = std::min<std::int64_t>(most_logprobs, executor.shape.vocabulary);
  if (request.logprobs && std::int64_t{*request.logprobs} > likeliest) {
    return wrong(fmt::format("log probabilities of the {} likeliest tokens; allowed are 0 to {}",
                             *request.logprobs, likeliest));
  }
  if (request.prompt.size() <= most && request.output_tokens <= most - request.prompt.size() &&
      request.output_tokens > 0) {
    return {};
  }
  return wrong(
      fmt::format("a prompt of {} tokens and a reply of {} are not between 1 and {} tokens "
                  "together",
                  request.prompt.size(), request.output_tokens, most));
}

Status Engine::submit(EngineRequest request) {
  TRY(check(request));
  {
    const MutexLock lock(mail_mutex_);
    mail_.requests.push_back(std::move(request));
  }
  mail_came_.notify_one();
  return {};
}

void Engine::cancel(std::uint64_t id) {
  {
    const MutexLock lock(mail_mutex_);
    mail_.cancelled.push_back(id);
  }
  mail_came_.notify_one();
}

void Engine::take(std::vector<EngineEvent>& events) {
  events.clear();
  std::uint64_t ignored = 0;
  [[maybe_unused]] const ssize_t got =
      ::read(events_there_.number(), &ignored, sizeof(ignored));  // before the events are taken
  const MutexLock lock(events_mutex_);
  events.swap(events_);
}

EngineState Engine::state() const {
  const MutexLock lock(state_mutex_);
  EngineState state = counted_;
  state.running = scheduler_.running();
  state.waiting = scheduler_.waiting();
  state.blocks = scheduler_.blocks();
  state.free_blocks = scheduler_.free_blocks();
  state.counters = scheduler_.counters();
  state.stop_was_asked = executor_->stop_was_asked();
  return state;
}

bool Engine::reset_prefix_cache() {
  const MutexLock lock(state_mutex_);
  return scheduler_.reset_prefix_cache();
}

// ---- The engine's thread ----

void Engine::work() {
  Status status = device_.make_current();
  while (status.ok() && wait_for_mail()) {
    read_mail();
    status = is_idle() ? executor_->tell_idle() : compute_step();
  }
  if (status.ok()) status = executor_->tell_end();
  if (status.ok()) return;
  {
    const MutexLock lock(state_mutex_);
    counted_.failure = status.error();
  }
  announce();
}

bool Engine::is_idle() const {
  const MutexLock lock(state_mutex_);
  return scheduler_.idle();
}

/// False: the engine stops.
bool Engine::wait_for_mail() {
  MutexLock lock(mail_mutex_);
  const auto there_is_work = [&]() REQUIRES(mail_mutex_) {
    return stopping_ || !mail_.empty() || !is_idle();
  };
  if (executor_->is_shared()) {
    // So that other ranks know that this one is there, and are missed when they are gone.
    mail_came_.wait_for(lock.native(), std::chrono::milliseconds(500), there_is_work);
  } else {
    mail_came_.wait(lock.native(), there_is_work);
  }
  std::swap(mail_, read_);
  return !stopping_;
}

void Engine::read_mail() {
  const MutexLock lock(state_mutex_);
  for (EngineRequest& request : read_.requests) {
    const std::uint64_t prompt = request.prompt.size();
    scheduler_.submit({request.id, prompt, request.output_tokens,
                       settings_.prefix_cache ? server::block_hashes(request.prompt)
                                              : std::vector<std::uint64_t>()});
    limits_[request.id] = {request.min_tokens, request.ignore_end};
    request.prompt.reserve(prompt + request.output_tokens);
    texts_[request.id] =
        SequenceText::of_prompt(std::move(request.prompt), request.sampling, request.logprobs);
  }
  for (const std::uint64_t id : read_.cancelled) {
    scheduler_.cancel(id);
    texts_.erase(id);
    limits_.erase(id);
  }
  read_.clear();
}

Status Engine::compute_step() {
  const auto begin = Clock::now();
  const server::ScheduledStep* step = nullptr;
  std::size_t waiting = 0;
  {
    const MutexLock lock(state_mutex_);
    step = &scheduler_.schedule();
    waiting = scheduler_.waiting();
  }
  server::LoggedStep logged = server::step_of(*step);
  for (const std::uint64_t id : step->started) {
    step_events_.push_back({.kind = EngineEvent::Kind::started, .id = id, .when = begin});
  }
  const auto uploaded = Clock::now();
  const auto tokens = TRY(executor_->run(*step, texts_));
  const auto computed = Clock::now();
  hand_out(*step, tokens);
  const auto end = Clock::now();
  logged.begin = unix_time(begin);
  logged.launched = unix_time(uploaded);
  logged.computed = unix_time(computed);
  logged.end = unix_time(end);
  logged.waiting = waiting;
  step_log_.add(logged);
  const MutexLock lock(state_mutex_);
  ++counted_.steps;
  counted_.rows += logged.prompt_tokens + logged.output_tokens;
  counted_.device_seconds += seconds_between(uploaded, computed);
  counted_.host_seconds += seconds_between(begin, uploaded) + seconds_between(computed, end);
  return {};
}

void Engine::hand_out(const server::ScheduledStep& step, std::span<const std::uint32_t> tokens) {
  const auto when = Clock::now();
  ends_.clear();
  logprobs_.clear();
  auto logprobs = executor_->logprobs().begin();
  std::size_t next = 0;
  for (const server::StepPart& part : step.parts) {
    if (!part.yields) continue;
    SequenceText& text = texts_.at(part.id);
    const Limits& limits = limits_.at(part.id);
    text.add(tokens[next]);
    const bool ends =
        !limits.ignore_end && text.tokens.size() - text.prompt_tokens >= limits.min_tokens &&
        std::find(settings_.end_tokens.begin(), settings_.end_tokens.end(), tokens[next]) !=
            settings_.end_tokens.end();
    ends_.push_back(static_cast<std::uint8_t>(ends));
    logprobs_.push_back(text.logprobs ? std::make_shared<const RowLogprobs>(*logprobs++) : nullptr);
    ++next;
  }
  {
    const MutexLock lock(state_mutex_);
    const auto& yielded = scheduler_.finish(ends_);
    for (std::size_t i = 0; i < yielded.size(); ++i) {
      step_events_.push_back({EngineEvent::Kind::token, yielded[i].id, yielded[i].number, tokens[i],
                              yielded[i].last, ends_[i] != 0, when, std::move(logprobs_[i])});
      if (!yielded[i].last) continue;
      texts_.erase(yielded[i].id);
      limits_.erase(yielded[i].id);
    }
  }
  if (step_events_.empty()) return;
  {
    const MutexLock lock(events_mutex_);
    events_.insert(events_.end(), step_events_.begin(), step_events_.end());
  }
  step_events_.clear();
  announce();
}

void Engine::announce() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(events_there_.number(), &one, sizeof(one));
}

}  // namespace assay::engine
