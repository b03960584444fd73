// Convolutions by the vendor's library: each direction, in every type and layout that it has,
// against the definition.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "advise/selftest/check.h"
#include "advise/selftest/expect.h"
#include "compute/device/helpers.h"
#include "compute/stored_elements.h"
#include "compute/vendor/convolution/convolution.h"
#include "core/random.h"
#include "measure/benchmarks/conv/convolution_verify.h"

namespace assay::selftest::convolutions {
namespace {

/// A tensor on the device, and its elements as the device has them.
struct Tensor {
  Buffer buffer;
  std::vector<float> values;
};

Result<Tensor> random_tensor(Stage& stage, DataType type, std::int64_t elements,
                             std::uint64_t seed) {
  Tensor made;
  made.values.resize(static_cast<std::size_t>(elements));
  std::vector<std::byte> stored(made.values.size() * size_of(type));
  Random random(seed);
  for (std::size_t i = 0; i < made.values.size(); ++i) {
    std::byte* const at = &stored[i * size_of(type)];
    store_element(type, at, random.normal());
    made.values[i] = static_cast<float>(load_element(type, at));
  }
  made.buffer = TRY(stage.device.allocate(stored.size(), MemoryKind::device));
  TRY(stage.stream.copy(made.buffer.data(), stored.data(), stored.size()));
  TRY(stage.stream.synchronize());
  return made;
}

Status read(Stage& stage, DataType type, Tensor& tensor) {
  const auto stored =
      TRY(read_back<std::byte>(stage.stream, tensor.buffer.data(), tensor.buffer.bytes()));
  for (std::size_t i = 0; i < tensor.values.size(); ++i) {
    tensor.values[i] = static_cast<float>(load_element(type, &stored[i * size_of(type)]));
  }
  return {};
}

/// Answers with the library and its algorithm.
Result<std::string> check_problem(Stage& stage, const ConvolutionProblem& problem) {
  const auto library = TRY(open_convolution(stage.device, "auto", problem));
  Tensor x = TRY(random_tensor(stage, problem.type, problem.x_elements(), 1));
  Tensor w = TRY(random_tensor(stage, problem.type, problem.w_elements(), 2));
  Tensor y = TRY(random_tensor(stage, problem.type, problem.y_elements(), 3));
  Tensor& result = problem.direction == ConvolutionDirection::data      ? x
                   : problem.direction == ConvolutionDirection::weights ? w
                                                                        : y;
  const ConvolutionOperands operands = {x.buffer.data(), w.buffer.data(), y.buffer.data()};
  const auto plans = TRY(library->plans(stage.stream, operands, ConvolutionSearch::first));
  ConvolutionPlan& plan = *plans.at(0);
  const Buffer workspace = TRY(stage.device.allocate(
      std::max<std::size_t>(plan.workspace_bytes(), 256), MemoryKind::device));
  TRY(plan.prepare(stage.stream, operands));
  TRY(stage.stream.fill(result.buffer.data(), 0xFF, result.buffer.bytes()));
  TRY(plan.enqueue(stage.stream, operands, workspace.data()));
  TRY(read(stage, problem.type, result));
  constexpr std::int64_t budget = 1 << 26;
  const Verification verified =
      verify_convolution(problem, {std::move(x.values), std::move(w.values), std::move(y.values)},
                         plan.transforms(), budget, 1);
  TRY(expect(verified.passed,
             fmt::format("{}, {}: {}", library->library(), plan.algorithm(), verified.detail)));
  return library->library();
}

template <ConvolutionDirection direction>
Answer check_direction(Stage& stage) {
  std::string library;
  std::vector<std::string> lacking;
  std::optional<Error> reason;
  for (const DataType type : {DataType::f32, DataType::tf32, DataType::f16, DataType::bf16}) {
    for (const bool channels_last : {false, true}) {
      const ConvolutionProblem problem = {.direction = direction,
                                          .type = type,
                                          .channels_last = channels_last,
                                          .n = 2,
                                          .c = 16,
                                          .k = 32,
                                          .in = {15, 13},
                                          .filter = {3, 3},
                                          .stride = {1, 1, 1},
                                          .pad = {1, 1}};
      const auto found = check_problem(stage, problem);
      if (found.ok()) {
        library = *found;
      } else if (found.error().kind == ErrorKind::unsupported ||
                 found.error().kind == ErrorKind::unavailable) {
        lacking.push_back(fmt::format("{} {}", name_of(type),
                                      channels_last ? "channels last" : "channels first"));
        reason = found.error();
      } else {
        return Error{found.error().kind,
                     fmt::format("{}: {}", describe(problem), found.error().message)};
      }
    }
  }
  if (library.empty()) return *reason;
  if (lacking.empty()) return library;
  return fmt::format("{}; lacks {}", library, fmt::join(lacking, ", "));
}

/// Libraries may compile the kernel of each convolution.
constexpr double limit_seconds = 120;

const AddChecks registered{
    {.name = "convolutions-forward",
     .topic = Topic::libraries,
     .about = "convolutions of every type and layout that the library has are right",
     .accelerator = false,
     .limit_seconds = limit_seconds,
     .run = &check_direction<ConvolutionDirection::forward>},
    {.name = "convolutions-data",
     .topic = Topic::libraries,
     .about = "gradients of a convolution's input are right",
     .accelerator = false,
     .limit_seconds = limit_seconds,
     .run = &check_direction<ConvolutionDirection::data>},
    {.name = "convolutions-weights",
     .topic = Topic::libraries,
     .about = "gradients of a convolution's weights are right",
     .accelerator = false,
     .limit_seconds = limit_seconds,
     .run = &check_direction<ConvolutionDirection::weights>},
};

}  // namespace
}  // namespace assay::selftest::convolutions
