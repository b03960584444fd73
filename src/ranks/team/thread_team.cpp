#include "ranks/team/thread_team.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "ranks/team/greeting.h"
#include "ranks/team/rendezvous.h"

namespace assay {

Result<std::vector<std::string>> ThreadTeam::End::exchange(std::string_view step,
                                                           std::string mine) {
  auto given = all_.exchange(rank_, step, std::move(mine));
  end_wait();
  return given;
}

void ThreadTeam::End::end_wait() {
  const MutexLock lock(mutex_);
  wait_.end();
}

Status ThreadTeam::End::check_alive() {
  if (auto trouble = all_.trouble()) return *std::move(trouble);
  double waited = 0;
  {
    const MutexLock lock(mutex_);
    waited = wait_.poll();
  }
  if (waited <= all_.patience_seconds_) return {};
  all_.fail(fmt::format("{} waited {:.0f} s for its device or library", name_of(own_place(*this)),
                        all_.patience_seconds_));
  return *all_.trouble();
}

void ThreadTeam::End::die() {
  all_.fail(fmt::format("{} died", name_of(own_place(*this))));
}

ThreadTeam::ThreadTeam(int ranks, double patience_seconds)
    : patience_seconds_(patience_seconds),
      secret_(new_token()),
      given_(static_cast<std::size_t>(ranks)),
      left_(static_cast<std::size_t>(ranks)) {
  for (int rank = 0; rank < ranks; ++rank) {
    members_.push_back({rank, rank, host_name(), ::getpid()});
    ends_.emplace_back(*this, rank);
  }
}

void ThreadTeam::run(const std::function<void(End&)>& rank_main) {
  {
    const MutexLock lock(mutex_);
    std::fill(left_.begin(), left_.end(), false);
  }
  std::vector<std::thread> threads;
  for (End& end : ends_) {
    threads.emplace_back([this, &rank_main, &end] {
      rank_main(end);
      const MutexLock lock(mutex_);
      left_[static_cast<std::size_t>(end.rank())] = true;
      changed_.notify_all();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

Status ThreadTeam::run_checked(const std::function<Status(End&)>& rank_main) {
  Mutex mutex;
  Status first;
  run([&](End& end) {
    const Status mine = rank_main(end);
    if (mine.ok()) return;
    {
      const MutexLock lock(mutex);
      if (first.ok()) first = mine;
    }
    end.die();
  });
  return first;
}

Result<std::vector<std::string>> ThreadTeam::exchange(int rank, std::string_view step,
                                                      std::string mine) {
  MutexLock lock(mutex_);
  const auto none = [](const auto& text) { return !text.has_value(); };
  if (std::all_of(given_.begin(), given_.end(), none)) {
    step_ = step;
  } else if (step != step_) {
    break_up(fmt::format("{} is at \"{}\" while others are at \"{}\"",
                         name_of(members_[static_cast<std::size_t>(rank)]), step, step_));
  }
  if (trouble_) return *trouble_;
  given_[static_cast<std::size_t>(rank)] = std::move(mine);
  const std::uint64_t round = round_;
  if (std::none_of(given_.begin(), given_.end(), none)) {
    taken_.clear();
    for (auto& text : given_) taken_.push_back(*std::exchange(text, std::nullopt));
    ++round_;
    changed_.notify_all();
    return taken_;
  }
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(patience_seconds_);
  while (round_ == round && !trouble_) {
    if (const auto absent = left_rank()) {
      break_up(fmt::format("{} left before \"{}\"",
                           name_of(members_[static_cast<std::size_t>(*absent)]), step_));
    } else if (changed_.wait_until(lock.native(), end) == std::cv_status::timeout &&
               round_ == round) {
      break_up(fmt::format("{} did not reach \"{}\" within {:.0f} s", missing_ranks(), step_,
                           patience_seconds_));
    }
  }
  if (round_ == round) return *trouble_;
  return taken_;
}

std::optional<Error> ThreadTeam::trouble() {
  const MutexLock lock(mutex_);
  return trouble_;
}

void ThreadTeam::fail(std::string why) {
  const MutexLock lock(mutex_);
  break_up(std::move(why));
}

/// Records the reason of a failure; only the first one counts.
void ThreadTeam::break_up(std::string why) {
  if (!trouble_) trouble_ = Error{ErrorKind::failed, std::move(why)};
  changed_.notify_all();
}

std::string ThreadTeam::missing_ranks() const {
  std::string names;
  for (std::size_t i = 0; i < given_.size(); ++i) {
    if (given_[i]) continue;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name_of(members_[i]));
  }
  return names;
}

std::optional<int> ThreadTeam::left_rank() const {
  for (std::size_t i = 0; i < given_.size(); ++i) {
    if (left_[i] && !given_[i]) return static_cast<int>(i);
  }
  return std::nullopt;
}

}  // namespace assay
