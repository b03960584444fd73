// assay tune: tunes benchmarks; its help describes what all kinds of tunings share.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "cli/advise/tune_benchmark.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/completion_words.h"
#include "core/suggest.h"
#include "measure/grid/benchmark.h"

namespace assay::cli::tune_command {
namespace {

/// The second words of "tune gemm", "tune conv" and so on.
std::vector<std::string> kind_words() {
  std::vector<std::string> words;
  for (const Command* kind : kinds_of(*find_command("tune"))) {
    words.emplace_back(kind_word(*kind));
  }
  return words;
}

int run(const Arguments& arguments, Terminal& terminal) {
  if (arguments.positionals.empty()) {
    return report(terminal, {ErrorKind::usage,
                             "nothing to tune; name a benchmark, or gemm, conv, serve or command"});
  }
  const std::string& word = arguments.positionals.front();
  const std::string kind = did_you_mean(word, kind_words());
  if (find_benchmark(word) == nullptr && !kind.empty()) {
    return report(terminal, {ErrorKind::usage, fmt::format("cannot tune \"{}\"{}", word, kind)});
  }
  return tune_benchmark(arguments, terminal);
}

const Command command = {
    .name = "tune",
    .summary = "Try settings of a benchmark, find the best, and prove its gain on fresh runs",
    .group = CommandGroup::tune,
    .positionals = "BENCHMARK [AXIS=VALUE[,VALUE...]]... [VARIABLE=VALUE[,VALUE...]]...",
    .least_positionals = 0,
    .most_positionals = 128,
    .details =
        R"(The settings are the values of environment variables (VARIABLE, in capitals), one changed at a
time, or with --combine every combination, and the score is the geometric mean of the speeds of all
cells. For collective on GPUs, if no variable is named, they are the algorithms, protocols and
channels of NCCL or RCCL.

Four other things are tuned, each with a help of its own: matrix products (`assay tune gemm --help`),
convolutions (`assay tune conv --help`), servers of language models (`assay tune serve --help`) and any
program (`assay tune command --help`).

Tunings of benchmarks, servers and programs work alike, and gemm and conv end with the same proof.
First, a search tries settings, each run in a process of its own. All settings run, the better ones
run again, and so on; if they are too many for --runs, a model of the earlier runs picks candidates.
The winner may have been lucky, so it is then compared with the default setting on fresh runs that
alternate. Only that comparison counts, and it may prove that no setting is better. A setting that
crashes or times out has failed. The folder tuning/ keeps every run's records; if a tuning is
stopped or killed, the same command continues it.

  assay tune collective op=all_reduce size=1MiB,64MiB,1GiB --ranks 8
  assay tune collective op=all_to_all size=64MiB NCCL_MIN_NCHANNELS=32,64,112 --ranks 8
  assay tune memory op=triad OMP_NUM_THREADS=16,32,64 --device cpu

)",
    .options = with_variable_options({
        {"--device", "NAME", "as for `assay run`", "cpu cuda hip"},
        {"--unit-budget", "TIME", "time for one run: its --budget", "", false, "--budget"},
        {"--pairs", "N", "pairs of runs in the proof, an even number from 6, default 10", ""},
        {"--dry-run", "", "show what would be tried, and for how long, and stop", ""},
        {"--out", "DIR", "output folder; default ./tuning", "folder", false, "--output"},
    }),
    .run = &run,
    .operands = &benchmark_names,
};
const CommandRegistry::Add registered{&command};

}  // namespace
}  // namespace assay::cli::tune_command
