// decode: the time of one more token of each sequence, with a decoder in this process.
#include "measure/benchmarks/decode/decoder_benchmark.h"

namespace assay::decode_benchmark {
namespace {

const DecoderBenchmark benchmark(DecoderPhase::decode, "decode",
                                 "time per generated token of a decoder",
                                 {.name = "context",
                                  .description = "tokens that each new one sees, itself included; "
                                                 "auto: 1024 on a GPU, 64 on a CPU",
                                  .defaults = {},
                                  .choices = {}});
const Registry<const Benchmark*>::Add registered{&benchmark};

}  // namespace
}  // namespace assay::decode_benchmark
