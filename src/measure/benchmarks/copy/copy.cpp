// copy: the device's copy path between host and device, and within the device. `size` is the bytes
// of one copy; `both` makes one copy in each direction at once.
#include <cstring>
#include <map>
#include <optional>

#include "core/units.h"
#include "measure/benchmarks/copy/copy_pattern.h"
#include "measure/benchmarks/copy/size_curve.h"
#include "measure/grid/benchmark.h"

namespace assay::copy_benchmark {
namespace {

enum class Place { host, device };

/// One copy: source, destination and the stream it runs on.
struct Transfer {
  Place from, to;
  Buffer source, destination;
  std::uint64_t seed = 0;
};

class CopyCase final : public Case {
 public:
  CopyCase(const Cell& cell, PrepareContext context)
      : device_(context.device),
        direction_(cell.text("direction")),
        pinned_(cell.text("memory") == "pinned"),
        bytes_(cell.integer("size")),
        seed_(context.seed) {}

  Status prepare(Stream& stream) {
    pattern_ = TRY(DevicePattern::create(device_));
    if (direction_ == "h2d" || direction_ == "both") TRY(add(Place::host, Place::device));
    if (direction_ == "d2h" || direction_ == "both") TRY(add(Place::device, Place::host));
    if (direction_ == "d2d") TRY(add(Place::device, Place::device));
    for (Transfer& transfer : transfers_) TRY(write_pattern(stream, transfer));
    if (transfers_.size() > 1) {
      second_stream_ = TRY(device_.create_stream());
      fork_ = TRY(device_.create_event());
      join_ = TRY(device_.create_event());
    }
    return {};
  }

  Work work() const override {
    // Over the link each byte counts once per direction; within the device it is read and written.
    const double directions = direction_ == "both" || direction_ == "d2d" ? 2 : 1;
    return {.bytes = directions * static_cast<double>(bytes_)};
  }
  Quantity quantity() const override { return Quantity::bandwidth; }
  Limit limit() const override {
    if (direction_ == "both") return Limit::none;  // two directions share the host's memory
    return direction_ == "d2d" ? Limit::memory : Limit::host_link;
  }
  // A copy of pageable memory blocks the host during staging, so only the host's clock covers all
  // of it.
  TimeSource time_source() const override {
    return pinned_ ? TimeSource::device_events : TimeSource::host_clock;
  }

  Status enqueue(Stream& stream) override {
    if (transfers_.size() == 1) return copy(stream, transfers_[0]);
    TRY(stream.record(*fork_));
    TRY(second_stream_->wait(*fork_));
    TRY(copy(stream, transfers_[0]));
    TRY(copy(*second_stream_, transfers_[1]));
    TRY(second_stream_->record(*join_));
    return stream.wait(*join_);
  }

  Result<Verification> verify(Stream& stream) override {
    for (Transfer& transfer : transfers_) TRY(clear(stream, transfer));
    TRY(enqueue(stream));
    TRY(stream.synchronize());
    std::uint64_t wrong = 0;
    for (const Transfer& transfer : transfers_) wrong += TRY(wrong_words(stream, transfer));
    Verification verification{wrong == 0, "every 8-byte word against the pattern, exact",
                              static_cast<double>(wrong), 0, ""};
    if (wrong > 0) {
      verification.detail = std::to_string(wrong) + " of " +
                            std::to_string(words() * transfers_.size()) + " words did not arrive";
    }
    return verification;
  }

 private:
  std::uint64_t words() const { return bytes_ / sizeof(std::uint64_t); }

  Status add(Place from, Place to) {
    const MemoryKind host = pinned_ ? MemoryKind::pinned : MemoryKind::pageable;
    const auto kind = [&](Place place) { return place == Place::host ? host : MemoryKind::device; };
    Transfer transfer{from, to, {}, {}, seed_ + transfers_.size()};
    transfer.source = TRY(device_.allocate(bytes_, kind(from)));
    transfer.destination = TRY(device_.allocate(bytes_, kind(to)));
    transfers_.push_back(std::move(transfer));
    return {};
  }

  Status copy(Stream& stream, Transfer& transfer) {
    return stream.copy(transfer.destination.data(), transfer.source.data(), bytes_);
  }

