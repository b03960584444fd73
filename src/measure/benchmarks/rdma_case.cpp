#include "measure/benchmarks/rdma_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/units.h"
#include "measure/benchmarks/rdma_check.h"
#include "measure/benchmarks/rdma_link.h"
#include "measure/benchmarks/rdma_traffic.h"

namespace assay {
namespace {

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
    TRY(give_all(team_, "rdma: starting", text_of(posted)));
    return traffic_ ? traffic_->meet() : Status();
  }
  Status enqueue(Stream&) override { return traffic_ ? traffic_->run() : Status(); }

  Result<Verification> verify(Stream& stream) override {
    // Poison that the first message of a ping-pong cannot match.
    const auto poison =
        static_cast<std::uint8_t>(0xa5 ^ (traffic_ ? traffic_->last_value() + 1 : 0));
    Status written;
    if (traffic_) {
      written = write_window(settings_, link_, seed_, team_.rank(), poison, stream);
    }
    TRY(give_all(team_, "rdma: poisoning", text_of(written)));
    TRY(give_all(team_, "rdma: running once more", text_of(run_once(stream))));
    Result<std::string> report = std::string("0 0 ");
    if (checks()) {
      const auto check =
          check_window(settings_, link_, seed_, peer(), poison, traffic_->last_value(), stream);
      report =
          check ? Result(fmt::format("{} {} {}", check->checked, check->wrong, check->first_wrong))
                : Result<std::string>(check.error());
    }
    return summed(TRY(give_all(team_, "rdma: checking", report)));
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

  /// Seconds that `from` took for the messages of one run; the same on all ranks.
  Result<double> timed_run(Stream& stream) {
    Status ran = lead_in(stream);
    const auto begin = Clock::now();
    if (ran) ran = enqueue(stream);
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    const Result<std::string> mine =
        ran ? Result(fmt::format("{}", static_cast<std::uint64_t>(seconds * 1e9)))
            : Result<std::string>(ran.error());
    const auto given = TRY(give_all(team_, "rdma: finding the length of a sample", mine));
    const auto nanoseconds = TRY(parse_integer(given[static_cast<std::size_t>(settings_.from)]));
    return static_cast<double>(nanoseconds) * 1e-9;
  }

  /// The verdict shared by all ranks, from the reports "CHECKED WRONG DETAIL" of those that
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

}  // namespace

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

}  // namespace assay
