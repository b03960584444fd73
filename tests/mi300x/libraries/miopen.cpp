// libMIOpen on the host, after the declarations in miopen.h and miopen_internal.h (ROCm 6); without
// Find 2.0, which is miopen_find_2.cpp.
#include "libraries/miopen_state.h"
#include "libraries/mock_miopen.h"

using namespace mock_miopen;

namespace {

Descriptor& descriptor(void* made) {
  return *static_cast<Descriptor*>(made);
}

}  // namespace

extern "C" {

const char* miopenGetErrorString(int status) {
  return status == bad_parameter ? "miopenStatusBadParm" : "as the test asked\nand more";
}
int miopenGetVersion(std::size_t* major, std::size_t* minor, std::size_t* patch) {
  *major = 3;
  *minor = 4;
  *patch = 0;
  return success;
}
int miopenCreateWithStream(void** handle, void* stream) {
  CREATED("miopenCreateWithStream");
  return create(handle, Handle{stream});
}
int miopenDestroy(void* handle) {
  return destroy<Handle>(handle);
}
int miopenSetStream(void* handle, void* stream) {
  CREATED("miopenSetStream");
  static_cast<Handle*>(handle)->stream = stream;
  return success;
}
int miopenCreateTensorDescriptor(void** made) {
  CREATED("miopenCreateTensorDescriptor");
  return create(made, ConvolutionTensor());
}
int miopenSetTensorDescriptor(void* tensor, int type, int count, const int* extents,
                              const int* strides) {
  CREATED("miopenSetTensorDescriptor");
  using mi300x::Number;
  const std::map<int, Number> types = {{0, Number::f16}, {1, Number::f32}, {5, Number::bf16}};
  if (!types.contains(type) || count < 4 || count > 5) return bad_parameter;
  *static_cast<ConvolutionTensor*>(tensor) = {
      types.at(type), {extents, extents + count}, {strides, strides + count}};
  return success;
}
int miopenDestroyTensorDescriptor(void* tensor) {
  return destroy<ConvolutionTensor>(tensor);
}
int miopenCreateConvolutionDescriptor(void** made) {
  CREATED("miopenCreateConvolutionDescriptor");
  return create(made, Descriptor());
}
int miopenInitConvolutionNdDescriptor(void* made, int dimensions, const int* pads,
                                      const int* strides, const int* dilations, int mode) {
  CREATED("miopenInitConvolutionNdDescriptor");
  if (mode != 0) return not_implemented;
  descriptor(made).pads.assign(pads, pads + dimensions);
  descriptor(made).strides.assign(strides, strides + dimensions);
  descriptor(made).dilations.assign(dilations, dilations + dimensions);
  return success;
}
int miopenSetConvolutionGroupCount(void* made, int groups) {
  CREATED("miopenSetConvolutionGroupCount");
  descriptor(made).groups = groups;
  return success;
}
int miopenDestroyConvolutionDescriptor(void* made) {
  return destroy<Descriptor>(made);
}
int miopenSetConvolutionFindMode(void* made, int mode) {
  CREATED("miopenSetConvolutionFindMode");
  descriptor(made).find_mode = mode;
  return success;
}

// In the forward pass, functions without an algorithm take w before x.
#define PASS(Name, direction, FIRST, SECOND)                                                       \
  int miopenConvolution##Name##GetWorkSpaceSize(void*, void* a, void* b, void* d, void* result,    \
                                                std::size_t* bytes) {                              \
    CALLED("miopenConvolution" #Name "GetWorkSpaceSize");                                          \
    return workspace_size(convolution_of(direction, descriptor(d), {FIRST, nullptr},               \
                                         {SECOND, nullptr}, {result, nullptr}),                    \
                          bytes);                                                                  \
  }                                                                                                \
  int miopenFindConvolution##Name##Algorithm(                                                      \
      void*, void* a, const void* a_data, void* b, const void* b_data, void* d, void* result,      \
      void* result_data, int room, int* count, Perf* found, void* workspace, std::size_t bytes,    \
      bool exhaustive) {                                                                           \
    CALLED("miopenFindConvolution" #Name "Algorithm");                                             \
    return find(                                                                                   \
        descriptor(d),                                                                             \
        convolution_of(direction, descriptor(d), {a, a_data}, {b, b_data}, {result, result_data}), \
        room, count, found, workspace, bytes, exhaustive);                                         \
  }                                                                                                \
  int miopenConvolution##Name(void* handle, const void* alpha, void* a, const void* a_data,        \
                              void* b, const void* b_data, void* d, int algorithm,                 \
                              const void* beta, void* result, void* result_data, void* workspace,  \
                              std::size_t bytes) {                                                 \
    CALLED("miopenConvolution" #Name);                                                             \
    return run_algorithm(                                                                          \
        handle, alpha,                                                                             \
        convolution_of(direction, descriptor(d), {a, a_data}, {b, b_data}, {result, result_data}), \
        algorithm, beta, workspace, bytes);                                                        \
  }                                                                                                \
  int miopenConvolution##Name##GetSolutionCount(void*, void* a, void* b, void* d, void* result,    \
                                                std::size_t* count) {                              \
    CALLED("miopenConvolution" #Name "GetSolutionCount");                                          \
    *count = immediate(convolution_of(direction, descriptor(d), {FIRST, nullptr},                  \
                                      {SECOND, nullptr}, {result, nullptr}))                       \
                 .size();                                                                          \
    return success;                                                                                \
  }                                                                                                \
  int miopenConvolution##Name##GetSolution(void*, void* a, void* b, void* d, void* result,         \
                                           std::size_t room, std::size_t* count,                   \
                                           Immediate* solutions) {                                 \
    CALLED("miopenConvolution" #Name "GetSolution");                                               \
    return list_immediate(convolution_of(direction, descriptor(d), {FIRST, nullptr},               \
                                         {SECOND, nullptr}, {result, nullptr}),                    \
                          room, count, solutions);                                                 \
  }                                                                                                \
  int miopenConvolution##Name##CompileSolution(void*, void* a, void* b, void* d, void* result,     \
                                               std::uint64_t id) {                                 \
    CALLED("miopenConvolution" #Name "CompileSolution");                                           \
    return compile(convolution_of(direction, descriptor(d), {FIRST, nullptr}, {SECOND, nullptr},   \
                                  {result, nullptr}),                                              \
                   id);                                                                            \
  }                                                                                                \
  int miopenConvolution##Name##Immediate(                                                          \
      void* handle, void* a, const void* a_data, void* b, const void* b_data, void* d,             \
      void* result, void* result_data, void* workspace, std::size_t bytes, std::uint64_t id) {     \
    CALLED("miopenConvolution" #Name "Immediate");                                                 \
    return run_immediate(handle,                                                                   \
                         convolution_of(direction, descriptor(d), {FIRST, FIRST##_data},           \
                                        {SECOND, SECOND##_data}, {result, result_data}),           \
                         workspace, bytes, id);                                                    \
  }
PASS(Forward, Direction::forward, b, a)
PASS(BackwardData, Direction::data, a, b)
PASS(BackwardWeights, Direction::weights, a, b)

void mock_miopen_reset() {
  state = State();
}
void mock_miopen_fail(const char* function, int after, int status) {
  state.failures[function] = {after, status};
}
const char* mock_miopen_sequence() {
  return state.sequence.c_str();
}
int mock_miopen_calls(const char* function) {
  return state.calls[function];
}
int mock_miopen_find_mode() {
  return state.find_mode;
}
void mock_miopen_refuse() {
  state.refuses = true;
}
int mock_miopen_live() {
  return static_cast<int>(live.size());
}

}  // extern "C"