  Status write_pattern(Stream& stream, Transfer& transfer) {
    if (transfer.from == Place::host) {
      fill_pattern(transfer.source.as<std::uint64_t>(), words(), transfer.seed);
    } else {
      TRY(pattern_->fill(stream, transfer.source.as<std::uint64_t>(), words(), transfer.seed));
    }
    return clear(stream, transfer);  // also touches the pages, so that no sample has page faults
  }

  /// Zeros the destination. The device cannot access pageable memory, so the host zeros that.
  Status clear(Stream& stream, Transfer& transfer) {
    TRY(stream.synchronize());
    if (transfer.to == Place::host) {
      std::memset(transfer.destination.data(), 0, bytes_);
      return {};
    }
    TRY(stream.fill(transfer.destination.data(), 0, bytes_));
    return stream.synchronize();
  }

  Result<std::uint64_t> wrong_words(Stream& stream, const Transfer& transfer) {
    const auto* destination = transfer.destination.as<const std::uint64_t>();
    if (transfer.to == Place::host) return count_wrong(destination, words(), transfer.seed);
    return pattern_->count_wrong(stream, destination, words(), transfer.seed);
  }

  Device& device_;
  std::string direction_;
  bool pinned_;
  std::uint64_t bytes_;
  std::uint64_t seed_;
  std::vector<Transfer> transfers_;
  std::optional<DevicePattern> pattern_;
  std::unique_ptr<Stream> second_stream_;
  std::unique_ptr<Event> fork_, join_;
};

class CopyBenchmark final : public Benchmark {
 public:
  std::string_view name() const override { return "copy"; }
  std::string_view summary() const override {
    return "copies between host and device, and within the device";
  }
  const std::vector<Axis>& axes() const override {
    static const std::vector<Axis> axes = {
        {"direction",
         "host to device, device to host, within the device, both ways at once",
         Axis::Kind::choice,
         {"all"},
         {"h2d", "d2h", "d2d", "both"}},
        {"memory", "kind of host memory", Axis::Kind::choice, {"all"}, {"pinned", "pageable"}},
        // The last default is the largest message of the point-to-point study assay replaces.
        {"size", "bytes of one copy", Axis::Kind::size, {"4KiB..1GiB*4", "2101346304"}, {}, 8},
    };
    return axes;
  }
  bool redundant(const Cell& cell) const override {
    return cell.text("memory") == "pageable" && cell.text("direction") == "d2d";
  }
  std::optional<std::string> unsupported(const Cell& cell, const Device& device) const override {
    if (cell.text("direction") == "both" && cell.text("memory") == "pageable") {
      return "copies of pageable memory block the host, so two cannot run at once; use "
             "memory=pinned";
    }
    if (cell.integer("size") % sizeof(std::uint64_t) != 0) {
      return "size must be a multiple of 8 bytes, the pattern's word";
    }
    const auto memory = device.memory_free_and_total();
    if (!memory) return memory.error().message;
    if (cell.integer("size") > memory->first / 10 * 9 / 4) {
      return "copies of " + format_size(cell.integer("size")) + " do not fit in " +
             format_memory(memory->first) + " of free memory";
    }
    return std::nullopt;
  }
  Result<std::unique_ptr<Case>> prepare(const Cell& cell, PrepareContext context) const override {
    auto prepared = std::make_unique<CopyCase>(cell, context);
    TRY(prepared->prepare(context.stream));
    return std::unique_ptr<Case>(std::move(prepared));
  }

  /// The sizes at which each direction and memory kind reaches half and nine tenths of its plateau.
  std::vector<Conclusion> conclusions(std::span<const CellValue> values) const override {
    std::map<std::string, SizeCurve> curves;
    for (const CellValue& value : values) {
      const std::string curve = "direction=" + std::string(value.cell.text("direction")) +
                                " memory=" + std::string(value.cell.text("memory"));
      curves[curve].emplace_back(static_cast<double>(value.cell.integer("size")), value.value);
    }
    return saturation_conclusions("copy", curves);
  }
};

const CopyBenchmark benchmark;
const BenchmarkRegistry::Add registered{&benchmark};

}  // namespace
}  // namespace assay::copy_benchmark
