#include "measure/benchmarks/tensor_parallel/tensor_parallel_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compute/device/helpers.h"
#include "core/random.h"
#include "measure/benchmarks/tensor_parallel/tensor_exchange.h"
#include "measure/sampling/team_results.h"
#include "model/operations/joined_columns.h"
#include "model/operations/linear.h"
#include "model/parallel/tensor_parallel.h"
#include "model/tensors/weights.h"
#include "ranks/team/agreement.h"

namespace assay {
namespace {

double as_double(std::int64_t x) {
  return static_cast<double>(x);
}

class ToyCase final : public Case {
 public:
  ToyCase(const TensorCell& cell, const PrepareContext& context, ModelRanks ranks)
      : cell_(cell),
        toy_(std::get<LayersCell>(cell.model)),
        device_(context.device),
        seed_(context.seed),
        ranks_(ranks),
        own_(toy_.hidden / cell.ranks),
        plans_(context.device, context.stream, {.own_if_none = true},
               ChoiceCache::of_user(context.device.facts())) {}

  Status prepare(Stream& stream) {
    TRY(agree(*ranks_.team, "making the toy", takes_part() ? make(stream) : Status()));
    TRY(agree(*ranks_.team, "running the toy", takes_part() ? begin(stream) : Status()));
    return {};
  }

  Work work() const override {
    const double b = as_double(toy_.batch), h = as_double(toy_.hidden), own = as_double(own_);
    const double elements = h * own + h * h + b * (3 * h + (several() ? 2 * own + 2 * h : 0));
    return {.bytes = elements * static_cast<double>(size_of(toy_.precision)),
            .flops = 2 * b * h * (own + h),
            .math = toy_.precision,
            .samples = b,
            .ranks = as_double(cell_.ranks)};
  }
  Quantity quantity() const override { return Quantity::latency; }
  Limit limit() const override { return Limit::compute; }
  bool takes_part() const override { return ranks_.team->rank() < cell_.ranks; }
  bool waits_for_all() const override { return several(); }
  bool fits_behind_gate() const override { return cell_.graph; }

  std::vector<std::pair<std::string, std::string>> notes() const override {
    std::vector<std::pair<std::string, std::string>> all = {{"gemm", plans_.libraries()}};
    if (several() && takes_part()) all.emplace_back("exchange", ranks_.communicator->library());
    exchange_times_.times.add_doubt(all);
    return all;
  }

  Status enqueue(Stream& stream) override {
    if (!takes_part()) return {};
    return graph_ ? stream.launch(*graph_) : forward(stream);
  }
  Status after_sample() override {
    return several() && takes_part() ? ranks_.communicator->status() : Status();
  }

  Result<Verification> verify(Stream& stream) override {
    if (!takes_part()) return Verification{true, "takes no part", 0, 0, ""};
    return compare(stream);
  }

  Status measure_costs(Stream& stream) override {
    if (!several()) return {};
    exchange_times_ =
        TRY(measure_tensor_exchange(exchanging_work(stream), device_, stream, ranks_, cell_.graph));
    return {};
  }

  std::vector<Metric> metrics(const Summary& seconds) const override {
    const auto of = [](const char* name, double value, const char* unit, Better better) {
      return Metric{.name = name, .value = value, .unit = unit, .better = better, .text = ""};
    };
    std::vector<Metric> all = {
        of("sample_rate", as_double(toy_.batch) / seconds.median, "samples/s", Better::higher),
        of("flop_rate", work().flops / seconds.median, "FLOP/s", Better::higher),
        of("memory", static_cast<double>(cell_.bytes()), "bytes", Better::neither)};
    if (several()) add_metrics(all, exchange_times_);
    return all;
  }

 private:
  bool several() const { return cell_.ranks > 1; }

  /// Layouts of weights and inputs, for one rank's shard or for the whole model. Initial values
  /// depend on an element's offset in the whole layout.
  struct Places {
    Tensor first, first_bias, second, second_bias, x;
    std::size_t elements;

    Places(const LayersCell& toy, std::int64_t outputs) : elements(0) {
      TensorPlaces place;
      second = place.next(toy.hidden, toy.hidden);
      second_bias = place.next(1, toy.hidden);
      x = place.next(toy.batch, toy.hidden);
      first_bias = place.next(1, outputs);
      first = place.next(outputs, toy.hidden);
      elements = place.used();
    }
  };

  std::int64_t first_output() const { return ranks_.team->rank() * own_; }
  void* at(const Buffer& arena, const Tensor& t) const {
    return address_of(arena, t, size_of(toy_.precision));
  }

