// oneDNN: matrix products on the CPU.
#include <fmt/format.h>

#include <atomic>
#include <map>

#include "compute/vendor/blas/blas.h"
#include "compute/vendor/libraries/onednn_library.h"

namespace assay::onednn::onednn_provider {
namespace {

constexpr std::uint64_t algorithm_plain = 0, algorithm_packed = 1;

/// A smaller product runs on one thread. One core needs about 50 us for it, which on a virtual
/// machine is the time to hand the cores to the library's threads and back.
constexpr double least_shared_flops = 8e6;

/// Returns a view of rows x columns of a row-major (or, transposed, column-major) matrix.
TensorView view_of(const GemmProblem& problem, DataType type, std::int64_t rows,
                   std::int64_t columns, bool transpose, std::int64_t ld, std::int64_t stride) {
  TensorView view;
  view.type = type;
  int at = 0;
  if (problem.batch > 1) {
    view.dimensions = 3;
    view.extents[0] = problem.batch;
    view.strides[0] = stride;
    at = 1;
  }
  view.extents[at] = rows;
  view.extents[at + 1] = columns;
  view.strides[at] = transpose ? 1 : ld;
  view.strides[at + 1] = transpose ? ld : 1;
  return view;
}

/// The primitive, its memory objects, and the first error of an execution. Shared with work queued
/// on a stream, so it may outlive the plan.
struct Execution {
  const Library* library = nullptr;
  std::shared_ptr<void> engine, stream;
  Step product;
  std::shared_ptr<void> a, b, d, bias;
  int bias_index = argument_bias;
  bool on_one_thread = false;
  std::atomic<int> failure{success};

  void run(const GemmOperands& operands, Memory packed_b) {
    const OneThread limit(*library, on_one_thread);
    library->place_threads();
    const Functions& f = library->functions();
    f.memory_set_data(a.get(), const_cast<void*>(operands.a));
    f.memory_set_data(d.get(), operands.d);
    if (packed_b == nullptr) f.memory_set_data(b.get(), const_cast<void*>(operands.b));
    std::vector<Argument> arguments = {{argument_source, a.get()},
                                       {argument_weights, packed_b != nullptr ? packed_b : b.get()},
                                       {argument_destination, d.get()}};
    if (bias) {
      f.memory_set_data(bias.get(), operands.bias);
      arguments.push_back({bias_index, bias.get()});
    }
    finish(product.run(stream.get(), std::move(arguments)));
  }

  void reorder(const Step& step, const void* from, Memory to) {
    const OneThread limit(*library, on_one_thread);
    library->place_threads();
    library->functions().memory_set_data(b.get(), const_cast<void*>(from));
    finish(step.run(stream.get(), {{argument_source, b.get()}, {argument_destination, to}}));
  }

 private:
  void finish(int status) {
    const int waited = library->functions().stream_wait(stream.get());
    int expected = success;
    failure.compare_exchange_strong(expected, status != success ? status : waited);
  }
};

class OneDnnPlan final : public GemmPlan {
 public:
  OneDnnPlan(const Library& library, std::shared_ptr<void> engine, const GemmProblem& problem,
             bool on_one_thread)
      : GemmPlan(problem), library_(library), execution_(std::make_shared<Execution>()) {
    execution_->library = &library;
    execution_->on_one_thread = on_one_thread;
    execution_->engine = std::move(engine);
  }

