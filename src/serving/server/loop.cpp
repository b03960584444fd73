#include "serving/server/loop.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cmath>
#include <utility>

namespace assay::server {
namespace {

// Entries processed before the sockets are polled again.
constexpr int most_at_once = 64;
// Entries due this soon are waited for by polling: at high token rates, setting a timer, sleeping
// and waking up would take a fifth of the available time.
constexpr double soon = 50e-6;

}  // namespace

Loop::Loop() = default;

bool Loop::later(const Entry& a, const Entry& b) {
  return a.due != b.due ? a.due > b.due : a.order > b.order;
}

void Loop::at(double due, std::shared_ptr<Due> what) {
  queue_.push_back({due, order_++, std::move(what)});
  std::push_heap(queue_.begin(), queue_.end(), later);
  if (armed_ < 0 || queue_.front().due < armed_) arm();
}

void Loop::arm() {
  if (queue_.empty()) {
    armed_ = -1;
    return;
  }
  armed_ = queue_.front().due;
  if (awake_) return;  // work() is already posted
  if (armed_ - now() < soon) {
    awake_ = true;
    asio::post(context_, [this] {
      awake_ = false;
      work();
    });
    return;
  }
  // Rounded up, so that the entry is due when the timer fires.
  timer_.expires_at(begin_ + std::chrono::nanoseconds(std::llround(std::ceil(armed_ * 1e9))));
  timer_.async_wait([this](const SystemError& error) {
    if (!error) work();  // else the timer was set again
  });
}

void Loop::work() {
  armed_ = 0;  // keeps at() from arming: arm() follows below
  for (int i = 0; i < most_at_once && !queue_.empty() && queue_.front().due <= now(); ++i) {
    std::pop_heap(queue_.begin(), queue_.end(), later);
    const Entry entry = std::move(queue_.back());
    queue_.pop_back();
    entry.what->on_due(entry.due);
  }
  arm();
}

void Loop::watch(const std::function<bool()>& stop) {
  if (stop()) {
    context_.stop();
    return;
  }
  connections_.drop_late(now());
  stop_timer_.expires_after(std::chrono::milliseconds(100));
  stop_timer_.async_wait([this, &stop](const SystemError&) { watch(stop); });
}

void Loop::run(const std::function<bool()>& stop) {
  watch(stop);
  context_.run();
}

}  // namespace assay::server
