#include "cli/tune_serve_request.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/cli.h"
#include "cli/load_spawn.h"
#include "cli/parse.h"
#include "cli/results_store.h"
#include "core/units.h"

namespace assay::cli {
namespace {

constexpr std::uint64_t most_proof_pairs = 1000;
constexpr std::size_t usual_warm_up = 16;  // requests, if the load has no cap

/// The words before the load's options: "serve", the command, the settings to try.
std::vector<std::string> words_before_load(const Arguments& arguments) {
  const auto& words = arguments.positionals;
  const auto end = std::find_if(words.begin(), words.end(),
                                [](const std::string& word) { return word.starts_with('-'); });
  return {words.begin(), end};
}

Result<Arguments> load_arguments(std::vector<std::string> words) {
  words.insert(words.begin(), "load");
  const auto parsed = parse(words);
  if (!parsed) return about("after --", parsed.error());
  for (const char* option : {"--url", "--spawn", "--out", "--save-vllm", "--json", "--help"}) {
    if (parsed->arguments.has(option)) {
      return Error{
          ErrorKind::usage,
          fmt::format("after --: {} is not allowed in tuning; only options that describe the load "
                      "are, e.g. --max-concurrency 64",
                      option)};
    }
  }
  return parsed->arguments;
}

Status read_tuned_load(const Arguments& options, TuneServeRequest& request) {
  request.load = TRY(read_load_request(options));
  if (request.load.points.size() != 1) {
    return Error{ErrorKind::usage, fmt::format("after --: {} load points; tuning takes one, e.g. "
                                               "--max-concurrency 64",
                                               request.load.points.size())};
  }
  LoadSettings& settings = request.load.settings;
  const LoadPoint& point = request.load.points.front();
  if (!options.has("--warm-up")) {
    settings.warm_up =
        std::min(point.max_concurrency > 0 ? point.max_concurrency : usual_warm_up, point.requests);
  }
  for (const LatencyLimit& limit : request.limits) {
    auto& percents = settings.analysis.percents;
    const bool known =
        !limit.percent || std::count(percents.begin(), percents.end(), *limit.percent) > 0;
    if (!known) percents.push_back(*limit.percent);
  }
  return {};
}

Result<std::size_t> read_proof_pairs(const Arguments& arguments) {
  const auto pairs = parse_integer(arguments.get("--pairs", "3"));
  if (!pairs || *pairs < 2 || *pairs > most_proof_pairs) {
    return Error{ErrorKind::usage, fmt::format("--pairs \"{}\" is not allowed; allowed: 2 to {}",
                                               arguments.get("--pairs"), most_proof_pairs)};
  }
  return static_cast<std::size_t>(*pairs);
}

}  // namespace

Result<TuneServeRequest> read_tune_serve(const Arguments& arguments) {
  for (const char* option : {"--device", "--ranks", "--hosts", "--budget"}) {
    if (arguments.has(option)) {
      return Error{ErrorKind::usage, fmt::format("{} does not apply to serve", option)};
    }
  }
  const std::vector<std::string> words = words_before_load(arguments);
  if (words.size() < 3) {
    return Error{ErrorKind::usage,
                 "nothing to try; example: assay tune serve \"vllm serve MODEL --port {port}\" "
                 "max-num-seqs=128,256 -- --max-concurrency 64"};
  }
  TuneServeRequest request;
  std::vector<std::vector<Setting>> settings;
  for (std::size_t i = 2; i < words.size(); ++i) {
    settings.push_back(TRY(parse_server_setting(words[i])));
  }
  request.candidates = TRY(candidates(settings, arguments.has("--combine")));
  if (arguments.has("--limit")) {
    auto limits = parse_latency_limits(arguments.get("--limit"));
    if (!limits) return about("--limit", limits.error());
    request.limits = *std::move(limits);
  }
  request.pairs = TRY(read_proof_pairs(arguments));
  const auto& positionals = arguments.positionals;
  const Arguments options = TRY(load_arguments(
      {positionals.begin() + static_cast<std::ptrdiff_t>(words.size()), positionals.end()}));
  request.spawn = TRY(read_spawn_plan(options, words[1]));
  TRY(read_tuned_load(options, request));
  request.folder = arguments.get("--out", "tuning");
  if (request.folder == pipe) {
    return Error{ErrorKind::usage, "--out: tuning needs a folder for the output of the servers"};
  }
  return request;
}

}  // namespace assay::cli
