// Convolutions on the CPU by oneDNN. It is fastest with tensors in private blocked layouts, into
// which the given tensors are copied. Measuring decides where that pays.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>

#include "compute/vendor/convolution/convolution.h"
#include "compute/vendor/libraries/onednn_library.h"

namespace assay::onednn_convolution {
namespace {

using namespace onednn;

/// Which tensors have the library's own layout. The first entry is what oneDNN's examples do with
/// data in a given layout.
struct Layouts {
  bool any_data, any_weights;
};
constexpr Layouts all_layouts[] = {{false, true}, {true, true}, {false, false}};

/// A tensor in the caller's layout and in the primitive's.
struct Part {
  int argument = 0;
  bool is_result = false;
  std::shared_ptr<void> given;  // memory object of the caller's address
  std::shared_ptr<void> own;    // in the library's layout; null: the primitive takes `given`
  Step reorder;                 // copies from one to the other

  Memory used() const { return own ? own.get() : given.get(); }
};

/// The primitive with its tensors, and the first error of an execution. Shared with work queued on
/// a stream, so it may outlive the plan.
struct Execution {
  const Library* library = nullptr;
  std::shared_ptr<void> engine, stream;
  Step convolution;
  std::array<Part, 3> parts;  // x, w, y
  bool constant_weights = false;
  std::atomic<int> failure{success};

  void run(const ConvolutionOperands& operands) {
    library->place_threads();
    set_addresses(operands);
    std::vector<Argument> arguments;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!parts[i].is_result && !(i == 1 && constant_weights)) copy(parts[i]);
      arguments.push_back({parts[i].argument, parts[i].used()});
    }
    note(convolution.run(stream.get(), std::move(arguments)));
    for (const Part& part : parts) {
      if (part.is_result) copy(part);
    }
    note(library->functions().stream_wait(stream.get()));
  }

  void pack_weights(const ConvolutionOperands& operands) {
    library->place_threads();
    set_addresses(operands);
    copy(parts[1]);
    note(library->functions().stream_wait(stream.get()));
  }

 private:
  void set_addresses(const ConvolutionOperands& operands) {
    void* const addresses[] = {operands.x, operands.w, operands.y};
    for (std::size_t i = 0; i < parts.size(); ++i) {
      note(library->functions().memory_set_data(parts[i].given.get(), addresses[i]));
    }
  }
  /// Copies into the library's layout, or copies a result out of it.
  void copy(const Part& part) {
    if (!part.own) return;
    const Memory from = part.is_result ? part.own.get() : part.given.get();
    const Memory to = part.is_result ? part.given.get() : part.own.get();
    note(part.reorder.run(stream.get(), {{argument_source, from}, {argument_destination, to}}));
  }
  void note(int status) {
    int expected = success;
    if (status != success) failure.compare_exchange_strong(expected, status);
  }
};

/// Returns the shape and its strides in the problem's layout; oneDNN has groups as a separate
/// dimension.
TensorView view_of(const ConvolutionProblem& problem, std::vector<std::int64_t> shape,
                   bool is_weights, bool any_layout) {
  std::vector<std::int64_t> strides = problem.strides_of(shape);
  if (is_weights && problem.groups > 1) {
    shape[0] /= problem.groups;
    shape.insert(shape.begin(), problem.groups);
    strides.insert(strides.begin(), strides[0] * shape[1]);
  }
  TensorView view;
  view.dimensions = static_cast<int>(shape.size());
  view.type = problem.type;
  view.any_layout = any_layout;
  std::copy(shape.begin(), shape.end(), std::begin(view.extents));
  std::copy(strides.begin(), strides.end(), std::begin(view.strides));
  return view;
}

class OneDnnPlan final : public ConvolutionPlan {
 public:
  OneDnnPlan(const Library& library, std::shared_ptr<void> engine,
             const ConvolutionProblem& problem)
      : ConvolutionPlan(problem), library_(library), execution_(std::make_shared<Execution>()) {
    execution_->library = &library;
    execution_->engine = std::move(engine);
    execution_->constant_weights = problem.direction == ConvolutionDirection::forward;
  }