  /// Writes the weights and inputs; those of the first layer for the outputs from `begin` on, as
  /// many as `places` has.
  Status write(Stream& stream, const Buffer& arena, const Places& places, std::int64_t begin) {
    InitialWeights initial = TRY(InitialWeights::create(device_, stream, toy_.precision, seed_));
    // Gives sums a variance of 1, like the biases.
    const double deviation = 1 / std::sqrt(as_double(toy_.hidden));
    TRY(initial.normal(at(arena, places.second), places.second, deviation));
    TRY(initial.normal(at(arena, places.second_bias), places.second_bias, 1));
    TRY(initial.normal(at(arena, places.x), places.x, 1));
    const Places all(toy_, toy_.hidden);
    const auto first = static_cast<std::size_t>(begin);
    TRY(initial.normal_part(at(arena, places.first_bias), places.first_bias, all.first_bias, first,
                            1));
    TRY(initial.normal_part(at(arena, places.first), places.first, all.first,
                            first * static_cast<std::size_t>(toy_.hidden), deviation));
    return stream.synchronize();  // wait before the kernels of `initial` are unloaded
  }

  Status make(Stream& stream) {
    const std::size_t element = size_of(toy_.precision);
    const auto allocate = [&](Buffer& buffer, std::int64_t elements) -> Status {
      buffer =
          TRY(device_.allocate(static_cast<std::size_t>(elements) * element, MemoryKind::device));
      return {};
    };
    functions_ = TRY(Activations::create(device_, toy_.precision));
    linear_.emplace(plans_, *functions_, toy_.precision);
    TRY(allocate(inputs_, static_cast<std::int64_t>(places_.elements)));
    TRY(write(stream, inputs_, places_, first_output()));
    TRY(allocate(middle_, toy_.batch * toy_.hidden));
    TRY(allocate(y_, toy_.batch * toy_.hidden));
    if (several()) {
      joined_ = TRY(JoinedColumns::create(device_, toy_.precision));
      exchange_ = TRY(TensorParallel::create(device_, ranks_, toy_.precision));
      TRY(allocate(own_outputs_, toy_.batch * own_));
      TRY(allocate(gathered_, toy_.batch * toy_.hidden));
    }
    return stream.synchronize();
  }

  /// The first pass selects implementations by measuring, which cannot be captured in a graph.
  Status begin(Stream& stream) {
    TRY(forward(stream));
    TRY(wait(stream));
    if (!cell_.graph) return {};
    graph_ = TRY(captured(stream, [&] { return forward(stream); }));
    return stream.upload(*graph_);
  }

  Status forward(Stream& stream) {
    const std::int64_t b = toy_.batch, h = toy_.hidden;
    if (exchange_) exchange_->begin();
    void* const own = several() ? own_outputs_.data() : middle_.data();
    TRY(linear_->forward(stream, own, at(inputs_, places_.x), at(inputs_, places_.first),
                         at(inputs_, places_.first_bias), {b, own_, h}));
    if (several()) {
      TRY(exchange_->gather(stream, gathered_.data(), own, b * own_));
      TRY(joined_->forward(stream, middle_.data(), gathered_.data(), cell_.ranks, b, own_));
    }
    return linear_->forward(stream, y_.data(), middle_.data(), at(inputs_, places_.second),
                            at(inputs_, places_.second_bias), {b, h, h});
  }

  Status wait(Stream& stream) { return several() ? exchange_->wait(stream) : stream.synchronize(); }

  std::optional<ExchangingWork> exchanging_work(Stream& stream) {
    if (!takes_part()) return std::nullopt;
    return ExchangingWork{.step = [&] { return forward(stream); },
                          .passes =
                              [&] {
                                exchange_->leave_out_exchange(true);
                                const Status queued = forward(stream);
                                exchange_->leave_out_exchange(false);
                                return queued;
                              },
                          .alone = [&] { return exchange_->repeat(stream); },
                          .exchanged = [&] { return exchange_->exchanged(); }};
  }

  // ---- Verification ----

  /// All rows if they are few, otherwise the first, the last and some between. All columns are
  /// compared, because each has a part from every rank.
  std::vector<std::int64_t> rows_to_compare() const {
    constexpr double most_products = 2.5e8;  // about half a second
    constexpr std::int64_t least = 4;
    const auto wanted = std::max<std::int64_t>(
        least,
        static_cast<std::int64_t>(most_products / (2 * as_double(toy_.hidden * toy_.hidden))));
    std::vector<std::int64_t> rows;
    if (toy_.batch <= wanted) {
      for (std::int64_t row = 0; row < toy_.batch; ++row) rows.push_back(row);
      return rows;
    }
    Random random(seed_);
    rows = {0, toy_.batch - 1};
    while (std::ssize(rows) < wanted) {
      rows.push_back(
          static_cast<std::int64_t>(random.next() % static_cast<std::uint64_t>(toy_.batch)));
    }
    std::ranges::sort(rows);
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    return rows;
  }

