#include "measure/benchmarks/peer/peer_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "machine/system/gpu.h"
#include "measure/benchmarks/memory/memory_geometry.h"
#include "statistics/summary.h"

namespace assay {
namespace {

// In shorter times, the events and waits between streams are a visible part and distort the
// concurrency.
constexpr double least_judged_seconds = 100e-6;

// This geometry has full occupancy and more loads in flight than any link needs. Tuning is
// pointless, because a link is ten times slower than local memory.
constexpr MemoryGeometry geometry{.block = 512, .unroll = 4, .blocks_per_multiprocessor = 4};

}  // namespace

double concurrency_of(const std::vector<double>& windows, double together) {
  if (windows.empty() || !(together > 0)) return 0;
  const double sum = std::accumulate(windows.begin(), windows.end(), 0.0);
  return sum / static_cast<double>(windows.size()) / together;
}

bool is_serialised(double concurrency, std::size_t copies) {
  const auto k = static_cast<double>(copies);
  return copies > 1 && concurrency < (1 + (k + 1) / (2 * k)) / 2;
}

PeerCase::PeerCase(const Cell& cell, PrepareContext context)
    : device_(context.device),
      by_kernel_(cell.text("engine") == "kernel"),
      by_source_(cell.text("by") == "source"),
      bytes_(cell.integer("size")),
      seed_(context.seed) {
  std::vector<int> ordinals(static_cast<std::size_t>(device_.siblings()));
  std::iota(ordinals.begin(), ordinals.end(), 0);
  routes_ = routes_of(cell.text("pattern"), static_cast<int>(cell.integer("from")),
                      static_cast<int>(cell.integer("to")), ordinals);
}

Result<std::unique_ptr<Case>> PeerCase::prepare(const Cell& cell, PrepareContext context) {
  std::unique_ptr<PeerCase> made(new PeerCase(cell, context));
  TRY(made->open_devices());
  made->fork_ = TRY(made->device_.create_event());
  made->join_ = TRY(made->device_.create_event());
  for (const Route& route : made->routes_) TRY(made->add(route));
  for (auto& [ordinal, end] : made->endpoints_) TRY(end.stream->synchronize());
  return std::unique_ptr<Case>(std::move(made));
}

Status PeerCase::open_devices() {
  std::vector<PciRoute> links;
  for (const Route& route : routes_) {
    const Endpoint* from = TRY(endpoint(route.from));
    const Endpoint* to = TRY(endpoint(route.to));
    links.push_back({from->device->facts().pci, to->device->facts().pci});
    TRY(connect(route));
  }
  if (!staged_) links_ = links_at_once(read_gpus(this_machine()), links);
  return {};
}

Result<PeerCase::Endpoint*> PeerCase::endpoint(int ordinal) {
  const auto [place, is_new] = endpoints_.try_emplace(ordinal);
  Endpoint& end = place->second;
  if (!is_new) return &end;
  if (ordinal == device_.facts().ordinal) {
    end.device = &device_;
  } else {
    end.opened = TRY(device_.open_sibling(ordinal));
    end.device = end.opened.get();
  }
  end.stream = TRY(end.device->create_stream());
  end.pattern = TRY(DevicePattern::create(*end.device));
  if (by_kernel_) end.program = TRY(end.device->build(program_source(geometry)));
  return &end;
}

/// Enables peer access. Without a direct path, driver copies go through the host, but kernels
/// cannot reach the peer.
Status PeerCase::connect(const Route& route) {
  const Status reached = endpoints_.at(route.from).device->enable_peer_access(route.to);
  if (reached.ok()) return {};
  if (by_kernel_ || reached.error().kind != ErrorKind::unsupported) return reached.error();
  staged_ = true;
  return {};
}

Status PeerCase::add(const Route& route) {
  PeerCopy copy;
  copy.route = route;
  copy.from = &endpoints_.at(route.from);
  copy.to = &endpoints_.at(route.to);
  copy.runner = by_source_ ? copy.from : copy.to;
  copy.seed = seed_ + copies_.size();
  copy.source = TRY(copy.from->device->allocate(bytes_, MemoryKind::device));
  copy.destination = TRY(copy.to->device->allocate(bytes_, MemoryKind::device));
  copy.stream = TRY(copy.runner->device->create_stream());
  copy.start = TRY(copy.runner->device->create_event());
  copy.stop = TRY(copy.runner->device->create_event());
  TRY(copy.from->pattern->fill(*copy.from->stream, copy.source.as<std::uint64_t>(), words(),
                               copy.seed));
  TRY(clear(copy));
  ++copy.runner->copies;
  copies_.push_back(std::move(copy));
  return {};
}

/// Simultaneous copies are repeated back to back, because forking to the other devices and joining
/// costs one percent of a 512 MiB copy. A single copy has its own events.
int PeerCase::repeats() const {
  constexpr std::uint64_t most_bytes = std::uint64_t{4} << 30, most = 16;
  if (copies_.size() == 1) return 1;
  return static_cast<int>(std::clamp<std::uint64_t>(most_bytes / bytes_, 1, most));
}

Work PeerCase::work() const {
  return {.bytes = static_cast<double>(bytes_) * static_cast<double>(copies_.size()) * repeats(),
          .repetitions = static_cast<double>(repeats()),
          .links = links_ > 0 ? links_ : 1};
}

std::vector<std::pair<std::string, std::string>> PeerCase::notes() const {
  std::vector<std::pair<std::string, std::string>> notes = {
      {"path", staged_ ? "through the host" : "peer to peer"}};
  if (by_kernel_) notes.emplace_back("kernel", describe(geometry));
  if (copies_.size() < 2 || concurrency_.empty()) return notes;
  const double concurrency = median(concurrency_);
  notes.emplace_back("copies", std::to_string(copies_.size()));
  notes.emplace_back("repeats", std::to_string(repeats()));
  notes.emplace_back("concurrency", fmt::format("{:.2f}", concurrency));
  if (longest_together_ >= least_judged_seconds && is_serialised(concurrency, copies_.size())) {
    notes.emplace_back("serialised", "yes");
  }
  return notes;
}

/// One stream per copy, forked from `stream` and joined to it, so that the two events on `stream`
/// span the time from the start of the first copy to the end of the last.
Status PeerCase::enqueue(Stream& stream) {
  TRY(stream.record(*fork_));
  for (PeerCopy& one : copies_) {
    TRY(one.stream->wait(*fork_));
    TRY(one.stream->record(*one.start));
    for (int i = 0; i < repeats(); ++i) TRY(copy(one));
    TRY(one.stream->record(*one.stop));
  }
  for (const PeerCopy& one : copies_) TRY(stream.wait(*one.stop));
  return stream.record(*join_);
}

Status PeerCase::copy(PeerCopy& copy) {
  if (by_kernel_) return launch_copy(copy);
  if (by_source_) {
    return copy.stream->copy_to_peer(copy.route.to, copy.destination.data(), copy.source.data(),
                                     bytes_);
  }
  return copy.stream->copy_from_peer(copy.destination.data(), copy.route.from, copy.source.data(),
                                     bytes_);
}

Status PeerCase::launch_copy(PeerCopy& copy) {
  Kernel* kernel = TRY(copy.runner->program->kernel("copy_f32"));
  LaunchShape shape = launch_shape(geometry, copy.runner->device->facts(), bytes_);
  // Simultaneous copy kernels share the device: with a full grid each, they would run one after the
  // other.
  shape.grid.x = std::max(1u, shape.grid.x / static_cast<unsigned>(copy.runner->copies));
  return launch(*copy.stream, *kernel, shape, copy.destination.data(), copy.source.data(),
                copy.source.data(), std::uint64_t{bytes_ / sizeof(float)}, 0);
}

/// Times a single copy by its own events, so that a pair without the run's device does not include
/// the synchronisation with that device.
Result<std::optional<double>> PeerCase::own_seconds() {
  std::vector<double> windows;
  for (const PeerCopy& one : copies_) windows.push_back(TRY(one.stop->seconds_since(*one.start)));
  if (windows.size() == 1) return std::optional(windows.front());
  const double together = TRY(join_->seconds_since(*fork_));
  concurrency_.push_back(concurrency_of(windows, together));
  longest_together_ = std::max(longest_together_, together);
  return std::optional(together);
}

/// Queues the clearing of the destination on the destination's stream.
Status PeerCase::clear(PeerCopy& copy) {
  return copy.to->stream->fill(copy.destination.data(), 0, bytes_);
}

Result<Verification> PeerCase::verify(Stream& stream) {
  for (PeerCopy& one : copies_) TRY(clear(one));
  for (auto& [ordinal, end] : endpoints_) TRY(end.stream->synchronize());
  TRY(enqueue(stream));
  TRY(stream.synchronize());
  Verification verification{true, "every 8-byte word of every copy against the pattern, exact", 0,
                            0, ""};
  for (const PeerCopy& one : copies_) {
    const std::uint64_t wrong = TRY(one.to->pattern->count_wrong(
        *one.to->stream, one.destination.as<const std::uint64_t>(), words(), one.seed));
    verification.error += static_cast<double>(wrong);
    if (wrong == 0 || !verification.passed) continue;
    verification.passed = false;
    verification.detail = fmt::format("{} of {} words did not arrive from {} at {}", wrong, words(),
                                      one.route.from, one.route.to);
  }
  return verification;
}

}  // namespace assay
