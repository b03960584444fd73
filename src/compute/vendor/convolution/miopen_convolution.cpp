// Convolutions by MIOpen. Algorithms are found by its find modes, as PyTorch does with
// cudnn.benchmark; in immediate mode, as PyTorch does otherwise; and by Find 2.0.
#include <fmt/format.h>

#include <algorithm>

#include "compute/vendor/convolution/convolution.h"
#include "compute/vendor/convolution/miopen_library.h"

namespace assay::miopen_convolution {
namespace {

using namespace miopen;
using Plans = std::vector<std::unique_ptr<ConvolutionPlan>>;

/// A tensor descriptor and the tensor's address.
struct Place {
  Tensor tensor;
  void* data;
};

/// The library on a device with one problem; shared by the problem and its plans.
class Opened {
 public:
  static Result<std::shared_ptr<Opened>> create(Device& device, const Library& library,
                                                const ConvolutionProblem& problem) {
    auto descriptors = TRY(Descriptors::create(library, problem));
    return std::shared_ptr<Opened>(new Opened(device, library, problem, std::move(descriptors)));
  }

  const Library& library() const { return library_; }
  const ConvolutionProblem& problem() const { return problem_; }
  const Descriptors& descriptors() const { return descriptors_; }
  const PassFunctions& pass() const { return library_.pass(problem_.direction); }
  Device& device() const { return device_; }

  /// Returns the handle, after directing its work to this stream.
  Result<Handle> handle(Stream& stream) {
    TRY(device_.make_current());
    void* const native = stream.native_handle();
    if (!handle_) {
      void* made = nullptr;
      TRY(check("miopenCreateWithStream", library_.functions.create(&made, native)));
      handle_ = Object(made, library_.functions.destroy);
    } else if (native != stream_) {
      TRY(check("miopenSetStream", library_.functions.set_stream(handle_.get(), native)));
    }
    stream_ = native;
    return handle_.get();
  }
  Status check(std::string_view call, int status) const { return library_.check(call, status); }

  /// Returns "miopenConvolutionBackwardDataImmediate" for "miopenConvolution", "Immediate".
  std::string call(std::string_view before, std::string_view after) const {
    constexpr std::string_view names[] = {"Forward", "BackwardData", "BackwardWeights"};
    return fmt::format("{}{}{}", before, names[static_cast<std::size_t>(problem_.direction)],
                       after);
  }

  // Operands in the order of the library's functions, see miopen_api.h.
  Place first(const ConvolutionOperands& o) const {
    return is_forward() ? Place{descriptors_.x(), o.x} : Place{descriptors_.y(), o.y};
  }
  Place second(const ConvolutionOperands& o) const {
    return is(ConvolutionDirection::weights) ? Place{descriptors_.x(), o.x}
                                             : Place{descriptors_.w(), o.w};
  }
  Place result(const ConvolutionOperands& o) const {
    return is_forward()                        ? Place{descriptors_.y(), o.y}
           : is(ConvolutionDirection::weights) ? Place{descriptors_.w(), o.w}
                                               : Place{descriptors_.x(), o.x};
  }
  Place first_without_algorithm(const ConvolutionOperands& o) const {
    return is_forward() ? second(o) : first(o);
  }
  Place second_without_algorithm(const ConvolutionOperands& o) const {
    return is_forward() ? first(o) : second(o);
  }

 private:
  Opened(Device& device, const Library& library, const ConvolutionProblem& problem,
         Descriptors descriptors)
      : device_(device),
        library_(library),
        problem_(problem),
        descriptors_(std::move(descriptors)) {}

  bool is(ConvolutionDirection direction) const { return problem_.direction == direction; }
  bool is_forward() const { return is(ConvolutionDirection::forward); }

  Device& device_;
  const Library& library_;
  ConvolutionProblem problem_;
  Descriptors descriptors_;
  Object handle_{nullptr, nullptr};
  void* stream_ = nullptr;
};

class MiopenPlan : public ConvolutionPlan {
 public:
  MiopenPlan(std::shared_ptr<Opened> opened, int algorithm, std::size_t workspace_bytes)
      : ConvolutionPlan(opened->problem()),
        opened_(std::move(opened)),
        algorithm_(algorithm),
        workspace_bytes_(workspace_bytes) {}