  Status prepare(bool packed) {
    const OneThread limit(library_, execution_->on_one_thread);
    const GemmProblem& p = problem_;
    const OwnedDesc a =
        TRY(library_.describe(view_of(p, p.a, p.m, p.k, p.transpose_a, p.lda, p.stride_a)));
    TensorView b_view = view_of(p, p.b, p.k, p.n, p.transpose_b, p.ldb, p.stride_b);
    const OwnedDesc b = TRY(library_.describe(b_view));
    const OwnedDesc d = TRY(library_.describe(view_of(p, p.d, p.m, p.n, false, p.ldd, p.stride_d)));
    OwnedDesc b_wanted = b;
    if (packed) {
      b_view.any_layout = true;
      b_wanted = TRY(library_.describe(b_view));
    }
    OwnedDesc bias;
    if (reads_bias(p.epilogue)) {
      bias = TRY(library_.describe(view_of(p, p.bias, 1, p.n, false, p.n, 0)));
    }
    const Finish finish = finish_of(bias);
    const bool own_bias = bias && finish.added == nullptr;
    desc_ = TRY(library_.matmul(execution_->engine.get(), a.get(), b_wanted.get(),
                                own_bias ? bias.get() : nullptr, d.get(), finish));
    if (finish.added != nullptr) execution_->bias_index = Library::added_argument(finish);

    const Functions& f = library_.functions();
    execution_->product = TRY(library_.step(execution_->engine.get(), desc_));
    void* made = nullptr;
    TRY(library_.check(f.stream_create(&made, execution_->engine.get(), stream_in_order),
                       "stream_create"));
    execution_->stream = {made, f.stream_destroy};
    execution_->a = TRY(memory_for(a.get(), nullptr));
    execution_->b = TRY(memory_for(b.get(), nullptr));
    execution_->d = TRY(memory_for(d.get(), nullptr));
    if (bias) execution_->bias = TRY(memory_for(bias.get(), nullptr));
    if (packed) TRY(prepare_packing(b.get()));
    return {};
  }

  std::string implementation() const {
    const char* name = nullptr;
    library_.functions().primitive_desc_query(desc_.get(), query_implementation, 0, &name);
    return name != nullptr ? name : "unnamed";
  }

  Status pack(assay::Stream& stream, const void* b) override {
    if (!reorder_) return {};
    std::shared_ptr<void>& packed = packed_[b];
    if (!packed) packed = TRY(memory_for(packed_desc_, allocate_inside()));
    return stream.call([execution = execution_, reorder = reorder_, packed, b] {
      execution->reorder(reorder, b, packed.get());
    });
  }

  Status queue(assay::Stream& stream, const GemmOperands& operands, Workspace) override {
    // Work runs later on the stream's thread, so its failure is reported on the next call.
    TRY(library_.check(execution_->failure.load(), describe(problem_)));
    std::shared_ptr<void> packed;
    if (reorder_) {
      const auto found = packed_.find(operands.b);
      if (found == packed_.end()) {
        return Error{ErrorKind::failed,
                     "onednn: the plan keeps B packed, and pack() was not "
                     "called for this B"};
      }
      packed = found->second;
    }
    if (problem_.beta != 0 && operands.c != operands.d) {
      TRY(stream.copy(operands.d, operands.c,
                      static_cast<std::size_t>(problem_.elements_d()) * size_of(problem_.d)));
    }
    return stream.call(
        [execution = execution_, operands, packed] { execution->run(operands, packed.get()); });
  }

 private:
  Finish finish_of(const OwnedDesc& bias) const {
    Finish finish;
    finish.alpha = static_cast<float>(problem_.alpha);
    finish.beta = static_cast<float>(problem_.beta);
    // matmul adds the bias before the factor, so with a factor the bias must be a separate step.
    if (bias && finish.alpha != 1) finish.added = bias.get();
    switch (problem_.epilogue) {
      case Epilogue::relu:
      case Epilogue::relu_bias:
        finish.function = Finish::Function::relu;
        break;
      case Epilogue::gelu:
      case Epilogue::gelu_bias:
        finish.function = Finish::Function::gelu_tanh;
        break;
      default:
        break;
    }
    return finish;
  }

  Result<std::shared_ptr<void>> memory_for(MemoryDesc desc, void* data) const {
    return library_.memory(execution_->engine.get(), desc, data);
  }

  Status prepare_packing(MemoryDesc plain) {
    packed_desc_ = library_.functions().primitive_desc_md(desc_.get(), query_weights, 0);
    Engine engine = execution_->engine.get();
    const Object desc = TRY(library_.reorder(engine, plain, packed_desc_));
    reorder_ = TRY(library_.step(engine, desc));
    return {};
  }

