#include "cli/serving/load_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "cli/cli.h"
#include "cli/option_values.h"
#include "core/environment_value.h"
#include "core/json_text.h"
#include "core/secrets.h"
#include "core/text.h"
#include "core/units.h"

namespace assay::cli {
namespace {

constexpr double slowest_rate = 1e-5;  // a second

constexpr std::uint64_t most_points = 100;

/// "random", "prefix-repetition", ... to the dataset.
Result<Dataset> parse_dataset(const std::string& text) {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(Dataset::trace); ++i) {
    std::string name(name_of(static_cast<Dataset>(i)));
    std::replace(name.begin(), name.end(), '_', '-');
    if (name == text) return static_cast<Dataset>(i);
    names.push_back(std::move(name));
  }
  return Error{ErrorKind::usage, fmt::format("--dataset \"{}\" is not allowed; allowed: {}", text,
                                             fmt::join(names, ", "))};
}

/// Reads one whole number, if the option is given.
Status read_count(const Arguments& arguments, std::string_view option, std::uint64_t& target) {
  if (!arguments.has(option)) return {};
  const auto value = parse_integer(arguments.get(option));
  if (!value) return about(option, value.error());
  target = *value;
  return {};
}

Status read_number(const Arguments& arguments, std::string_view option, double& target) {
  if (!arguments.has(option)) return {};
  target = TRY(parse_positive(option, arguments.get(option)));
  return {};
}

// ---- Where and how ----

Status read_urls(const Arguments& arguments, LoadRequest& request) {
  for (const std::string& given : arguments.all("--url")) {
    for (Url& url : TRY(parse_urls(given))) request.urls.push_back(std::move(url));
  }
  request.insecure = arguments.has("--insecure");
  return {};
}

/// Characters that end a header's line, or that no header may have.
bool breaks_header(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](unsigned char c) { return (c < ' ' && c != '\t') || c == 0x7f; });
}

/// Adds the header lines to `fields`. Errors show no header's value: it may be a secret.
Status read_headers(const Arguments& arguments, std::string& fields) {
  if (const std::string key = environment_value("OPENAI_API_KEY"); !key.empty()) {
    if (breaks_header(key)) {
      return Error{ErrorKind::usage,
                   "OPENAI_API_KEY has a line break or another control character, which no header "
                   "may have; set it to the key alone"};
    }
    fields += fmt::format("Authorization: Bearer {}\r\n", key);
  }
  int number = 0;
  for (const std::string& header : arguments.all("--header")) {
    ++number;
    const std::size_t colon = header.find(':');
    if (colon == 0 || colon == header.npos || breaks_header(header)) {
      return Error{ErrorKind::usage,
                   fmt::format("--header number {} is not allowed; allowed: \"Name: value\" on one "
                               "line, without control characters",
                               number)};
    }
    const std::string_view name = std::string_view(header).substr(0, colon);
    for (const std::string_view own : {"content-length", "transfer-encoding", "connection"}) {
      if (!is_equal_without_case(name, own)) continue;
      return Error{
          ErrorKind::usage,
          fmt::format("--header {} is not allowed: assay says itself how long a request is "
                      "and that its connection stays",
                      own)};
    }
    fields += header + "\r\n";
  }
  return {};
}

Status read_server(const Arguments& arguments, LoadRequest& request) {
  LoadPlan& plan = request.settings.plan;
  plan.request.api = TRY(parse_api(arguments.get("--api", "completions")));
  plan.request.model = arguments.get("--model");
  plan.request.stream = !arguments.has("--no-stream");
  plan.balance = TRY(parse_balance(arguments.get("--balance", "least-connections")));
  TRY(read_seconds(arguments, "--timeout", plan.silence_seconds));
  TRY(read_seconds(arguments, "--request-timeout", plan.request_seconds));
  if (arguments.has("--extra-body")) {
    auto extra = parse_json(arguments.get("--extra-body"));
    if (!extra) return about("--extra-body", extra.error());
    if (!extra->is_object()) {
      return Error{ErrorKind::usage, "--extra-body must be a JSON object, e.g. '{\"top_k\": 1}'"};
    }
    plan.request.extra = std::move(*extra);
  }
  return read_headers(arguments, plan.fields);
}

// ---- What ----