  Result<std::vector<float>> numbers_at(Stream& stream, const void* from, std::int64_t elements) {
    return read_weights(stream, from, toy_.precision, static_cast<std::size_t>(elements));
  }

  /// Returns x W^T + bias.
  static std::vector<double> product(const std::vector<double>& x, const std::vector<float>& w,
                                     const std::vector<float>& bias) {
    std::vector<double> y(bias.begin(), bias.end());
    for (std::size_t i = 0; i < y.size(); ++i) {
      const float* const row = &w[i * x.size()];
      double sum = 0;
      for (std::size_t k = 0; k < x.size(); ++k) sum += x[k] * double{row[k]};
      y[i] += sum;
    }
    return y;
  }

  Result<Verification> compare(Stream& stream) {
    TRY(stream.fill(y_.data(), 0xFF, y_.bytes()));
    TRY(stream.fill(middle_.data(), 0xFF, middle_.bytes()));
    if (several()) TRY(stream.fill(gathered_.data(), 0xFF, gathered_.bytes()));
    TRY(enqueue(stream));
    TRY(wait(stream));
    const std::vector<std::int64_t> rows = rows_to_compare();
    const bool complete = std::ssize(rows) == toy_.batch;
    // The reference is not sharded: this rank makes all weights.
    const Places all(toy_, toy_.hidden);
    const Buffer whole =
        TRY(device_.allocate(all.elements * size_of(toy_.precision), MemoryKind::device));
    TRY(write(stream, whole, all, 0));
    const auto weights = [&](const Tensor& t) {
      return numbers_at(stream, at(whole, t), t.elements());
    };
    const std::vector<float> first = TRY(weights(all.first)), second = TRY(weights(all.second));
    const std::vector<float> first_bias = TRY(weights(all.first_bias)),
                             second_bias = TRY(weights(all.second_bias));
    Verification v = {false,
                      fmt::format("{} of {} rows, each whole, against the unsharded definition in "
                                  "double: largest difference, as a share of their deviation",
                                  complete ? "all" : std::to_string(rows.size()), toy_.batch),
                      0, toy_.precision == DataType::bf16 ? 5e-2 : 1e-4, ""};
    double squares = 0, largest = 0;
    bool finite = true;
    const auto row_of = [&](const void* matrix, std::int64_t row) {
      return numbers_at(stream,
                        static_cast<const std::byte*>(matrix) +
                            static_cast<std::size_t>(row * toy_.hidden) * size_of(toy_.precision),
                        toy_.hidden);
    };
    for (const std::int64_t row : rows) {
      const std::vector<float> x = TRY(row_of(at(whole, all.x), row)),
                               found = TRY(row_of(y_.data(), row));
      const std::vector<double> expected =
          product(product({x.begin(), x.end()}, first, first_bias), second, second_bias);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const double difference = std::abs(found[i] - expected[i]);
        squares += expected[i] * expected[i];
        finite = finite && std::isfinite(difference);
        if (difference <= largest) continue;
        largest = difference;
        v.detail =
            fmt::format("row {}, column {}: {}, should be {}", row, i, found[i], expected[i]);
      }
    }
    v.error =
        largest / std::sqrt(squares / (as_double(toy_.hidden) * static_cast<double>(rows.size())));
    v.passed = finite && v.error <= v.tolerance;
    if (!finite) v.detail = "results are not finite, or were not written";
    if (v.passed) v.detail.clear();
    return v;
  }

  const TensorCell cell_;
  const LayersCell toy_;
  Device& device_;
  const std::uint64_t seed_;
  const ModelRanks ranks_;  // the whole team; null communicator if alone or idle
  const std::int64_t own_;  // outputs of the first layer on one rank
  const Places places_{toy_, own_};
  GemmPlans plans_;
  std::optional<Activations> functions_;
  std::optional<Linear> linear_;
  std::optional<JoinedColumns> joined_;
  std::unique_ptr<TensorParallel> exchange_;
  Buffer inputs_, middle_, y_;     // middle_: the outputs of the first layer
  Buffer own_outputs_, gathered_;  // only with several ranks
  std::unique_ptr<Graph> graph_;   // null: single launches
  TensorExchange exchange_times_;  // only with several ranks
};

}  // namespace

Result<std::unique_ptr<Case>> prepare_tensor_parallel_layers(const TensorCell& cell,
                                                             PrepareContext context,
                                                             ModelRanks ranks) {
  auto prepared = std::make_unique<ToyCase>(cell, context, ranks);
  TRY(prepared->prepare(context.stream));
  return std::unique_ptr<Case>(std::move(prepared));
}

}  // namespace assay
