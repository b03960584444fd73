// assay tune: tries settings, and tests the best one against the defaults in fresh, alternating
// runs.
#include <fmt/format.h>

#include <filesystem>

#include "cli/cli.h"
#include "cli/command.h"
#include "cli/example_plan.h"
#include "cli/interrupt.h"
#include "cli/table.h"
#include "cli/tune_conv.h"
#include "cli/tune_gemm.h"
#include "cli/tune_program.h"
#include "cli/tune_serve.h"
#include "compute/device/backend.h"
#include "core/json.h"
#include "core/own_binary.h"
#include "core/program.h"
#include "core/units.h"
#include "core/write_file.h"
#include "core/yaml_text.h"
#include "judge/campaign/schedule.h"
#include "measure/benchmarks/plan.h"
#include "statistics/paired.h"
#include "tune/sweep.h"

namespace assay::cli::tune_command {
namespace {

namespace fs = std::filesystem;

struct Request {
  std::string benchmark;
  std::vector<std::string> axes;  ///< AXIS=VALUE
  std::vector<Settings> candidates;
  std::vector<std::pair<std::string, std::string>> options;  ///< of `assay run`
  std::string folder;
};

Result<Request> read_request(const Arguments& arguments) {
  Request request;
  request.benchmark = arguments.positionals.front();
  std::vector<std::vector<Setting>> variables;
  std::vector<AxisSetting> axes;
  for (std::size_t i = 1; i < arguments.positionals.size(); ++i) {
    const std::string& word = arguments.positionals[i];
    if (names_variable(word)) {
      variables.push_back(TRY(parse_setting(word)));
    } else {
      axes.push_back(TRY(parse_axis_setting(word)));
      request.axes.push_back(word);
    }
  }
  TRY(make_plan(request.benchmark, axes));  // so that mistakes are reported before anything runs
  if (variables.empty()) {
    auto backends = make_backends();
    const auto device = TRY(open_device(backends, arguments.get("--device")));
    const std::string& backend = device->facts().backend;
    variables = usual_settings(backend == "cuda" ? "nccl" : backend == "hip" ? "rccl" : "");
    if (request.benchmark != "collective" || variables.empty()) {
      return Error{ErrorKind::usage,
                   fmt::format("no settings are known for {} on {}; name "
                               "variables and their values, e.g. OMP_NUM_THREADS=1,2,4",
                               request.benchmark, backend)};
    }
  }
  request.candidates = TRY(candidates(variables, arguments.has("--combine")));
  for (const char* option : {"--device", "--ranks", "--hosts", "--budget"}) {
    if (arguments.has(option)) request.options.emplace_back(option, arguments.get(option));
  }
  request.folder = arguments.get("--out", "tuning");
  const auto pairs = parse_integer(arguments.get("--pairs", "10"));
  if (!pairs || *pairs < least_units || *pairs % pairs_per_block != 0) {
    return Error{ErrorKind::usage,
                 fmt::format("--pairs \"{}\" is not allowed; allowed: even numbers from {}, since "
                             "fewer pairs prove nothing",
                             arguments.get("--pairs"), least_units)};
  }
  return request;
}

std::vector<std::string> run_words(const Request& request, const std::string& binary) {
  std::vector<std::string> words = {binary, "run", request.benchmark};
  words.insert(words.end(), request.axes.begin(), request.axes.end());
  for (const auto& [option, value] : request.options) {
    words.insert(words.end(), {option, value});
  }
  words.insert(words.end(), {"--telemetry", "off", "--out", "-"});
  return words;
}

std::string gain_text(const Trial& trial, const Trial& first) {
  const auto gain = gain_of(trial, first);
  return gain ? fmt::format("{:+.1f}%", (*gain - 1) * 100) : "-";
}

std::string trials_text(const std::vector<Trial>& trials, std::size_t best, std::size_t width,
                        const Style& style) {
  Table table({{"setting"},
               {"gain", Column::Align::right},
               {"cells", Column::Align::right},
               {"", Column::Align::left, 1}});
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const Trial& trial = trials[i];
    table.add({text_of(trial.settings), i == 0 ? "" : gain_text(trial, trials[0]),
               fmt::format("{}", trial.speeds.size()),
               !trial.problem.empty() ? trial.problem
               : i == best && i > 0   ? "best"
                                      : ""});
  }
  return table.render(width, style);
}

Json trials_json(const std::vector<Trial>& trials, std::size_t best) {
  Json json = Json::object();
  for (std::size_t i = 0; i < trials.size(); ++i) {
    Json one = {{"settings", Json::object()}, {"speeds", trials[i].speeds}};
    for (const Setting& setting : trials[i].settings) {
      one["settings"][setting.variable] = setting.value;
    }
    if (const auto gain = gain_of(trials[i], trials[0])) one["gain"] = *gain;
    if (!trials[i].problem.empty()) one["problem"] = trials[i].problem;
    json["trials"].push_back(std::move(one));
  }
  json["best"] = best;
  return json;
}

/// A campaign of the best setting against the defaults.
std::string plan_text(const Request& request, const Settings& best, const std::string& pairs) {
  std::string text = "name: tuning\n";
  std::string axes;
  for (const std::string& axis : request.axes) {
    const std::size_t equals = axis.find('=');
    axes += fmt::format("{}{}: {}", axes.empty() ? "" : ", ", axis.substr(0, equals),
                        yaml_scalar(axis.substr(equals + 1)));
  }
  text += fmt::format("suite: {}\naxes: {{{}}}\ntelemetry: off\n", request.benchmark, axes);
  for (const auto& [option, value] : request.options) {
    const std::string key = option == "--budget" ? "unit_budget" : option.substr(2);
    text += fmt::format("{}: {}\n", key, yaml_scalar(value));
  }
  text += fmt::format("pairs: {{least: {0}, most: {0}}}\n", pairs);
  text +=
      "environments:\n  - {name: as-it-is, kind: host}\n  - {name: tuned, kind: host, "
      "variables: {";
  for (const Setting& setting : best) {
    text += fmt::format("{}{}: {}", &setting == &best.front() ? "" : ", ", setting.variable,
                        yaml_scalar(setting.value));
  }
  return text + "}}\n";
}

/// The campaign's output and exit status become those of this command.
int prove(const Request& request, const Settings& best, const std::string& binary,
          const Arguments& arguments, Terminal& terminal) {
  const fs::path folder = fs::path(request.folder) / "proof";
  const fs::path plan = fs::path(request.folder) / "proof.yaml";
  const Status written = write_file(plan, plan_text(request, best, arguments.get("--pairs", "10")));
  if (!written.ok()) {
    terminal.complain(written.error().message);
    return exit_io;
  }
  ProgramStart start;
  start.words = {binary, "campaign", plan.string(), "--out", folder.string()};
  if (arguments.has("--json")) start.words.push_back("--json");
  start.stop_requested = &interrupt_requested;
  start.line = [&](std::string_view line) { terminal.print(std::string(line) + "\n"); };
  start.error_line = [&](std::string_view line) { terminal.note(std::string(line) + "\n"); };
  const auto end = run_program(start);
  if (!end.ok()) return report(terminal, end.error());
  if (end->status == exit_differs) return exit_ok;  // better or worse: the question is answered
  return end->status;
}

int run(const Arguments& arguments, Terminal& terminal) {
  if (arguments.has("--example")) {
    return print_example_plan(embedded_tunings(), arguments.get("--example"), terminal);
  }
  if (arguments.positionals.empty()) {
    return report(terminal, {ErrorKind::usage,
                             "nothing to tune; name a benchmark, or gemm, conv, serve or command"});
  }
  if (arguments.positionals.front() == "serve") return tune_serve(arguments, terminal);
  if (arguments.positionals.front() == "command") return tune_program(arguments, terminal);
  if (is_tune_gemm(arguments)) return tune_gemm(arguments, terminal);
  if (is_tune_conv(arguments)) return tune_conv(arguments, terminal);
  const auto request = read_request(arguments);
  if (!request.ok()) return report(terminal, request.error());
  const auto binary = own_binary();
  if (!binary.ok()) return report(terminal, binary.error());
  std::error_code error;
  fs::create_directories(request->folder, error);
  if (error) {
    terminal.complain(fmt::format("cannot create {}: {}", request->folder, error.message()));
    return exit_io;
  }
  catch_interrupts();
  std::vector<Trial> trials;
  for (const Settings& settings : request->candidates) {
    terminal.note(fmt::format("[{}/{}] {}\n", trials.size() + 1, request->candidates.size(),
                              text_of(settings)));
    trials.push_back(try_settings(run_words(*request, *binary), settings, &interrupt_requested));
    if (interrupt_requested()) return exit_interrupted;
    if (trials.size() > 1 || !trials[0].speeds.empty()) continue;
    terminal.complain(
        fmt::format("nothing was measured with the default settings: {}", trials[0].problem));
    return exit_nothing_ran;
  }
  const std::size_t best = best_of(trials);
  terminal.print(arguments.has("--json")
                     ? trials_json(trials, best).dump() + "\n"
                     : trials_text(trials, best, static_cast<std::size_t>(terminal.width()),
                                   terminal.out_style()));
  if (best == 0) {
    terminal.note("no setting was better than the defaults\n");
    return exit_ok;
  }
  terminal.note(fmt::format("proving {} on fresh runs\n", text_of(trials[best].settings)));
  return prove(*request, trials[best].settings, *binary, arguments, terminal);
}

std::vector<Option> with_options_of_libraries(std::vector<Option> options) {
  for (const auto& more : {tune_gemm_options(), tune_conv_options()}) {
    options.insert(options.end(), more.begin(), more.end());
  }
  return options;
}

const Command command = {
    .name = "tune",
    .summary = "Try settings, find the best, and prove its gain on fresh runs",
    .positionals = "BENCHMARK [AXIS=VALUE[,VALUE...]]... [VARIABLE=VALUE[,VALUE...]]...",
    .least_positionals = 0,
    .most_positionals = 128,
    .details =
        R"(Measures BENCHMARK unchanged, then with each value of each environment VARIABLE (in capitals),
each in its own process; --combine tries all combinations. For collective on GPUs, if no variable
is named, the algorithms, protocols and channels of NCCL or RCCL are tried. The best setting by
the geometric mean over all cells may have been luck. Therefore a campaign (`assay campaign`)
then compares it with no setting on fresh runs in turns, and its verdict is the result. The
folder tuning/ keeps the plan (proof.yaml) and all records (proof/).

gemm tunes matrix products: of the cells named by axes as for `assay run gemm`, of a --suite, of a
step of a --model (a GPT of `train`, a decoder of `prefill` and `decode`), or --from a log or a
tuning file, which also says how often each is called; those that take the most time come first.
Of each, every solution that the libraries have is checked for correctness, then timed on rotating
operands by successive halving; the fastest meets the library's own choice in turns, and counts
only if that proves a gain. The folder keeps a journal, with which a tuner that was stopped goes
on, tunableop_results*.csv for PyTorch (PYTORCH_TUNABLEOP_ENABLED=1) and, on AMD GPUs, an override
file for hipBLASLt; assay's own models find the winners in their cache. --read holds tuning files
against this machine's PyTorch and libraries, and merges those of several GPUs. More of it:
`assay help tune-gemm`. With an environment VARIABLE to try, gemm and conv are benchmarks like any other.

conv tunes convolutions: of the cells named by axes as for `assay run conv`, of a --suite (resnet50,
stable-diffusion, unet3d), or --from a log that MIOPEN_ENABLE_LOGGING_CMD=1 made a program print. On AMD
GPUs, MIOpen's own exhaustive search of each fills user databases, new ones or those of --db; then all
run in fresh processes in turns, with the databases as they were and as they are, which proves what
that brings. What is slower is taken back. cuDNN and oneDNN keep no databases: their first choice
is compared with the fastest of all they propose. More of it: `assay help tune-conv`.

command tunes any program: PLAN names its command, its parameters (words of the command or, in
capitals, environment variables) with their values, conditions, and the metric to improve. A search
explores few of the settings, one process each, races the most promising ones, and proves the best on
fresh runs in turns; crashes, wrong results and time-outs are results of a setting. Stopped or killed,
the same command goes on where it was. `assay help tune-command` says more, --example prints plans.

serve, instead of a benchmark, tunes an LLM server. Its arguments are the server's command, with
{port} in place of the port; its parameters without dashes (a flag is just its name) and
environment variables; then, after --, one point of load as for `assay load`. Every trial restarts
the server with its setting, warms it up and loads it. The score is output throughput, or goodput
if the load has --goodput; with --limit, only trials that keep the limit count. So the load must
saturate the server. Then the best setting is compared with the unchanged server on fresh servers
in turns. The folder keeps every run's record and the servers' output.

  assay tune collective op=all_reduce size=1MiB,64MiB,1GiB --ranks 8
  assay tune collective op=all_to_all size=64MiB NCCL_MIN_NCHANNELS=32,64,112 --ranks 8
  assay tune gemm shape=8192x8192x8192,16384x1024x8192 dtype=bf16,e4m3 layout=TN
  assay tune gemm --model llama3-70b --tokens 16,8192 --devices all --check
  assay tune gemm --from tunableop_untuned0.csv --from hipblaslt.log --format bench
  assay tune gemm --read tunableop_results0.csv --read tunableop_results1.csv --out merged
  assay tune conv --suite resnet50 precision=bf16 --devices all
  assay tune conv --from miopen.log --db ~/.config/miopen
  assay tune command --example triton > plan.yaml; assay tune command plan.yaml
  assay tune serve "vllm serve MODEL --port {port}" max-num-seqs=128,256,512 --limit p99_e2el:30s \
    -- --max-concurrency 256 --requests 4x

)",
    .options = with_options_of_libraries({
        {"--ranks", "N", "as for `assay run`", ""},
        {"--hosts", "LIST", "as for `assay run`", ""},
        {"--device", "NAME", "as for `assay run`", "cpu cuda hip"},
        {"--budget", "TIME",
         "time for one run, as for `assay run`; for gemm, to try all solutions of a product, "
         "default 20s; for conv, of each convolution in a run, default 3s",
         ""},
        {"--combine", "", "try every combination of values instead of each alone", ""},
        {"--pairs", "N",
         "pairs of runs in the final test, an even number, from 6, default 10; for gemm 12; for "
         "serve any from 6, default 6",
         ""},
        {"--limit", "LATENCIES",
         "for serve: limits that a trial must meet, e.g. p99_e2el:500ms,mean_ttft:200ms", ""},
        {"--example", "NAME", "for command: print an example plan and exit",
         "triton ck hipblaslt vllm"},
        {"--out", "DIR", "output folder; default ./tuning", "folder"},
    }),
    .run = &run,
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli::tune_command
