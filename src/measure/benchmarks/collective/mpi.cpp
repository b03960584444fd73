// mpi: messages between two ranks with a library's send and receive, measured as by osu_bw,
// osu_bibw and osu_latency.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "compute/device/helpers.h"
#include "core/units.h"
#include "measure/benchmarks/cold_regions.h"
#include "measure/benchmarks/collective/collective_cell.h"
#include "measure/benchmarks/collective/collective_data.h"
#include "measure/benchmarks/peer/link_matrix.h"
#include "measure/grid/benchmark.h"
#include "ranks/collective/communicators.h"
#include "ranks/team/agreement.h"

namespace assay::mpi_benchmark {
namespace {

constexpr std::uint64_t most_outstanding = 64;  // most messages in flight, as in osu_bw
constexpr std::uint64_t window_bytes = std::uint64_t{64} << 20;  // bytes in flight; with large
                                                                 // messages fewer are in flight
constexpr double sample_seconds = 2e-3;

struct MessageCell {
  int from = 0, to = 1;
  bool latency = false;
  bool both = false;
  MemoryKind memory = MemoryKind::device;
  std::string library;
  std::uint64_t size = 0;
};

MessageCell parse_message_cell(const Cell& cell) {
  return {static_cast<int>(cell.integer("from")),
          static_cast<int>(cell.integer("to")),
          cell.text("metric") == "latency",
          cell.text("direction") == "both",
          cell.text("memory") == "host" ? MemoryKind::pinned : MemoryKind::device,
          std::string(cell.text("library")),
          cell.integer("size")};
}

/// Messages per launch and direction.
std::uint64_t window_of(const MessageCell& cell) {
  if (cell.latency) return 1;
  return std::clamp<std::uint64_t>(window_bytes / cell.size, 2, most_outstanding);
}

class MessageCase final : public Case {
 public:
  MessageCase(const MessageCell& cell, const PrepareContext& context, Communicator& communicator)
      : cell_(cell),
        window_(window_of(cell)),
        device_(context.device),
        team_(context.team),
        communicator_(communicator),
        seed_(context.seed),
        peer_(team_.rank() == cell.from ? cell.to : cell.from),
        sends_(team_.rank() == cell.from || (cell.both && team_.rank() == cell.to)),
        receives_(team_.rank() == cell.to || (cell.both && team_.rank() == cell.from)) {}

  Status prepare(Stream& stream) {
    TRY(agree(team_, "preparing messages", allocate(stream)));
    // Libraries connect the ranks on first use, which must not happen while the device is held.
    TRY(lead_in(stream));
    TRY(enqueue(stream));
    return wait_for_ranks(communicator_, stream, *idle_, team_);
  }

  Work work() const override {
    const double messages = static_cast<double>(window_) * (cell_.both ? 2 : 1);
    // A ping and a pong; the seconds are for one of them.
    return {.bytes = static_cast<double>(cell_.size) * (cell_.latency ? 2 : messages),
            .repetitions = cell_.latency ? 2.0 : 1.0};
  }
  Quantity quantity() const override {
    return cell_.latency ? Quantity::latency : Quantity::bandwidth;
  }
  Limit limit() const override { return Limit::none; }
  bool takes_part() const override { return sends_ || receives_; }
  TimeSource time_source() const override {
    return communicator_.queues_on_stream() ? TimeSource::device_events : TimeSource::host_clock;
  }
  bool fits_behind_gate() const override { return communicator_.queues_on_stream(); }
  std::vector<std::pair<std::string, std::string>> notes() const override {
    std::vector<std::pair<std::string, std::string>> notes = {{"library", communicator_.library()},
                                                              {"window", std::to_string(window_)},
                                                              {"buffers", "cold"}};
    if (!communicator_.path().empty()) notes.emplace_back("library_path", communicator_.path());
    return notes;
  }

  Status lead_in(Stream& stream) override {
    return start_together(communicator_, barrier_, stream);
  }
  int launches_per_sample(double seconds) const override {
    return launches_to_fill(sample_seconds, seconds);
  }

  Status enqueue(Stream& stream) override {
    const std::uint64_t first = next_;
    next_ += window_;
    if (!takes_part()) return {};
    return cell_.latency ? ping_pong(stream, first) : window(stream, first);
  }

