// rdma: messages between two ranks of a team over the network, with RDMA adapters or, if there are
// none, TCP. docs/rdma.md explains what is measured and how it compares with perftest.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>

#include "core/units.h"
#include "measure/benchmarks/peer/link_matrix.h"
#include "measure/benchmarks/rdma/rdma_check.h"
#include "measure/benchmarks/rdma/rdma_link.h"
#include "measure/benchmarks/rdma/rdma_settings.h"
#include "measure/benchmarks/rdma/rdma_traffic.h"
#include "measure/grid/benchmark.h"
#include "ranks/fabric/verbs.h"
#include "ranks/team/agreement.h"

namespace assay::rdma_benchmark {
namespace {

// ---- A cell, seen from one rank of the team ----

using Clock = std::chrono::steady_clock;

/// A sample takes about this long, so that the handshake at its end (some microseconds) and the
/// first message's flight time are negligible.
constexpr double least_sample_seconds = 0.02;

class RdmaCase final : public Case {
 public:
  RdmaCase(const RdmaSettings& settings, PrepareContext context, RdmaLink link)
      : settings_(settings), team_(context.team), seed_(context.seed), link_(std::move(link)) {
    for (const TeamMember& member : team_.members()) hosts_.push_back(member.host);
    if (!link_.transport) return;
    traffic_ = std::make_unique<RdmaTraffic>(settings_, link_.queues, is(settings_.from),
                                             link_.host_window, *link_.transport, team_);
  }

  /// Finds how many messages make up a sample; the first run is also the warm-up.
  Status calibrate(Stream& stream) {
    if (traffic_) TRY(write_window(settings_, link_, seed_, team_.rank(), 0, stream));
    const RdmaLayout layout(settings_.size);
    messages_ = std::max<std::uint64_t>(layout.slots, 8);
    constexpr int most_rounds = 12;
    for (int round = 0; round < most_rounds; ++round) {
      const double seconds = TRY(timed_run(stream));
      if (round == 0) continue;
      // Every rank computes from the time that `from` measured, so all get the same result.
      constexpr double most_growth = 32, enough = 0.7;
      const double growth =
          std::clamp(least_sample_seconds / std::max(seconds, 1e-9), 1.0, most_growth);
      if (seconds >= enough * least_sample_seconds) break;
      constexpr double most_messages = 1e9;  // a message's number has 32 bits
      messages_ = static_cast<std::uint64_t>(
          std::min(std::ceil(static_cast<double>(messages_) * growth), most_messages));
    }
    return {};
  }

  Work work() const override {
    const bool half_round_trips = settings_.latency && settings_.operation != FabricOperation::read;
    const double directions = settings_.both || half_round_trips ? 2 : 1;
    const double messages = static_cast<double>(messages_) * directions *
                            (settings_.latency ? 1 : static_cast<double>(link_.queues));
    return {.bytes = messages * static_cast<double>(settings_.size), .repetitions = messages};
  }
  Quantity quantity() const override {
    return settings_.latency ? Quantity::latency : Quantity::bandwidth;
  }
  Limit limit() const override { return Limit::none; }
  TimeSource time_source() const override { return TimeSource::host_clock; }
  bool fits_behind_gate() const override { return false; }
  bool takes_part() const override { return traffic_ != nullptr; }
  std::vector<std::pair<std::string, std::string>> notes() const override {
    std::vector<std::pair<std::string, std::string>> notes = {
        {"transport", settings_.verbs ? "verbs" : "tcp"},
        {"from_host", hosts_[static_cast<std::size_t>(settings_.from)]},
        {"to_host", hosts_[static_cast<std::size_t>(settings_.to)]},
        {"queues", std::to_string(link_.queues)},
        {"messages_per_queue", std::to_string(messages_)},
        {"messages_per_completion",
         std::to_string(settings_.latency ? 1 : messages_per_completion(settings_))}};
    notes.insert(notes.end(), link_.facts.begin(), link_.facts.end());
    return notes;
  }

  Status lead_in(Stream&) override {
    Status posted;
    if (traffic_) {
      traffic_->set_messages(messages_);
      posted = traffic_->post_receives();
    }
    TRY(exchange_or_fail(team_, "rdma: starting", text_of(posted)));
    return traffic_ ? traffic_->meet() : Status();
  }
  Status enqueue(Stream&) override { return traffic_ ? traffic_->run() : Status(); }