  std::size_t workspace_bytes() const override { return workspace_bytes_; }
  bool transforms() const override {
    return algorithm_ == algorithm_winograd || algorithm_ == algorithm_fft;
  }

 protected:
  std::string solver_name(std::uint64_t id) const {
    return fmt::format("solver={} {}", id, algorithm_name(algorithm_));
  }

  std::shared_ptr<Opened> opened_;
  int algorithm_;
  std::size_t workspace_bytes_;
};

/// One kind of algorithm, by the solver that miopenFind... found to be the fastest.
class FoundPlan final : public MiopenPlan {
 public:
  using MiopenPlan::MiopenPlan;
  std::string algorithm() const override { return std::string(algorithm_name(algorithm_)); }

  Status queue(Stream& stream, const ConvolutionOperands& operands, void* workspace) override {
    constexpr float one = 1, zero = 0;
    Opened& o = *opened_;
    const Handle handle = TRY(o.handle(stream));
    const Place a = o.first(operands), b = o.second(operands), result = o.result(operands);
    return o.check(o.call("miopenConvolution", ""),
                   o.pass().run(handle, &one, a.tensor, a.data, b.tensor, b.data,
                                o.descriptors().convolution(), algorithm_, &zero, result.tensor,
                                result.data, workspace, workspace_bytes_));
  }
};

class ImmediatePlan final : public MiopenPlan {
 public:
  ImmediatePlan(std::shared_ptr<Opened> opened, const Immediate& solution)
      : MiopenPlan(std::move(opened), solution.algorithm, solution.workspace_bytes),
        id_(solution.id) {}
  std::string algorithm() const override { return solver_name(id_); }

  Status compile(Stream& stream) {
    Opened& o = *opened_;
    const Handle handle = TRY(o.handle(stream));
    return o.check(o.call("miopenConvolution", "CompileSolution"),
                   o.pass().compile(handle, o.first_without_algorithm({}).tensor,
                                    o.second_without_algorithm({}).tensor,
                                    o.descriptors().convolution(), o.result({}).tensor, id_));
  }
  Status queue(Stream& stream, const ConvolutionOperands& operands, void* workspace) override {
    Opened& o = *opened_;
    const Handle handle = TRY(o.handle(stream));
    const Place a = o.first_without_algorithm(operands), b = o.second_without_algorithm(operands),
                result = o.result(operands);
    return o.check(o.call("miopenConvolution", "Immediate"),
                   o.pass().run_immediate(handle, a.tensor, a.data, b.tensor, b.data,
                                          o.descriptors().convolution(), result.tensor, result.data,
                                          workspace, workspace_bytes_, id_));
  }

 private:
  std::uint64_t id_;
};

/// A solution of Find 2.0.
class SolutionPlan final : public MiopenPlan {
 public:
  SolutionPlan(std::shared_ptr<Opened> opened, Object solution, std::uint64_t id, int algorithm,
               std::size_t workspace_bytes)
      : MiopenPlan(std::move(opened), algorithm, workspace_bytes),
        solution_(std::move(solution)),
        id_(id) {}
  std::string algorithm() const override { return solver_name(id_); }

  Status queue(Stream& stream, const ConvolutionOperands& operands, void* workspace) override {
    Opened& o = *opened_;
    const Handle handle = TRY(o.handle(stream));
    const Argument arguments[] = {{tensor_x, nullptr, operands.x},
                                  {tensor_w, nullptr, operands.w},
                                  {tensor_y, nullptr, operands.y}};
    return o.check("miopenRunSolution",
                   o.library().functions.run_solution(handle, solution_.get(), std::size(arguments),
                                                      arguments, workspace, workspace_bytes_));
  }

