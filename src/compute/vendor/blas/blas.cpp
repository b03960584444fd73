#include "compute/vendor/blas/blas.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay {

std::vector<BlasProvider> blas_providers(std::string_view backend) {
  std::vector<BlasProvider> found;
  for (const BlasProvider& provider : BlasRegistry::entries()) {
    if (provider.backend == backend) found.push_back(provider);
  }
  std::sort(found.begin(), found.end(), [](const BlasProvider& a, const BlasProvider& b) {
    return a.preference < b.preference;
  });
  return found;
}

std::vector<std::string> blas_names() {
  std::vector<std::string> names;
  for (const BlasProvider& provider : BlasRegistry::entries()) names.emplace_back(provider.name);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());  // one provider per backend
  return names;
}

Result<std::unique_ptr<Blas>> open_blas(Device& device, std::string_view choice,
                                        const GemmProblem& problem) {
  std::string reasons;
  ErrorKind kind = ErrorKind::unsupported;
  for (const BlasProvider& provider : blas_providers(device.facts().backend)) {
    if (!provider.allowed_by(choice)) continue;
    if (!reasons.empty()) reasons += "; ";
    if (const auto reason = provider.unsupported(problem, device.facts())) {
      reasons += fmt::format("{}: {}", provider.name, *reason);
      continue;
    }
    auto blas = provider.open(device);
    if (blas.ok()) return blas;
    if (blas.error().kind == ErrorKind::unavailable) kind = ErrorKind::unavailable;
    reasons += blas.error().message;
  }
  if (reasons.empty()) {
    reasons = fmt::format("no matrix library {} works on {} devices",
                          choice == "auto" ? "" : choice, device.facts().backend);
  }
  return Error{kind, std::move(reasons)};
}

QueuedOperation queued_product(const GemmProblem& problem) {
  const std::string batch = problem.batch > 1 ? fmt::format("{},", problem.batch) : "";
  QueuedOperation operation;
  operation.name = "gemm " + describe(problem);
  operation.flops = problem.flops();
  operation.bytes = problem.bytes();
  operation.math = problem.compute == DataType::tf32 ? DataType::tf32 : problem.a;
  operation.shapes =
      fmt::format("[[{0}{1},{2}],[{0}{2},{3}]]", batch, problem.m, problem.k, problem.n);
  const bool tf32 = operation.math == DataType::tf32;  // its operands are stored as f32
  operation.types = fmt::format("[{},{}]", name_of(tf32 ? DataType::tf32 : problem.a),
                                name_of(tf32 ? DataType::tf32 : problem.b));
  return operation;
}

}  // namespace assay
