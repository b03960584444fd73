// Knows all open connections of a process's servers, what each waits for and since when, and how
// many bytes it holds. Clients that neither send nor read therefore cost no other files or memory.
#pragma once

#include <cstddef>
#include <vector>

namespace assay::server {

class Connection;

/// What a connection waits for.
enum class Waits {
  for_request,  ///< the client, to begin a request
  for_rest,     ///< the client, to send the rest of a request
  for_reply,    ///< the server, which may take any time
  for_reader,   ///< the client, to read what was written
  for_end,      ///< the client, to close its side after the last reply
};

struct ConnectionLimits {
  std::size_t connections = 0;    ///< open at once; beyond it the longest waiting are dropped
  std::size_t bytes = 256 << 20;  ///< held by all; beyond it those that hold most are dropped
  double request_begins = 300;    ///< seconds in which a client must begin a request
  double request_is_there = 60;   ///< seconds from its first byte to its last one
  double reader_goes_on = 60;     ///< seconds that a client may read nothing of its reply
  double client_closes = 10;      ///< seconds from the last reply until the client must close

  /// Three quarters of the files that this process may open, but at least 16.
  static ConnectionLimits of_process();
};

/// It is used by one thread only.
class ConnectionTable {
 public:
  explicit ConnectionTable(const ConnectionLimits& limits = ConnectionLimits::of_process())
      : limits_(limits) {}

  /// Must be called before the first connection.
  void limit(const ConnectionLimits& limits) { limits_ = limits; }
  void add(Connection& connection, double now);
  void remove(Connection& connection);
  /// Notes what the connection waits for; `again` restarts its time even if that is unchanged.
  void set(const Connection& connection, Waits waits, double now, bool again);
  /// Notes the bytes that the connection holds, and drops connections, perhaps this one, until all
  /// together hold no more than allowed.
  void hold(const Connection& connection, std::size_t bytes);
  /// Drops connections until one more may be opened, but none that waits for the server.
  void make_room();
  /// Drops the connection that has waited longest for its client. Returns false if all wait for the
  /// server.
  bool drop_longest_waiting();
  /// Drops the connections whose time is over.
  void drop_late(double now);
  std::size_t size() const { return entries_.size(); }
  std::size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    Connection* connection = nullptr;
    Waits waits = Waits::for_request;
    double since = 0;
    std::size_t bytes = 0;
  };
  double seconds_for(Waits waits) const;

  ConnectionLimits limits_;
  std::vector<Entry> entries_;  // unordered; each connection knows its index
  std::size_t bytes_ = 0;
};

}  // namespace assay::server
