#include "cli/serving/load_find_rate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/cli.h"
#include "cli/compare_operands.h"
#include "cli/serving/load_output.h"
#include "core/json.h"
#include "core/units.h"

namespace assay::cli {
namespace {

constexpr double most_failed_requests = 0.01;
constexpr std::string_view saturated = "saturated";
constexpr std::size_t fewest_requests = 100, most_requests = 100'000'000;
constexpr std::size_t in_flight_each = 256;  // vLLM's default batch

Result<std::size_t> parse_count(std::string_view option, const std::string& text) {
  const auto value = parse_integer(text);
  if (value && *value > 0 && *value <= most_requests) return std::size_t{*value};
  return Error{ErrorKind::usage,
               fmt::format("{} \"{}\" is not allowed with --find-rate; allowed: 1 to {}", option,
                           text, most_requests)};
}

Status read_amount(const std::string& text, FindRate& find) {
  if (const auto seconds = parse_duration(text)) {
    find.seconds = *seconds;
    return {};
  }
  const auto count = parse_count("--requests", text);
  if (!count) {
    return Error{ErrorKind::usage, count.error().message + " requests, or a time, e.g. 60s"};
  }
  find.requests = *count;
  return {};
}

/// Reads the targets and adds their percentiles to those of the request.
Status read_targets(const std::string& text, LoadRequest& request, FindRate& find) {
  auto targets = parse_slos(text);
  if (!targets) return about("--find-rate", targets.error());
  find.targets = std::move(*targets);
  AnalysisSettings& analysis = request.settings.analysis;
  std::vector<double>& percents = analysis.percents;
  for (const Slo& slo : find.targets) {
    if (slo.quantity == Slo::Quantity::attainment && !analysis.goodput.any()) {
      return Error{ErrorKind::usage,
                   "attainment needs limits, e.g. --goodput ttft:200ms,tpot:50ms"};
    }
    const bool known = std::find(percents.begin(), percents.end(), slo.percent) != percents.end();
    if (slo.percent > 0 && !known) percents.push_back(slo.percent);
  }
  return {};
}

std::string target_list(const FindRate& find) {
  std::string text;
  for (const Slo& slo : find.targets) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", slo.name, slo_text(slo, slo.limit));
  }
  return text;
}

std::string values_text(const FindRate& find, const std::vector<double>& used) {
  std::string text;
  for (std::size_t i = 0; i < used.size(); ++i) {
    const Slo& slo = find.targets[i];
    text +=
        fmt::format("{}{} {}", i == 0 ? "" : ", ", slo.name, slo_text(slo, used[i] * slo.limit));
  }
  return text;
}

/// The target that is missed most; otherwise the fault of the runs. Failed requests have no
/// latency, so a fault other than saturation comes before the targets.
std::string breach_of(const FindRate& find, const std::vector<double>& used,
                      const std::string& fault) {
  const auto most = std::max_element(used.begin(), used.end());
  const bool by_target = most != used.end() && *most > 1 && (fault.empty() || fault == saturated);
  return by_target ? find.targets[static_cast<std::size_t>(most - used.begin())].name : fault;
}

bool is_of_gaps(const Slo& slo) {
  return slo.quantity == Slo::Quantity::tpot || slo.quantity == Slo::Quantity::itl;
}

/// Why the client may have distorted a quantity of the targets; empty: it did not.
std::string client_fault(const FindRate& find, const ServingResult& result) {
  if (!result.verdict.client_reasons.empty()) return result.verdict.client_reasons.front();
  const bool from_sending = !std::all_of(find.targets.begin(), find.targets.end(), is_of_gaps);
  return from_sending ? result.verdict.late : "";
}

/// Why times between tokens, if the targets are about them, are none of the servers'; empty: they
/// are.
std::string gaps_fault(const FindRate& find, const ServingResult& result) {
  const bool of_gaps = std::any_of(find.targets.begin(), find.targets.end(), [&](const Slo& slo) {
    return is_of_gaps(slo) || (slo.quantity == Slo::Quantity::attainment && result.goodput_of_gaps);
  });
  if (!of_gaps || result.verdict.gaps_hold()) return "";
  return result.verdict.tokens_hold() ? result.verdict.doubts.gaps : result.verdict.doubts.counts;
}

LoadPoint point_of(const FindRate& find, std::size_t servers, const RateProbe& probe) {
  constexpr double closed = std::numeric_limits<double>::infinity();
  if (probe.kind == RateProbe::Kind::single) return {closed, 1, fewest_requests};
  if (probe.kind == RateProbe::Kind::full) {
    const std::size_t in_flight =
        find.in_flight > 0 ? find.in_flight : in_flight_each * std::max<std::size_t>(servers, 1);
    return {closed, in_flight, std::min(10 * in_flight, most_requests)};
  }
  const double count =
      std::clamp(std::ceil(find.seconds * probe.rate), static_cast<double>(fewest_requests),
                 static_cast<double>(most_requests));
  return {probe.rate, find.cap,
          find.requests > 0 ? find.requests : static_cast<std::size_t>(count)};
}

/// Gives every probe its own prompts and arrivals. Closed loops end by time, because their speed is
/// not known beforehand.
LoadRequest request_of(const FindRate& find, const LoadRequest& request, const RateProbe& probe,
                       const LoadPoint& point) {
  LoadRequest asked = request;
  LoadSettings& settings = asked.settings;
  settings.use_seed(
      seed_of_load(settings.prompts.seed, point, probe.number, request.pair, request.prompt_set));
  if (probe.kind != RateProbe::Kind::at_rate && settings.plan.send_seconds <= 0) {
    settings.plan.send_seconds = find.seconds;
  }
  return asked;
}

std::string label_of(const RateProbe& probe, const LoadPoint& point) {
  return fmt::format("[probe {}{}] {}", probe.number + 1,
                     probe.repeat > 0 ? fmt::format(", repeat {}", probe.repeat) : "",
                     text_of(point));
}

std::string verdict_on(const FindRate& find, const ProbeOutcome& outcome) {
  if (outcome.is_void) return "void: " + outcome.fault;
  const std::string breach = breach_of(find, outcome.used, outcome.fault);
  return breach.empty() ? "passes" : "fails by " + breach;
}

std::string judged_text(const FindRate& find, const RateProbe& probe, const ProbeOutcome& outcome) {
  if (probe.kind == RateProbe::Kind::full) {
    return fmt::format("  => at most about {} req/s\n", format_significant(outcome.throughput));
  }
  return fmt::format("  => {}: {}\n", values_text(find, outcome.used), verdict_on(find, outcome));
}

std::string_view name_of(SearchResult::End end) {
  switch (end) {
    case SearchResult::End::found:
      return "found";
    case SearchResult::End::capped:
      return "capped";
    case SearchResult::End::unreachable:
      return "unreachable";
    case SearchResult::End::too_slow:
      return "too_slow";
    case SearchResult::End::noisy:
      return "noisy_client";
    case SearchResult::End::stopped:
      break;
  }
  return "stopped";
}

Json values_json(const FindRate& find, const std::vector<double>& used) {
  Json values = Json::object();
  for (std::size_t i = 0; i < used.size(); ++i) {
    const Slo& slo = find.targets[i];
    values[slo.name] = reported_value(slo, used[i] * slo.limit);
  }
  return values;
}

/// Null if there is no outcome.
Json rate_json(const FindRate& find, const std::optional<RateOutcome>& outcome) {
  if (!outcome) return nullptr;
  return {{"rate", outcome->rate}, {"values", values_json(find, outcome->used)}};
}

}  // namespace

