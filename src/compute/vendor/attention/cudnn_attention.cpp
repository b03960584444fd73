// Attention by cuDNN: flash attention for sm_80 and newer.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "compute/device/matrix_unit_types.h"
#include "compute/vendor/attention/cudnn_attention_graph.h"
#include "compute/vendor/attention/fused_attention.h"
#include "compute/vendor/libraries/cudnn_plan.h"

namespace assay::cudnn_attention {
namespace {

using namespace cudnn;

/// Returns whether one GEMM over all scores sums in a fixed order on this device. On sm_100 only
/// some configurations do, and the heuristics do not tell which.
bool sums_in_order(const DeviceFacts& facts) {
  const int generation = compute_capability(facts) / 10;
  return generation == 8 || generation == 9 || generation == 12;
}

std::optional<std::string> unsupported_version(const Library& library,
                                               const FusedAttentionProblem& problem) {
  if (library.version < 90000) return fmt::format("{} is too old: 9.0 is needed", library.name());
  if (library.version == 91000 || library.version == 91001) {
    return fmt::format("{} has bugs in attention: 9.10.2 has not", library.name());
  }
  // Up to 9.15.0 the backward pass needs an extra mask for keys that do not fill the last tile; it
  // is not implemented here.
  if (!problem.forward_only && library.version <= 91500 && problem.sequence % 128 != 0) {
    return fmt::format("{} needs sequences of multiples of 128, not {}: newer than 9.15.0 does not",
                       library.name(), problem.sequence);
  }
  // Absent sequences, which pad a plan's batch, need cuDNN 9.6.
  if (problem.own_lengths && library.version < 90600) {
    return fmt::format("{} is too old for sequences with lengths of their own: 9.6 is needed",
                       library.name());
  }
  return std::nullopt;
}

std::optional<std::string> unsupported(const FusedAttentionProblem& problem,
                                       const DeviceFacts& facts) {
  if (problem.precision != DataType::bf16 && problem.precision != DataType::f16) {
    return fmt::format("cuDNN's attention computes in bf16 and f16 here, not in {}",
                       name_of(problem.precision));
  }
  if (problem.head_width % 8 != 0 || problem.head_width > 128) {
    return fmt::format("cuDNN's attention has heads of multiples of 8 up to 128, not {} wide",
                       problem.head_width);
  }
  if (problem.sequence < 2) return "cuDNN's attention needs sequences of two tokens or more";
  const int least_capability = problem.own_lengths ? 90 : 80;
  if (compute_capability(facts) < least_capability) {
    return fmt::format("cuDNN's attention needs sm_{} or newer, not {}", least_capability,
                       facts.arch);
  }
  return std::nullopt;
}

Status check(const FusedAttentionProblem& problem, const DeviceFacts& facts) {
  auto reason = unsupported(problem, facts);
  if (!reason) reason = unsupported_version(TRY(load()), problem);
  return reason ? Status(Error{ErrorKind::unsupported, std::move(*reason)}) : Status();
}

/// Resources shared by plans that never run at the same time.
class Session {
 public:
  static Result<std::shared_ptr<Session>> open() {
    auto library = std::make_unique<const Library>(TRY(load()));
    Handle handle = TRY(Handle::create(*library));
    return std::shared_ptr<Session>(new Session(std::move(library), std::move(handle)));
  }

  const Library& library() const { return *library_; }
  Handle& handle() { return handle_; }
  const Buffer& workspace() const { return workspace_; }
  /// Makes the workspace as large as the largest plan needs. No queued work may use it.
  Status reserve(Device& device, std::uint64_t bytes) {
    if (bytes > workspace_.bytes()) {
      workspace_ = TRY(device.allocate(bytes, MemoryKind::device));
    }
    return {};
  }

 private:
  Session(std::unique_ptr<const Library> library, Handle handle)
      : library_(std::move(library)), handle_(std::move(handle)) {}

  std::unique_ptr<const Library> library_;  // it is on the heap: others refer to its address
  Handle handle_;
  Buffer workspace_;
};

class CudnnAttention final : public FusedAttention {
 public:
  CudnnAttention(Device& device, const FusedAttentionProblem& problem,
                 std::shared_ptr<Session> session)
      : device_(device),
        problem_(problem),
        session_(std::move(session)),
        library_(session_->library()),
        handle_(session_->handle()),
        scale_(1 / std::sqrt(static_cast<float>(problem.head_width))),
        // NVIDIA's frontend does the same: kernels before 9.10 need a finite number.
        masked_(library_.version < 91000 ? std::numeric_limits<float>::lowest()
                                         : -std::numeric_limits<float>::infinity()) {}

  Status prepare() {
    const int type = problem_.precision == DataType::f16 ? data::f16 : data::bf16;
    const AttentionSizes sizes = {.type = type,
                                  .batch = problem_.batch,
                                  .sequence = problem_.sequence,
                                  .heads = problem_.heads,
                                  .kv_heads = problem_.heads_of_keys(),
                                  .head_width = problem_.head_width,
                                  .forward_only = problem_.forward_only,
                                  .own_lengths = problem_.own_lengths};
    OperationGraph graph = TRY(attention_forward(library_, handle_.get(), sizes));
    forward_.emplace(
        TRY(Plan::choose(library_, handle_.get(), std::move(graph), "attention forward")));
    if (problem_.forward_only) {
      deterministic_ = !forward_->notes().nondeterministic;
      return session_->reserve(device_, forward_->workspace_bytes());
    }
    if (problem_.same_bits && sums_in_order(device_.facts())) {
      // If this is refused, the accumulating variant is tried; if that is refused, too, its error
      // says more.
      if (auto plan = backward_plan(sizes, Summing::in_order); plan.ok()) {
        backward_.emplace(std::move(*plan));
        deterministic_ = !backward_->notes().nondeterministic;
      }
    }
    if (!deterministic_) backward_.emplace(TRY(backward_plan(sizes, Summing::accumulated)));
    return allocate();
  }

