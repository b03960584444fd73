#include "measure/benchmarks/tensor_parallel/tensor_exchange.h"

#include "ranks/team/agreement.h"

namespace assay {

Result<TensorExchange> measure_tensor_exchange(const std::optional<ExchangingWork>& work,
                                               Device& device, Stream& stream, ModelRanks ranks,
                                               bool replayed) {
  TensorExchange found;
  const auto measure = [&]() -> Result<std::string> {
    if (!work) return std::string();
    ExchangeTimes times = TRY(measure_exchange(*work, device, stream, ranks, replayed));
    const std::vector<CollectiveCall> calls = work->exchanged();
    for (const CollectiveCall& call : calls)
      found.bytes += bytes_of(call, ranks.communicator->size());
    found.calls = calls.size();
    found.bytes_of_one = bytes_of(calls.front(), ranks.communicator->size());
    times.one = TRY(measure_call(calls.front(), device, stream, ranks, replayed));
    return to_text(times);
  };
  auto mine = measure();
  TRY(agree(*ranks.team, "measuring the exchange", mine.ok() ? Status() : Status(mine.error())));
  const auto all = TRY(ranks.team->exchange("comparing the times of passes", *std::move(mine)));
  found.times = TRY(of_all_ranks(all));
  return found;
}

void add_metrics(std::vector<Metric>& metrics, const TensorExchange& exchange) {
  const ExchangeTimes& times = exchange.times;
  const auto add = [&](const char* name, double value, const char* unit,
                       Better better = Better::neither) {
    metrics.push_back({.name = name, .value = value, .unit = unit, .better = better, .text = ""});
  };
  add("time_with_exchange", times.step, "s");
  add("time_without_exchange", times.passes, "s");
  add("exchange_exposed", times.exposed(), "s", Better::lower);
  add("exchange_alone", times.alone, "s", Better::lower);
  add("exchange_calls", static_cast<double>(exchange.calls), "1");
  add("exchange_bytes", static_cast<double>(exchange.bytes), "bytes");
  add("exchange_bus_bandwidth", times.bus_bytes / times.alone, "bytes/s", Better::higher);
  add("message_bytes", static_cast<double>(exchange.bytes_of_one), "bytes");
  add("message_time", times.one, "s", Better::lower);
  add("rank_skew", times.skew, "1");
}

}  // namespace assay
