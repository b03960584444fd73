// What quantization costs a decoder's quality: the mean relative error of its logits, and how often
// the most likely next token is that of the same model in f32. A line for each way to store and
// multiply matrices, bf16 beside them; the last one says what fp8 inputs cost beside fp8 matrices.
//
//   build/bench/bench_decoder_quality [MODEL [CONTEXTS [TOKENS]]]
//   build/bench/bench_decoder_quality text=FOLDER [STEPS [CONTEXTS [TOKENS]]]
//
// The first form has random weights and random contexts; default 4L8H2K32D256C768F2048V, 1000
// contexts of 12 tokens. Such weights are unkind: their logits differ little, so that small errors
// change the first token. The second form trains a small model on the .md files of a folder, for
// 400 steps by default, which take less than a minute of CPU time. Its contexts, 1000 of 64 tokens,
// are from the last tenth of that text, on which no step trains. For these it also prints the
// perplexity of each token after the ones before it. The device is the default one, or what
// ASSAY_BENCH_DEVICE names.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compute/device/backend.h"
#include "compute/device/rtc_worker.h"
#include "core/random.h"
#include "model/decoder/decoder.h"
#include "model/decoder/decoder_self_check.h"
#include "model/transformer/named_shapes.h"
#include "support/temporary_folder.h"
#include "text_model.h"

