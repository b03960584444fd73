// assay tune: what it can tune, and its help.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "cli/cli.h"
#include "cli/command.h"
#include "cli/example_plan.h"
#include "cli/tune/tune_benchmark.h"
#include "cli/tune/tune_conv.h"
#include "cli/tune/tune_gemm.h"
#include "cli/tune/tune_program.h"
#include "cli/tune/tune_serve.h"

namespace assay::cli::tune_command {
namespace {

/// Refuses options that say nothing to this kind of tuning. Error: usage.
Status check_options(const Arguments& arguments, std::string_view kind,
                     std::vector<std::string_view> known) {
  known.insert(known.end(), {"--out", "--json", "--color", "--help"});
  for (const auto& [option, values] : arguments.options) {
    if (std::find(known.begin(), known.end(), option) != known.end()) continue;
    return Error{ErrorKind::usage, fmt::format("{} does not apply to {}; its options: {}", option,
                                               kind, fmt::join(known, ", "))};
  }
  return {};
}

Status check_options(const Arguments& arguments) {
  const std::string& kind = arguments.positionals.front();
  if (kind == "command") return check_options(arguments, kind, {});
  if (kind == "serve") {
    return check_options(arguments, kind, {"--runs", "--pairs", "--combine", "--limit"});
  }
  if (is_tune_gemm(arguments) || is_tune_conv(arguments)) {
    if (!arguments.has("--runs")) return {};
    return Error{ErrorKind::usage, fmt::format("--runs does not apply to {}, which tries all "
                                               "solutions within --budget",
                                               kind)};
  }
  return check_options(
      arguments, kind,
      {"--runs", "--pairs", "--combine", "--device", "--ranks", "--hosts", "--budget"});
}

int run(const Arguments& arguments, Terminal& terminal) {
  if (arguments.has("--example")) {
    return print_example_plan(embedded_tunings(), arguments.get("--example"), terminal);
  }
  if (arguments.positionals.empty()) {
    return report(terminal, {ErrorKind::usage,
                             "nothing to tune; name a benchmark, or gemm, conv, serve or command"});
  }
  if (const Status checked = check_options(arguments); !checked.ok()) {
    return report(terminal, checked.error());
  }
  if (arguments.positionals.front() == "serve") return tune_serve(arguments, terminal);
  if (arguments.positionals.front() == "command") return tune_program(arguments, terminal);
  if (is_tune_gemm(arguments)) return tune_gemm(arguments, terminal);
  if (is_tune_conv(arguments)) return tune_conv(arguments, terminal);
  return tune_benchmark(arguments, terminal);
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
        R"(Tunings of benchmarks, servers and programs take the same course, and gemm and conv end with the
same proof. A search tries settings, each run in a process of its own: all of them in a race, in
which the better ones run again, or, where they are too many for --runs, those that earlier runs
make promising. The best of a search may have been luck. Therefore it then meets the usual setting
on fresh runs in turns, and what these prove is the result, also that no setting is better. Failures
and time-outs are results of a setting. The folder tuning/ keeps every run's records; stopped or
killed, the same command goes on where it was.

Of BENCHMARK, the settings are the values of environment variables (VARIABLE, in capitals), one
changed at a time, or with --combine every combination, and the score is the geometric mean of the
speeds of all cells. For collective on GPUs, if no variable is named, they are the algorithms,
protocols and channels of NCCL or RCCL.

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
that brings. What is not proven to be faster is taken back. cuDNN and oneDNN keep no databases: their
first choice is compared with the fastest of all they propose. More of it: `assay help tune-conv`.

command tunes any program: PLAN names its command, its parameters (words of the command or, in
capitals, environment variables) with their values, conditions, and the metric to improve.
`assay help tune-command` says more, --example prints plans.

serve, instead of a benchmark, tunes an LLM server. Its arguments are the server's command, with
{port} in place of the port; its parameters without dashes (a flag is just its name) and
environment variables; then, after --, one point of load as for `assay load`. Every run starts the
server with its setting, warms it up and loads it. The score is output throughput, or goodput if the
load has --goodput; with --limit, only runs that keep the limit count. So the load must saturate the
server. The folder keeps the servers' output, too.

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
         "default 60s; for conv, of each convolution in a run, default 3s",
         ""},
        {"--combine", "", "try every combination of values instead of each alone", ""},
        {"--runs", "N", "most runs of the search, default 200, for serve 60", ""},
        {"--pairs", "N",
         "pairs of runs in the proof, an even number from 6, default 10, for gemm 12, for serve 6",
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