  Result<Verification> verify(Stream& stream) override {
    const std::uint64_t first = next_, end = first + window_;
    TRY(agree(team_, "writing messages", rewrite(stream, first, end)));
    TRY(enqueue(stream));
    TRY(wait_for_ranks(communicator_, stream, *idle_, team_));
    std::uint64_t wrong = 0;
    std::string detail;
    for (std::uint64_t turn = first; turn < end && expects(); ++turn) {
      const auto found =
          TRY(data_->check(stream, message_data(peer_, turn), receive_->region(turn)));
      if (!found) continue;
      if (wrong == 0) {
        detail = fmt::format("byte {} of message {} from rank {} is {}, should be {}", found->index,
                             turn - first, peer_, found->got, found->expected);
      }
      wrong += found->count;
    }
    return exact_verification("every byte of every message received", wrong, detail);
  }

 private:
  /// Whether this rank receives messages; in a ping-pong both ranks do.
  bool expects() const { return receives_ || (cell_.latency && sends_); }
  /// The data of a message. All messages differ, so that a misplaced one is detected.
  DataRange message_data(int source, std::uint64_t turn) const {
    return {DataKind::bits, source, turn * cell_.size, cell_.size};
  }
  Message outgoing(std::uint64_t turn) const { return {peer_, send_->region(turn), cell_.size}; }
  Message incoming(std::uint64_t turn) const { return {peer_, receive_->region(turn), cell_.size}; }

  /// The part of the preparation in which a single rank can fail.
  Status allocate(Stream& stream) {
    const std::uint64_t least = cold_bytes(device_.facts(), ranks_here(team_));
    idle_ = TRY(device_.create_event());
    barrier_ = TRY(device_.allocate(2 * sizeof(float), MemoryKind::device));
    TRY(stream.fill(barrier_.data(), 0, barrier_.bytes()));
    if (takes_part()) {
      data_ =
          TRY(CollectiveData::create(device_, DataType::u8, Reduction::sum, team_.size(), seed_));
      send_ = TRY(ColdRegions::create(device_, cell_.memory, cell_.size, least, window_));
      receive_ = TRY(ColdRegions::create(device_, cell_.memory, cell_.size, least, window_));
      acknowledgement_ = TRY(device_.allocate(2, cell_.memory));
      for (const Buffer* buffer :
           {&send_->whole(), &receive_->whole(), static_cast<const Buffer*>(&acknowledgement_)}) {
        TRY(stream.fill(buffer->data(), 0, buffer->bytes()));
      }
    }
    return stream.synchronize();
  }

  Status ping_pong(Stream& stream, std::uint64_t turn) {
    const Message out = outgoing(turn), in = incoming(turn);
    if (sends_) {
      TRY(communicator_.transfer({&out, 1}, {}, stream));
      return communicator_.transfer({}, {&in, 1}, stream);
    }
    TRY(communicator_.transfer({}, {&in, 1}, stream));
    return communicator_.transfer({&out, 1}, {}, stream);
  }

  /// Sends a window of messages at once; then the receiver acknowledges that all have arrived, as
  /// in osu_bw.
  Status window(Stream& stream, std::uint64_t first) {
    std::vector<Message> out, in;
    for (std::uint64_t turn = first; turn < first + window_; ++turn) {
      if (sends_) out.push_back(outgoing(turn));
      if (receives_) in.push_back(incoming(turn));
    }
    TRY(communicator_.transfer(out, in, stream));
    const Message arrived = {peer_, acknowledgement_.as<std::byte>(), 1};
    const Message theirs = {peer_, acknowledgement_.as<std::byte>() + 1, 1};
    const std::span<const Message> nothing;
    return communicator_.transfer(receives_ ? std::span(&arrived, 1) : nothing,
                                  sends_ ? std::span(&theirs, 1) : nothing, stream);
  }

  Status rewrite(Stream& stream, std::uint64_t first, std::uint64_t end) {
    if (!takes_part()) return {};
    for (std::uint64_t turn = first; turn < end; ++turn) {
      TRY(stream.fill(receive_->region(turn), 0xA5, cell_.size));
      TRY(data_->fill(stream, message_data(team_.rank(), turn), send_->region(turn)));
    }
    return stream.synchronize();
  }

