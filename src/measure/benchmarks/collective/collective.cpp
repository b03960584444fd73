// collective: collectives between all ranks of a team, with the sizes and bandwidths of nccl-tests.
// The value is bus bandwidth.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "compute/device/helpers.h"
#include "core/units.h"
#include "measure/benchmarks/cold_regions.h"
#include "measure/benchmarks/collective/collective_cell.h"
#include "measure/benchmarks/copy/size_curve.h"
#include "measure/grid/benchmark.h"
#include "ranks/collective/communicators.h"
#include "ranks/team/agreement.h"

namespace assay::collective_benchmark {
namespace {

constexpr double sample_seconds = 20e-3;
constexpr int most_graph_operations = 20;
constexpr std::uint64_t graph_bytes = std::uint64_t{64}
                                      << 20;  // bytes moved by the operations of one graph

class CollectiveCase final : public Case {
 public:
  CollectiveCase(const CollectiveCell& cell, const PrepareContext& context,
                 Communicator& communicator)
      : cell_(cell),
        shape_(shape_of(cell)),
        device_(context.device),
        team_(context.team),
        communicator_(communicator),
        seed_(context.seed),
        repeatable_(context.repeatable) {
    if (cell.graph) {
      const std::uint64_t fitting = graph_bytes / larger_bytes(shape_);
      nodes_ = static_cast<int>(std::clamp<std::uint64_t>(fitting, 1, most_graph_operations));
    }
  }

  Status prepare(Stream& stream) {
    TRY(agree(team_, "preparing " + operation_text(), allocate(stream)));
    // Libraries connect the ranks and load kernels on first use, which must not happen in a graph
    // or while the device is held.
    TRY(lead_in(stream));
    TRY(run_next(stream));
    TRY(wait_for_ranks(communicator_, stream, *idle_, team_));
    next_ = 0;
    if (cell_.graph) TRY(agree(team_, "capturing " + operation_text(), capture(stream)));
    return {};
  }

  Work work() const override {
    const double factor = bus_factor(cell_.operation, shape_.ranks);
    return {.bytes = static_cast<double>(larger_bytes(shape_)) * factor * nodes_,
            .repetitions = static_cast<double>(nodes_)};
  }
  Quantity quantity() const override { return Quantity::bandwidth; }
  Limit limit() const override { return Limit::none; }
  TimeSource time_source() const override {
    return communicator_.queues_on_stream() ? TimeSource::device_events : TimeSource::host_clock;
  }
  // A graph's replays use the same few regions again, so the caches are flushed instead.
  CacheState cache_state() const override {
    return cell_.graph ? CacheState::cold : CacheState::hot;
  }
  bool fits_behind_gate() const override { return communicator_.queues_on_stream(); }

  bool waits_for_all() const override {
    switch (cell_.operation) {
      case CollectiveOperation::all_reduce:
      case CollectiveOperation::all_gather:
      case CollectiveOperation::reduce_scatter:
      case CollectiveOperation::all_to_all:
        return true;
      default:
        return false;
    }
  }

  std::vector<std::pair<std::string, std::string>> notes() const override {
    const double factor = bus_factor(cell_.operation, shape_.ranks);
    std::vector<std::pair<std::string, std::string>> notes = {
        {"library", communicator_.library()},
        {"count", std::to_string(shape_.count)},
        {"bytes", std::to_string(larger_bytes(shape_))},
        {"bus_factor", fmt::format("{:.6g}", factor)},
        {"buffers", "cold"}};
    if (!communicator_.path().empty()) notes.emplace_back("library_path", communicator_.path());
    if (has_root(cell_.operation)) notes.emplace_back("root", std::to_string(collective_root));
    if (cell_.graph) notes.emplace_back("graph_operations", std::to_string(nodes_));
    return notes;
  }

  Status lead_in(Stream& stream) override {
    return start_together(communicator_, barrier_, stream);
  }
  int launches_per_sample(double seconds) const override {
    return cell_.graph ? 1 : launches_to_fill(sample_seconds, seconds);
  }
  Status enqueue(Stream& stream) override {
    return cell_.graph ? stream.launch(*graph_) : run_next(stream);
  }

  /// Repeats the next operation of enqueue() on freshly written regions, and checks all of their
  /// contents.
  Result<Verification> verify(Stream& stream) override {
    const std::uint64_t first = cell_.graph ? 0 : next_;
    const auto end = first + static_cast<std::uint64_t>(nodes_);
    TRY(agree(team_, "writing the data of " + operation_text(), rewrite(stream, first, end)));
    TRY(enqueue(stream));
    TRY(wait_for_ranks(communicator_, stream, *idle_, team_));
    std::uint64_t wrong = 0;
    std::string detail;
    for (std::uint64_t turn = first; turn < end; ++turn) TRY(check(stream, turn, wrong, detail));
    return exact_verification("every element bit for bit against its closed form", wrong, detail);
  }

