// prefill: the time from prompts to the first generated token of each, with a decoder in this
// process.
#include "measure/benchmarks/decode/decoder_benchmark.h"

namespace assay::prefill_benchmark {
namespace {

const DecoderBenchmark benchmark(DecoderPhase::prefill, "prefill",
                                 "time to first token of a decoder",
                                 {.name = "prompt",
                                  .description = "tokens of each sequence; auto: 2048 on a GPU, 64 "
                                                 "on a CPU",
                                  .defaults = {},
                                  .choices = {}});
const Registry<const Benchmark*>::Add registered{&benchmark};

}  // namespace
}  // namespace assay::prefill_benchmark
