// attention: causal self-attention of a transformer, forward and backward, in all implementations.
#include "model/operations/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "compute/device/helpers.h"
#include "compute/vendor/blas/matrix_fill.h"
#include "core/random.h"
#include "core/units.h"
#include "measure/benchmarks/attention/attention_reference.h"
#include "measure/benchmarks/attention/attention_ways.h"
#include "measure/grid/benchmark.h"
#include "model/tensors/weights.h"
#include "model/training/training_attention.h"

namespace assay::attention_benchmark {
namespace {

constexpr std::string_view by_device = "auto";

struct AttentionCell {
  TransformerPlan plan;  ///< plan of a model with one block, of which only attention is computed
  DataType precision = DataType::bf16;
  bool backward = false;

  AttentionShape shape() const {
    return {plan.batch, plan.sequence, plan.shape.heads, plan.shape.head_width};
  }
  std::size_t elements() const {  // number of elements of the result
    return static_cast<std::size_t>(plan.tokens() * plan.shape.width);
  }
  std::size_t rows() const { return static_cast<std::size_t>(plan.tokens() * plan.shape.heads); }
  std::size_t probabilities() const {
    if (plan.attention != AttentionWay::plain) return 0;
    return rows() * static_cast<std::size_t>(plan.sequence);
  }
  /// Bytes of queries, keys and values, of the result, of all their gradients, and of the data that
  /// forward keeps for backward.
  std::uint64_t bytes() const {
    const std::uint64_t fused =
        is_by_library(plan.attention) ? fused_attention_bytes(fused_attention_of(plan)) : 0;
    return (8 * elements() + probabilities()) * size_of(plan.type) + rows() * sizeof(float) +
           scratch_bytes(plan) + fused;
  }
};

AttentionCell parse(const Cell& cell) {
  AttentionCell parsed;
  TransformerPlan& plan = parsed.plan;
  const auto number = [&](const char* axis) {
    return static_cast<std::int64_t>(cell.integer(axis));
  };
  plan.shape = {.layers = 1,
                .heads = number("heads"),
                .kv_heads = number("heads"),
                .head_width = number("width"),
                .width = number("heads") * number("width"),
                .hidden = 8,
                .vocabulary = 8,
                .position = PositionKind::learned,
                .activation = ActivationKind::gelu};
  plan.batch = number("batch");
  plan.sequence = number("sequence");
  parsed.precision = *parse_data_type(cell.text("precision"));
  plan.type = parsed.precision == DataType::tf32 ? DataType::f32 : parsed.precision;
  plan.attention = parse_attention_way(cell.text("attention"));
  parsed.backward = cell.text("pass") == "backward";
  return parsed;
}

class AttentionCase final : public Case {
 public:
  AttentionCase(const AttentionCell& cell, PrepareContext context)
      : cell_(cell),
        device_(context.device),
        seed_(context.seed),
        plans_(context.device, context.stream, {.own_if_none = true},
               ChoiceCache::of_user(context.device.facts())) {}

  Status prepare(Stream& stream) {
    const std::size_t element = size_of(cell_.plan.type), n = cell_.elements();
    const auto allocate = [&](Buffer& buffer, std::size_t bytes) -> Status {
      if (bytes > 0) buffer = TRY(device_.allocate(bytes, MemoryKind::device));
      return {};
    };
    TRY(allocate(qkv_, 3 * n * element));
    TRY(allocate(y_, n * element));
    TRY(allocate(dy_, n * element));
    TRY(allocate(d_qkv_, 3 * n * element));
    TRY(allocate(probabilities_, cell_.probabilities() * element));
    TRY(allocate(log_sum_, cell_.rows() * sizeof(float)));
    TRY(allocate(scratch_, scratch_bytes(cell_.plan)));
    attention_ = TRY(open_attention(device_, plans_, cell_.plan, cell_.precision));
    const auto program = TRY(device_.build({"matrix", {}}));
    const std::int64_t tokens = cell_.plan.tokens(), width = cell_.plan.shape.width;
    TRY(fill_matrix(stream, device_.facts(), *program, qkv_.data(), cell_.plan.type,
                    {tokens, 3 * width, 3 * width}, Inputs::normal, seed_));
    TRY(fill_matrix(stream, device_.facts(), *program, dy_.data(), cell_.plan.type,
                    {tokens, width, width}, Inputs::normal, seed_ + 1));
    TRY(forward(stream));  // selects GEMM implementations; backward needs its result
    return stream.synchronize();
  }

  Work work() const override {
    const double n = static_cast<double>(cell_.elements()), element = size_of(cell_.plan.type);
    // Two GEMMs forward and five backward, of which only the causal half counts (Dao 2023).
    const double products = cell_.backward ? 5 : 2;
    return {.bytes = (cell_.backward ? 8 : 4) * n * element,
            .flops = products * n * static_cast<double>(cell_.plan.sequence),
            .math = cell_.precision};
  }
  Quantity quantity() const override { return Quantity::flop_rate; }
  Limit limit() const override { return Limit::compute; }
  std::vector<std::pair<std::string, std::string>> notes() const override {
    const std::string way(name_of(cell_.plan.attention)), detail = attention_->detail();
    return {{"attention", detail.empty() ? way : way + " " + detail}};
  }
  Status enqueue(Stream& stream) override {
    return cell_.backward ? backward(stream) : forward(stream);
  }

