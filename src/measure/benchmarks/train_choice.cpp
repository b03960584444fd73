#include "measure/benchmarks/train_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>

#include "core/units.h"
#include "measure/benchmarks/exchange_times.h"
#include "ranks/collective/communicators.h"
#include "ranks/team/agreement.h"
#include "statistics/summary.h"

namespace assay {
namespace {

/// The candidates that differ in which sections are sent together.
std::vector<std::uint64_t> different(const std::vector<std::uint64_t>& candidates,
                                     const Training& training) {
  const std::size_t element = size_of(training.plan_of_parameters().type);
  std::vector<std::uint64_t> kept;
  std::vector<std::size_t> last;
  for (const std::uint64_t bytes : candidates) {
    auto firsts = first_sections_of_buckets(training.arenas().sections(), element, bytes);
    if (firsts == last) continue;
    last = std::move(firsts);
    kept.push_back(bytes);
  }
  return kept;
}

}  // namespace

std::vector<std::uint64_t> bucket_candidates() {
  constexpr std::uint64_t mebibyte = 1 << 20;
  return {8 * mebibyte, 16 * mebibyte, 32 * mebibyte, 64 * mebibyte, 128 * mebibyte};
}

Result<std::vector<TimedExchange>> time_buckets(Training& training, Device& device, Stream& stream,
                                                TrainingRanks ranks, bool replayed,
                                                const std::vector<std::uint64_t>& candidates) {
  constexpr int rounds = 5;  // in turn, so that a drift touches all of them
  std::vector<TimedExchange> timed;
  std::vector<RepeatedWork> steps;
  for (const std::uint64_t bytes : different(candidates, training)) {
    timed.push_back({"", bytes, 0});
    steps.push_back(TRY(RepeatedWork::create(stream, replayed, [&training, &stream, bytes] {
      training.set_bucket(bytes);
      return training.step(stream);
    })));
  }
  RankStopwatch stopwatch = TRY(RankStopwatch::create(device, stream, ranks));
  std::vector<std::vector<double>> seconds(timed.size());
  for (int round = -1; round < rounds; ++round) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const double taken = TRY(stopwatch.time(std::ref(steps[i])));
      if (round >= 0) seconds[i].push_back(taken);  // the first of each warms up
    }
  }
  for (std::size_t i = 0; i < timed.size(); ++i) timed[i].seconds = median(seconds[i]);
  return timed;
}

ExchangeChoice fastest_exchange(const std::vector<TimedExchange>& timed) {
  const auto fastest = std::ranges::min_element(timed, {}, &TimedExchange::seconds);
  ExchangeChoice choice = {fastest->library, fastest->bucket, "", false};
  std::vector<std::string> times;
  for (const TimedExchange& one : timed) {
    times.push_back(
        fmt::format("{} {} {}", one.library, format_size(one.bucket), format_seconds(one.seconds)));
  }
  choice.times = fmt::format("{}", fmt::join(times, ", "));
  return choice;
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
  const ChoiceKey key = {"exchange of gradients", versions, problem};
  std::string text = decides ? cache.find(device.facts(), key).value_or("") : "";
  text = TRY(from_rank_0(team, "looking for an exchange", std::move(text)));
  if (auto known = read_exchange_choice(text)) {
    known->remembered = true;
    return *std::move(known);
  }
  std::vector<TimedExchange> timed;
  for (const auto& [library, communicator] : libraries) {
    const TrainingRanks ranks = {communicator, &team};
    std::unique_ptr<Training> training;
    // Where one rank can fail, all agree before they go on.
    const auto together = [&](std::string_view step, const std::function<Status()>& what) {
      return agree(team, step, takes_part ? what() : Status());
    };
    TRY(together("making a model to choose an exchange", [&]() -> Status {
      training = TRY(model.create(device, stream, ranks));
      return {};
    }));
    TRY(together("a step to choose an exchange", [&] { return training->step(stream); }));
    TRY(together("choosing an exchange", [&]() -> Status {
      for (TimedExchange& one :
           TRY(time_buckets(*training, device, stream, ranks, replayed, candidates.buckets))) {
        one.library = library;
        timed.push_back(std::move(one));
      }
      return {};
    }));
  }
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
                         exchange_problem(cell, context.team), candidates, parsed.ranks,
                         parsed.graph, context.device, context.stream, context.team);
}

}  // namespace assay
