#include "measure/benchmarks/train/train_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <set>

#include "core/hash.h"
#include "core/units.h"
#include "core/version.h"
#include "machine/system/recordable_settings.h"
#include "ranks/collective/communicators.h"
#include "ranks/team/agreement.h"
#include "statistics/summary.h"

namespace assay {
namespace {

/// The number of steps that take one second, which a device needs for its clocks and power to
/// settle; at most 1000.
std::uint64_t steps_to_warm_up(double seconds_of_step) {
  constexpr double seconds = 1, most = 1000;
  return seconds_of_step > 0 ? static_cast<std::uint64_t>(std::min(seconds / seconds_of_step, most))
                             : 0;
}

/// A hash of the NCCL and RCCL environment variables; hashed because values may be secret.
std::string library_variables() {
  std::string text;
  for (const auto& [name, value] : performance_variables()) {
    if (!name.starts_with("NCCL_") && !name.starts_with("RCCL_")) continue;
    text += fmt::format("{}={}\n", name, value);
  }
  constexpr std::size_t digits = 16;
  return sha256_hex(text).substr(0, digits);
}

/// Adds times to the entry with the same library and bucket, or as a new entry.
void keep_times(std::vector<TimedExchange>& timed, TimedExchange one) {
  const auto known = std::ranges::find_if(timed, [&](const TimedExchange& other) {
    return other.library == one.library && other.bucket == one.bucket;
  });
  if (known == timed.end()) {
    timed.push_back(std::move(one));
  } else {
    known->seconds.insert(known->seconds.end(), one.seconds.begin(), one.seconds.end());
  }
}

}  // namespace

std::vector<std::uint64_t> bucket_candidates() {
  constexpr std::uint64_t mebibyte = 1 << 20;
  return {32 * mebibyte, 8 * mebibyte, 16 * mebibyte, 64 * mebibyte, 128 * mebibyte};
}

std::vector<std::uint64_t> different_buckets(const std::vector<std::uint64_t>& candidates,
                                             const std::vector<Section>& sections,
                                             std::size_t element) {
  std::vector<std::uint64_t> kept;
  std::set<std::vector<std::size_t>> known;
  for (const std::uint64_t bytes : candidates) {
    if (known.insert(first_sections_of_buckets(sections, element, bytes)).second) {
      kept.push_back(bytes);
    }
  }
  return kept;
}

double TimedExchange::typical() const {
  return median(seconds);
}

double TimedExchange::spread() const {
  return quantile_of(seconds, 0.75) - quantile_of(seconds, 0.25);
}

Result<std::vector<TimedExchange>> time_buckets(Training& training, Stream& stream,
                                                RankStopwatch& stopwatch, bool replayed,
                                                const std::vector<std::uint64_t>& buckets,
                                                std::uint64_t warm_up) {
  constexpr int rounds = 5;  // buckets alternate, so that drift affects all of them alike
  std::vector<TimedExchange> timed;
  std::vector<RepeatedWork> steps;
  const auto make = [&]() -> Status {
    for (const std::uint64_t bytes : buckets) {
      timed.push_back({"", bytes, {}});
      steps.push_back(TRY(RepeatedWork::create(stream, replayed, [&training, &stream, bytes] {
        training.set_bucket(bytes);
        return training.step(stream);
      })));
    }
    return {};
  };
  // A rank that failed reports it here, before the others would wait for it in a step.
  const Status made = make();
  if (TRY(stopwatch.sum(made.ok() ? 0.0f : 1.0f)) > 0) {
    TRY(made);
    return Error{ErrorKind::silence, "another rank could not repeat its steps"};
  }
  for (std::uint64_t i = 0; i < warm_up; ++i) {
    TRY(stopwatch.time(std::ref(steps[i % steps.size()])));
  }
  for (int round = -1; round < rounds; ++round) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const double taken = TRY(stopwatch.time(std::ref(steps[i])));
      if (round >= 0) timed[i].seconds.push_back(taken);  // round -1 is the warm-up
    }
  }
  return timed;
}