Result<std::optional<FindRate>> read_find_rate(const Arguments& arguments, LoadRequest& request) {
  const bool wanted = arguments.has("--find-rate");
  for (const char* option : {"--rate-precision", "--most-rate"}) {
    if (wanted || !arguments.has(option)) continue;
    return Error{ErrorKind::usage, fmt::format("{} needs --find-rate", option)};
  }
  if (!wanted) return std::optional<FindRate>();
  for (const char* other : {"--request-rate", "--ramp-rate", "--recorded"}) {
    if (!arguments.has(other)) continue;
    return Error{
        ErrorKind::usage,
        fmt::format("{} sets the rate that --find-rate searches for: give only one of them",
                    other)};
  }
  FindRate find;
  TRY(read_targets(arguments.get("--find-rate"), request, find));
  find.search.precision =
      TRY(parse_share("--rate-precision", arguments.get("--rate-precision", "5%"), 0.01, 1));
  if (arguments.has("--most-rate")) {
    find.search.most_rate = TRY(parse_positive("--most-rate", arguments.get("--most-rate")));
  }
  if (arguments.has("--max-concurrency")) {
    find.in_flight = find.cap =
        TRY(parse_count("--max-concurrency", arguments.get("--max-concurrency")));
  }
  if (arguments.has("--requests")) TRY(read_amount(arguments.get("--requests"), find));
  return std::optional<FindRate>(std::move(find));
}