Status read_prompts(const Arguments& arguments, LoadRequest& request) {
  PromptSettings& prompts = request.settings.prompts;
  prompts.dataset = TRY(parse_dataset(arguments.get("--dataset", "random")));
  prompts.file = arguments.get("--file");
  const bool from_file = prompts.dataset == Dataset::sharegpt ||
                         prompts.dataset == Dataset::jsonl || prompts.dataset == Dataset::trace;
  if (from_file == prompts.file.empty()) {
    return Error{ErrorKind::usage,
                 from_file ? fmt::format("--dataset {} needs --file", name_of(prompts.dataset))
                           : "--file needs --dataset sharegpt, jsonl or trace"};
  }
  TRY(read_count(arguments, "--seed", prompts.seed));
  request.settings.use_seed(prompts.seed);
  TRY(read_count(arguments, "--input", prompts.input_tokens));
  if (arguments.has("--output-tokens")) {
    std::uint64_t tokens = 0;
    TRY(read_count(arguments, "--output-tokens", tokens));
    prompts.output_tokens = tokens;
  }
  const bool repeats_prefixes = prompts.dataset == Dataset::prefix_repetition;
  if (arguments.has("--spread") && prompts.dataset != Dataset::random) {
    return Error{ErrorKind::usage, "--spread needs --dataset random"};
  }
  if (arguments.has("--prefix") && prompts.dataset != Dataset::random && !repeats_prefixes) {
    return Error{ErrorKind::usage, "--prefix needs --dataset random or prefix-repetition"};
  }
  TRY(read_number(arguments, "--spread", prompts.input_spread));
  prompts.output_spread = prompts.input_spread;
  TRY(read_count(arguments, "--prefix", prompts.prefix_tokens));
  std::uint64_t prefixes = prompts.prefixes, turns = prompts.turns;
  TRY(read_count(arguments, "--prefixes", prefixes));
  TRY(read_count(arguments, "--turns", turns));
  prompts.prefixes = prefixes;
  prompts.turns = turns;
  TRY(read_seconds(arguments, "--think", prompts.think_seconds));
  // Requested lengths are exact; recorded conversations end where the model ends them.
  const bool exact = prompts.dataset != Dataset::sharegpt && prompts.dataset != Dataset::jsonl;
  request.settings.plan.request.ignore_eos =
      arguments.has("--ignore-eos") || (exact && !arguments.has("--no-ignore-eos"));
  return {};
}

// ---- How much ----

/// "1000", "10x" (times the concurrency), "60s" (times the rate) to a number of requests.
Result<std::size_t> requests_at(const std::string& text, const LoadPoint& point) {
  const bool closed = std::isinf(point.request_rate) && point.max_concurrency > 0;
  if (text.empty()) {
    return closed ? std::max<std::size_t>(10 * point.max_concurrency, 100) : std::size_t{1000};
  }
  const auto wrong = [&](std::string_view allowed) {
    return Error{ErrorKind::usage,
                 fmt::format("--requests \"{}\" is not allowed here; allowed: {}", text, allowed)};
  };
  double count = 0;
  if (text.back() == 'x') {
    if (point.max_concurrency == 0) return wrong("a number; 10x needs --max-concurrency");
    count = TRY(parse_positive("--requests", text.substr(0, text.size() - 1))) *
            static_cast<double>(point.max_concurrency);
  } else if (const auto number = parse_integer(text)) {
    count = static_cast<double>(*number);
  } else {
    const auto seconds = parse_duration(text);
    if (!seconds) return wrong("a number, 10x or 60s");
    if (std::isinf(point.request_rate)) return wrong("a number or 10x; 60s needs --request-rate");
    count = *seconds * point.request_rate;
  }
  if (!(count >= 0.5) || count > 1e8) return wrong("1 to 100000000 requests");
  return static_cast<std::size_t>(std::llround(count));
}

/// A number below 2^32 from a variable of the environment; `target` stays if it is not set.
Status read_variable(const char* name, std::string_view allowed, std::uint64_t& target) {
  const std::string text = environment_value(name);
  if (text.empty()) return {};
  const auto number = parse_integer(text);
  if (!number || *number > std::numeric_limits<std::uint32_t>::max()) {
    return Error{ErrorKind::usage, fmt::format("{} \"{}\" is not allowed; allowed: {}", name,
                                               hide_secrets_in(text), allowed)};
  }
  target = *number;
  return {};
}