 private:
  Object solution_;
  std::uint64_t id_;
};

Result<Plans> found_plans(const std::shared_ptr<Opened>& opened, Stream& stream,
                          const ConvolutionOperands& operands, int mode, bool exhaustive = false) {
  constexpr int most = 16;  // kinds of algorithms
  Opened& o = *opened;
  const Functions& f = o.library().functions;
  const Descriptor convolution = o.descriptors().convolution();
  if (f.set_find_mode == nullptr) {
    return Error{ErrorKind::unsupported,
                 fmt::format("{} has no function miopenSetConvolutionFindMode", o.library().path)};
  }
  TRY(o.check("miopenSetConvolutionFindMode", f.set_find_mode(convolution, mode)));
  const Handle handle = TRY(o.handle(stream));
  std::size_t bytes = 0;
  TRY(o.check(o.call("miopenConvolution", "GetWorkSpaceSize"),
              o.pass().workspace_size(handle, o.first_without_algorithm({}).tensor,
                                      o.second_without_algorithm({}).tensor, convolution,
                                      o.result({}).tensor, &bytes)));
  Buffer workspace;
  if (bytes > 0) workspace = TRY(o.device().allocate(bytes, MemoryKind::device));
  const Place a = o.first(operands), b = o.second(operands), result = o.result(operands);
  Found found[most] = {};
  int count = 0;
  TRY(o.check(
      o.call("miopenFindConvolution", "Algorithm"),
      o.pass().find(handle, a.tensor, a.data, b.tensor, b.data, convolution, result.tensor,
                    result.data, most, &count, found, workspace.data(), bytes, exhaustive)));
  Plans plans;
  for (int i = 0; i < std::min(count, most); ++i) {
    plans.push_back(
        std::make_unique<FoundPlan>(opened, found[i].algorithm, found[i].workspace_bytes));
  }
  return plans;
}

/// Returns at most `most` plans, compiled, in the library's order. Solutions that fail to compile
/// are left out. Error: the last one's, if all fail.
Result<Plans> immediate_plans(const std::shared_ptr<Opened>& opened, Stream& stream,
                              std::size_t most) {
  Opened& o = *opened;
  const Handle handle = TRY(o.handle(stream));
  const Tensor a = o.first_without_algorithm({}).tensor, b = o.second_without_algorithm({}).tensor,
               result = o.result({}).tensor;
  const Descriptor convolution = o.descriptors().convolution();
  std::size_t count = 0;
  TRY(o.check(o.call("miopenConvolution", "GetSolutionCount"),
              o.pass().solution_count(handle, a, b, convolution, result, &count)));
  std::vector<Immediate> solutions(std::min(count, most));
  count = 0;
  if (!solutions.empty()) {
    TRY(o.check(o.call("miopenConvolution", "GetSolution"),
                o.pass().solutions(handle, a, b, convolution, result, solutions.size(), &count,
                                   solutions.data())));
  }
  solutions.resize(std::min(count, solutions.size()));
  Plans plans;
  std::optional<Error> last;
  for (const Immediate& solution : solutions) {
    auto plan = std::make_unique<ImmediatePlan>(opened, solution);
    if (const Status compiled = plan->compile(stream); compiled.ok()) {
      plans.push_back(std::move(plan));
    } else {
      last = compiled.error();
    }
  }
  if (plans.empty() && last) return *last;
  return plans;
}

Result<Plans> solution_plans(const std::shared_ptr<Opened>& opened, Stream& stream,
                             const ConvolutionOperands& operands) {
  constexpr std::size_t most = 64;
  constexpr int directions[] = {direction_forward, direction_data, direction_weights};
  Opened& o = *opened;
  const Functions& f = o.library().functions;
  if (!o.library().has_find_2()) {
    return Error{ErrorKind::unsupported,
                 fmt::format("{} of {} has no Find 2.0", o.library().path, o.library().name())};
  }
  const Handle handle = TRY(o.handle(stream));
  void* made = nullptr;
  TRY(o.check("miopenCreateConvProblem",
              f.problem_create(&made, o.descriptors().convolution(),
                               directions[static_cast<std::size_t>(o.problem().direction)])));
  const Object problem(made, f.problem_destroy);
  TRY(o.check("miopenCreateFindOptions", f.options_create(&made)));
  const Object options(made, f.options_destroy);
  struct Given {
    unsigned id;
    Tensor tensor;
    void* data;
  };
  const Given tensors[] = {{tensor_x, o.descriptors().x(), operands.x},
                           {tensor_w, o.descriptors().w(), operands.w},
                           {tensor_y, o.descriptors().y(), operands.y}};
  for (const auto& [id, tensor, data] : tensors) {
    TRY(o.check("miopenSetProblemTensorDescriptor",
                f.problem_set_tensor(problem.get(), id, tensor)));
    TRY(o.check("miopenSetFindOptionPreallocatedTensor",
                f.options_set_tensor(options.get(), id, data)));
  }
  Solution found[most] = {};
  std::size_t count = 0;
  TRY(o.check("miopenFindSolutions",
              f.find_solutions(handle, problem.get(), options.get(), found, &count, most)));
  std::vector<Object> solutions;  // owns all solutions, even if a later call fails
  for (std::size_t i = 0; i < std::min(count, most); ++i) {
    solutions.emplace_back(found[i], f.solution_destroy);
  }
  Plans plans;
  for (Object& solution : solutions) {
    std::size_t bytes = 0;
    std::uint64_t id = 0;
    int algorithm = 0;
    TRY(o.check("miopenGetSolutionWorkspaceSize", f.solution_workspace(solution.get(), &bytes)));
    TRY(o.check("miopenGetSolutionSolverId", f.solution_solver(solution.get(), &id)));
    TRY(o.check("miopenGetSolverIdConvAlgorithm", f.solver_algorithm(id, &algorithm)));
    plans.push_back(
        std::make_unique<SolutionPlan>(opened, std::move(solution), id, algorithm, bytes));
  }
  return plans;
}

/// Returns what immediate mode proposes, then what Find 2.0 has in addition.
Result<Plans> all_plans(const std::shared_ptr<Opened>& opened, Stream& stream,
                        const ConvolutionOperands& operands) {
  constexpr std::size_t most = 64;
  Plans plans = TRY(immediate_plans(opened, stream, most));
  if (!opened->library().has_find_2()) return plans;
  auto more = solution_plans(opened, stream, operands);
  if (!more.ok()) {
    if (more.error().kind == ErrorKind::unsupported && !plans.empty()) return plans;
    return more.error();
  }
  for (auto& plan : *more) {
    const bool known = std::any_of(plans.begin(), plans.end(), [&](const auto& other) {
      return other->algorithm() == plan->algorithm();
    });
    if (!known) plans.push_back(std::move(plan));
  }
  return plans;
}

class MiopenConvolution final : public Convolution {
 public:
  explicit MiopenConvolution(std::shared_ptr<Opened> opened) : opened_(std::move(opened)) {}