  Status forward(Stream& stream, void* y, const void* qkv, void* log_sum_address) override {
    TRY(use(stream));
    const Operand operands[] = {
        {queries, part(qkv, 0)}, {keys, part(qkv, 1)}, {values, part(qkv, 2)},    {result, y},
        {scale, &scale_},        {masked, &masked_},   {log_sum, log_sum_address}};
    const std::size_t count = std::size(operands) - (problem_.forward_only ? 1 : 0);
    return forward_->execute(library_, handle_.get(), std::span(operands, count),
                             session_->workspace().data());
  }

  Status forward_at(Stream& stream, void* y, const void* qkv,
                    const SequencePlaces& places) override {
    TRY(use(stream));
    const Operand operands[] = {{queries, part(qkv, 0)},
                                {keys, part(qkv, 1)},
                                {values, part(qkv, 2)},
                                {result, y},
                                {scale, &scale_},
                                {masked, &masked_},
                                {absent, &masked_},
                                {query_lengths, places.lengths},
                                {key_lengths, places.lengths},
                                {query_offsets, places.qkv_offsets},
                                {key_offsets, places.qkv_offsets},
                                {value_offsets, places.qkv_offsets},
                                {y_offsets, places.y_offsets}};
    return forward_->execute(library_, handle_.get(), operands, session_->workspace().data());
  }

  Status backward(Stream& stream, void* d_qkv, const void* dy, const void* y, const void* qkv,
                  const void* log_sum_address) override {
    TRY(use(stream));
    // Newer kernels clear the accumulator themselves.
    if (accumulator_.data() != nullptr && library_.version < 90600) {
      TRY(stream.fill(accumulator_.data(), 0, accumulator_.bytes()));
    }
    const Operand operands[] = {{queries, part(qkv, 0)},
                                {keys, part(qkv, 1)},
                                {values, part(qkv, 2)},
                                {result, y},
                                {log_sum, log_sum_address},
                                {d_result, dy},
                                {d_queries, part(d_qkv, 0)},
                                {d_keys, part(d_qkv, 1)},
                                {d_values, part(d_qkv, 2)},
                                {row_sums, row_sums_.data()},
                                {scale, &scale_},
                                {masked, &masked_},
                                {one, &one_},
                                {accumulator, accumulator_.data()}};
    const std::size_t count = std::size(operands) - (accumulator_.data() == nullptr ? 1 : 0);
    return backward_->execute(library_, handle_.get(), std::span(operands, count),
                              session_->workspace().data());
  }

  Result<std::unique_ptr<FusedAttention>> open_beside(
      Device& device, const FusedAttentionProblem& problem) override {
    TRY(check(problem, device.facts()));
    return open_in(device, problem, session_);
  }

  static Result<std::unique_ptr<FusedAttention>> open_in(Device& device,
                                                         const FusedAttentionProblem& problem,
                                                         std::shared_ptr<Session> session) {
    TRY(device.make_current());
    auto made = std::make_unique<CudnnAttention>(device, problem, std::move(session));
    TRY(made->prepare());
    return std::unique_ptr<FusedAttention>(std::move(made));
  }

  std::string library() const override { return library_.name(); }
  bool deterministic() const override { return deterministic_; }
  std::uint64_t allocated_bytes() const override {
    return row_sums_.bytes() + accumulator_.bytes() + session_->workspace().bytes();
  }

 private:
  Result<Plan> backward_plan(const AttentionSizes& sizes, Summing summing) {
    OperationGraph graph = TRY(attention_backward(library_, handle_.get(), sizes, summing));
    return Plan::choose(library_, handle_.get(), std::move(graph), "attention backward");
  }

  /// Forward and backward never run at the same time, so they share a workspace.
  Status allocate() {
    const auto rows =
        static_cast<std::uint64_t>(problem_.batch * problem_.heads * problem_.sequence);
    row_sums_ = TRY(device_.allocate(rows * sizeof(float), MemoryKind::device));
    if (!deterministic_) {
      const auto width = static_cast<std::uint64_t>(problem_.head_width);
      accumulator_ = TRY(device_.allocate(rows * width * sizeof(float), MemoryKind::device));
    }
    return session_->reserve(device_,
                             std::max(forward_->workspace_bytes(), backward_->workspace_bytes()));
  }

  Status use(Stream& stream) {
    TRY(device_.make_current());
    return handle_.use(stream.native_handle());
  }

  /// Returns where queries, keys or values begin in the first token's row.
  const void* part(const void* packed, std::int64_t index) const {
    constexpr std::int64_t element = 2;  // bytes
    const std::int64_t head =
        index == 0 ? 0 : problem_.heads + (index - 1) * problem_.heads_of_keys();
    return static_cast<const std::byte*>(packed) + head * problem_.head_width * element;
  }

  Device& device_;
  FusedAttentionProblem problem_;
  const std::shared_ptr<Session> session_;
  const Library& library_;
  Handle& handle_;
  const float scale_, masked_, one_ = 1;  // their addresses are read when a plan is executed
  std::optional<Plan> forward_, backward_;
  bool deterministic_ = false;
  Buffer row_sums_, accumulator_;
};

Result<std::unique_ptr<FusedAttention>> open(Device& device, const FusedAttentionProblem& problem) {
  TRY(device.make_current());
  return CudnnAttention::open_in(device, problem, TRY(Session::open()));
}

const FusedAttentionRegistry::Add registered{
    {.backend = "cuda", .same_bits = true, .check = &check, .open = &open}};

}  // namespace
}  // namespace assay::cudnn_attention
