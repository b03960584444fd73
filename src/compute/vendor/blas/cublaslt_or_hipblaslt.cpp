#include "compute/vendor/blas/cublaslt_or_hipblaslt.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "compute/vendor/blas/lt_descriptors.h"

namespace assay::lt {
namespace {

class LtPlan final : public GemmPlan {
 public:
  LtPlan(const Library& library, Handle handle, Device& device, const GemmProblem& problem,
         const GemmAlgorithm& algorithm, Descriptors descriptors)
      : GemmPlan(problem),
        library_(library),
        handle_(handle),
        device_(device),
        algorithm_(algorithm),
        descriptors_(std::move(descriptors)),
        alpha_(problem.compute, problem.alpha),
        beta_(problem.compute, problem.beta) {}

  Status queue(Stream& stream, const GemmOperands& operands, Workspace workspace) override {
    if (workspace.bytes < algorithm_.workspace_bytes) {
      return Error{ErrorKind::failed, fmt::format("{}: {} needs {} bytes of workspace, {} given",
                                                  library_.dialect.name, algorithm_.name,
                                                  algorithm_.workspace_bytes, workspace.bytes)};
    }
    TRY(device_.make_current());
    TRY(descriptors_.point_to(library_, problem_, operands));
    const bool none = library_.dialect.takes_null_c && problem_.c != problem_.d;
    const void* unread_c = none ? nullptr : operands.d;
    const void* c = problem_.beta != 0 ? operands.c : unread_c;
    const int status = library_.functions.matmul(
        handle_, descriptors_.operation(), alpha_.address(), operands.b, descriptors_.left(),
        operands.a, descriptors_.right(), beta_.address(), c, descriptors_.c(), operands.d,
        descriptors_.d(), algorithm_.data.data(), workspace.data, workspace.bytes,
        stream.native_handle());
    if (status != 0) return status_error(library_, "Matmul", status, problem_);
    return {};
  }

 private:
  const Library& library_;
  Handle handle_;
  Device& device_;
  GemmAlgorithm algorithm_;
  Descriptors descriptors_;
  Scalar alpha_, beta_;
};

class LtBlas final : public Blas {
 public:
  LtBlas(const Library& library, Device& device, Handle handle, BlasFacts facts)
      : library_(library),
        device_(device),
        handle_(handle, library.functions.destroy),
        facts_(std::move(facts)) {}

  const BlasFacts& facts() const override { return facts_; }

  Result<std::vector<GemmAlgorithm>> algorithms(const GemmProblem& problem,
                                                std::size_t workspace_bytes, int most) override {
    TRY(validate(problem));
    TRY(device_.make_current());
    Descriptors descriptors = TRY(Descriptors::create(library_, problem));
    TRY(descriptors.point_to(library_, problem, placeholder_operands()));
    const Owned preference = TRY(make_preference(problem, workspace_bytes));

    const std::size_t result_bytes = library_.dialect.result_bytes;
    std::vector<std::uint64_t> results(static_cast<std::size_t>(most) * result_bytes / 8);
    int found = 0;
    const int status = library_.functions.heuristic(
        handle_.get(), descriptors.operation(), descriptors.left(), descriptors.right(),
        descriptors.c(), descriptors.d(), preference.get(), most, results.data(), &found);
    if (status != 0) return status_error(library_, "MatmulAlgoGetHeuristic", status, problem);

    std::vector<GemmAlgorithm> usable;
    for (int i = 0; i < std::min(found, most); ++i) {
      const auto* result = reinterpret_cast<const char*>(results.data()) +
                           static_cast<std::size_t>(i) * result_bytes;
      ResultTail tail;
      std::memcpy(&tail, result + library_.dialect.algorithm_bytes, sizeof(tail));
      if (tail.status != 0 || tail.workspace_bytes > workspace_bytes) continue;
      GemmAlgorithm algorithm;
      algorithm.workspace_bytes = tail.workspace_bytes;
      std::memcpy(algorithm.data.data(), result, library_.dialect.algorithm_bytes);
      algorithm.name = library_.describe_algorithm(library_, algorithm.data.data());
      if (library_.index_of != nullptr) algorithm.index = library_.index_of(algorithm.data.data());
      usable.push_back(std::move(algorithm));
    }
    if (usable.empty()) {
      return Error{ErrorKind::unsupported,
                   fmt::format("{} {} has no algorithm for {} within {} bytes of workspace",
                               facts_.name, facts_.version, describe(problem), workspace_bytes)};
    }
    if (library_.neighbours != nullptr && usable.size() < static_cast<std::size_t>(most)) {
      const std::size_t room = static_cast<std::size_t>(most) - usable.size();
      const auto more =
          library_.neighbours(handle_.get(), descriptors, usable, workspace_bytes, room);
      usable.insert(usable.end(), more.begin(), more.end());
    }
    return usable;
  }