 private:
  std::string operation_text() const { return std::string(name_of(cell_.operation)); }
  Reduction reduction() const { return cell_.reduction.value_or(Reduction::sum); }
  DataRange sent() const {
    return {sent_kind(cell_.operation), team_.rank(), 0, send_elements(shape_)};
  }

  /// The part of the preparation in which a single rank can fail.
  Status allocate(Stream& stream) {
    const auto elements = [&](const ColdRegions& regions) {
      return regions.whole().bytes() / size_of(cell_.type);
    };
    const std::size_t size = size_of(cell_.type);
    // A graph has one region per operation. Otherwise there are enough regions that using the
    // others flushes a region from the caches.
    const std::uint64_t least = cell_.graph ? 0 : cold_bytes(device_.facts(), ranks_here(team_));
    const auto count = static_cast<std::size_t>(std::max(2, nodes_));
    data_ = TRY(CollectiveData::create(device_, cell_.type, reduction(), shape_.ranks, seed_));
    receive_ = TRY(ColdRegions::create(
        device_, MemoryKind::device,
        cell_.in_place ? larger_bytes(shape_) : receive_elements(shape_) * size, least, count));
    if (!cell_.in_place) {
      send_ = TRY(ColdRegions::create(device_, MemoryKind::device, send_elements(shape_) * size,
                                      least, count));
      TRY(stream.fill(receive_->whole().data(), 0, receive_->whole().bytes()));
    }
    const ColdRegions& inputs = cell_.in_place ? *receive_ : *send_;
    TRY(fill_whole(stream, inputs.whole(), elements(inputs)));
    idle_ = TRY(device_.create_event());
    barrier_ = TRY(device_.allocate(2 * sizeof(float), MemoryKind::device));
    TRY(stream.fill(barrier_.data(), 0, barrier_.bytes()));
    return stream.synchronize();
  }

  /// Generates the checked data for a first part only and copies it over the rest: generating a
  /// gigabyte takes a CPU seconds.
  Status fill_whole(Stream& stream, const Buffer& buffer, std::uint64_t elements) {
    const std::size_t size = size_of(cell_.type);
    const std::uint64_t made = std::min<std::uint64_t>(elements, (std::uint64_t{8} << 20) / size);
    TRY(data_->fill(stream, {sent().kind, team_.rank(), 0, made}, buffer.data()));
    auto* const bytes = buffer.as<std::byte>();
    const std::size_t whole = elements * size;
    for (std::size_t done = made * size; done < whole;) {
      const std::size_t more = std::min(done, whole - done);
      TRY(stream.copy(bytes + done, bytes, more));
      done += more;
    }
    return {};
  }

  CollectiveCall call_of(std::uint64_t turn) const {
    const std::size_t size = size_of(cell_.type);
    std::byte* const to = receive_->region(turn);
    CollectiveCall call;
    call.operation = cell_.operation;
    call.send =
        cell_.in_place ? to + send_offset(shape_, team_.rank()) * size : send_->region(turn);
    call.receive = cell_.in_place ? to + receive_offset(shape_, team_.rank()) * size : to;
    call.count = shape_.count;
    call.type = cell_.type;
    call.reduction = reduction();
    call.root = collective_root;
    return call;
  }

  Status run_next(Stream& stream) {
    return communicator_.run(call_of(repeatable_ ? 0 : next_++), stream);
  }

  Status capture(Stream& stream) {
    graph_ = TRY(captured(stream, [&]() -> Status {
      for (int i = 0; i < nodes_; ++i) TRY(run_next(stream));
      return {};
    }));
    return {};
  }

  /// Poisons the outputs, then writes the inputs, which in place are part of the outputs.
  Status rewrite(Stream& stream, std::uint64_t first, std::uint64_t end) {
    const std::size_t size = size_of(cell_.type);
    for (std::uint64_t turn = first; turn < end; ++turn) {
      const std::uint64_t results =
          cell_.in_place ? larger_bytes(shape_) : receive_elements(shape_) * size;
      TRY(stream.fill(receive_->region(turn), 0xA5, results));
      const void* inputs = call_of(turn).send;
      TRY(data_->fill(stream, sent(), const_cast<void*>(inputs)));
    }
    return stream.synchronize();
  }

  Status check(Stream& stream, std::uint64_t turn, std::uint64_t& wrong, std::string& detail) {
    const CollectiveCall call = call_of(turn);
    const auto note = [&](const WrongElements& found, std::size_t at, std::string_view buffer) {
      if (wrong == 0) {
        detail = fmt::format("element {} of its {} buffer is {}, should be {}", at + found.index,
                             buffer, found.got, found.expected);
      }
      wrong += found.count;
    };
    for (const ExpectedRange& range : expected_received(shape_, team_.rank())) {
      const void* at = static_cast<std::byte*>(call.receive) + range.at * size_of(cell_.type);
      if (const auto found = TRY(data_->check(stream, range.data, at))) {
        note(*found, range.at, "receive");
      }
    }
    if (cell_.in_place) return {};
    if (const auto found = TRY(data_->check(stream, sent(), call.send))) note(*found, 0, "send");
    return {};
  }

