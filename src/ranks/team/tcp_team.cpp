#include "ranks/team/tcp_team.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <optional>
#include <thread>

#include "core/mutex.h"
#include "core/shown_text.h"
#include "ranks/team/agreement.h"
#include "ranks/team/polled_wait.h"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds heartbeat{1};
/// A stopped rank counts as silent after this time. Until then it seems to wait like the ranks that
/// wait for it, and cannot be named. This is shorter than a run's limit of silence.
constexpr std::chrono::seconds until_silent = 2 * heartbeat;

constexpr std::size_t most_step = 200;  // bytes of a step's name

// Kinds of frames.
constexpr char contribution = 'e', answer = 'r', alive = 'a', trouble_found = 't', leaving = 'b';

double seconds_since(Clock::time_point time) {
  return std::chrono::duration<double>(Clock::now() - time).count();
}

/// What rank 0 knows about each rank, and other ranks about rank 0.
struct Peer {
  Clock::time_point heard = Clock::now();
  std::uint64_t count = 0;  // number of steps that it has reached
  std::string step;         // its last step
  bool waiting = false;     // in a call that polls check_alive()
  bool left = false;        // in an orderly shutdown
  std::optional<std::string> given;
  std::string given_step;  // the step for which it contributed
};

class TcpTeam final : public Team {
 public:
  TcpTeam(Gathering gathering, int rank, const TeamPatience& patience,
          std::function<void(const Error&)> abandoned)
      : rank_(rank),
        patience_(patience),
        abandoned_(std::move(abandoned)),
        secret_(std::move(gathering.secret)),
        members_(std::move(gathering.members)),
        wires_(std::move(gathering.wires)),
        peers_(wires_.size()),
        wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        listener_([this] { listen(); }) {}

  ~TcpTeam() override {
    tell_all(leaving, "");
    ending_ = true;
    const std::uint64_t one = 1;
    // If the write fails because the counter is full, the listener wakes up anyway.
    if (::write(wake_.number(), &one, sizeof(one)) < 0) ending_ = true;
    listener_.join();
  }

  int rank() const override { return rank_; }
  const std::string& secret() const override { return secret_; }
  const std::vector<TeamMember>& members() const override { return members_; }

  Result<std::vector<std::string>> exchange(std::string_view step, std::string mine) override {
    const std::string all =
        TRY(decide(step, std::move(mine), [](const std::vector<std::string>& given) {
          std::string joined;
          for (const std::string& text : given) put(joined, text);
          return joined;
        }));
    PayloadReader reader(all);
    std::vector<std::string> given;
    for (int i = 0; i < size(); ++i) given.push_back(reader.text());
    return given;
  }

  Result<std::string> decide(
      std::string_view step, std::string mine,
      const std::function<std::string(const std::vector<std::string>&)>& at_rank_0) override {
    {
      const MutexLock guard(mutex_);
      ++count_;
      step_ = shown_line(step, most_step);  // shortened as the other ranks show it
      waiting_ = true;
    }
    auto decided = rank_ == 0 ? collect(std::move(mine), at_rank_0) : ask(mine);
    const MutexLock guard(mutex_);
    waiting_ = false;
    wait_.end();
    return decided;
  }

  Status check_alive() override {
    MutexLock lock(mutex_);
    const double waited = wait_.poll();
    if (trouble_) return *trouble_;
    // Rank 0 times out first, because it hears all ranks and knows which of them are not waiting.
    const double patience = patience_.step_seconds + (rank_ == 0 ? 0 : patience_.silence_seconds);
    if (waited <= patience) return {};
    const std::string late = rank_ == 0 ? late_ranks() : "";
    if (rank_ == 0 && late.empty() &&
        waited <= patience + std::chrono::duration<double>(until_silent).count())
      return {};
    const std::string text =
        fmt::format("{} waited {:.0f} s for its device or library after \"{}\"{}",
                    name_of(members_[static_cast<std::size_t>(rank_)]), patience, step_, late);
    lock.unlock();
    fail(text);
    return failure();
  }