namespace assay {
namespace {

constexpr std::int64_t contexts_of_pass = 64;

/// Texts of one length.
struct Contexts {
  std::int64_t count = 1000, tokens = 12;
  std::vector<std::int32_t> text;  ///< [count, tokens]
  std::vector<std::int32_t> next;  ///< the token after each of them, if the text goes on
};

Contexts random_contexts(std::int64_t count, std::int64_t tokens, std::int64_t vocabulary) {
  Contexts contexts = {count, tokens, {}, {}};
  Random random(7);
  for (std::int64_t i = 0; i < count * tokens; ++i) {
    contexts.text.push_back(
        static_cast<std::int32_t>(random.next() % static_cast<std::uint64_t>(vocabulary)));
  }
  return contexts;
}

/// Cut at random places.
Contexts contexts_of(const std::vector<std::int32_t>& text, std::int64_t count,
                     std::int64_t tokens) {
  Contexts contexts = {count, tokens, {}, {}};
  Random random(7);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at =
        static_cast<std::int64_t>(random.next() % (text.size() - static_cast<std::size_t>(tokens)));
    const auto begin = text.begin() + at;
    contexts.text.insert(contexts.text.end(), begin, begin + tokens);
    contexts.next.insert(contexts.next.end(), begin + 1, begin + tokens + 1);
  }
  return contexts;
}

/// What a model says of contexts.
struct Predictions {
  std::vector<float> last_logits;  ///< of the last token of each context
  double loss = 0;                 ///< of the tokens in Contexts::next, mean, in nats
};

double loss_of(const float* logits, std::int64_t vocabulary, std::int32_t token) {
  const double largest = static_cast<double>(*std::max_element(logits, logits + vocabulary));
  double sum = 0;
  for (std::int64_t i = 0; i < vocabulary; ++i) {
    sum += std::exp(static_cast<double>(logits[i]) - largest);
  }
  return std::log(sum) + largest - static_cast<double>(logits[token]);
}

Result<Predictions> predict(Device& device, DecoderSettings settings, const Contexts& contexts) {
  const std::int64_t blocks = (contexts.tokens + page_tokens - 1) / page_tokens;
  const bool wants_all = !contexts.next.empty();
  settings.limits = {.tokens = contexts_of_pass * contexts.tokens,
                     .results = contexts_of_pass * (wants_all ? contexts.tokens : 1),
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
  Predictions all;
  const std::int64_t vocabulary = settings.shape.vocabulary;
  for (std::int64_t first = 0; first < contexts.count; first += contexts_of_pass) {
    DecoderTokens tokens;
    const std::int64_t count = std::min(contexts_of_pass, contexts.count - first);
    const auto begin = static_cast<std::size_t>(first * contexts.tokens);
    for (std::int64_t i = 0; i < count * contexts.tokens; ++i) {
      tokens.tokens.push_back(contexts.text[begin + static_cast<std::size_t>(i)]);
      tokens.positions.push_back(static_cast<std::int32_t>(i % contexts.tokens));
      tokens.sequences.push_back(static_cast<std::int32_t>(i / contexts.tokens));
      if (wants_all || (i + 1) % contexts.tokens == 0) {
        tokens.results.push_back(static_cast<std::int32_t>(i));
      }
    }
    const std::int64_t results = std::ssize(tokens.results);
    TRY(decoder->set_tokens(*stream, tokens));
    TRY(decoder->enqueue(
        *stream,
        {.tokens = count * contexts.tokens, .results = results, .longest = contexts.tokens - 1}));
    const std::vector<float> logits = TRY(decoder->logits(*stream, results));
    const std::int64_t of_context = results / count;
    for (std::int64_t i = 0; i < results; ++i) {
      const float* const row = logits.data() + i * vocabulary;
      if (wants_all) {
        all.loss += loss_of(row, vocabulary, contexts.next[begin + static_cast<std::size_t>(i)]);
      }
      if ((i + 1) % of_context == 0) {
        all.last_logits.insert(all.last_logits.end(), row, row + vocabulary);
      }
    }
  }
  if (wants_all) all.loss /= static_cast<double>(contexts.next.size());
  return all;
}

void print_line(const char* name, const Predictions& found, const Predictions& reference,
                std::int64_t vocabulary) {
  double error = 0, same = 0, contexts = 0;
  const std::vector<float>& logits = reference.last_logits;
  for (auto row = logits.begin(); row != logits.end(); row += vocabulary, ++contexts) {
    const auto mine = found.last_logits.begin() + (row - logits.begin());
    const std::vector<double> expected(row, row + vocabulary);
    error += relative_distance({mine, mine + vocabulary}, expected);
    same += std::max_element(mine, mine + vocabulary) - mine ==
                    std::max_element(row, row + vocabulary) - row
                ? 1
                : 0;
  }
  const std::string perplexity = found.loss > 0 ? fmt::format("{:.4f}", std::exp(found.loss)) : "-";
  fmt::print("{:<28} {:>10.4f} {:>10.1f}% {:>12}\n", name, error / contexts, 100 * same / contexts,
             perplexity);
}

Status print(Device& device, DecoderSettings settings, const Contexts& contexts) {
  const Quantization fp8 = quantization_named("fp8", device.facts());
  settings.precision = DataType::f32;
  const Predictions reference = TRY(predict(device, settings, contexts));
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
  fmt::print("{} contexts of {} tokens on {}\n", contexts.count, contexts.tokens,
             device.facts().name);
  fmt::print("{:<28} {:>10} {:>11} {:>12}\n", "", "error", "same token", "perplexity");
  print_line("f32", reference, reference, settings.shape.vocabulary);
  Predictions last, before;
  for (const auto& way : ways) {
    settings.quantization = way.quantization;
    settings.cache_codes = way.cache_codes;
    before = std::exchange(last, TRY(predict(device, settings, contexts)));
    print_line(way.name, last, reference, settings.shape.vocabulary);
  }
  print_line("fp8 inputs, by fp8 matrices", before, last, settings.shape.vocabulary);
  return {};
}

std::int64_t number(const std::vector<std::string>& words, std::size_t index,
                    std::int64_t otherwise) {
  return words.size() > index ? std::atoll(words[index].c_str()) : otherwise;
}

Status run(const std::vector<std::string>& words) {
  constexpr std::string_view of_text = "text=";
  auto backends = make_backends();
  const char* const name = std::getenv("ASSAY_BENCH_DEVICE");
  const auto device = TRY(open_device(backends, name != nullptr ? name : ""));
  const std::string model = words.empty() ? "4L8H2K32D256C768F2048V" : words[0];
  if (!model.starts_with(of_text)) {
    const TransformerShape shape = TRY(parse_decoder_shape(model));
    fmt::print("{}, random weights\n", model);
    return print(*device, {.shape = shape, .limits = {}},
                 random_contexts(number(words, 1, 1000), number(words, 2, 12), shape.vocabulary));
  }
  const TemporaryFolder files;
  const std::int64_t steps = number(words, 1, 400);
  const TextModel trained =
      TRY(train_on_text(*device, {model.substr(of_text.size()), steps}, files.path()));
  fmt::print("trained for {} steps in {:.0f} s to a loss of {:.3f} nats a byte\n", steps,
             trained.seconds, trained.loss);
  return print(*device, {.shape = trained.shape, .limits = {}, .folder = trained.folder},
               contexts_of(trained.held_back, number(words, 2, 1000), number(words, 3, 64)));
}

}  // namespace
}  // namespace assay

int main(int count, char** arguments) {
  using namespace assay;
  if (const auto status = run_as_rtc_worker(count, arguments)) return *status;
  const Status done = run({arguments + 1, arguments + count});
  if (done.ok()) return 0;
  fmt::print(stderr, "{}\n", done.error().message);
  return 1;
}
