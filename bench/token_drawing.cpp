// What drawing tokens costs beside taking the most likely ones: a line for each way and for logits
// that are spread narrowly, as those of random weights, or widely. Run:
// build/bench/bench_token_drawing [ROWS [VOCABULARY]]; default 64 rows of 151936 logits in bf16, on
// the default device, or what ASSAY_BENCH_DEVICE names.
#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "compute/device/backend.h"
#include "compute/device/rtc_worker.h"
#include "core/random.h"
#include "model/operations/token_logprobs.h"
#include "model/operations/token_rows.h"
#include "model/operations/token_sampling.h"
#include "model/tensors/weights.h"
#include "statistics/summary.h"

namespace assay {
namespace {

constexpr int rounds = 15, calls = 10;

/// The median time of a call, of those that are queued one after another.
template <typename Queue>
Result<double> seconds_of(Device& device, Stream& stream, const Queue& queue) {
  const auto start = TRY(device.create_event()), stop = TRY(device.create_event());
  std::vector<double> seconds;
  for (int i = -3; i < rounds; ++i) {
    TRY(stream.record(*start));
    for (int call = 0; call < calls; ++call) TRY(queue());
    TRY(stream.record(*stop));
    TRY(stream.synchronize());
    if (i >= 0) seconds.push_back(TRY(stop->seconds_since(*start)) / calls);
  }
  return median(seconds);
}

Status measure(Device& device, std::int64_t rows, std::int64_t vocabulary, double spread) {
  const std::int64_t columns = (vocabulary + row_pack - 1) / row_pack * row_pack;
  const auto stream = TRY(device.create_stream());
  Random random(3);
  std::vector<float> numbers(static_cast<std::size_t>(rows * columns));
  for (float& number : numbers) number = static_cast<float>(spread * random.normal());
  const Buffer logits = TRY(device.allocate(numbers.size() * 2, MemoryKind::device));
  TRY(write_weights(*stream, logits.data(), DataType::bf16, numbers));
  const auto count = static_cast<std::size_t>(rows);
  const Buffer next = TRY(device.allocate(count * sizeof(std::int32_t), MemoryKind::device)),
               drawn = TRY(device.allocate(count * sizeof(DrawnRow), MemoryKind::device));
  TokenRows most_likely = TRY(TokenRows::create(device, DataType::bf16));
  TokenSampling sampling = TRY(TokenSampling::create(device, DataType::bf16, rows));
  TokenLogprobs logprobs = TRY(TokenLogprobs::create(device, DataType::bf16, rows));
  const auto find = [&] {
    return most_likely.most_likely(*stream, next.data(), logits.data(), rows, vocabulary, columns);
  };
  const double greedy = TRY(seconds_of(device, *stream, find));
  fmt::print("{} rows of {}, spread {}: most likely {:.1f} us\n", rows, vocabulary, spread,
             greedy * 1e6);
  const struct {
    const char* name;
    DrawnRow how;
  } ways[] = {{"temperature 0.8", {.temperature = 0.8}},
              {"temperature 0.8, top_p 0.95", {.temperature = 0.8, .top_p = 0.95}},
              {"temperature 0.8, top_k 50", {.temperature = 0.8, .top_k = 50}},
              {"temperature 0.8, min_p 0.05", {.temperature = 0.8, .min_p = 0.05}}};
  for (const auto& way : ways) {
    std::vector<DrawnRow> all(count, way.how);
    for (std::size_t i = 0; i < count; ++i) {
      all[i].row = static_cast<std::int64_t>(i);
      all[i].uniform = random.uniform();
    }
    TRY(stream->copy(drawn.data(), all.data(), all.size() * sizeof(DrawnRow)));
    TRY(stream->synchronize());
    // Drawing needs the most likely tokens, which it replaces.
    const double both = TRY(seconds_of(device, *stream, [&]() -> Status {
      TRY(find());
      return sampling.draw(*stream, next.data(), logits.data(), drawn.data(), rows, vocabulary,
                           columns);
    }));
    fmt::print("  {:<30} {:8.1f} us more\n", way.name, (both - greedy) * 1e6);
  }
  std::vector<LogprobRow> wanted;
  for (std::int64_t row = 0; row < rows; ++row) {
    wanted.push_back({.row = static_cast<std::int32_t>(row), .count = most_logprobs});
  }
  const double found = TRY(seconds_of(device, *stream, [&]() -> Status {
    TRY(logprobs.find_likeliest(*stream, logits.data(), wanted, vocabulary, columns));
    return logprobs.find_chosen(*stream, next.data(), logits.data(), columns, nullptr);
  }));
  fmt::print("  {:<30} {:8.1f} us more\n", "20 log probabilities a row", found * 1e6);
  return {};
}

Status run(std::int64_t rows, std::int64_t vocabulary) {
  auto backends = make_backends();
  const char* const name = std::getenv("ASSAY_BENCH_DEVICE");
  const auto device = TRY(open_device(backends, name != nullptr ? name : ""));
  for (const double spread : {0.5, 2.0, 8.0}) TRY(measure(*device, rows, vocabulary, spread));
  return {};
}

}  // namespace
}  // namespace assay

int main(int count, char** arguments) {
  if (const auto status = assay::run_as_rtc_worker(count, arguments)) return *status;
  const assay::Status done = assay::run(count > 1 ? std::atoll(arguments[1]) : 64,
                                        count > 2 ? std::atoll(arguments[2]) : 151936);
  if (done.ok()) return 0;
  fmt::print(stderr, "{}\n", done.error().message);
  return 1;
}