/// The campaign's pair and the set of its prompts, which a campaign sets for the commands of its
/// units.
Status read_pair(LoadRequest& request) {
  TRY(read_variable("ASSAY_PAIR", "the number of a campaign's pair, from 1", request.pair));
  return read_variable("ASSAY_PROMPTS", "the number of a pair's set of prompts, from 1",
                       request.prompt_set);
}

Status read_passes(const Arguments& arguments, LoadRequest& request) {
  constexpr std::uint64_t most_passes = 1000;
  std::uint64_t passes = 1;
  TRY(read_count(arguments, "--repeat", passes));
  if (passes == 0 || passes > most_passes) {
    return Error{ErrorKind::usage,
                 fmt::format("--repeat {} is not allowed; allowed: 1 to {}", passes, most_passes)};
  }
  if (passes > 1 && arguments.has("--find-rate")) {
    return Error{ErrorKind::usage, "--find-rate repeats its probes itself; leave out --repeat"};
  }
  request.passes = passes;
  return {};
}

Status read_points(const Arguments& arguments, LoadRequest& request) {
  std::vector<double> rates = {std::numeric_limits<double>::infinity()};
  std::vector<std::size_t> caps = {0};
  if (arguments.has("--request-rate")) {
    rates.clear();
    for (const std::string& text : split(arguments.get("--request-rate"), ',')) {
      rates.push_back(text == "inf" ? std::numeric_limits<double>::infinity()
                                    : TRY(parse_positive("--request-rate", text)));
      if (rates.back() >= slowest_rate) continue;
      return Error{ErrorKind::usage,
                   fmt::format("--request-rate: \"{}\" is not allowed; allowed: {} and more, which "
                               "is a request in a day, or inf",
                               text, slowest_rate)};
    }
  }
  if (arguments.has("--max-concurrency")) {
    caps = TRY(parse_concurrencies(arguments.get("--max-concurrency")));
  }
  const bool by_clock = request.settings.ramp || request.settings.recorded_speed;
  if (!arguments.has("--request-rate") && !arguments.has("--max-concurrency") && !by_clock) {
    return Error{ErrorKind::usage,
                 "how much load? --request-rate 2,4,8 (requests per second, an open loop) "
                 "or --max-concurrency 4,8,16 (requests in flight)"};
  }
  if (rates.size() * caps.size() > most_points) {
    return Error{ErrorKind::usage, fmt::format("{} rates and {} concurrencies are more than {} "
                                               "points",
                                               rates.size(), caps.size(), most_points)};
  }
  for (const double rate : rates) {
    for (const std::size_t cap : caps) {
      LoadPoint point{rate, cap, 0};
      point.requests = TRY(requests_at(arguments.get("--requests"), point));
      request.points.push_back(point);
    }
  }
  return {};
}

/// "1:16" or "1:16:exponential"
Result<RateRamp> parse_ramp(const std::string& text) {
  const std::vector<std::string> parts = split(text, ':');
  const bool shaped = parts.size() == 3;
  if ((parts.size() != 2 && !shaped) ||
      (shaped && parts[2] != "linear" && parts[2] != "exponential")) {
    return Error{ErrorKind::usage, fmt::format("--ramp-rate \"{}\" is not allowed; allowed: "
                                               "FIRST:LAST[:linear|exponential], e.g. 1:16",
                                               text)};
  }
  RateRamp ramp;
  ramp.first = TRY(parse_positive("--ramp-rate", parts[0]));
  ramp.last = TRY(parse_positive("--ramp-rate", parts[1]));
  ramp.exponential = shaped && parts[2] == "exponential";
  return ramp;
}

Status read_schedule(const Arguments& arguments, LoadRequest& request) {
  LoadSettings& settings = request.settings;
  TRY(read_number(arguments, "--burstiness", settings.burstiness));
  if (arguments.has("--ramp-rate")) settings.ramp = TRY(parse_ramp(arguments.get("--ramp-rate")));
  if (arguments.has("--recorded")) {
    settings.recorded_speed = TRY(parse_positive("--recorded", arguments.get("--recorded")));
  }
  TRY(read_seconds(arguments, "--ramp", settings.plan.ramp_seconds));
  TRY(read_seconds(arguments, "--duration", settings.plan.send_seconds));
  std::uint64_t warm_up = 0;
  TRY(read_count(arguments, "--warm-up", warm_up));
  settings.warm_up = warm_up;
  return {};
}