ExchangeChoice fastest_exchange(const std::vector<TimedExchange>& timed) {
  constexpr double least_gain = 0.01;
  const TimedExchange& usual = timed.front();
  const TimedExchange* fastest = &usual;
  std::vector<std::string> times;
  for (const TimedExchange& one : timed) {
    const double gain = usual.typical() - one.typical();
    const double chance = std::max(usual.spread(), one.spread());
    if (gain > std::max(least_gain * usual.typical(), chance) &&
        one.typical() < fastest->typical()) {
      fastest = &one;
    }
    times.push_back(fmt::format("{} {} {}", one.library, format_size(one.bucket),
                                format_seconds(one.typical())));
  }
  return {fastest->library, fastest->bucket, fmt::format("{}", fmt::join(times, ", ")), false};
}

std::string to_text(const ExchangeChoice& choice) {
  return fmt::format("{} {}: {}", choice.library, format_size(choice.bucket), choice.times);
}

std::optional<ExchangeChoice> read_exchange_choice(std::string_view text) {
  constexpr std::string_view between = ": ";
  const std::size_t space = text.find(' '), at = text.find(between);
  if (space == 0 || at == std::string_view::npos || space > at) return std::nullopt;
  const auto bytes = parse_size(text.substr(space + 1, at - space - 1));
  if (!bytes.ok()) return std::nullopt;
  return ExchangeChoice{std::string(text.substr(0, space)), *bytes,
                        std::string(text.substr(at + between.size())), false};
}

Result<std::string> exchange_problem(const Cell& cell, const DeviceFacts& facts, Team& team) {
  std::string problem = fmt::format("assay {} {} ", version(), git_hash());
  for (const char* axis : {"model", "batch", "sequence", "precision", "states", "optimizer",
                           "accumulate", "recompute", "attention", "ranks", "parallel", "scaling",
                           "sums", "bucket", "graph", "bias", "library", "data", "tokens"}) {
    problem += fmt::format("{}={} ", axis, cell.text(axis));
  }
  for (const char* axis : {"mode", "rank", "targets", "packing", "products"}) {  // of finetune
    if (!cell.text(axis).empty()) problem += fmt::format("{}={} ", axis, cell.text(axis));
  }
  const std::vector<std::string> devices = TRY(team.exchange(
      "what an exchange depends on", fmt::format("{} {}", facts.uuid, library_variables())));
  for (std::size_t i = 0; i < static_cast<std::size_t>(cell.integer("ranks")); ++i) {
    problem += fmt::format("{} {} ", team.members()[i].host, devices[i]);
  }
  return problem;
}

