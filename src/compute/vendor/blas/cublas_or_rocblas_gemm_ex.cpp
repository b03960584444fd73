#include "compute/vendor/blas/cublas_or_rocblas_gemm_ex.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace assay {
namespace {

class GemmExPlan final : public GemmPlan {
 public:
  GemmExPlan(GemmExBlas& blas, const GemmProblem& problem, const GemmAlgorithm& algorithm)
      : GemmPlan(problem),
        blas_(blas),
        alpha_(problem.compute, problem.alpha),
        beta_(problem.compute, problem.beta),
        call_(GemmExBlas::call_for(problem, alpha_, beta_)) {
    call_.solution = static_cast<int>(static_cast<std::int64_t>(algorithm.data[0]));
  }

  Status queue(Stream& stream, const GemmOperands& operands, Workspace workspace) override {
    call_.left = operands.b;
    call_.right = operands.a;
    call_.c = problem_.beta != 0 ? operands.c : operands.d;
    call_.d = operands.d;
    return blas_.run(stream.native_handle(), workspace, call_);
  }

 private:
  GemmExBlas& blas_;
  Scalar alpha_, beta_;
  GemmExCall call_;
};

}  // namespace

std::optional<std::string> beyond_gemm_ex(const GemmProblem& p) {
  if (auto reason = needs_all_multiprocessors(p)) return reason;
  if (p.epilogue != Epilogue::none) {
    return fmt::format("it has no fused epilogues, so not {}", name_of(p.epilogue));
  }
  if (is_fp8(p.a) || is_fp8(p.b) || p.scales_a || p.scales_b || p.scales_d || p.writes_amax_d) {
    return "it has no fp8 and no scaling factors";
  }
  if (p.c != p.d) return "C and D must have the same type";
  const std::int64_t largest = std::max({p.m, p.n, p.k, p.batch, p.lda, p.ldb, p.ldd});
  if (largest > std::numeric_limits<int>::max()) {
    return fmt::format("its sizes are 32-bit, and {} is larger", largest);
  }
  return std::nullopt;
}

GemmExCall GemmExBlas::call_for(const GemmProblem& p, const Scalar& alpha, const Scalar& beta) {
  GemmExCall call;
  call.transpose_left = p.transpose_b;
  call.transpose_right = p.transpose_a;
  call.rows = static_cast<int>(p.n);
  call.columns = static_cast<int>(p.m);
  call.inner = static_cast<int>(p.k);
  call.batch = static_cast<int>(p.batch);
  call.left_type = p.b;
  call.right_type = p.a;
  call.c_type = p.c;
  call.d_type = p.d;
  call.compute = p.compute;
  call.alpha = alpha.address();
  call.beta = beta.address();
  call.ld_left = static_cast<int>(p.ldb);
  call.ld_right = static_cast<int>(p.lda);
  call.ld_d = static_cast<int>(p.ldd);
  call.stride_left = p.stride_b;
  call.stride_right = p.stride_a;
  call.stride_d = p.stride_d;
  return call;
}

Status GemmExBlas::check(int status, std::string_view what) const {
  if (status == 0) return {};
  return Error{kind_of(status),
               fmt::format("{}: {}: {} ({})", facts_.name, what, status_name(status), status)};
}

Result<std::vector<GemmAlgorithm>> GemmExBlas::list(const GemmProblem& problem,
                                                    std::size_t workspace_bytes,
                                                    const std::vector<int>& listed,
                                                    int most) const {
  TRY(validate(problem));
  if (const auto reason = beyond_gemm_ex(problem)) {
    return Error{ErrorKind::unsupported, fmt::format("{}: {}", facts_.name, *reason)};
  }
  const std::size_t workspace = std::min(workspace_bytes, wanted_workspace());
  std::vector<GemmAlgorithm> found = {{"default", workspace, {}}};
  for (const int solution : listed) {
    if (static_cast<int>(found.size()) >= most) break;
    found.push_back({fmt::format("solution={}", solution),
                     workspace,
                     {static_cast<std::uint64_t>(std::int64_t{solution})},
                     solution});
  }
  return found;
}

Result<std::vector<GemmAlgorithm>> GemmExBlas::algorithms(const GemmProblem& problem,
                                                          std::size_t workspace_bytes, int most) {
  std::vector<int> listed;
  if (most > 1 && validate(problem).ok() && !beyond_gemm_ex(problem)) {
    TRY(device_.make_current());
    const Scalar alpha(problem.compute, problem.alpha), beta(problem.compute, problem.beta);
    auto found = solutions(call_for(problem, alpha, beta));
    if (found.ok()) listed = std::move(found).value();  // otherwise only the default remains
  }
  return list(problem, workspace_bytes, listed, most);
}

Result<std::vector<GemmAlgorithm>> GemmExBlas::all_algorithms(const GemmProblem& problem,
                                                              std::size_t workspace_bytes,
                                                              int most) {
  TRY(list(problem, workspace_bytes, {}, 1));  // fails if the library does not support the problem
  TRY(device_.make_current());
  const Scalar alpha(problem.compute, problem.alpha), beta(problem.compute, problem.beta);
  const auto listed = TRY(solutions(call_for(problem, alpha, beta)));
  return list(problem, workspace_bytes, listed, most);
}

Result<std::unique_ptr<GemmPlan>> GemmExBlas::plan(const GemmProblem& problem,
                                                   const GemmAlgorithm& algorithm) {
  TRY(validate(problem));
  return std::unique_ptr<GemmPlan>(std::make_unique<GemmExPlan>(*this, problem, algorithm));
}

Status GemmExBlas::run(void* stream, Workspace workspace, const GemmExCall& call) {
  if (works_in_place() && call.c != call.d) {
    return Error{ErrorKind::unsupported,
                 fmt::format("{}: C must be D if beta is not 0", facts_.name)};
  }
  const MutexLock lock(mutex_);
  TRY(device_.make_current());
  if (!stream_set_ || stream != stream_) {
    TRY(check(set_stream(stream), "set stream"));
    stream_ = stream;
    stream_set_ = true;
    workspace_ = {};  // setting the stream may reset the workspace
  }
  if (workspace.data == nullptr && holds_workspace_) {
    TRY(check(forget_workspace(stream), "forget the workspace"));
    holds_workspace_ = false;
    workspace_ = {};
  }
  if (workspace.data != nullptr &&
      (workspace.data != workspace_.data || workspace.bytes != workspace_.bytes)) {
    holds_workspace_ = true;
    TRY(check(set_workspace(workspace), "set workspace"));
    workspace_ = workspace;
  }
  return check(multiply(call), "gemm_ex");
}

}  // namespace assay
