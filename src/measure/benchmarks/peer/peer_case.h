// A cell of the benchmark `peer` on devices: simultaneous copies between their memories.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "measure/benchmarks/copy/copy_pattern.h"
#include "measure/benchmarks/peer/peer_routes.h"
#include "measure/grid/benchmark.h"

namespace assay {

/// Returns the mean of `windows` divided by `together`. `windows` has, for each of k simultaneous
/// copies, the seconds from its start to its end; `together` is the seconds from the start of the
/// first to the end of the last. The result is 1 if all copies ran side by side. If they ran one
/// after the other, it is at most (k+1)/2k: that much if every window begins with the first copy,
/// because a copy's window then contains its wait. It is 0 without windows, or if `together` is 0.
double concurrency_of(const std::vector<double>& windows, double together);
/// Returns whether `concurrency` of that many copies is closer to (k+1)/2k than to 1. A single copy
/// is never serialised.
bool is_serialised(double concurrency, std::size_t copies);

/// One or more simultaneous copies between devices of the run's backend. core_pair_case.h has the
/// cells of a CPU.
class PeerCase final : public Case {
 public:
  /// Opens the devices, enables peer access and allocates and fills the buffers. Without a direct
  /// path, the driver copies through the host's memory. Error: unsupported if a kernel is to copy
  /// without a direct path; as from the device's calls.
  static Result<std::unique_ptr<Case>> prepare(const Cell& cell, PrepareContext context);

  Work work() const override;
  Quantity quantity() const override { return Quantity::bandwidth; }
  Limit limit() const override { return links_ > 0 ? Limit::peer_link : Limit::none; }
  std::vector<std::pair<std::string, std::string>> notes() const override;
  Status enqueue(Stream& stream) override;
  Result<std::optional<double>> own_seconds() override;
  Result<Verification> verify(Stream& stream) override;

 private:
  struct Endpoint {
    std::unique_ptr<Device> opened;  // null for the run's own device
    Device* device = nullptr;
    std::unique_ptr<Stream> stream;  // the stream for filling and checking
    std::optional<DevicePattern> pattern;
    std::unique_ptr<Program> program;  // the copy kernel; null if the driver copies
    int copies = 0;                    // number of copies that this device runs
  };
  struct PeerCopy {
    Route route;  // numbers of devices
    Endpoint *from = nullptr, *to = nullptr;
    Endpoint* runner = nullptr;  // the end whose device runs the copy
    std::uint64_t seed = 0;      // of the pattern in `source`
    Buffer source, destination;
    std::unique_ptr<Stream> stream;      // a stream of the device that runs the copy
    std::unique_ptr<Event> start, stop;  // around the copy's repeats in a sample
  };

  PeerCase(const Cell& cell, PrepareContext context);
  Status open_devices();
  Result<Endpoint*> endpoint(int ordinal);
  Status connect(const Route& route);
  Status add(const Route& route);
  int repeats() const;
  Status copy(PeerCopy& copy);
  Status launch_copy(PeerCopy& copy);
  Status clear(PeerCopy& copy);
  std::uint64_t words() const { return bytes_ / sizeof(std::uint64_t); }

  Device& device_;
  std::vector<Route> routes_;
  bool by_kernel_;       // a kernel copies; otherwise the driver
  bool by_source_;       // the source's device runs a copy; otherwise the destination's
  std::uint64_t bytes_;  // of one copy
  std::uint64_t seed_;
  double links_ = 0;     // links_at_once(); 0: not known, so there is no roof
  bool staged_ = false;  // a copy goes through the host's memory
  // The order of members matters: objects made on a device are destroyed before it is closed.
  std::map<int, Endpoint> endpoints_;   // by number of the device
  std::unique_ptr<Event> fork_, join_;  // before the first copy and after the last
  std::vector<PeerCopy> copies_;
  // Empty with a single copy; otherwise one value per sample, also of the warm-up.
  std::vector<double> concurrency_;
  double longest_together_ = 0;  // longest time from fork_ to join_ so far, in seconds
};

}  // namespace assay