  const CollectiveCell cell_;
  const CollectiveShape shape_;
  Device& device_;
  Team& team_;
  Communicator& communicator_;
  const std::uint64_t seed_;
  const bool repeatable_;  // always uses the same region
  int nodes_ = 1;          // operations per enqueue()
  std::optional<CollectiveData> data_;
  std::optional<ColdRegions> send_, receive_;  // in place, only receive_ is used
  Buffer barrier_;
  std::unique_ptr<Graph> graph_;
  std::unique_ptr<Event> idle_;
  std::uint64_t next_ = 0;  // region turn of the next operation
};

class CollectiveBenchmark final : public Benchmark {
 public:
  std::string_view name() const override { return "collective"; }
  std::string_view summary() const override {
    return "all_reduce and other collectives of ranks: bus bandwidth";
  }
  const std::vector<Axis>& axes() const override { return collective_axes(); }
  bool takes_team() const override { return true; }

  bool redundant(const Cell& cell) const override {
    const CollectiveCell parsed = parse_collective_cell(cell);
    return reduces(parsed.operation) && !parsed.reduction;
  }
  std::vector<Cell> expand(const Cell& cell, const Device& device,
                           const Team& team) const override {
    return {expand_collective_cell(cell, device, team)};
  }
  std::optional<std::string> unsupported(const Cell& cell, const Device& device) const override {
    return collective_unsupported(parse_collective_cell(cell), device);
  }

  Result<std::unique_ptr<Case>> prepare(const Cell& cell, PrepareContext context) const override {
    const CollectiveCell parsed = parse_collective_cell(cell);
    if (parsed.ranks != context.team.size()) {
      return Error{ErrorKind::unsupported,
                   fmt::format("ranks={} of a team of {}: only the whole team is supported",
                               parsed.ranks, context.team.size())};
    }
    Communicator* communicator = TRY(context.communicators.get(parsed.library));
    TRY(agree(context.team, "choosing the library", lacks(*communicator, parsed)));
    auto prepared = std::make_unique<CollectiveCase>(parsed, context, *communicator);
    TRY(prepared->prepare(context.stream));
    return std::unique_ptr<Case>(std::move(prepared));
  }

  /// For every curve over size: the time at the smallest size, the peak, and the size that reaches
  /// half of it.
  std::vector<Conclusion> conclusions(std::span<const CellValue> values) const override {
    std::map<std::string, std::map<std::uint64_t, const CellValue*>> curves;
    for (const CellValue& value : values) {
      std::string curve;
      for (const auto& [axis, text] : value.cell.values()) {
        if (axis != "size") curve += fmt::format("{}{}={}", curve.empty() ? "" : " ", axis, text);
      }
      curves[curve].emplace(value.cell.integer("size"), &value);
    }
    std::vector<Conclusion> conclusions;
    for (const auto& [name, curve] : curves) add_conclusions(name, curve, conclusions);
    return conclusions;
  }

 private:
  static Status lacks(const Communicator& communicator, const CollectiveCell& cell) {
    if (const auto reason = communicator.unsupported(cell.operation, cell.type,
                                                     cell.reduction.value_or(Reduction::sum))) {
      return Error{ErrorKind::unsupported, *reason};
    }
    if (cell.graph && !communicator.queues_on_stream()) {
      return Error{
          ErrorKind::unsupported,
          fmt::format("{} runs on the host, where a graph's launch is no less than that of "
                      "its operations; use launch=stream",
                      communicator.library())};
    }
    return {};
  }

  static void add_conclusions(const std::string& name,
                              const std::map<std::uint64_t, const CellValue*>& by_size,
                              std::vector<Conclusion>& conclusions) {
    const CellValue& least = *by_size.begin()->second;
    const CollectiveShape shape = shape_of(parse_collective_cell(least.cell));
    const double seconds = static_cast<double>(larger_bytes(shape)) *
                           bus_factor(shape.operation, shape.ranks) / least.value;
    conclusions.push_back({"latency " + name, seconds, "s",
                           fmt::format("collective {}: {} at {}", name, format_seconds(seconds),
                                       format_size(by_size.begin()->first))});
    if (by_size.size() < 3) return;  // one or two points make no plateau
    std::vector<std::pair<double, double>> curve;
    double peak = 0;
    for (const auto& [size, value] : by_size) {
      curve.emplace_back(static_cast<double>(size), value->value);
      peak = std::max(peak, value->value);
    }
    conclusions.push_back(
        {"peak_busbw " + name, peak, "bytes/s",
         fmt::format("collective {}: peak bus bandwidth {}", name, format_rate(peak, "B/s"))});
    for (Conclusion& saturation : saturation_conclusions("collective", {{name, curve}})) {
      conclusions.push_back(std::move(saturation));
    }
  }
};

const CollectiveBenchmark benchmark;
const BenchmarkRegistry::Add registered{&benchmark};

}  // namespace
}  // namespace assay::collective_benchmark