  Result<Verification> verify(Stream& stream) override {
    // The poison differs from the value of the first message of a ping-pong.
    const auto poison =
        static_cast<std::uint8_t>(0xa5 ^ (traffic_ ? traffic_->last_value() + 1 : 0));
    Status written;
    if (traffic_) {
      written = write_window(settings_, link_, seed_, team_.rank(), poison, stream);
    }
    TRY(exchange_or_fail(team_, "rdma: poisoning", text_of(written)));
    TRY(exchange_or_fail(team_, "rdma: running once more", text_of(run_once(stream))));
    Result<std::string> report = std::string("0 0 ");
    if (checks()) {
      const auto check =
          check_window(settings_, link_, seed_, peer(), poison, traffic_->last_value(), stream);
      report =
          check ? Result(fmt::format("{} {} {}", check->checked, check->wrong, check->first_wrong))
                : Result<std::string>(check.error());
    }
    return summed(TRY(exchange_or_fail(team_, "rdma: checking", report)));
  }

 private:
  bool is(int rank) const { return team_.rank() == rank; }
  int peer() const { return is(settings_.from) ? settings_.to : settings_.from; }
  /// Whether messages arrive in this rank's window.
  bool checks() const {
    if (!traffic_) return false;
    const bool reads = settings_.operation == FabricOperation::read;
    if (settings_.both || (settings_.latency && !reads)) return true;
    return is(reads ? settings_.from : settings_.to);
  }
  static Result<std::string> text_of(const Status& status) {
    return status ? Result(std::string()) : Result<std::string>(status.error());
  }

  Status run_once(Stream& stream) {
    TRY(lead_in(stream));
    return enqueue(stream);
  }

  /// Runs all messages once; returns the seconds that `from` took, which are the same on all ranks.
  Result<double> timed_run(Stream& stream) {
    Status ran = lead_in(stream);
    const auto begin = Clock::now();
    if (ran) ran = enqueue(stream);
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    const Result<std::string> mine =
        ran ? Result(fmt::format("{}", static_cast<std::uint64_t>(seconds * 1e9)))
            : Result<std::string>(ran.error());
    const auto given = TRY(exchange_or_fail(team_, "rdma: finding the length of a sample", mine));
    const auto nanoseconds = TRY(parse_integer(given[static_cast<std::size_t>(settings_.from)]));
    return static_cast<double>(nanoseconds) * 1e-9;
  }

  /// The common verification of all ranks, from the reports "CHECKED WRONG DETAIL" of those that
  /// checked.
  Verification summed(const std::vector<std::string>& reports) const {
    std::uint64_t checked = 0, wrong = 0;
    std::string detail;
    for (std::size_t rank = 0; rank < reports.size(); ++rank) {
      const std::size_t first = reports[rank].find(' ');
      const std::size_t second = reports[rank].find(' ', first + 1);
      checked += parse_integer(reports[rank].substr(0, first)).value();
      const std::uint64_t here =
          parse_integer(reports[rank].substr(first + 1, second - first - 1)).value();
      if (here > 0 && detail.empty()) {
        detail =
            fmt::format("{}: {}", name_of(team_.members()[rank]), reports[rank].substr(second + 1));
      }
      wrong += here;
    }
    return {checked > 0 && wrong == 0,
            "every byte that arrived against the sender's pattern, exact",
            static_cast<double>(wrong), 0, detail};
  }

