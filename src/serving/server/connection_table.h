// All open connections of a process's servers: what each waits for and since when, and the bytes
// that it holds. Clients that send or read nothing so cost the others neither files nor memory.
#pragma once

#include <cstddef>
#include <vector>

namespace assay::server {

class Connection;

/// What a connection waits for.
enum class Waits {
  for_request,  ///< that a request begins
  for_rest,     ///< of a request
  for_reply,    ///< of the server, which may take any time
  for_reader,   ///< the client, to read what was written
  for_end,      ///< the client, to close its side after the last reply
};

struct ConnectionLimits {
  std::size_t connections = 0;    ///< at once; more push out those that wait longest
  std::size_t bytes = 256 << 20;  ///< held by all together; more push out who holds most
  double request_begins = 300;    ///< seconds until it must
  double request_is_there = 60;   ///< seconds from its first byte
  double reader_goes_on = 60;     ///< seconds without a byte read
  double client_closes = 10;      ///< seconds from the last reply

  /// Three quarters of the files that this process may open.
  static ConnectionLimits of_process();
};

/// Of one thread.
class ConnectionTable {
 public:
  explicit ConnectionTable(const ConnectionLimits& limits = ConnectionLimits::of_process())
      : limits_(limits) {}

  /// Before the first connection.
  void limit(const ConnectionLimits& limits) { limits_ = limits; }
  void add(Connection& connection, double now);
  void remove(Connection& connection);
  /// `again`: the connection waits anew, though for the same.
  void set(const Connection& connection, Waits waits, double now, bool again);
  /// Drops connections until all together hold no more than they may, perhaps this one.
  void hold(const Connection& connection, std::size_t bytes);
  /// For one more connection.
  void make_room();
  /// Drops the connection that has waited longest for its client. False: there is none.
  bool drop_longest_waiting();
  /// Drops those whose time is over.
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
  std::vector<Entry> entries_;  // in no order; each connection knows its place
  std::size_t bytes_ = 0;
};

}  // namespace assay::server