/// "ttft:200ms,tpot:50ms"
Result<GoodputLimits> parse_limits(const std::string& text) {
  GoodputLimits limits;
  for (const std::string& part : split(text, ',')) {
    const std::size_t colon = std::min(part.find(':'), part.size() - 1);
    const std::string name = part.substr(0, colon);
    const auto seconds = parse_duration(part.substr(colon + 1));
    std::optional<double>* target = name == "ttft"   ? &limits.ttft
                                    : name == "tpot" ? &limits.tpot
                                    : name == "itl"  ? &limits.itl
                                    : name == "e2el" ? &limits.e2el
                                                     : nullptr;
    if (target == nullptr || !seconds) {
      return Error{ErrorKind::usage, fmt::format("--goodput \"{}\" is not allowed; allowed: "
                                                 "ttft, tpot, itl or e2el with a time, e.g. "
                                                 "ttft:200ms,tpot:50ms",
                                                 part)};
    }
    *target = *seconds;
  }
  return limits;
}

Status read_analysis(const Arguments& arguments, LoadRequest& request) {
  AnalysisSettings& analysis = request.settings.analysis;
  if (arguments.has("--goodput")) analysis.goodput = TRY(parse_limits(arguments.get("--goodput")));
  if (!arguments.has("--percentiles")) return {};
  analysis.percents.clear();
  for (const std::string& text : split(arguments.get("--percentiles"), ',')) {
    const double percent = TRY(parse_positive("--percentiles", text));
    if (percent >= 100) {
      return Error{ErrorKind::usage, fmt::format("--percentiles {} is not below 100", text)};
    }
    analysis.percents.push_back(percent);
  }
  return {};
}

}  // namespace