  void end_wait() override {
    const MutexLock guard(mutex_);
    wait_.end();
  }

 private:
  /// On rank 0: waits for the contributions of all ranks.
  Result<std::string> collect(
      std::string mine,
      const std::function<std::string(const std::vector<std::string>&)>& at_rank_0) {
    MutexLock lock(mutex_);
    peers_[0].given = std::move(mine);
    const auto all_here = [&]() REQUIRES(mutex_) {
      return std::all_of(peers_.begin(), peers_.end(),
                         [](const Peer& peer) { return peer.given.has_value(); });
    };
    auto end = Clock::now() + std::chrono::duration<double>(patience_.step_seconds);
    bool is_extended = false;
    while (!trouble_ && !all_here()) {
      if (const auto absent = left_without(peers_)) {
        const std::string text =
            fmt::format("{} left before \"{}\"", name_of(members_[*absent]), step_);
        lock.unlock();
        fail(text);
        lock.lock();
        break;
      }
      if (changed_.wait_until(lock.native(), end) == std::cv_status::timeout && !all_here()) {
        if (!is_known_who_is_missing() && !std::exchange(is_extended, true)) {
          end += until_silent;
          continue;
        }
        const std::string text =
            fmt::format("{} within {:.0f} s", missing_ranks(), patience_.step_seconds);
        lock.unlock();
        fail(text);
        lock.lock();
      }
    }
    if (const auto parted = at_another_step(); !parted.empty() && !trouble_) {
      lock.unlock();
      fail(parted);
      lock.lock();
    }
    if (trouble_) return *trouble_;
    std::vector<std::string> given;
    for (Peer& peer : peers_) given.push_back(*std::exchange(peer.given, std::nullopt));
    const std::uint64_t count = count_;
    lock.unlock();
    std::string decision = at_rank_0(given);
    std::string payload;
    put(payload, count);
    put(payload, decision);
    tell_all(answer, payload);
    return decision;
  }

  /// On other ranks: sends this rank's contribution and waits for the answer.
  Result<std::string> ask(const std::string& mine) {
    std::string payload;
    {
      const MutexLock lock(mutex_);
      put(payload, count_);
      put(payload, step_);
    }
    put(payload, mine);
    if (!wires_[0]->send(contribution, payload).ok()) fail(gone(0));
    MutexLock lock(mutex_);
    // Rank 0 times out first, because it knows the stragglers.
    const auto end = Clock::now() + std::chrono::duration<double>(patience_.step_seconds +
                                                                  patience_.silence_seconds);
    while (!trouble_ && !answer_) {
      if (peers_[0].left) {
        const std::string text = fmt::format("{} left before \"{}\"", name_of(members_[0]), step_);
        lock.unlock();
        fail(text);
        lock.lock();
        break;
      }
      if (changed_.wait_until(lock.native(), end) == std::cv_status::timeout) {
        const std::string text =
            fmt::format("{} did not answer at \"{}\"", name_of(members_[0]), step_);
        lock.unlock();
        fail(text);
        lock.lock();
      }
    }
    if (trouble_) return *trouble_;
    return *std::exchange(answer_, std::nullopt);
  }

  /// Returns a rank that left although its contribution is still needed.
  static std::optional<std::size_t> left_without(const std::vector<Peer>& peers) {
    for (std::size_t i = 0; i < peers.size(); ++i) {
      if (peers[i].left && !peers[i].given) return i;
    }
    return std::nullopt;
  }

  // ---- The listening thread ----

  void listen() {
    auto spoken = Clock::now();
    while (!ending_) {
      std::vector<pollfd> files = {{wake_.number(), POLLIN, 0}};
      for (std::size_t i = 0; i < wires_.size(); ++i) {
        files.push_back({listens_to(i) ? wires_[i]->socket() : -1, POLLIN, 0});
      }
      ::poll(files.data(), files.size(), 200);
      for (std::size_t i = 0; i < wires_.size(); ++i) {
        if (files[i + 1].revents != 0) read(i);
      }
      if (Clock::now() - spoken > heartbeat) {
        spoken = Clock::now();
        speak();
        look_for_silence();
      }
      if (overdue()) abandoned_(failure());
    }
  }