  Status create(const Layouts& layouts) {
    const auto describe_part = [&](const std::vector<std::int64_t>& shape, bool weights, bool any) {
      return library_.describe(view_of(problem_, shape, weights, any));
    };
    const OwnedDesc given[] = {TRY(describe_part(problem_.x_shape(), false, false)),
                               TRY(describe_part(problem_.w_shape(), true, false)),
                               TRY(describe_part(problem_.y_shape(), false, false))};
    const OwnedDesc wanted[] = {TRY(describe_part(problem_.x_shape(), false, layouts.any_data)),
                                TRY(describe_part(problem_.w_shape(), true, layouts.any_weights)),
                                TRY(describe_part(problem_.y_shape(), false, layouts.any_data))};
    ConvolutionSpec spec;
    spec.x = wanted[0].get();
    spec.w = wanted[1].get();
    spec.y = wanted[2].get();
    for (int i = 0; i < problem_.dimensions; ++i) {
      const auto at = static_cast<std::size_t>(i);
      spec.strides[at] = problem_.stride[at];
      spec.dilations[at] = problem_.dilation[at] - 1;
      spec.pads[at] = problem_.pad[at];
    }
    int queries[] = {query_source, query_weights, query_destination};
    int arguments[] = {argument_source, argument_weights, argument_destination};
    std::size_t result = 2;
    if (problem_.direction == ConvolutionDirection::data) {
      spec.pass = Pass::backward_data;
      result = 0;
      queries[0] = query_source_gradient;
      arguments[0] = argument_source_gradient;
    } else if (problem_.direction == ConvolutionDirection::weights) {
      spec.pass = Pass::backward_weights;
      result = 1;
      queries[1] = query_weights_gradient;
      arguments[1] = argument_weights_gradient;
    }
    if (spec.pass != Pass::forward) {
      queries[2] = query_destination_gradient;
      arguments[2] = argument_destination_gradient;
    }
    desc_ = TRY(library_.convolution(execution_->engine.get(), spec));

    const Functions& f = library_.functions();
    execution_->convolution = TRY(library_.step(execution_->engine.get(), desc_));
    void* made = nullptr;
    TRY(library_.check(f.stream_create(&made, execution_->engine.get(), stream_in_order),
                       "stream_create"));
    execution_->stream = {made, f.stream_destroy};
    for (std::size_t i = 0; i < 3; ++i) {
      Part& part = execution_->parts[i];
      part.argument = arguments[i];
      part.is_result = i == result;
      TRY(make_part(part, given[i].get(), f.primitive_desc_md(desc_.get(), queries[i], 0)));
    }
    return {};
  }

  std::string algorithm() const override {
    return fmt::format("{} {}", layouts(), implementation());
  }
  /// Returns whether it is the reference implementation, which is a hundred times slower.
  bool is_reference() const { return implementation().starts_with("ref"); }
  /// Returns whether it writes beyond its workspace. This happens for gradients of strided 1 x 1
  /// filters with channels last and fewer channels than a block of oneDNN's kernels (oneDNN's issue
  /// 6035, open in November 2026). Results are wrong, and with one thread these kernels crash.
  bool overruns() const {
    const ConvolutionProblem& p = problem_;
    const std::string name = implementation();
    const std::int64_t block = name.find("avx512") != std::string::npos ? 16 : 8;
    const std::int64_t channels = p.c / p.groups;
    const bool strided = *std::max_element(p.stride.begin(), p.stride.begin() + p.dimensions) > 1;
    return p.direction == ConvolutionDirection::weights && name.starts_with("jit_1x1") &&
           p.channels_last && !execution_->parts[0].own && channels < block && strided;
  }
  std::size_t workspace_bytes() const override { return 0; }
  bool transforms() const override { return implementation().find("wino") != std::string::npos; }

  Status prepare(assay::Stream& stream, const ConvolutionOperands& operands) override {
    if (!execution_->constant_weights || !execution_->parts[1].own) return {};
    return stream.call([execution = execution_, operands] { execution->pack_weights(operands); });
  }

  Status queue(assay::Stream& stream, const ConvolutionOperands& operands, void*) override {
    // Work runs later on the stream's thread, so its failure is reported on the next call.
    TRY(library_.check(execution_->failure.load(), describe(problem_)));
    return stream.call([execution = execution_, operands] { execution->run(operands); });
  }