  const MessageCell cell_;
  const std::uint64_t window_;
  Device& device_;
  Team& team_;
  Communicator& communicator_;
  const std::uint64_t seed_;
  const int peer_;
  const bool sends_, receives_;
  std::optional<CollectiveData> data_;
  std::optional<ColdRegions> send_, receive_;
  Buffer barrier_, acknowledgement_;
  std::unique_ptr<Event> idle_;
  std::uint64_t next_ = 0;  // region turn of the next message
};

class MessageBenchmark final : public Benchmark {
 public:
  std::string_view name() const override { return "mpi"; }
  std::string_view summary() const override {
    return "messages between two ranks, by MPI, NCCL or RCCL";
  }
  const std::vector<Axis>& axes() const override {
    static const std::vector<Axis> axes = {
        {"from", "rank that sends", Axis::Kind::member, {"0"}, {}, 0, 1 << 20},
        {"to", "rank that receives", Axis::Kind::member, {"1"}, {}, 0, 1 << 20},
        {"metric",
         "bandwidth: up to 64 messages outstanding, then one acknowledgement; latency: half a "
         "ping-pong",
         Axis::Kind::choice,
         {"all"},
         {"bandwidth", "latency"}},
        {"direction",
         "one way, or both ways at once, counting the bytes of both",
         Axis::Kind::choice,
         {"one"},
         {"one", "both"}},
        {"memory", "where the messages are", Axis::Kind::choice, {"all"}, {"host", "device"}},
        {"library",
         "auto: the library made for the device",
         Axis::Kind::choice,
         {"mpi"},
         library_choices()},
        // The last default is the largest message of the point-to-point study assay replaces.
        {"size",
         "bytes of one message",
         Axis::Kind::size,
         {"1..1GiB*4", "2101346304"},
         {},
         1,
         std::uint64_t{1} << 40},
    };
    return axes;
  }
  bool takes_team() const override { return true; }

  bool redundant(const Cell& cell) const override {
    return cell.text("metric") == "latency" && cell.text("direction") == "both";
  }
  /// Expands "all" to every pair, with direction=both each pair once; a CPU has one kind of memory.
  std::vector<Cell> expand(const Cell& cell, const Device& device,
                           const Team& team) const override {
    Cell base = cell;
    const std::string_view best = best_communicator_kind(device, team);
    if (cell.text("library") == "auto" && !best.empty()) base = with_value(base, "library", best);
    if (device.facts().is_host_cpu()) base = with_value(base, "memory", "host");
    const bool all_from = cell.text("from") == "all", all_to = cell.text("to") == "all";
    std::vector<Cell> cells;
    for (const std::string& from : members(cell.text("from"), team)) {
      for (const std::string& to : members(cell.text("to"), team)) {
        if ((all_from || all_to) && from == to) continue;
        const bool twice = all_from && all_to && cell.text("direction") == "both";
        if (twice && number(from) > number(to)) continue;
        cells.push_back(with_value(with_value(base, "from", from), "to", to));
      }
    }
    return cells;
  }
  std::optional<std::string> unsupported(const Cell& cell, const Device& device) const override {
    const MessageCell parsed = parse_message_cell(cell);
    if (parsed.from == parsed.to)
      return "a rank does not send to itself; choose different from and to";
    if (redundant(cell)) return "a ping-pong has no direction; use direction=one";
    if (parsed.library == "auto") {
      return fmt::format("this build has no message library for {} devices",
                         device.facts().backend);
    }
    const auto memory = device.memory_free_and_total();
    if (!memory) return memory.error().message;
    const std::uint64_t needed =
        2 *
        ColdRegions::total_bytes(parsed.size, flushing_bytes(device.facts()), window_of(parsed));
    if (needed > memory->first / 10 * 9) {
      return fmt::format("needs {} for buffers larger than the caches; {} is free",
                         format_memory(needed), format_memory(memory->first));
    }
    return std::nullopt;
  }

  Result<std::unique_ptr<Case>> prepare(const Cell& cell, PrepareContext context) const override {
    const MessageCell parsed = parse_message_cell(cell);
    const int ranks = context.team.size();
    if (std::max(parsed.from, parsed.to) >= ranks) {
      return Error{ErrorKind::unsupported,
                   fmt::format("from={} to={} of a team of {}: ranks count from 0", parsed.from,
                               parsed.to, ranks)};
    }
    Communicator* communicator = TRY(context.communicators.get(parsed.library));
    auto prepared = std::make_unique<MessageCase>(parsed, context, *communicator);
    TRY(prepared->prepare(context.stream));
    return std::unique_ptr<Case>(std::move(prepared));
  }

 private:
  static int number(const std::string& text) {
    int value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  }
  static std::vector<std::string> members(std::string_view text, const Team& team) {
    if (text != "all") return {std::string(text)};
    std::vector<std::string> ranks;
    for (int rank = 0; rank < team.size(); ++rank) ranks.push_back(std::to_string(rank));
    return ranks;
  }

  /// Outliers among the links and ends of all pairs of a sweep.
  std::vector<Conclusion> conclusions(std::span<const CellValue> values) const override {
    return odd_link_conclusions(values);
  }
};

const MessageBenchmark benchmark;
const BenchmarkRegistry::Add registered{&benchmark};

}  // namespace
}  // namespace assay::mpi_benchmark
