#include "serving/client/load_run.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <map>
#include <queue>
#include <unordered_map>

#include "serving/client/flight.h"
#include "serving/client/prepared_requests.h"
#include "statistics/summary.h"

namespace assay {
namespace {

namespace asio = boost::asio;

/// Period of the timer that measures how late the loop is.
constexpr auto pulse = std::chrono::milliseconds(5);
constexpr int pulses_per_check = 20;

double cpu_seconds(int whose) {
  rusage usage = {};
  ::getrusage(whose, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// A request that is due and is sent once there is room.
struct Ready {
  double scheduled = 0;
  std::size_t index = 0;
  bool waited = false;  ///< there was no room when it became due
};

/// A request that will become due.
struct Due {
  double time = 0;
  std::size_t index = 0;
  bool operator>(const Due& other) const {
    return std::pair(time, index) > std::pair(other.time, other.index);
  }
};

class LoadRun {
 public:
  LoadRun(const LoadPlan& plan, const Prompts& prompts, const std::vector<Endpoint>& targets,
          const std::function<bool()>& stop_requested,
          const std::function<void(const LoadState&)>& progress)
      : plan_(plan),
        prompts_(prompts),
        targets_(targets),
        stop_requested_(stop_requested),
        progress_(progress),
        idle_(targets.size()),
        prepared_(plan.request, prompts),
        balancer_(plan.balance, targets.size(), plan.seed) {}

  LoadOutcome run() {
    schedule_arrivals();
    while (!is_stop_requested() && prepared_.make_one()) {
    }
    open_connections();
    outcome_.begin = begin_ = LoadClock::now();
    const double thread_before = cpu_seconds(RUSAGE_THREAD);
    const double process_before = cpu_seconds(RUSAGE_SELF);
    wait_for_pulse();
    wait_for_due();
    if (is_stop_requested()) stop();  // before anything is sent
    loop_.run();
    const double seconds = std::max(now(), 1e-9);
    outcome_.health.cpu_share = (cpu_seconds(RUSAGE_THREAD) - thread_before) / seconds;
    outcome_.health.cpu_seconds = cpu_seconds(RUSAGE_SELF) - process_before;
    outcome_.health.request_seconds = request_seconds_;
    judge_lags();
    std::sort(outcome_.logs.begin(), outcome_.logs.end(),
              [](const RequestLog& a, const RequestLog& b) { return a.index < b.index; });
    return std::move(outcome_);
  }

 private:
  double now() const { return std::chrono::duration<double>(LoadClock::now() - begin_).count(); }

  // ---- What is due ----

  /// Schedules all conversations of an open loop, and the first ones of a closed loop.
  void schedule_arrivals() {
    const bool open = !plan_.arrivals.empty();
    const std::size_t begin = open ? plan_.arrivals.size() : plan_.max_concurrency;
    const double step = plan_.ramp_seconds / static_cast<double>(begin);
    std::size_t conversation = 0;
    Random jitter(plan_.seed);  // with equal steps the streams would emit tokens in lock-step
    for (; next_conversation_ < prompts_.size() && conversation < begin; skip_conversation()) {
      const double ramp = step * (static_cast<double>(conversation) + jitter.uniform());
      const double due = open ? plan_.arrivals[conversation] : ramp;
      due_.push({due, next_conversation_});
      if (due < together) ++burst_;
      ++conversation;
    }
    if (open) next_conversation_ = prompts_.size();
  }

  /// Connects for the requests of the first burst before the clock starts, so that they are not
  /// late by it.
  void open_connections() {
    const std::size_t most = plan_.max_concurrency > 0 ? plan_.max_concurrency : most_opened;
    std::vector<std::shared_ptr<HttpConnection>> opening(std::min({burst_, most, most_opened}));
    std::size_t waiting = opening.size();
    for (std::size_t i = 0; i < opening.size(); ++i) {
      opening[i] = HttpConnection::make(loop_, watch_, targets_[i % targets_.size()]);
      opening[i]->open([&] {
        if (--waiting == 0) loop_.stop();
      });
    }
    const auto end = LoadClock::now() + patience_to_open;
    while (waiting > 0 && !is_stop_requested() && LoadClock::now() < end) {
      loop_.run_for(pulses_per_check * pulse);
      loop_.restart();
    }
    // The last of them is taken first, so that requests get them in the order of opening.
    for (std::size_t i = opening.size(); i-- > 0;) {
      if (opening[i]->is_open()) {
        idle_[i % targets_.size()].push_back(std::move(opening[i]));
      } else {
        opening[i]->close();  // whoever needs it will see why
      }
    }
  }

  void skip_conversation() {
    do {
      ++next_conversation_;
    } while (next_conversation_ < prompts_.size() && prompts_.follows(next_conversation_));
  }

  void wait_for_due() {
    if (due_.empty()) return;
    const auto time = begin_ + std::chrono::duration_cast<LoadClock::duration>(
                                   std::chrono::duration<double>(due_.top().time));
    due_timer_.expires_at(time);
    due_timer_.async_wait([this](const boost::system::error_code& error) {
      if (error || is_over()) return;
      take_due();
      wait_for_due();
    });
  }

  void take_due() {
    while (!due_.empty() && due_.top().time <= now()) {
      ready_.push_back({due_.top().time, due_.top().index, !has_place() || !ready_.empty()});
      due_.pop();
    }
    send_ready();
  }

  bool has_place() const {
    return plan_.max_concurrency == 0 || flights_.size() < plan_.max_concurrency;
  }

  bool may_send() const {
    return !stopped_ && (plan_.send_seconds <= 0 || now() < plan_.send_seconds);
  }

  /// Sends ready requests while there is room.
  void send_ready() {
    while (has_place() && may_send()) {
      if (!ready_.empty()) {
        const Ready next = ready_.front();
        ready_.pop_front();
        send(next.index, next.scheduled, next.waited ? take_room(next.scheduled) : next.scheduled);
      } else if (next_conversation_ < prompts_.size() && !free_since_.empty()) {
        const std::size_t index = next_conversation_;
        skip_conversation();
        const double due = take_room(0);
        send(index, due, due);
      } else {
        break;
      }
    }
    if (!may_send()) {
      ready_.clear();
      due_ = {};
      next_conversation_ = prompts_.size();
    }
    if (is_over()) loop_.stop();
  }

  /// Returns since when there has been room for the next request: since the earliest end of a reply
  /// whose place is still free.
  double take_room(double scheduled) {
    if (free_since_.empty()) return scheduled;
    const double since = std::max(free_since_.front(), scheduled);
    free_since_.pop_front();
    return since;
  }

  bool is_over() const {
    return flights_.empty() && ready_.empty() && due_.empty() &&
           next_conversation_ >= prompts_.size();
  }

  // ---- Sending ----

  /// The next turn of a conversation, with what was said in it before.
  PreparedRequest next_turn(std::size_t index) const {
    PreparedRequest request = {prompts_.at(index), ""};
    const auto before = transcripts_.find(request.prompt.conversation);
    request.body = body_of(plan_.request, request.prompt,
                           before == transcripts_.end() ? std::vector<Exchange>() : before->second);
    return request;
  }

  void send(std::size_t index, double scheduled, double due) {
    const PreparedRequest request =
        prompts_.follows(index) ? next_turn(index) : prepared_.take(index);
    const Prompt& prompt = request.prompt;
    const std::size_t target = balancer_.choose();
    RequestLog log;
    log.index = index;
    log.target = static_cast<int>(target);
    log.scheduled = scheduled;
    log.due = due;
    log.prompt_asked = prompt.tokens > 0 ? prompt.tokens + plan_.template_tokens : 0;
    log.output_asked = output_asked(plan_.request, prompt);
    log.gaps.reserve(prompt.output_tokens);
    auto flight = std::make_unique<Flight>(
        std::move(log), plan_.request, begin_, is_followed(index),
        [this, target] { return HttpConnection::make(loop_, watch_, targets_[target]); }, on_heard_,
        [this](Flight& f) { finish(f); });
    Flight& sent = *flight;
    count_time_in_flight();
    flights_.emplace(index, std::move(flight));
    ++state_.sent;
    sent.send(connection_to(target),
              http_request("POST", targets_[target].url, path_of(plan_.request), plan_.fields,
                           request.body));
    // One more for each that is sent: as many as may become due together are always there.
    if (bodies_to_prepare_++ == 0) prepare_bodies_later();
  }

  /// One at a time, so that replies get their turn in between.
  void prepare_bodies_later() {
    asio::post(loop_, [this] {
      bodies_to_prepare_ = prepared_.make_one() ? bodies_to_prepare_ - 1 : 0;
      if (bodies_to_prepare_ > 0) prepare_bodies_later();
    });
  }

  bool is_followed(std::size_t index) const {
    return index + 1 < prompts_.size() && prompts_.follows(index + 1);
  }

  std::shared_ptr<HttpConnection> connection_to(std::size_t target) {
    auto& idle = idle_[target];
    while (!idle.empty()) {
      auto connection = std::move(idle.back());
      idle.pop_back();
      if (connection->is_open()) return connection;
    }
    return HttpConnection::make(loop_, watch_, targets_[target]);
  }

  /// Call before the number of requests in flight changes.
  void count_time_in_flight() {
    const double time = now();
    request_seconds_ += static_cast<double>(flights_.size()) * (time - counted_);
    counted_ = time;
  }

  // ---- Replies ----

  void finish(Flight& flight) {
    RequestLog& log = flight.log();
    const std::size_t index = log.index;
    if (next_conversation_ < prompts_.size() || free_since_.size() < ready_.size())
      free_since_.push_back(log.end);
    balancer_.done(static_cast<std::size_t>(log.target));
    if (flight.connection()->is_open()) {
      idle_[static_cast<std::size_t>(log.target)].push_back(flight.connection());
    }
    ++state_.ended;
    if (!log.succeeded()) ++state_.failed;
    if (log.first >= 0) state_.last_ttft = log.first - log.sent;
    state_.events += flight.events();
    if (is_followed(index)) go_on(flight);
    outcome_.logs.push_back(std::move(log));
    count_time_in_flight();
    // Not destroyed here, because this call comes from within the flight.
    landed_.push_back(std::move(flights_.extract(index).mapped()));
    asio::post(loop_, [this] {
      landed_.clear();
      send_ready();
    });
  }

  /// Schedules the next turn of a conversation, after its think time; none after a failure.
  void go_on(Flight& flight) {
    const std::size_t next = flight.log().index + 1;
    if (!flight.log().succeeded()) return;
    const Prompt prompt = prompts_.at(next);
    transcripts_[prompt.conversation].push_back({prompts_.at(next - 1).text, flight.text()});
    due_.push({flight.log().end + prompt.think_seconds, next});
    wait_for_due();
  }

  // ---- The clock ----

  void wait_for_pulse() {
    const auto time = LoadClock::now() + pulse;
    pulse_timer_.expires_at(time);
    pulse_timer_.async_wait([this, time](const boost::system::error_code& error) {
      if (error) return;
      lags_.push_back(std::chrono::duration<double>(LoadClock::now() - time).count());
      if (lags_.size() % pulses_per_check == 0) check_deadlines();
      wait_for_pulse();
    });
  }

  bool is_stop_requested() const { return stop_requested_ && stop_requested_(); }

  void check_deadlines() {
    if (is_stop_requested()) stop();
    give_up_overdue();
    if (!may_send()) send_ready();
    if (!progress_) return;
    state_.seconds = now();
    state_.total = prompts_.size();
    state_.in_flight = flights_.size();
    LoadState state = state_;
    for (const auto& [index, flight] : flights_) state.events += flight->events();
    progress_(state);
  }

  void give_up_overdue() {
    std::vector<Flight*> silent, endless;
    for (const auto& [index, flight] : flights_) {
      if (now() - flight->heard() > plan_.silence_seconds) {
        silent.push_back(flight.get());
      } else if (now() - flight->log().sent > plan_.request_seconds) {
        endless.push_back(flight.get());
      }
    }
    for (Flight* flight : silent) flight->give_up(ReplyEnd::silent, "no reply for too long");
    for (Flight* flight : endless) {
      flight->give_up(ReplyEnd::unfinished,
                      fmt::format("not complete after {:g} s", plan_.request_seconds));
    }
  }

  void stop() {
    if (stopped_) return;
    stopped_ = outcome_.interrupted = true;
    std::vector<Flight*> all;
    for (const auto& [index, flight] : flights_) all.push_back(flight.get());
    for (Flight* flight : all) flight->give_up(ReplyEnd::unfinished, "interrupted");
    send_ready();
  }

  void judge_lags() {
    if (lags_.empty()) return;
    std::sort(lags_.begin(), lags_.end());
    outcome_.health.loop_lag_p99 = quantile(lags_, 0.99);
    outcome_.health.loop_lag_max = lags_.back();
  }

  static constexpr double together = 0.01;          ///< seconds in which a burst becomes due
  static constexpr std::size_t most_opened = 1024;  ///< connections, before the clock starts
  static constexpr std::chrono::seconds patience_to_open{2};

  const LoadPlan& plan_;
  const Prompts& prompts_;
  const std::vector<Endpoint>& targets_;
  const std::function<bool()>& stop_requested_;
  const std::function<void(const LoadState&)>& progress_;

  asio::io_context loop_{1};
  SocketWatch watch_{loop_};
  asio::steady_timer due_timer_{loop_}, pulse_timer_{loop_};
  LoadClock::time_point begin_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  std::deque<Ready> ready_;
  std::size_t burst_ = 0;  ///< how many requests become due together when the clock starts
  std::size_t next_conversation_ =
      0;                           ///< in a closed loop: the first request of the next conversation
  std::deque<double> free_since_;  ///< when the replies ended whose places are still free
  /// Received data can wait, as it carries its arrival time, but due requests must be sent now: the
  /// timer would get its turn only after all readable sockets.
  const std::function<void()> on_heard_ = [this] {
    if (!due_.empty() && due_.top().time <= now()) take_due();
  };
  std::unordered_map<std::size_t, std::unique_ptr<Flight>> flights_;
  /// Time in flight summed over all requests, and the time up to which it is summed.
  double request_seconds_ = 0, counted_ = 0;
  std::vector<std::unique_ptr<Flight>> landed_;
  std::vector<std::vector<std::shared_ptr<HttpConnection>>> idle_;
  PreparedRequests prepared_;
  std::size_t bodies_to_prepare_ = 0;  ///< requests sent for which no other was prepared yet
  Balancer balancer_;
  std::map<std::size_t, std::vector<Exchange>> transcripts_;  ///< keyed by conversation
  std::vector<double> lags_;
  LoadState state_;
  LoadOutcome outcome_;
  bool stopped_ = false;
};

}  // namespace

Result<LoadOutcome> run_load(const LoadPlan& plan, const Prompts& prompts,
                             const std::vector<Endpoint>& targets,
                             const std::function<bool()>& stop_requested,
                             const std::function<void(const LoadState&)>& progress) {
  if (targets.empty()) return Error{ErrorKind::usage, "no server is given"};
  if (prompts.size() == 0) return Error{ErrorKind::usage, "there are no prompts to send"};
  if (plan.arrivals.empty() && plan.max_concurrency == 0) {
    return Error{ErrorKind::usage, "a closed loop needs a number of requests in flight"};
  }
  return LoadRun(plan, prompts, targets, stop_requested, progress).run();
}

}  // namespace assay