 private:
  /// Lists the tensors that it copies.
  std::string_view layouts() const {
    const auto& [x, w, y] = execution_->parts;
    if (x.own || y.own) return "blocked";
    return w.own ? "packed" : "plain";
  }
  std::string implementation() const {
    const char* name = nullptr;
    library_.functions().primitive_desc_query(desc_.get(), query_implementation, 0, &name);
    return name != nullptr ? name : "unnamed";
  }

  Status make_part(Part& part, MemoryDesc given, MemoryDesc used) const {
    Engine engine = execution_->engine.get();
    part.given = TRY(library_.memory(engine, given, nullptr));
    if (library_.functions().descs_equal(given, used) != 0) return {};
    part.own = TRY(library_.memory(engine, used, allocate_inside()));
    const Object desc =
        TRY(library_.reorder(engine, part.is_result ? used : given, part.is_result ? given : used));
    part.reorder = TRY(library_.step(engine, desc));
    return {};
  }

  const Library& library_;
  Object desc_{nullptr, nullptr};
  std::shared_ptr<Execution> execution_;
};

class OneDnnConvolution final : public Convolution {
 public:
  OneDnnConvolution(const Library& library, std::shared_ptr<void> engine,
                    const ConvolutionProblem& problem)
      : library_(library), engine_(std::move(engine)), problem_(problem) {}

  std::string library() const override { return "oneDNN " + library_.version(); }
  std::string path() const override { return library_.path(); }

  Result<std::vector<std::unique_ptr<ConvolutionPlan>>> plans(assay::Stream&,
                                                              const ConvolutionOperands&,
                                                              ConvolutionSearch search) override {
    if (search != ConvolutionSearch::every && search != ConvolutionSearch::first) {
      return Error{ErrorKind::unsupported, "oneDNN has no find modes, they are MIOpen's"};
    }
    std::vector<std::unique_ptr<OneDnnPlan>> found;
    for (const Layouts& layouts : all_layouts) {
      if (search == ConvolutionSearch::first && !found.empty()) break;
      auto plan = std::make_unique<OneDnnPlan>(library_, engine_, problem_);
      const Status created = plan->create(layouts);
      if (!created.ok()) {
        return Error{
            created.error().kind,
            fmt::format("{} for {} on this CPU", created.error().message, describe(problem_))};
      }
      // If the library prefers the given layouts, this equals one of the plans before.
      const bool known = std::any_of(found.begin(), found.end(), [&](const auto& other) {
        return other->algorithm() == plan->algorithm();
      });
      const bool useless = plan->is_reference() && !found.empty();
      if (!known && !useless && !plan->overruns()) found.push_back(std::move(plan));
    }
    if (found.empty()) {
      return Error{ErrorKind::unsupported,
                   fmt::format("{} has only a kernel that writes past its workspace (issue 6035) "
                               "for {} on this CPU; take layout=nchw",
                               library(), describe(problem_))};
    }
    // A reference implementation is always slow and would only prolong the search.
    if (found.size() > 1 && found.front()->is_reference()) found.erase(found.begin());
    std::vector<std::unique_ptr<ConvolutionPlan>> plans;
    for (auto& plan : found) plans.push_back(std::move(plan));
    return plans;
  }

 private:
  const Library& library_;
  std::shared_ptr<void> engine_;
  ConvolutionProblem problem_;
};

std::optional<std::string> unsupported(const ConvolutionProblem& problem, const DeviceFacts&) {
  if (problem.type == DataType::f32 || problem.type == DataType::f16 ||
      problem.type == DataType::bf16) {
    return std::nullopt;
  }
  return fmt::format("oneDNN convolves f32, f16 and bf16 here, not {}", name_of(problem.type));
}

Result<std::unique_ptr<Convolution>> open(Device&, const ConvolutionProblem& problem) {
  const Library* library = TRY(Library::load());
  void* engine = nullptr;
  TRY(library->check(library->functions().engine_create(&engine, engine_cpu, 0), "engine_create"));
  return std::unique_ptr<Convolution>(std::make_unique<OneDnnConvolution>(
      *library, std::shared_ptr<void>(engine, library->functions().engine_destroy), problem));
}

const ConvolutionRegistry::Add registered{{"onednn", "cpu", &unsupported, &open}};

}  // namespace
}  // namespace assay::onednn_convolution