  /// Compares rows of one head of one sequence, drawn by the seed, with the reference.
  Result<Verification> verify(Stream& stream) override {
    constexpr int poison = 0xFF;  // NaN in all of the types
    TRY(stream.fill(y_.data(), poison, y_.bytes()));
    TRY(forward(stream));
    if (cell_.backward) {
      TRY(stream.fill(d_qkv_.data(), poison, d_qkv_.bytes()));
      TRY(backward(stream));
    }
    const AttentionShape shape = cell_.shape();
    Random random(seed_);
    const auto below = [&](std::int64_t count) {
      return static_cast<std::size_t>(random.next() % static_cast<std::uint64_t>(count));
    };
    const std::size_t sequence = below(shape.batch), head = below(shape.heads);
    const AttentionReference reference(TRY(read_head(stream, sequence, head)));
    double difference = 0, size = 0;
    const auto compare = [&](const std::vector<float>& found, const std::vector<double>& expected) {
      for (std::size_t i = 0; i < expected.size(); ++i) {
        difference += (found[i] - expected[i]) * (found[i] - expected[i]);
        size += expected[i] * expected[i];
      }
    };
    const auto last = static_cast<std::size_t>(shape.sequence - 1);
    if (!cell_.backward) {
      for (const std::size_t query : {std::size_t{0}, last, below(shape.sequence)}) {
        compare(TRY(read_row(stream, y_, sequence, query, 1, 0, head)), reference.result(query));
      }
    } else {
      for (const std::size_t query : {last, below(shape.sequence)}) {
        compare(TRY(read_row(stream, d_qkv_, sequence, query, 3, 0, head)),
                reference.query_gradient(query));
      }
      // Every query from a key on costs a row of the reference, so keys near the end are chosen in
      // long sequences.
      const std::int64_t most =
          std::clamp<std::int64_t>((1 << 20) / shape.sequence, 1, shape.sequence);
      const std::size_t key = last - below(most);
      const auto expected = reference.key_value_gradients(key);
      compare(TRY(read_row(stream, d_qkv_, sequence, key, 3, 1, head)), expected.key);
      compare(TRY(read_row(stream, d_qkv_, sequence, key, 3, 2, head)), expected.value);
    }
    Verification verification{false, "rows of one head against the definition in double", 0, 0, ""};
    verification.error = std::sqrt(difference / size);
    verification.tolerance = cell_.precision == DataType::bf16  ? 2e-2
                             : cell_.precision == DataType::f32 ? 1e-4
                                                                : 5e-3;  // tf32 and f16
    verification.passed = verification.error <= verification.tolerance;
    if (!verification.passed) {
      verification.detail = fmt::format("sequence {}, head {} is {:.2g} from the reference",
                                        sequence, head, verification.error);
    }
    return verification;
  }

 private:
  Status forward(Stream& stream) {
    return attention_->forward(stream, y_.data(), qkv_.data(), memory(), cell_.shape());
  }
  Status backward(Stream& stream) {
    return attention_->backward(stream, d_qkv_.data(), dy_.data(), y_.data(), qkv_.data(), memory(),
                                cell_.shape());
  }
  AttentionMemory memory() const {
    return {probabilities_.data(), log_sum_.data(), scratch_.data()};
  }

  /// Reads one head of one part of a token from an array [tokens, parts, heads, width].
  Result<std::vector<float>> read_row(Stream& stream, const Buffer& array, std::size_t sequence,
                                      std::size_t token, std::size_t parts, std::size_t part,
                                      std::size_t head) const {
    const AttentionShape shape = cell_.shape();
    const auto width = static_cast<std::size_t>(shape.head_width),
               all = static_cast<std::size_t>(shape.width());
    const std::size_t row = sequence * static_cast<std::size_t>(shape.sequence) + token;
    const std::size_t at = (row * parts + part) * all + head * width;
    return read_weights(stream, array.as<std::byte>() + at * size_of(cell_.plan.type),
                        cell_.plan.type, width);
  }

  Result<AttentionHead> read_head(Stream& stream, std::size_t sequence, std::size_t head) const {
    AttentionHead read;
    read.tokens = static_cast<std::size_t>(cell_.plan.sequence);
    read.width = static_cast<std::size_t>(cell_.shape().head_width);
    const auto append = [&](std::vector<float>& to, Result<std::vector<float>> row) -> Status {
      const std::vector<float> values = TRY(std::move(row));
      to.insert(to.end(), values.begin(), values.end());
      return {};
    };
    for (std::size_t token = 0; token < read.tokens; ++token) {
      TRY(append(read.queries, read_row(stream, qkv_, sequence, token, 3, 0, head)));
      TRY(append(read.keys, read_row(stream, qkv_, sequence, token, 3, 1, head)));
      TRY(append(read.values, read_row(stream, qkv_, sequence, token, 3, 2, head)));
      TRY(append(read.result_gradient, read_row(stream, dy_, sequence, token, 1, 0, head)));
    }
    return read;
  }