  Result<std::vector<GemmAlgorithm>> all_algorithms(const GemmProblem& problem,
                                                    std::size_t workspace_bytes,
                                                    int most) override {
    constexpr int usual = 128;  // more than the heuristics rank
    auto listed = TRY(algorithms(problem, workspace_bytes, std::min(most, usual)));
    if (library_.all == nullptr) return listed;
    Descriptors descriptors = TRY(Descriptors::create(library_, problem));
    TRY(descriptors.point_to(library_, problem, placeholder_operands()));
    auto all = TRY(library_.all(library_, handle_.get(), descriptors, problem, listed,
                                workspace_bytes, static_cast<std::size_t>(most)));
    // Two algorithms with the same number are the same, even if their bytes differ.
    using Identity = std::pair<std::optional<std::int64_t>, std::array<std::uint64_t, 8>>;
    const auto identity = [](const GemmAlgorithm& algorithm) {
      return algorithm.index ? Identity(algorithm.index, {})
                             : Identity(std::nullopt, algorithm.data);
    };
    std::map<Identity, std::size_t> places;
    for (std::size_t i = 0; i < listed.size(); ++i) places.try_emplace(identity(listed[i]), i);
    for (GemmAlgorithm& algorithm : all) {
      const auto known = places.find(identity(algorithm));
      if (known != places.end()) {
        listed[known->second].solution = algorithm.solution;
        listed[known->second].kernel = algorithm.kernel;
      } else if (listed.size() < static_cast<std::size_t>(most)) {
        places.try_emplace(identity(algorithm), listed.size());
        listed.push_back(std::move(algorithm));
      }
    }
    return listed;
  }

  Result<std::unique_ptr<GemmPlan>> plan(const GemmProblem& problem,
                                         const GemmAlgorithm& algorithm) override {
    TRY(validate(problem));
    TRY(device_.make_current());
    Descriptors descriptors = TRY(Descriptors::create(library_, problem));
    return std::unique_ptr<GemmPlan>(std::make_unique<LtPlan>(
        library_, handle_.get(), device_, problem, algorithm, std::move(descriptors)));
  }

 private:
  /// The heuristics check whether a pointer is set and its alignment, but never dereference it, so
  /// real operands need not exist yet.
  static GemmOperands placeholder_operands() {
    void* aligned = reinterpret_cast<void*>(std::uintptr_t{1} << 20);
    auto* scale = static_cast<float*>(aligned);
    return {aligned, aligned, aligned, aligned, aligned, aligned, scale, scale, scale, scale};
  }

  Result<Owned> make_preference(const GemmProblem& problem, std::size_t workspace_bytes) {
    const Functions& f = library_.functions;
    const Dialect& dialect = library_.dialect;
    void* preference = nullptr;
    if (const int status = f.preference_create(&preference)) {
      return status_error(library_, "MatmulPreferenceCreate", status, problem);
    }
    Owned owned(preference, f.preference_destroy);
    const auto set = [&](int attribute, const auto& value) -> Status {
      const int status = f.preference_set(preference, attribute, &value, sizeof(value));
      if (status != 0) return status_error(library_, "PreferenceSetAttribute", status, problem);
      return {};
    };
    TRY(set(dialect.preference_workspace, static_cast<std::uint64_t>(workspace_bytes)));
    if (dialect.preference_reduction_mask != absent) {
      // Allow reductions only in place or in the compute type: rounding partial sums to a 16-bit D
      // would cost accuracy.
      TRY(set(dialect.preference_reduction_mask, std::uint32_t{3}));
    }
    if (dialect.preference_alignment_a != absent) {
      for (int matrix = 0; matrix < 4; ++matrix) {  // A, B, C, D have consecutive numbers
        TRY(set(dialect.preference_alignment_a + matrix,
                static_cast<std::uint32_t>(problem.alignment)));
      }
    }
    return owned;
  }

  const Library& library_;
  Device& device_;
  Owned handle_;
  BlasFacts facts_;
};

}  // namespace

Result<Functions> bind_functions(const SharedLibrary& library, std::string_view prefix) {
  Functions functions;
#define ASSAY_LT_BIND(member, symbol, parameters)                               \
  {                                                                             \
    const std::string name = std::string(prefix) + #symbol;                     \
    if (!library.bind(functions.member, {name.c_str()})) {                      \
      return Error{ErrorKind::unavailable,                                      \
                   fmt::format("{} has no function {}", library.path(), name)}; \
    }                                                                           \
  }
  ASSAY_LT_FUNCTIONS(ASSAY_LT_BIND)
#undef ASSAY_LT_BIND
  return functions;
}

Result<std::unique_ptr<Blas>> open_lt(const Library& library, Device& device) {
  TRY(device.make_current());
  Handle handle = nullptr;
  if (const int status = library.functions.create(&handle)) {
    return Error{kind_of_status(library.dialect, status),
                 fmt::format("{}: Create: {} ({})", library.dialect.name,
                             library.dialect.status_name(status), status)};
  }
  BlasFacts facts{std::string(library.dialect.name), library.version(library, handle),
                  library.path};
  if (library.revision != nullptr) facts.revision = library.revision(library, handle);
  if (library.number != nullptr) facts.number = library.number(library, handle);
  return std::unique_ptr<Blas>(std::make_unique<LtBlas>(library, device, handle, std::move(facts)));
}

}  // namespace assay::lt