Result<ExchangeChoice> choose_exchange(const TrainModel& model, const ChoiceCache& cache,
                                       const std::string& problem,
                                       const ExchangeCandidates& candidates, int training_ranks,
                                       bool replayed, Device& device, Stream& stream, Team& team) {
  const bool takes_part = team.rank() < training_ranks, decides = team.rank() == 0;
  std::vector<std::pair<std::string, Communicator*>> libraries;
  std::string versions;
  for (const std::string& library : candidates.libraries) {
    auto communicator = candidates.communicator(library);
    if (!communicator.ok() && libraries.empty()) return communicator.error();
    if (!communicator.ok()) continue;
    libraries.emplace_back(library, *communicator);
    if (decides) versions += (*communicator)->library() + "; ";
  }
  const std::vector<std::uint64_t> buckets = different_buckets(
      candidates.buckets, model.sections(), size_of(model.plan_of_parameters().type));
  if (libraries.size() == 1 && buckets.size() == 1) {
    return ExchangeChoice{libraries.front().first, buckets.front(), "", false};
  }
  const ChoiceKey key = {"exchange of gradients", versions, problem};
  std::string text = decides ? cache.find(device.facts(), key).value_or("") : "";
  text = TRY(from_rank_0(team, "looking for an exchange", std::move(text)));
  if (auto known = read_exchange_choice(text)) {
    known->remembered = true;
    return *std::move(known);
  }
  std::vector<TimedExchange> timed;
  const auto measure = [&](const std::string& library, Communicator* communicator) -> Status {
    const TrainingRanks ranks = {communicator, &team};
    std::unique_ptr<Training> training;
    std::optional<RankStopwatch> stopwatch;
    double step = 0;
    // Wherever a single rank can fail, all ranks agree on the outcome before they continue.
    const auto together = [&](std::string_view what, const std::function<Status()>& does) {
      const Status mine = takes_part ? does() : Status();
      // Queued parts of a failed step may wait for a lost rank. They must end before their memory
      // is freed.
      if (!mine.ok() && training) (void)training->settle(stream);
      return agree(team, what, mine);
    };
    TRY(together("making a model to choose an exchange", [&]() -> Status {
      training = TRY(model.create(device, stream, ranks));
      stopwatch.emplace(TRY(RankStopwatch::create(device, stream, ranks)));
      return {};
    }));
    TRY(together("a step to choose an exchange", [&]() -> Status {
      const auto one = [&] { return training->step(stream); };
      TRY(stopwatch->time(one));  // selects implementations by measuring
      step = TRY(stopwatch->time(one));
      return {};
    }));
    const std::string warm_up = TRY(from_rank_0(team, "steps before those that choose an exchange",
                                                std::to_string(steps_to_warm_up(step))));
    return together("choosing an exchange", [&]() -> Status {
      for (TimedExchange& one : TRY(time_buckets(*training, stream, *stopwatch, replayed, buckets,
                                                 std::strtoull(warm_up.c_str(), nullptr, 10)))) {
        one.library = library;
        keep_times(timed, std::move(one));
      }
      return {};
    });
  };
  if (libraries.size() > 1) libraries.push_back(libraries.front());
  for (const auto& [library, communicator] : libraries) TRY(measure(library, communicator));
  text = decides ? to_text(fastest_exchange(timed)) : "";
  text = TRY(from_rank_0(team, "the chosen exchange", std::move(text)));
  const auto chosen = read_exchange_choice(text);
  if (!chosen) return Error{ErrorKind::failed, "rank 0 sent no exchange of gradients"};
  if (decides) cache.keep(device.facts(), key, text);
  return *chosen;
}

std::string described(const ExchangeChoice& choice) {
  std::string text = fmt::format("{} {}", choice.library, format_size(choice.bucket));
  if (choice.times.empty()) return text;
  return text + (choice.remembered ? ", remembered: " : ", measured: ") + choice.times;
}

Result<ExchangeChoice> exchange_of(const Cell& cell, const TrainCell& parsed,
                                   PrepareContext& context) {
  ExchangeChoice given = {parsed.library, parsed.model->parallel().bucket_bytes, "", false};
  ExchangeCandidates candidates = {{parsed.library}, parsed.buckets, {}};
  if (parsed.chooses_library) {
    given.library = best_communicator_kind(context.device, context.team);
    candidates.libraries = {given.library, "peer"};
  }
  if ((!parsed.chooses_library && parsed.buckets.empty()) || context.device.facts().emulated) {
    return given;
  }
  if (candidates.buckets.empty()) candidates.buckets = {given.bucket};
  candidates.communicator = [&](const std::string& library) {
    return context.communicators.first(library, parsed.ranks);
  };
  parsed.model->set_seed(context.seed);
  return choose_exchange(*parsed.model, ChoiceCache::of_user(context.device.facts()),
                         TRY(exchange_problem(cell, context.device.facts(), context.team)),
                         candidates, parsed.ranks, parsed.graph, context.device, context.stream,
                         context.team);
}

}  // namespace assay
