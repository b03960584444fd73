// Convolutions by cuDNN, as graphs of one operation.
#include <fmt/format.h>

#include <algorithm>

#include "compute/vendor/convolution/convolution.h"
#include "compute/vendor/libraries/cudnn_plan.h"

namespace assay::cudnn_convolution {
namespace {

using namespace cudnn;

enum Id : std::int64_t { input = 1, filters, output };

int data_type(DataType type) {
  switch (type) {
    case DataType::f16:
      return data::f16;
    case DataType::bf16:
      return data::bf16;
    default:
      return data::f32;
  }
}

struct Direction {
  int descriptor;
  attribute::ConvolutionOperation names;
  std::string_view role;
};
Direction direction_of(const ConvolutionProblem& problem) {
  switch (problem.direction) {
    case ConvolutionDirection::data:
      return {descriptor::convolution_data, attribute::convolution_data, "the gradient of data"};
    case ConvolutionDirection::weights:
      return {descriptor::convolution_weights, attribute::convolution_weights,
              "the gradient of weights"};
    default:
      return {descriptor::convolution_forward, attribute::convolution_forward,
              "a convolution forward"};
  }
}

Result<OperationGraph> convolution_graph(const Library& library, void* handle,
                                         const ConvolutionProblem& p) {
  GraphBuilder g(library);
  const auto tensor = [&](const std::vector<std::int64_t>& shape, Id id) {
    return g.tensor({data_type(p.type), shape, p.strides_of(shape), id});
  };
  void* const x = TRY(tensor(p.x_shape(), input));
  void* const w = TRY(tensor(p.w_shape(), filters));
  void* const y = TRY(tensor(p.y_shape(), output));

  const std::int64_t dimensions = p.dimensions;
  Descriptor how = TRY(Descriptor::create(library, descriptor::convolution, "a convolution"));
  TRY(how.set(attribute::convolution_precision, type::data_type, data::f32));
  TRY(how.set(attribute::convolution_mode, type::convolution_mode, cross_correlation));
  TRY(how.set(attribute::convolution_dimensions, type::int64, dimensions));
  TRY(how.set(attribute::convolution_pre_paddings, type::int64, dimensions, p.pad.data()));
  TRY(how.set(attribute::convolution_post_paddings, type::int64, dimensions, p.pad.data()));
  TRY(how.set(attribute::convolution_dilations, type::int64, dimensions, p.dilation.data()));
  TRY(how.set(attribute::convolution_strides, type::int64, dimensions, p.stride.data()));
  void* const kept = TRY(g.keep(std::move(how)));

  const Direction direction = direction_of(p);
  constexpr float one = 1, zero = 0;
  Descriptor made = TRY(Descriptor::create(library, direction.descriptor, direction.role));
  TRY(made.set(direction.names.alpha, type::f32, one));
  TRY(made.set(direction.names.beta, type::f32, zero));
  TRY(made.set_descriptor(direction.names.descriptor, kept));
  TRY(made.set_descriptor(direction.names.x, x));
  TRY(made.set_descriptor(direction.names.w, w));
  TRY(made.set_descriptor(direction.names.y, y));
  TRY(g.keep_operation(std::move(made)));
  return g.finish(handle, "a convolution's graph");
}

/// The library on a device; shared by a problem and its plans.
struct Opened {
  Device& device;
  // It is on the heap, because the handle refers to its address.
  std::unique_ptr<const Library> library;
  Handle handle;
};

class CudnnPlan final : public ConvolutionPlan {
 public:
  CudnnPlan(const ConvolutionProblem& problem, std::shared_ptr<Opened> opened, Plan plan,
            std::string name)
      : ConvolutionPlan(problem),
        opened_(std::move(opened)),
        plan_(std::move(plan)),
        name_(std::move(name)) {}

  std::string algorithm() const override { return name_; }
  std::size_t workspace_bytes() const override { return plan_.workspace_bytes(); }
  bool transforms() const override { return plan_.notes().transforms; }

  Status queue(Stream& stream, const ConvolutionOperands& operands, void* workspace) override {
    TRY(opened_->device.make_current());
    TRY(opened_->handle.use(stream.native_handle()));
    const Operand all[] = {{input, operands.x}, {filters, operands.w}, {output, operands.y}};
    return plan_.execute(*opened_->library, opened_->handle.get(), all, workspace);
  }

 private:
  std::shared_ptr<Opened> opened_;
  Plan plan_;
  std::string name_;
};

class CudnnConvolution final : public Convolution {
 public:
  CudnnConvolution(std::shared_ptr<Opened> opened, const ConvolutionProblem& problem)
      : opened_(std::move(opened)), problem_(problem) {}

  std::string library() const override { return opened_->library->name(); }
  std::string path() const override { return opened_->library->path; }

  Result<std::vector<std::unique_ptr<ConvolutionPlan>>> plans(Stream&, const ConvolutionOperands&,
                                                              ConvolutionSearch search) override {
    constexpr int modes[] = {heuristics::a, heuristics::b, heuristics::fallback};
    constexpr std::size_t most = 64;
    if (search != ConvolutionSearch::every && search != ConvolutionSearch::first) {
      return Error{ErrorKind::unsupported, "cuDNN has no find modes, they are MIOpen's"};
    }
    const Library& library = *opened_->library;
    OperationGraph graph = TRY(convolution_graph(library, opened_->handle.get(), problem_));
    // The caller decides what f32 means, as in PyTorch: tf32 is used only on request.
    const bool exact = problem_.type == DataType::f32;
    auto found = TRY(Plan::all(
        library, opened_->handle.get(), std::move(graph), modes,
        search == ConvolutionSearch::first ? 1 : most,
        [exact](const EngineNotes& notes) {
          return !notes.down_converts && !notes.reduces_narrowly && (!exact || !notes.tensor_cores);
        },
        direction_of(problem_).role));
    std::vector<std::unique_ptr<ConvolutionPlan>> plans;
    for (Plan& plan : found) {
      std::string name = TRY(plan.name(library));
      plans.push_back(
          std::make_unique<CudnnPlan>(problem_, opened_, std::move(plan), std::move(name)));
    }
    return plans;
  }

 private:
  std::shared_ptr<Opened> opened_;
  ConvolutionProblem problem_;
};

std::optional<std::string> unsupported(const ConvolutionProblem&, const DeviceFacts&) {
  return std::nullopt;  // cuDNN itself reports problems for which it has no engine
}

Result<std::unique_ptr<Convolution>> open(Device& device, const ConvolutionProblem& problem) {
  TRY(device.make_current());
  auto library = std::make_unique<const Library>(TRY(load()));
  Handle handle = TRY(Handle::create(*library));
  auto opened = std::make_shared<Opened>(Opened{device, std::move(library), std::move(handle)});
  return std::unique_ptr<Convolution>(
      std::make_unique<CudnnConvolution>(std::move(opened), problem));
}

const ConvolutionRegistry::Add registered{{"cudnn", "cuda", &unsupported, &open}};

}  // namespace
}  // namespace assay::cudnn_convolution