ProbeOutcome outcome_of(const FindRate& find, const ServingResult& result) {
  ProbeOutcome outcome;
  // Use the larger: the whole run includes the ramp, and the steady part may contain only prefill.
  outcome.throughput =
      std::max(result.request_throughput, result.steady ? result.steady->request_throughput : 0);
  for (const Slo& slo : find.targets) outcome.used.push_back(value_of(slo, result) / slo.limit);
  const std::size_t lost = result.counts.failed + result.counts.empty;
  const double lost_share = static_cast<double>(lost) /
                            static_cast<double>(std::max<std::size_t>(result.counts.requests, 1));
  if (!result.verdict.server_reasons.empty()) {
    outcome.fault = result.verdict.server_reasons.front();
  } else if (lost_share > most_failed_requests) {
    outcome.fault = fmt::format("{:.3g}% of requests failed", lost_share * 100);
  } else if (const std::string doubt = gaps_fault(find, result); !doubt.empty()) {
    outcome.fault = doubt;
  } else if (result.saturation.saturated) {
    outcome.fault = saturated;
  }
  // A late client makes times from the schedule longer, never shorter, so a run that meets the
  // targets nevertheless passes.
  const std::string client = client_fault(find, result);
  if (!client.empty() && !outcome.passes()) {
    outcome.is_void = true;
    outcome.fault = client;
  }
  return outcome;
}

Result<FoundRate> find_rate(const FindRate& find, const LoadRequest& request, const RunPoint& run,
                            const std::function<void(const std::string&)>& say) {
  RateSearch search(find.search);
  FoundRate found;
  while (const auto probe = search.next()) {
    const LoadPoint point = point_of(find, request.urls.size(), *probe);
    const LoadReport report =
        TRY(run(request_of(find, request, *probe, point), point, label_of(*probe, point)));
    if (report.interrupted) break;
    if (found.probes.empty() && report.result.counts.completed == 0) {
      return Error{ErrorKind::failed,
                   fmt::format("{}: no request was answered, so there is no rate to find; above "
                               "stands what they ended with",
                               text_of(point))};
    }
    const ProbeOutcome outcome = outcome_of(find, report.result);
    say(judged_text(find, *probe, outcome));
    found.probes.push_back(
        {{"load", text_of(point)},
         {"repeat", probe->repeat},
         {"values", values_json(find, outcome.used)},
         {"request_throughput", outcome.throughput},
         {"verdict",
          probe->kind == RateProbe::Kind::full ? "bounds the rate" : verdict_on(find, outcome)}});
    search.add(outcome);
  }
  found.result = search.result();
  return found;
}

std::string found_text(const FindRate& find, const SearchResult& result) {
  const auto rate = [](const std::optional<RateOutcome>& outcome) {
    return format_significant(outcome->rate) + " req/s";
  };
  const auto fails = [&] {
    return fmt::format("{} fails by {}: {}", rate(result.failed),
                       breach_of(find, result.failed->used, result.failed->fault),
                       values_text(find, result.failed->used));
  };
  const std::string targets = target_list(find);
  switch (result.end) {
    case SearchResult::End::unreachable:
      return fmt::format("no rate meets {}: one request in flight fails by {}: {}", targets,
                         breach_of(find, result.failed->used, result.failed->fault),
                         values_text(find, result.failed->used));
    case SearchResult::End::too_slow:
      return fmt::format("no reasonable rate meets {}: {}", targets, fails());
    default:
      break;
  }
  std::string text;
  if (result.end == SearchResult::End::stopped) text = "stopped before the end; ";
  if (result.end == SearchResult::End::noisy) {
    text =
        "this client is too noisy to go on: it made the same probe void again and again; use a "
        "quieter "
        "or faster machine (assay load --calibrate); ";
  }
  if (result.passed) {
    text += fmt::format("{} meets {}: {}", rate(result.passed), targets,
                        values_text(find, result.passed->used));
    if (result.repeats > 0) {
      text += fmt::format(" ({} of {} fresh repeats pass; {:.0f}% confidence that most runs do)",
                          result.repeats_passed, result.repeats, result.confidence * 100);
    }
  } else {
    text += fmt::format("no rate is known to meet {}", targets);
  }
  if (result.failed) return text + "; " + fails();
  return text + (result.end == SearchResult::End::capped ? "; higher rates were not allowed" : "");
}

Json to_json(const FindRate& find, const FoundRate& found) {
  const SearchResult& result = found.result;
  Json targets = Json::object();
  for (const Slo& slo : find.targets) targets[slo.name] = reported_value(slo, slo.limit);
  Json json = {{"targets", targets},
               {"end", name_of(result.end)},
               {"passed", rate_json(find, result.passed)},
               {"failed", rate_json(find, result.failed)},
               {"repeats", result.repeats},
               {"repeats_passed", result.repeats_passed},
               {"confidence", result.confidence},
               {"precision", find.search.precision},
               {"closed_loop_throughput", result.full_throughput},
               {"probes", result.probes},
               {"runs", found.probes},
               {"summary", found_text(find, result)}};
  if (result.failed) {
    json["failed"]["breach"] = breach_of(find, result.failed->used, result.failed->fault);
  }
  return {{"find_rate", json}};
}

}  // namespace assay::cli
