// What quantization costs a decoder's quality: the mean relative error of its logits, and how often
// the most likely next token is that of the same model in f32, over random contexts. A line for
// each way to store and multiply matrices, bf16 beside them; the last one says what fp8 inputs cost
// beside fp8 matrices. Random weights are unkind: their logits differ little, so that small errors
// change the first token. Run:
// build/bench/bench_decoder_quality [MODEL [CONTEXTS [TOKENS]]]; default 4L8H2K32D256C768F2048V,
// 1000 contexts of 12 tokens, on the default device, or what ASSAY_BENCH_DEVICE names.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "compute/device/backend.h"
#include "compute/device/rtc_worker.h"
#include "core/random.h"
#include "model/decoder/decoder.h"
#include "model/decoder/decoder_self_check.h"
#include "model/transformer/named_shapes.h"

namespace assay {
namespace {

constexpr std::int64_t contexts_of_pass = 64;

struct Contexts {
  std::int64_t count = 1000, tokens = 12;
};

/// Logits of the last token of every context.
Result<std::vector<float>> logits_of(Device& device, DecoderSettings settings, Contexts contexts) {
  const std::int64_t blocks = (contexts.tokens + page_tokens - 1) / page_tokens;
  settings.limits = {.tokens = contexts_of_pass * contexts.tokens,
                     .results = contexts_of_pass,
                     .sequences = contexts_of_pass,
                     .positions = contexts.tokens,
                     .blocks = contexts_of_pass * blocks};
  const auto stream = TRY(device.create_stream());
  const auto decoder = TRY(Decoder::create(device, *stream, settings));
  std::vector<std::int32_t> tables;
  for (std::int64_t i = 0; i < contexts_of_pass * blocks; ++i) {
    tables.push_back(static_cast<std::int32_t>(i));
  }
  TRY(decoder->set_tables(*stream, tables));
  std::vector<float> all;
  Random random(7);
  for (std::int64_t first = 0; first < contexts.count; first += contexts_of_pass) {
    DecoderTokens tokens;
    const std::int64_t count = std::min(contexts_of_pass, contexts.count - first);
    for (std::int64_t i = 0; i < count * contexts.tokens; ++i) {
      tokens.tokens.push_back(static_cast<std::int32_t>(
          random.next() % static_cast<std::uint64_t>(settings.shape.vocabulary)));
      tokens.positions.push_back(static_cast<std::int32_t>(i % contexts.tokens));
      tokens.sequences.push_back(static_cast<std::int32_t>(i / contexts.tokens));
      if ((i + 1) % contexts.tokens == 0) tokens.results.push_back(static_cast<std::int32_t>(i));
    }
    TRY(decoder->set_tokens(*stream, tokens));
    TRY(decoder->enqueue(
        *stream,
        {.tokens = count * contexts.tokens, .results = count, .longest = contexts.tokens - 1}));
    const std::vector<float> logits = TRY(decoder->logits(*stream, count));
    all.insert(all.end(), logits.begin(), logits.end());
  }
  return all;
}

void print_line(const char* name, const std::vector<float>& found,
                const std::vector<float>& reference, std::int64_t vocabulary) {
  double error = 0, same = 0, contexts = 0;
  for (auto row = reference.begin(); row != reference.end(); row += vocabulary, ++contexts) {
    const auto mine = found.begin() + (row - reference.begin());
    const std::vector<double> expected(row, row + vocabulary);
    error += relative_distance({mine, mine + vocabulary}, expected);
    same += std::max_element(mine, mine + vocabulary) - mine ==
                    std::max_element(row, row + vocabulary) - row
                ? 1
                : 0;
  }
  fmt::print("{:<28} {:>10.4f} {:>10.1f}%\n", name, error / contexts, 100 * same / contexts);
}

Status print(const char* model, Contexts contexts) {
  auto backends = make_backends();
  const char* const name = std::getenv("ASSAY_BENCH_DEVICE");
  const auto device = TRY(open_device(backends, name != nullptr ? name : ""));
  const Quantization fp8 = quantization_named("fp8", device->facts());
  DecoderSettings settings = {.shape = TRY(parse_decoder_shape(model)), .limits = {}};
  settings.precision = DataType::f32;
  const std::vector<float> reference = TRY(logits_of(*device, settings, contexts));
  settings.precision = DataType::bf16;
  const struct {
    const char* name;
    Quantization quantization;
    std::optional<DataType> cache_codes = {};
  } ways[] = {{"bf16", {}},
              {"fp8 cache", {}, fp8.codes},
              {"int8 matrices", {DataType::i8}},
              {"fp8 matrices, inputs, cache", {fp8.codes, InputCodes::always}, fp8.codes},
              {"fp8 matrices and inputs", {fp8.codes, InputCodes::always}},
              {"fp8 matrices", {fp8.codes}}};
  fmt::print("{} contexts of {} tokens, {} on {}\n", contexts.count, contexts.tokens, model,
             device->facts().name);
  fmt::print("{:<28} {:>10} {:>11}\n", "", "error", "same token");
  std::vector<float> last, before;
  for (const auto& way : ways) {
    settings.quantization = way.quantization;
    settings.cache_codes = way.cache_codes;
    before = std::exchange(last, TRY(logits_of(*device, settings, contexts)));
    print_line(way.name, last, reference, settings.shape.vocabulary);
  }
  print_line("fp8 inputs, by fp8 matrices", before, last, settings.shape.vocabulary);
  return {};
}

}  // namespace
}  // namespace assay

int main(int count, char** arguments) {
  using namespace assay;
  if (const auto status = run_as_rtc_worker(count, arguments)) return *status;
  Contexts contexts;
  if (count > 2) contexts.count = std::atoll(arguments[2]);
  if (count > 3) contexts.tokens = std::atoll(arguments[3]);
  const Status printed = print(count > 1 ? arguments[1] : "4L8H2K32D256C768F2048V", contexts);
  if (printed.ok()) return 0;
  fmt::print(stderr, "{}\n", printed.error().message);
  return 1;
}
