#include "results/import/serving.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>

#include "core/text.h"
#include "core/units.h"
#include "results/import/text_lines.h"
#include "statistics/summary.h"

namespace assay {
namespace {

/// Counts of one result; nullopt if it does not report them.
struct ServingCounts {
  std::optional<double> prompts, completed, failed;  ///< requests: all, and how they ended
  std::optional<double> empty;                       ///< replies without a token
  std::optional<double> output_tokens;               ///< of all replies
};

/// Data from the arrays output_lens, ttfts, itls and, if it is there, errors of a detailed result.
struct ServingArrays {
  std::size_t requests = 0;
  std::size_t succeeded = 0;           ///< without an error
  std::size_t empty = 0;               ///< without an error, but also without a token
  std::vector<double> ttfts;           ///< seconds, of the successful requests
  std::vector<double> ttfts_nonempty;  ///< seconds, of the requests that returned a token
  std::vector<double> itls;            ///< seconds, of all successful requests
  std::vector<double> longest_stalls;  ///< seconds, the longest gap of each request that has any
};

/// Returns whether a reported and a recomputed value are equal up to rounding.
bool agree(double stated, double computed) {
  return std::abs(stated - computed) <=
         1e-6 * std::max(std::abs(stated), std::abs(computed)) + 1e-9;
}

void compare(Draft& draft, const JsonNode& result, const std::string& key,
             const std::vector<double>& values, std::size_t line) {
  const std::array<std::pair<const char*, double>, 3> expected = {
      {{"mean", mean(values)},
       {"std", population_deviation(values)},
       {"p99", quantile_of(values, 0.99)}}};
  for (const auto& [statistic, seconds] : expected) {
    const std::string name = fmt::format("{}_{}_ms", statistic, key);
    const auto stated = result.number_at(name);
    if (!stated || agree(*stated, seconds * 1e3)) continue;
    draft.warn(line, fmt::format("{} is reported as {}, its arrays give {:.6f}", name,
                                 result.at(name), seconds * 1e3));
  }
}

/// Returns the arrays; nullopt without output_lens. If they are inconsistent or hold anything but
/// numbers, returns nullopt, too, and says so in `problem`.
std::optional<ServingArrays> serving_arrays(const JsonNode& result, std::string& problem) {
  const JsonNode* outputs = result.find("output_lens");
  if (outputs == nullptr || !outputs->is_array()) return std::nullopt;
  const auto lengths = numbers_of(outputs);
  const auto ttfts = numbers_of(result.find("ttfts"));
  const JsonNode* itls = result.find("itls");
  const JsonNode* errors = result.find("errors");
  const auto has_length = [&](const JsonNode* array) {
    return array != nullptr && array->is_array() && array->items.size() == outputs->items.size();
  };
  if (!lengths || !ttfts || ttfts->size() != lengths->size() || !has_length(itls) ||
      (errors != nullptr && !has_length(errors))) {
    problem = "its arrays output_lens, ttfts, itls and errors are inconsistent, not used";
    return std::nullopt;
  }
  ServingArrays arrays;
  arrays.requests = lengths->size();
  for (std::size_t i = 0; i < arrays.requests; ++i) {
    const bool error = errors != nullptr && !errors->items[i].text.empty();
    if (error) continue;
    ++arrays.succeeded;
    arrays.ttfts.push_back((*ttfts)[i]);
    if ((*lengths)[i] == 0) {
      ++arrays.empty;
    } else {
      arrays.ttfts_nonempty.push_back((*ttfts)[i]);
    }
    const auto gaps = numbers_of(&itls->items[i]);
    if (!gaps) {
      problem = "its array itls contains something other than numbers, not used";
      return std::nullopt;
    }
    arrays.itls.insert(arrays.itls.end(), gaps->begin(), gaps->end());
    if (!gaps->empty()) {
      arrays.longest_stalls.push_back(*std::max_element(gaps->begin(), gaps->end()));
    }
  }
  return arrays;
}

ServingCounts counts_of(const JsonNode& result, const std::optional<ServingArrays>& arrays) {
  ServingCounts counts;
  counts.prompts = result.number_at("num_prompts");
  counts.completed = result.number_at("completed");
  counts.failed = result.number_at("failed");
  counts.output_tokens = result.number_at("total_output_tokens");
  if (arrays) {
    counts.empty = static_cast<double>(arrays->empty);
    if (!counts.prompts) counts.prompts = static_cast<double>(arrays->requests);
  }
  if (!counts.failed && counts.prompts && counts.completed) {
    counts.failed = std::max(0.0, *counts.prompts - *counts.completed);
  }
  return counts;
}

void add_counts(Record& record, const JsonNode& result, const ServingCounts& counts) {
  add_metric(record, result, "completed", "completed", 1, "1", Better::neither);
  if (counts.failed) {
    record.metrics.push_back(
        metric("failed", *counts.failed, "1", Better::neither, result.at("failed")));
  }
  if (counts.empty) {
    record.metrics.push_back(metric("empty_replies", *counts.empty, "1", Better::neither, ""));
  }
  for (const char* key : {"total_input_tokens", "total_output_tokens"}) {
    add_metric(record, result, key, key, 1, "1", Better::neither);
  }
}

void check_counts(Draft& draft, const JsonNode& result, const ServingCounts& counts,
                  const ServingArrays& arrays, std::size_t line) {
  if (counts.prompts && static_cast<double>(arrays.requests) != *counts.prompts) {
    draft.warn(line, fmt::format("num_prompts is {}, its arrays contain {} requests",
                                 result.at("num_prompts"), arrays.requests));
  }
  if (counts.completed && static_cast<double>(arrays.succeeded) != *counts.completed) {
    draft.warn(line, fmt::format("completed is {}, its arrays contain {} requests without an error",
                                 result.at("completed"), arrays.succeeded));
  }
}

/// Returns one sentence about what the totals hide.
std::string flag_of(const ServingArrays& arrays, const JsonNode& result) {
  const auto stated = result.number_at("mean_ttft_ms");
  return fmt::format(
      "{} of {} replies are empty and count as successes; mean TTFT {} as reported, {}",
      arrays.empty, arrays.requests, stated ? fmt::format("{:.3f} s", *stated / 1e3) : "unknown",
      arrays.ttfts_nonempty.empty()
          ? "none without them"
          : fmt::format("{:.3f} s without them", mean(arrays.ttfts_nonempty)));
}

void add_from_arrays(Record& record, const ServingArrays& arrays) {
  const auto add = [&](std::string_view name, double seconds) {
    record.metrics.push_back(metric(name, seconds, "s", Better::lower, ""));
  };
  if (!arrays.ttfts_nonempty.empty()) {
    add("mean_ttft_nonempty", mean(arrays.ttfts_nonempty));
    add("median_ttft_nonempty", quantile_of(arrays.ttfts_nonempty, 0.5));
  }
  if (!arrays.longest_stalls.empty()) {
    add("median_longest_stall", quantile_of(arrays.longest_stalls, 0.5));
    add("p99_longest_stall", quantile_of(arrays.longest_stalls, 0.99));
    add("longest_stall",
        *std::max_element(arrays.longest_stalls.begin(), arrays.longest_stalls.end()));
  }
}

std::string whole(double count) {
  return fmt::format("{:.0f}", count);
}

void judge(Record& record, const ServingCounts& counts) {
  std::string reason;
  if (counts.failed && counts.completed && *counts.failed > *counts.completed) {
    reason = fmt::format("{} of {} requests failed", whole(*counts.failed),
                         whole(*counts.failed + *counts.completed));
  }
  if (counts.completed && *counts.completed == 0 && reason.empty()) reason = "no request completed";
  if (counts.output_tokens && *counts.output_tokens == 0) {
    reason += reason.empty() ? "no reply has a token" : "; no reply has a token";
  }
  if (reason.empty()) return;
  record.status = RecordStatus::failed;
  record.reason = reason;
}

}  // namespace

std::string rate_text(std::string_view text) {
  const std::string lower = lower_case(trim(text));
  if (lower.empty()) return "none";
  if (lower == "inf" || lower == "infinity") return "inf";
  const auto value = parse_number(lower);
  return value ? fmt::format("{}", *value) : lower;
}

void add_latencies(Record& record, const JsonNode& result, std::string_view key,
                   std::string_view name) {
  const std::string suffix = fmt::format("_{}_ms", key);
  for (std::size_t i = 0; i < result.items.size(); ++i) {
    const std::string& member = result.keys[i];
    if (!member.ends_with(suffix)) continue;
    const std::string statistic = member.substr(0, member.size() - suffix.size());
    const bool percentile = statistic.size() > 1 && statistic[0] == 'p' &&
                            parse_number(std::string_view(statistic).substr(1));
    if (statistic != "mean" && statistic != "median" && statistic != "std" && !percentile) continue;
    add_metric(record, result.items[i], fmt::format("{}_{}", identifier(statistic), name), 1e-3,
               "s", Better::lower);
  }
}

void judge_serving(Draft& draft, Record& record, const JsonNode& result, std::size_t line) {
  std::string problem;
  const auto arrays = serving_arrays(result, problem);
  if (!problem.empty()) draft.warn(line, problem);
  const ServingCounts counts = counts_of(result, arrays);
  if (arrays) {
    add_from_arrays(record, *arrays);
    check_counts(draft, result, counts, *arrays, line);
    compare(draft, result, "ttft", arrays->ttfts, line);
    compare(draft, result, "itl", arrays->itls, line);
  }
  add_counts(record, result, counts);
  judge(record, counts);
  if (arrays && arrays->empty > 0) {
    note(record, "flag", flag_of(*arrays, result));
    draft.warn(line, flag_of(*arrays, result));
  }
}

std::string compact_time(std::string_view text) {
  if (text.size() != 15 || text[8] != '-' || !parse_count(text.substr(0, 8)) ||
      !parse_count(text.substr(9))) {
    return {};
  }
  const auto part = [&](std::size_t at, std::size_t length) { return text.substr(at, length); };
  return fmt::format("{}-{}-{}T{}:{}:{}", part(0, 4), part(4, 2), part(6, 2), part(9, 2),
                     part(11, 2), part(13, 2));
}

std::string utc_time(double seconds) {
  constexpr double year_2000 = 946684800, year_2100 = 4102444800;
  if (!(seconds >= year_2000) || !(seconds < year_2100)) return {};
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts = {};
  ::gmtime_r(&time, &parts);
  char text[32];
  const std::size_t length = std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text, length};
}

}  // namespace assay