  bool listens_to(std::size_t i) {
    if (!wires_[i]) return false;
    const MutexLock guard(mutex_);
    return !peers_[i].left;
  }

  void read(std::size_t i) {
    const bool open = wires_[i]->read_arrived();
    while (const auto frame = wires_[i]->next()) handle(i, *frame);
    MutexLock lock(mutex_);
    if (open || peers_[i].left) return;
    peers_[i].left = true;
    lock.unlock();
    fail(gone(i));
  }

  void handle(std::size_t i, const Frame& frame) {
    PayloadReader reader(frame.payload);
    MutexLock lock(mutex_);
    Peer& peer = peers_[i];
    peer.heard = Clock::now();
    if (frame.kind == contribution) {
      peer.count = reader.number();
      peer.step = shown_line(reader.text(), most_step);
      peer.given = reader.text();
      peer.given_step = peer.step;
    } else if (frame.kind == answer && reader.number() == count_) {
      answer_ = reader.text();
    } else if (frame.kind == alive) {
      peer.count = reader.number();
      peer.step = shown_line(reader.text(), most_step);
      peer.waiting = reader.number() != 0;
    } else if (frame.kind == leaving) {
      peer.left = true;  // this is an error only if someone still waits for it
    } else if (frame.kind == trouble_found) {
      const std::string text = shown_line(frame.payload, most_message);
      lock.unlock();
      return fail(text);
    }
    changed_.notify_all();
  }

  /// Tells the other ranks that this rank is alive, and its current step.
  void speak() {
    std::string payload;
    {
      const MutexLock guard(mutex_);
      put(payload, count_);
      put(payload, step_);
      put(payload, static_cast<std::uint64_t>(waiting_ || wait_.waiting()));
    }
    tell_all(alive, payload);
  }

  void look_for_silence() {
    std::string text;
    {
      const MutexLock guard(mutex_);
      for (std::size_t i = 0; i < wires_.size(); ++i) {
        if (!wires_[i] || peers_[i].left) continue;
        const double silence = seconds_since(peers_[i].heard);
        if (silence < patience_.silence_seconds) continue;
        text = fmt::format("{} (process {}) has not been heard from for {:.0f} s; it was at \"{}\"",
                           name_of(members_[i]), members_[i].process, silence, peers_[i].step);
      }
    }
    if (!text.empty()) fail(text);
  }

  bool overdue() {
    const MutexLock guard(mutex_);
    return trouble_ && !ending_ && abandoned_ && seconds_since(failed_) > patience_.last_seconds;
  }

  // ---- Trouble ----

  /// Records a failure and reports it to all ranks; only the first one counts.
  void fail(const std::string& text) {
    {
      const MutexLock guard(mutex_);
      if (trouble_) return;
      trouble_ = Error{ErrorKind::failed, text};
      failed_ = Clock::now();
    }
    changed_.notify_all();
    tell_all(trouble_found, text);
  }

  Error failure() {
    const MutexLock guard(mutex_);
    return *trouble_;
  }

  /// Sends to all ranks from rank 0, to rank 0 from others. Reading detects which ranks are gone.
  void tell_all(char kind, const std::string& payload) {
    for (std::size_t i = 0; i < wires_.size(); ++i) {
      if (wires_[i] && !wires_[i]->send(kind, payload).ok()) continue;
    }
  }

  std::string gone(std::size_t i) const {
    return fmt::format("{} (process {}) ended unexpectedly", name_of(members_[i]),
                       members_[i].process);
  }

  /// Returns whether a rank may have stopped, because its heartbeat is overdue.
  static bool is_silent(const Peer& peer) { return Clock::now() - peer.heard >= until_silent; }

