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

/// Average share of the total time of k > 1 copies during which each copy ran: 1 if all ran side by
/// side, (k+1)/2k or less if they ran one after the other. `windows` has the seconds from start to
/// end of each copy, `together` those from the start of the first to the end of the last; 0 if
/// there are none.
double concurrency_of(const std::vector<double>& windows, double together);
/// Returns whether `concurrency` is closer to sequential than to side by side.
bool is_serialised(double concurrency, std::size_t copies);

class PeerCase final : public Case {
 public:
  /// Opens the devices, enables peer access and allocates the buffers. Error: unsupported if
  /// kernels cannot access the peer's memory; as from the device's calls.
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
    std::unique_ptr<Program> program;  // the copy kernel, if kernels copy
    int copies = 0;                    // number of copies that it runs
  };
  struct PeerCopy {
    Route route;
    Endpoint *from = nullptr, *to = nullptr, *runner = nullptr;
    std::uint64_t seed = 0;
    Buffer source, destination;
    std::unique_ptr<Stream> stream;  // a stream of the device that runs the copy
    std::unique_ptr<Event> start, stop;
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
  bool by_kernel_, by_source_;
  std::uint64_t bytes_;
  std::uint64_t seed_;
  double links_ = 0;     // 0: not known
  bool staged_ = false;  // a copy goes through the host's memory
  // The order of members matters: objects made on a device are destroyed before it is closed.
  std::map<int, Endpoint> endpoints_;
  std::unique_ptr<Event> fork_, join_;
  std::vector<PeerCopy> copies_;
  std::vector<double> concurrency_;  // one value per sample
  double longest_together_ = 0;      // longest total time of the copies, in seconds
};

}  // namespace assay