std::vector<Option> load_options() {
  return {
      {"--url", "URL",
       "a server, e.g. http://127.0.0.1:8000; give several for several servers, or a range of "
       "ports: http://127.0.0.1:8000-8007",
       "", true},
      {"--spawn", "COMMAND",
       "instead of --url: start this server, e.g. \"vllm serve MODEL --port {port}\", and stop it "
       "afterwards; {port}, {index} and terms of them, e.g. {128+index}, are replaced",
       ""},
      {"--servers", "N",
       "with --spawn: how often to start it, one GPU each; default 1. Where one command is several "
       "servers, as assay serve --partitions 8, all of them are loaded",
       ""},
      {"--spawn-env", "NAME=VALUE",
       "with --spawn: environment variable, e.g. HIP_VISIBLE_DEVICES={2*index}", "", true},
      {"--spawn-timeout", "TIME", "with --spawn: time within which they must answer; default 10min",
       ""},
      {"--api", "NAME", "completions (default), chat, llamacpp or tgi",
       "completions chat llamacpp tgi"},
      {"--model", "NAME", "model name; default: the first that the server lists", ""},
      {"--request-rate", "LIST",
       "open loop: requests per second, where every turn of a conversation counts; several values "
       "make a "
       "sweep, inf sends all at once",
       ""},
      {"--max-concurrency", "LIST",
       "requests in flight: a closed loop, or a cap with a rate; several make a sweep", ""},
      {"--requests", "N",
       "requests per point: a number, 10x the concurrency, or 60s at the rate; default: 10x, at "
       "least 100, in a closed loop, else 1000; with --find-rate 30s, at least 100",
       ""},
      {"--repeat", "N",
       "passes over each point, each with prompts of its own; the record has their means, and "
       "intervals from their spread; default 1",
       ""},
      {"--duration", "TIME", "send no requests after this time", ""},
      {"--find-rate", "TARGETS",
       "search for the highest rate that meets these, e.g. p99_ttft:200ms,mean_tpot:50ms: mean, "
       "median or a percentile of ttft, tpot, itl or e2el; or attainment:95% of --goodput",
       ""},
      {"--rate-precision", "SHARE", "with --find-rate: precision of the rate; default 5%", "",
       false, "--precision"},
      {"--most-rate", "R", "with --find-rate: highest rate to try", ""},
      {"--burstiness", "B",
       "gaps between arrivals are gamma distributed with this shape: 1 (default) is Poisson, less "
       "gives bursts, inf equal gaps",
       ""},
      {"--ramp-rate", "FIRST:LAST", "a rate that changes from FIRST to LAST over the requests", ""},
      {"--recorded", "SPEED", "replay the trace's arrival times, sped up by SPEED", ""},
      {"--ramp", "TIME", "spread the start of a closed loop's requests over this time", ""},
      {"--warm-up", "N", "requests before the measured ones", ""},
      {"--dataset", "NAME",
       "random (default), prefix-repetition, multi-turn, sharegpt, jsonl or trace",
       "random prefix-repetition multi-turn sharegpt jsonl trace"},
      {"--file", "PATH", "file of the dataset sharegpt, jsonl or trace", "file"},
      {"--input", "N",
       "tokens per prompt, after its prefix; for multi-turn, words per turn; default 1024", ""},
      {"--output-tokens", "N", "tokens per reply; default 128, or as in the file", ""},
      {"--spread", "R", "for random: vary these lengths by up to this share; default 0", ""},
      {"--prefix", "N",
       "for random: tokens that all prompts share, in addition to --input; for prefix-repetition: "
       "tokens of each prefix, default 256",
       ""},
      {"--prefixes", "N", "for prefix-repetition: number of prefixes; default 10", ""},
      {"--turns", "N", "for multi-turn: requests per conversation; default 4", ""},
      {"--think", "TIME", "for multi-turn: time between a reply and the next turn; default 1s", ""},
      {"--seed", "N",
       "seed of prompts and arrivals, combined with the point and its pass; default 0", ""},
      {"--ignore-eos", "", "generate the full requested length; default if lengths are set", ""},
      {"--no-ignore-eos", "", "let the model end its replies", ""},
      {"--no-stream", "", "replies in one piece", ""},
      {"--extra-body", "JSON", "members added to every request", ""},
      {"--header", "FIELD", "\"Name: value\" added to every request", "", true},
      {"--insecure", "", "do not check certificates", ""},
      {"--balance", "HOW", "least-connections (default), round-robin or random",
       "least-connections round-robin random"},
      {"--timeout", "TIME",
       "longest silence of a server, which comments in a stream do not break; default 10min", ""},
      {"--request-timeout", "TIME", "longest time that a request may take in all; default 1h", ""},
      {"--goodput", "LIMITS", "most time a good reply may take, e.g. ttft:200ms,tpot:50ms", ""},
      {"--percentiles", "LIST", "default 50,90,95,99", ""},
  };
}

Status read_seconds(const Arguments& arguments, std::string_view option, double& target) {
  if (!arguments.has(option)) return {};
  const auto value = parse_duration(arguments.get(option));
  if (!value) return about(option, value.error());
  target = *value;
  return {};
}

Result<double> parse_positive(std::string_view option, const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value > 0)) {
    return Error{ErrorKind::usage,
                 fmt::format("{} \"{}\" is not allowed; allowed: a number above 0", option, text)};
  }
  return value;
}

Result<std::vector<std::size_t>> parse_concurrencies(const std::string& text) {
  std::vector<std::size_t> values;
  for (const std::string& part : split(text, ',')) {
    const auto value = parse_integer(part);
    if (!value || *value == 0 || *value > 10'000'000) {
      return Error{
          ErrorKind::usage,
          fmt::format("--max-concurrency \"{}\" is not allowed; allowed: 1 to 10000000, or "
                      "several, e.g. 4,8,16",
                      part)};
    }
    values.push_back(*value);
  }
  return values;
}

Result<LoadRequest> read_load_request(const Arguments& arguments) {
  LoadRequest request;
  request.settings.plan.silence_seconds = 600;
  TRY(read_urls(arguments, request));
  TRY(read_server(arguments, request));
  TRY(read_prompts(arguments, request));
  TRY(read_schedule(arguments, request));
  TRY(read_analysis(arguments, request));
  TRY(read_passes(arguments, request));
  TRY(read_pair(request));
  if (!arguments.has("--find-rate")) TRY(read_points(arguments, request));
  request.asked_prompts = request.settings.prompts;
  return request;
}

}  // namespace assay::cli