  /// Returns whether the missing ranks can be told from those that wait for them.
  bool is_known_who_is_missing() const REQUIRES(mutex_) {
    return std::ranges::any_of(
        peers_, [](const Peer& peer) { return !peer.given && (is_silent(peer) || !peer.waiting); });
  }

  /// Returns "rank 2 on node-b (last seen at "preparing") did not reach "sampling"". If several
  /// ranks are missing, names the silent ones or, if there are none, those that do not wait
  /// themselves, because the others may wait for these.
  std::string missing_ranks() const REQUIRES(mutex_) {
    const auto names_of = [&](auto is_meant) REQUIRES(mutex_) {
      std::string names;
      for (std::size_t i = 0; i < peers_.size(); ++i) {
        const Peer& peer = peers_[i];
        if (peer.given || !is_meant(peer)) continue;
        names +=
            fmt::format("{}{}{}", names.empty() ? "" : ", ", name_of(members_[i]),
                        peer.step.empty() ? "" : fmt::format(" (last seen at \"{}\")", peer.step));
      }
      return names;
    };
    std::string names = names_of(is_silent);
    if (names.empty()) names = names_of([](const Peer& peer) { return !peer.waiting; });
    if (names.empty()) names = names_of([](const Peer&) { return true; });
    return fmt::format("{} did not reach \"{}\"", names, step_);
  }

  /// Returns which rank contributed to a different step; empty if none did.
  std::string at_another_step() const REQUIRES(mutex_) {
    for (std::size_t i = 1; i < peers_.size(); ++i) {
      if (!peers_[i].given || peers_[i].given_step == step_) continue;
      return fmt::format("{} is at \"{}\" while rank 0 is at \"{}\"", name_of(members_[i]),
                         peers_[i].given_step, step_);
    }
    return {};
  }

  /// Returns the stragglers: ranks that do not wait themselves. If all of them wait, returns the
  /// rank that has been silent longest, because it may have stopped.
  std::string late_ranks() const REQUIRES(mutex_) {
    std::string names;
    std::size_t quietest = 0;
    for (std::size_t i = 1; i < peers_.size(); ++i) {
      if (quietest == 0 || peers_[i].heard < peers_[quietest].heard) quietest = i;
      if (peers_[i].waiting) continue;
      names += fmt::format("{}{}", names.empty() ? "" : ", ", name_of(members_[i]));
    }
    if (!names.empty()) return fmt::format("; {} is late", names);
    if (quietest == 0 || !is_silent(peers_[quietest])) return "";
    return fmt::format("; {} has not been heard from for {:.0f} s", name_of(members_[quietest]),
                       seconds_since(peers_[quietest].heard));
  }

  const int rank_;
  const TeamPatience patience_;
  const std::function<void(const Error&)> abandoned_;
  const std::string secret_;
  const std::vector<TeamMember> members_;
  const std::vector<std::unique_ptr<Wire>> wires_;

  Mutex mutex_;
  std::condition_variable changed_;
  // Indexed by rank on rank 0; other ranks have only rank 0.
  std::vector<Peer> peers_ GUARDED_BY(mutex_);
  /// Number of steps; written only by the measuring thread.
  std::uint64_t count_ GUARDED_BY(mutex_) = 0;
  std::string step_ GUARDED_BY(mutex_);      // the current step
  bool waiting_ GUARDED_BY(mutex_) = false;  // in exchange() or decide()
  PolledWait wait_ GUARDED_BY(mutex_);       // state of check_alive()
  Clock::time_point failed_ GUARDED_BY(mutex_);
  std::optional<std::string> answer_ GUARDED_BY(mutex_);
  std::optional<Error> trouble_ GUARDED_BY(mutex_);

  std::atomic<bool> ending_ = false;
  Descriptor wake_;
  std::thread listener_;  // last, because it uses all members above
};

}  // namespace

std::unique_ptr<Team> make_tcp_team(Gathering gathering, int rank, const TeamPatience& patience,
                                    std::function<void(const Error&)> abandoned) {
  return std::make_unique<TcpTeam>(std::move(gathering), rank, patience, std::move(abandoned));
}

}  // namespace assay
