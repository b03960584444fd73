#include "serving/server/connection_table.h"

#include <sys/resource.h>

#include <algorithm>
#include <limits>

#include "serving/server/connection.h"

namespace assay::server {

ConnectionLimits ConnectionLimits::of_process() {
  constexpr std::size_t fewest = 16, usual = 1024;
  rlimit files = {};
  const bool known = ::getrlimit(RLIMIT_NOFILE, &files) == 0;
  ConnectionLimits limits;
  limits.connections = std::max<std::size_t>(fewest, (known ? files.rlim_cur : usual) / 4 * 3);
  return limits;
}

void ConnectionTable::add(Connection& connection, double now) {
  connection.place_ = entries_.size();
  entries_.push_back({&connection, Waits::for_request, now, 0});
}

void ConnectionTable::remove(Connection& connection) {
  const std::size_t place = *connection.place_;
  bytes_ -= entries_[place].bytes;
  entries_[place] = entries_.back();
  entries_[place].connection->place_ = place;
  entries_.pop_back();
  connection.place_.reset();
}

void ConnectionTable::set(const Connection& connection, Waits waits, double now, bool again) {
  Entry& entry = entries_[*connection.place_];
  if (entry.waits != waits || again) entry.since = now;
  entry.waits = waits;
}

void ConnectionTable::hold(const Connection& connection, std::size_t bytes) {
  Entry& entry = entries_[*connection.place_];
  bytes_ += bytes - entry.bytes;
  entry.bytes = bytes;
  while (bytes_ > limits_.bytes) {
    const auto most =
        std::max_element(entries_.begin(), entries_.end(),
                         [](const Entry& a, const Entry& b) { return a.bytes < b.bytes; });
    most->connection->drop(503, "the server holds too much for clients that are slow; try again");
  }
}

void ConnectionTable::make_room() {
  while (entries_.size() >= limits_.connections) {
    if (!drop_longest_waiting()) return;
  }
}

bool ConnectionTable::drop_longest_waiting() {
  const Entry* longest = nullptr;
  for (const Entry& entry : entries_) {
    if (entry.waits == Waits::for_reply) continue;
    if (longest == nullptr || entry.since < longest->since) longest = &entry;
  }
  if (longest == nullptr) return false;
  longest->connection->gone();
  return true;
}

void ConnectionTable::drop_late(double now) {
  for (std::size_t i = entries_.size(); i-- > 0;) {
    // What is dropped leaves its place to the last one, which was looked at already. Where that
    // drops others, too, fewer than `i` may be left.
    if (i >= entries_.size()) continue;
    const Entry& entry = entries_[i];
    if (now - entry.since < seconds_for(entry.waits)) continue;
    if (entry.waits == Waits::for_rest) {
      entry.connection->drop(408, "the request was not complete in time");
    } else {
      entry.connection->gone();
    }
  }
}

double ConnectionTable::seconds_for(Waits waits) const {
  switch (waits) {
    case Waits::for_request:
      return limits_.request_begins;
    case Waits::for_rest:
      return limits_.request_is_there;
    case Waits::for_reader:
      return limits_.reader_goes_on;
    case Waits::for_end:
      return limits_.client_closes;
    case Waits::for_reply:
      break;
  }
  return std::numeric_limits<double>::infinity();
}

}  // namespace assay::server