  AttentionCell cell_;
  Device& device_;
  std::uint64_t seed_;
  GemmPlans plans_;
  std::unique_ptr<Attention> attention_;
  Buffer qkv_, y_, dy_, d_qkv_, probabilities_, log_sum_, scratch_;
};

std::vector<Axis> make_axes() {
  const std::string automatic(by_device);
  return {
      {.name = "pass",
       .description = "forward: the result; backward: gradients of queries, keys and values",
       .defaults = {"forward", "backward"},
       .choices = {"forward", "backward"}},
      {.name = "sequence",
       .description = "tokens of a sequence, each of which sees those before it",
       .kind = Axis::Kind::integer,
       .defaults = {automatic},
       .choices = {automatic},
       .most = 1 << 20},
      {.name = "batch",
       .description = "sequences; auto: 16,384 tokens on a GPU, 256 on a CPU",
       .kind = Axis::Kind::integer,
       .defaults = {automatic},
       .choices = {automatic},
       .most = 65536},
      {.name = "heads",
       .description = "heads of queries, keys and values",
       .kind = Axis::Kind::integer,
       .defaults = {automatic},
       .choices = {automatic},
       .most = 1024},
      {.name = "width",
       .description = "elements of a head's query, key or value",
       .kind = Axis::Kind::integer,
       .defaults = {automatic},
       .choices = {automatic},
       .most = 1024},
      {.name = "precision",
       .description = "auto: bf16 on a GPU, f32 on a CPU",
       .defaults = {automatic},
       .choices = {automatic, "f32", "tf32", "bf16", "f16"}},
      attention_axis(),
  };
}

class AttentionBenchmark final : public Benchmark {
 public:
  std::string_view name() const override { return "attention"; }
  std::string_view summary() const override { return "causal self-attention: FLOP/s"; }
  const std::vector<Axis>& axes() const override {
    static const std::vector<Axis> axes = make_axes();
    return axes;
  }

  std::vector<Cell> expand(const Cell& cell, const Device& device, const Team&) const override {
    const DeviceFacts& facts = device.facts();
    const bool on_cpu = !suits_large_work(facts);
    Cell decided = cell;
    const auto decide = [&](std::string_view axis, const std::string& value) {
      if (decided.text(axis) == by_device) decided = with_value(decided, axis, value);
    };
    decide("sequence", on_cpu ? "128" : "1024");
    const std::uint64_t tokens = on_cpu ? 256 : 16384;
    decide("batch",
           std::to_string(std::max<std::uint64_t>(1, tokens / decided.integer("sequence"))));
    decide("heads", on_cpu ? "2" : "32");
    decide("width", on_cpu ? "64" : "128");
    decide("precision", on_cpu ? "f32" : "bf16");
    for (const AttentionWay way :
         {best_library_way(facts), AttentionWay::own, AttentionWay::plain}) {
      if (decided.text("attention") != by_device) break;
      const Cell candidate = with_value(decided, "attention", std::string(name_of(way)));
      if (way == AttentionWay::plain || !unsupported(candidate, device)) decided = candidate;
    }
    return {decided};
  }

  std::optional<std::string> unsupported(const Cell& cell, const Device& device) const override {
    for (const char* axis : {"sequence", "batch", "heads", "width", "precision", "attention"}) {
      if (cell.text(axis) == by_device) return fmt::format("{} is not decided yet", axis);
    }
    if (cell.integer("width") % 8 != 0) {
      return fmt::format("width={}: allowed are multiples of 8", cell.text("width"));
    }
    const AttentionCell parsed = parse(cell);
    if (const auto reason = attention_unsupported(parsed.plan, parsed.precision, device.facts())) {
      return fmt::format("attention={}: {}", cell.text("attention"), *reason);
    }
    const std::uint64_t needed = parsed.bytes(), most = device.facts().memory_bytes;
    if (most == 0 || needed <= most) return std::nullopt;
    return fmt::format("needs {}, the device has {}", format_memory(needed), format_memory(most));
  }
  bool depends_on_device() const override { return true; }

  Result<std::unique_ptr<Case>> prepare(const Cell& cell, PrepareContext context) const override {
    auto prepared = std::make_unique<AttentionCase>(parse(cell), context);
    TRY(prepared->prepare(context.stream));
    return std::unique_ptr<Case>(std::move(prepared));
  }
};

const AttentionBenchmark benchmark;
const Registry<const Benchmark*>::Add registered{&benchmark};

}  // namespace
}  // namespace assay::attention_benchmark