  std::string library() const override { return opened_->library().name(); }
  std::string path() const override { return opened_->library().path; }

  Result<Plans> plans(Stream& stream, const ConvolutionOperands& operands,
                      ConvolutionSearch search) override {
    Plans plans = TRY(search_plans(stream, operands, search));
    if (plans.empty()) {
      return Error{ErrorKind::unsupported, fmt::format("{} has no solution for {}", library(),
                                                       describe(opened_->problem()))};
    }
    return plans;
  }

 private:
  Result<Plans> search_plans(Stream& stream, const ConvolutionOperands& operands,
                             ConvolutionSearch search) {
    switch (search) {
      case ConvolutionSearch::first:
        return immediate_plans(opened_, stream, 1);
      case ConvolutionSearch::find_normal:
        return found_plans(opened_, stream, operands, miopen::find_normal);
      case ConvolutionSearch::find_fast:
        return found_plans(opened_, stream, operands, miopen::find_fast);
      case ConvolutionSearch::find_hybrid:
        return found_plans(opened_, stream, operands, miopen::find_hybrid);
      case ConvolutionSearch::find_dynamic:
        return found_plans(opened_, stream, operands, find_dynamic_hybrid);
      case ConvolutionSearch::find_2:
        return solution_plans(opened_, stream, operands);
      case ConvolutionSearch::find_exhaustive:
        return found_plans(opened_, stream, operands, miopen::find_normal, true);
      default:
        return all_plans(opened_, stream, operands);
    }
  }

  std::shared_ptr<Opened> opened_;
};

std::optional<std::string> unsupported(const ConvolutionProblem& problem, const DeviceFacts&) {
  if (data_type(problem.type) >= 0) return std::nullopt;
  return fmt::format("MIOpen convolves f32, f16 and bf16 here, not {}", name_of(problem.type));
}

Result<std::unique_ptr<Convolution>> open(Device& device, const ConvolutionProblem& problem) {
  TRY(device.make_current());
  const Library* library = TRY(Library::load());
  auto opened = TRY(Opened::create(device, *library, problem));
  return std::unique_ptr<Convolution>(std::make_unique<MiopenConvolution>(std::move(opened)));
}

const ConvolutionRegistry::Add registered{{"miopen", "hip", &unsupported, &open}};

}  // namespace
}  // namespace assay::miopen_convolution
