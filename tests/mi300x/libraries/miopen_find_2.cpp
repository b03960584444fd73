// Find 2.0 of libMIOpen on the host, which came with ROCm 5.5.
#include "libraries/miopen_state.h"

using namespace mock_miopen;

namespace {

struct Argument {  // miopenTensorArgument_t
  unsigned id;
  void** descriptor;
  void* buffer;
};

struct Problem {
  Descriptor descriptor;
  int direction = 0;
  std::map<unsigned, ConvolutionTensor> tensors;
};
struct Options {
  std::map<unsigned, void*> tensors;
};
struct Solution {
  Problem problem;
  Solver solver;
};

Convolution convolution_of(const Problem& p, const std::map<unsigned, void*>& data) {
  constexpr Direction directions[] = {Direction::forward, Direction::data, Direction::weights};
  Convolution c;
  c.direction = directions[p.direction];
  c.x = p.tensors.at(1);
  c.w = p.tensors.at(2);
  c.y = p.tensors.at(3);
  c.pads = p.descriptor.pads;
  c.strides = p.descriptor.strides;
  c.dilations = p.descriptor.dilations;
  c.groups = p.descriptor.groups;
  const auto address = [&](unsigned id) {
    const auto found = data.find(id);
    return found == data.end() ? nullptr : found->second;
  };
  c.x_data = address(1);
  c.w_data = address(2);
  c.y_data = address(3);
  return c;
}

}  // namespace

extern "C" {

int miopenCreateConvProblem(void** made, void* d, int direction) {
  CREATED("miopenCreateConvProblem");
  return create(made, Problem{*static_cast<Descriptor*>(d), direction, {}});
}
int miopenSetProblemTensorDescriptor(void* problem, unsigned id, const void* tensor) {
  CREATED("miopenSetProblemTensorDescriptor");
  static_cast<Problem*>(problem)->tensors[id] = *static_cast<const ConvolutionTensor*>(tensor);
  return success;
}
int miopenDestroyProblem(void* problem) {
  return destroy<Problem>(problem);
}
int miopenCreateFindOptions(void** made) {
  CREATED("miopenCreateFindOptions");
  return create(made, Options());
}
int miopenSetFindOptionPreallocatedTensor(void* options, unsigned id, void* data) {
  CREATED("miopenSetFindOptionPreallocatedTensor");
  static_cast<Options*>(options)->tensors[id] = data;
  return success;
}
int miopenDestroyFindOptions(void* options) {
  return destroy<Options>(options);
}
int miopenFindSolutions(void*, void* made, void* options, void** solutions, std::size_t* count,
                        std::size_t room) {
  CALLED("miopenFindSolutions");
  const Problem& problem = *static_cast<Problem*>(made);
  if (problem.tensors.size() != 3) return bad_parameter;
  const Convolution c = convolution_of(problem, static_cast<Options*>(options)->tensors);
  if (!c.fits() || c.x_data == nullptr || c.w_data == nullptr || c.y_data == nullptr) {
    return bad_parameter;
  }
  *count = 0;
  for (const Solver& solver : search(c, {})) {
    if (*count == room) break;
    create(&solutions[(*count)++], Solution{problem, solver});
  }
  return success;
}
int miopenGetSolutionWorkspaceSize(void* solution, std::size_t* bytes) {
  CREATED("miopenGetSolutionWorkspaceSize");
  *bytes = static_cast<Solution*>(solution)->solver.workspace;
  return success;
}
int miopenGetSolutionSolverId(void* solution, std::uint64_t* id) {
  CREATED("miopenGetSolutionSolverId");
  *id = static_cast<Solution*>(solution)->solver.id;
  return success;
}
int miopenGetSolverIdConvAlgorithm(std::uint64_t id, int* algorithm) {
  CREATED("miopenGetSolverIdConvAlgorithm");
  *algorithm = solver_of(id).algorithm;
  return *algorithm >= 0 ? success : bad_parameter;
}
int miopenRunSolution(void* handle, void* made, std::size_t count, const Argument* arguments,
                      void* workspace, std::size_t bytes) {
  CALLED("miopenRunSolution");
  const Solution& solution = *static_cast<Solution*>(made);
  std::map<unsigned, void*> data;
  for (std::size_t i = 0; i < count; ++i) data[arguments[i].id] = arguments[i].buffer;
  return execute(handle, convolution_of(solution.problem, data), solution.solver, workspace, bytes);
}
int miopenDestroySolution(void* solution) {
  return destroy<Solution>(solution);
}

}  // extern "C"