  const Library& library_;
  Object desc_{nullptr, nullptr};
  std::shared_ptr<Execution> execution_;
  Step reorder_;                      // set if B is packed
  MemoryDesc packed_desc_ = nullptr;  // owned by desc_
  std::map<const void*, std::shared_ptr<void>> packed_;
};

class OneDnn final : public Blas {
 public:
  OneDnn(const Library& library, std::shared_ptr<void> engine)
      : library_(library),
        engine_(std::move(engine)),
        facts_{"onednn", library.version(), library.path()} {}

  const BlasFacts& facts() const override { return facts_; }
  void expect_kernels_between() override { among_kernels_ = true; }

  Result<std::vector<GemmAlgorithm>> algorithms(const GemmProblem& problem, std::size_t,
                                                int most) override {
    std::vector<GemmAlgorithm> found;
    for (const std::uint64_t kind : {algorithm_plain, algorithm_packed}) {
      if (kind == algorithm_packed && (!problem.constant_b || most < 2)) break;
      const auto plan = TRY(make_plan(problem, kind));
      found.push_back({fmt::format("{} {}", kind == algorithm_packed ? "packed" : "plain",
                                   plan->implementation()),
                       0,
                       {kind}});
    }
    return found;
  }

  Result<std::unique_ptr<GemmPlan>> plan(const GemmProblem& problem,
                                         const GemmAlgorithm& algorithm) override {
    return std::unique_ptr<GemmPlan>(TRY(make_plan(problem, algorithm.data[0])));
  }

 private:
  Result<std::unique_ptr<OneDnnPlan>> make_plan(const GemmProblem& problem, std::uint64_t kind) {
    TRY(validate(problem));
    const bool on_one_thread = among_kernels_ && problem.flops() < least_shared_flops;
    auto plan = std::make_unique<OneDnnPlan>(library_, engine_, problem, on_one_thread);
    const Status prepared = plan->prepare(kind == algorithm_packed);
    if (!prepared.ok()) {
      return Error{prepared.error().kind, fmt::format("{} for {} on this CPU",
                                                      prepared.error().message, describe(problem))};
    }
    return plan;
  }

  const Library& library_;
  std::shared_ptr<void> engine_;
  BlasFacts facts_;
  bool among_kernels_ = false;
};

std::optional<std::string> unsupported(const GemmProblem& p, const DeviceFacts&) {
  if (data_type(p.a) < 0 || data_type(p.b) < 0) {
    return fmt::format("oneDNN multiplies f32, f16, bf16 and i8 on the CPU, not {}",
                       name_of(data_type(p.a) < 0 ? p.a : p.b));
  }
  if (auto reason = needs_all_multiprocessors(p)) return reason;
  if (p.fast_accumulate) return "accumulate=fast applies to NVIDIA's fp8 only";
  if (writes_aux(p.epilogue) || reads_aux(p.epilogue) || writes_bias(p.epilogue)) {
    return fmt::format("oneDNN has no fused {}", name_of(p.epilogue));
  }
  if (p.compute == DataType::i32 && p.epilogue != Epilogue::none) {
    return "integer products take no epilogue";
  }
  if (p.scales_a || p.scales_b || p.scales_d || p.writes_amax_d)
    return "it does not support fp8 factors";
  if (p.c != p.d) return "C and D must have the same type";
  return std::nullopt;
}

Result<std::unique_ptr<Blas>> open(Device&) {
  const Library* library = TRY(Library::load());
  void* engine = nullptr;
  TRY(library->check(library->functions().engine_create(&engine, engine_cpu, 0), "engine_create"));
  return std::unique_ptr<Blas>(std::make_unique<OneDnn>(
      *library, std::shared_ptr<void>(engine, library->functions().engine_destroy)));
}

const BlasRegistry::Add registered{{"onednn", "cpu", 0, &unsupported, &open}};

}  // namespace
}  // namespace assay::onednn::onednn_provider
