#include "measure/benchmarks/gemm/product_rate.h"

#include <vector>

#include "compute/autotune/contest.h"
#include "compute/device/helpers.h"
#include "compute/vendor/blas/gemm_plans.h"
#include "compute/vendor/blas/matrix_fill.h"

namespace assay {

Result<double> measured_product_rate(Device& device, Stream& stream, DataType precision) {
  const bool host = device.facts().runs_on_host;
  const std::int64_t n = host ? 512 : 8192;
  const DataType type = precision == DataType::tf32 ? DataType::f32 : precision;
  GemmProblem problem = make_gemm(n, n, n, precision, precision, false, true);
  GemmPlans::Options options;
  options.own_if_none = true;
  GemmPlans plans(device, stream, options, ChoiceCache::of_user(device.facts()));
  std::vector<Buffer> matrices;
  for (int i = 0; i < 3; ++i) {
    matrices.push_back(
        TRY(device.allocate(static_cast<std::size_t>(n * n) * size_of(type), MemoryKind::device)));
  }
  auto program = TRY(device.build({"matrix", {}}));
  for (int i = 0; i < 2; ++i) {
    TRY(fill_matrix(stream, device.facts(), *program, matrices[static_cast<std::size_t>(i)].data(),
                    type, {n, n, n}, Inputs::normal, static_cast<std::uint64_t>(i)));
  }
  GemmPlan* plan = TRY(plans.find(problem));
  const GemmOperands operands = {.a = matrices[0].data(),
                                 .b = matrices[1].data(),
                                 .c = matrices[2].data(),
                                 .d = matrices[2].data()};
  const Contender product = [&](Stream& on) {
    return plan->enqueue(on, operands, plans.workspace());
  };
  const ContestLimits limits{.final_seconds = host ? 0.05 : 0.1, .time_box_seconds = 2};
  const ContestResult result = TRY(find_fastest(device, stream, {product}, limits));
  return problem.flops() / result.seconds;
}

}  // namespace assay