  RdmaSettings settings_;
  Team& team_;
  std::uint64_t seed_;
  RdmaLink link_;
  std::vector<std::string> hosts_;
  std::unique_ptr<RdmaTraffic> traffic_;  // null: this rank does not take part
  std::uint64_t messages_ = 1;            // per queue, direction and sample
};

/// Called by all ranks of the team, including those that take no part. Error: the same on all
/// ranks.
Result<std::unique_ptr<Case>> prepare_rdma(const RdmaSettings& settings, PrepareContext context) {
  const int ranks = context.team.size();
  if (settings.from >= ranks || settings.to >= ranks || settings.from == settings.to) {
    return Error{ErrorKind::usage,
                 fmt::format("rdma from={} to={} needs two of the {} ranks that run", settings.from,
                             settings.to, ranks)};
  }
  RdmaLink link = TRY(link_ranks(settings, context.device, context.team));
  auto prepared = std::make_unique<RdmaCase>(settings, context, std::move(link));
  TRY(prepared->calibrate(context.stream));
  return std::unique_ptr<Case>(std::move(prepared));
}

// ---- The cells ----

constexpr std::string_view from_axis = "from", to_axis = "to";

/// Whether the device has its own memory, which an adapter could access.
bool has_own_memory(const Device& device) {
  return !device.facts().pci.empty();
}

/// The ranks that represent the team: one per host, or two if there is a single host.
std::vector<int> representatives(const Team& team) {
  std::vector<int> firsts, ranks;
  for (const TeamMember& member : team.members()) {
    if (member.local_rank == 0) firsts.push_back(member.rank);
    if (ranks.size() < 2) ranks.push_back(member.rank);
  }
  return firsts.size() > 1 ? firsts : ranks;
}

/// The pairs of ranks for `from` and `to`, each of which may be "all". If both are, each pair
/// appears once.
std::vector<std::pair<int, int>> pairs_of(const Cell& cell, const Team& team) {
  const auto choose = [&](std::string_view axis) {
    if (cell.text(axis) == "all") return representatives(team);
    const auto rank = cell.integer(axis);
    return rank < static_cast<std::uint64_t>(team.size()) ? std::vector{static_cast<int>(rank)}
                                                          : std::vector<int>();
  };
  const bool all = cell.text(from_axis) == "all" && cell.text(to_axis) == "all";
  std::vector<std::pair<int, int>> pairs;
  for (const int from : choose(from_axis)) {
    for (const int to : choose(to_axis)) {
      if (from != to && (!all || from < to)) pairs.emplace_back(from, to);
    }
  }
  return pairs;
}

/// Whether the cell names an adapter or address, which requires verbs.
bool needs_verbs(const Cell& cell) {
  return names_adapter(cell) || cell.text("gid") != "auto";
}

/// The cell with implied axis values filled in, so that its name says what was measured.
Cell settled(Cell cell) {
  if (cell.text("transport") == "auto") {
    const bool verbs = needs_verbs(cell) || verbs::ports_here();
    cell = with_value(cell, "transport", verbs ? "verbs" : "tcp");
  }
  if (cell.text("transport") == "tcp" && !names_adapter(cell)) {
    cell = with_value(cell, "nic", "routed");
  }
  if (cell.text("metric") == "latency") {
    cell = with_value(with_value(cell, "depth", "1"), "batch", "1");
  }
  return cell;
}

/// Why the axes of a cell contradict each other; empty if they do not.
std::optional<std::string> contradiction(const Cell& cell) {
  if (cell.text("metric") == "latency") {
    if (cell.text("direction") == "both") return "a ping-pong goes both ways: use direction=one";
    if (cell.text("qps") != "1") return "latency is measured on one queue pair: use qps=1";
    if (cell.text("memory") == "device" && cell.text("op") == "write") {
      return "the host cannot poll GPU memory: use op=send or op=read";
    }
  }
  if (cell.integer("batch") > cell.integer("depth")) {
    return fmt::format("batch={} exceeds the outstanding messages allowed by depth={}",
                       cell.text("batch"), cell.text("depth"));
  }
  if (cell.text("transport") == "tcp" && cell.text("memory") == "device") {
    return "TCP moves host memory only: use memory=host";
  }
  if (cell.text("transport") == "tcp" && needs_verbs(cell)) {
    return fmt::format("{} is for RDMA adapters: use transport=verbs",
                       names_adapter(cell) ? fmt::format("nic={}", cell.text("nic"))
                                           : fmt::format("gid={}", cell.text("gid")));
  }
  if (cell.text("transport") == "verbs" && cell.text("nic") == "routed") {
    return "nic=routed is for TCP: use nic=nearest, nic=every or an adapter's name";
  }
  return std::nullopt;
}

Status check_adapter(std::string_view name) {
  constexpr std::string_view letters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  const std::size_t colon = name.find(':');
  const bool port = colon == std::string_view::npos || parse_integer(name.substr(colon + 1)).ok();
  const std::string_view device = name.substr(0, colon);
  if (port && !device.empty() && device.find_first_not_of(letters) == std::string_view::npos) {
    return {};
  }
  return Error{
      ErrorKind::usage,
      fmt::format(
          "\"{}\" is not nearest, every or routed, and no adapter's name like mlx5_0 or mlx5_0:2",
          name)};
}

class RdmaBenchmark final : public Benchmark {
 public:
  std::string_view name() const override { return "rdma"; }
  std::string_view summary() const override {
    return "messages between ranks, RDMA or TCP: bandwidth, latency";
  }
  const std::vector<Axis>& axes() const override {
    static const std::vector<Axis> axes = {
        {std::string(from_axis),
         "rank that posts the messages; all: the first of each host",
         Axis::Kind::member,
         {"all"},
         {},
         0},
        {std::string(to_axis), "rank whose memory they reach", Axis::Kind::member, {"all"}, {}, 0},
        {"op",
         "one-sided write or read, or send into posted receives",
         Axis::Kind::choice,
         {"all"},
         {"write", "read", "send"}},
        {"metric",
         "messages back to back, or one at a time",
         Axis::Kind::choice,
         {"all"},
         {"bandwidth", "latency"}},
        {"direction",
         "one rank posts, or both at the same time",
         Axis::Kind::choice,
         {"all"},
         {"one", "both"}},
        {"qps", "queue pairs per adapter", Axis::Kind::integer, {"1"}, {}, 1, 1024},
        {"depth",
         "maximum outstanding messages per queue pair",
         Axis::Kind::integer,
         {"128"},
         {},
         1,
         8192},
        {"batch", "messages posted at once", Axis::Kind::integer, {"1"}, {}, 1, 1024},
        {"transport",
         "RDMA verbs or TCP; auto: verbs where there is an active port",
         Axis::Kind::choice,
         {"auto"},
         {"auto", "verbs", "tcp"}},
        {.name = "nic",
         .description = "the adapter nearest to the device, all at once, or one by its name, on "
                        "both ends; routed: for TCP, the kernel chooses",
         .kind = Axis::Kind::text,
         .defaults = {"nearest"},
         .choices = {"nearest", "every", "routed"},
         .check = check_adapter,
         .allowed = "or an adapter and, if not its first active one, the port: mlx5_0, mlx5_0:2"},
        {.name = "gid",
         .description = "index of the adapters' own address; auto: RoCE v2 and IPv4 if they have "
                        "one, none on InfiniBand",
         .kind = Axis::Kind::integer,
         .defaults = {"auto"},
         .choices = {"auto"},
         .least = 0,
         .most = 255},
        {"memory",
         "where the messages are; auto: host, and the device's own where verbs can access it",
         Axis::Kind::choice,
         {"auto"},
         {"auto", "host", "device"}},
        {"size",
         "bytes of one message",
         Axis::Kind::size,
         {"2..8MiB*2"},
         {},
         1,
         std::uint64_t{1} << 30},
    };
    return axes;
  }
  bool takes_team() const override { return true; }
  bool redundant(const Cell& cell) const override {
    return cell.text("metric") == "latency" && cell.text("direction") == "both";
  }

  std::vector<Cell> expand(const Cell& cell, const Device& device,
                           const Team& team) const override {
    const Cell one = settled(cell);
    std::vector<std::string> memories = {std::string(one.text("memory"))};
    if (memories[0] == "auto") {
      memories = {"host"};
      const Cell other = with_value(one, "memory", "device");
      if (!unsupported(other, device)) memories.emplace_back("device");
    }
    std::vector<Cell> cells;
    for (const auto& [from, to] : pairs_of(one, team)) {
      const Cell pair =
          with_value(with_value(one, from_axis, std::to_string(from)), to_axis, std::to_string(to));
      for (const std::string& memory : memories)
        cells.push_back(with_value(pair, "memory", memory));
    }
    return cells;
  }

  std::optional<std::string> unsupported(const Cell& cell, const Device& device) const override {
    if (auto why = contradiction(cell)) return why;
    if (cell.text("memory") == "device" && !has_own_memory(device)) {
      return device.facts().backend + " has no memory of its own: use memory=host";
    }
    if (cell.text("transport") == "verbs" && !verbs::ports_here()) {
      return verbs::ports_here().error().message + "; transport=tcp needs none";
    }
    return std::nullopt;
  }
  Result<std::unique_ptr<Case>> prepare(const Cell& cell, PrepareContext context) const override {
    return prepare_rdma(TRY(rdma_settings(settled(cell))), context);
  }

  /// Outliers among the links and ends of all pairs of a sweep.
  std::vector<Conclusion> conclusions(std::span<const CellValue> values) const override {
    return odd_link_conclusions(values);
  }
};

const RdmaBenchmark benchmark;
const BenchmarkRegistry::Add registered{&benchmark};

}  // namespace
}  // namespace assay::rdma_benchmark
