#include "compute/vendor/convolution/miopen_library.h"

#include <fmt/format.h>

#include <vector>

#include "compute/device/vendor_libraries.h"
#include "core/shown_text.h"

namespace assay::miopen {
namespace {

#define ASSAY_MIOPEN_BIND(member, symbol, parameters)                         \
  if (!file.bind(table.member, {#symbol})) {                                  \
    return Error{ErrorKind::unavailable,                                      \
                 fmt::format("{} has no function {}", file.path(), #symbol)}; \
  }
#define ASSAY_MIOPEN_BIND_OPTIONAL(member, symbol, parameters) file.bind(table.member, {#symbol});

Status bind(const SharedLibrary& file, Functions& table) {
  ASSAY_MIOPEN_FUNCTIONS(ASSAY_MIOPEN_BIND)
  ASSAY_MIOPEN_OPTIONAL_FUNCTIONS(ASSAY_MIOPEN_BIND_OPTIONAL)
  ASSAY_MIOPEN_BIND(get_error_string, miopenGetErrorString, )
  return {};
}
Status bind(const SharedLibrary& file, std::array<PassFunctions, 3>& tables) {
  {
    PassFunctions& table = tables[static_cast<std::size_t>(ConvolutionDirection::forward)];
    ASSAY_MIOPEN_PASS_FUNCTIONS(ASSAY_MIOPEN_BIND, Forward)
  }
  {
    PassFunctions& table = tables[static_cast<std::size_t>(ConvolutionDirection::data)];
    ASSAY_MIOPEN_PASS_FUNCTIONS(ASSAY_MIOPEN_BIND, BackwardData)
  }
  {
    PassFunctions& table = tables[static_cast<std::size_t>(ConvolutionDirection::weights)];
    ASSAY_MIOPEN_PASS_FUNCTIONS(ASSAY_MIOPEN_BIND, BackwardWeights)
  }
  return {};
}
#undef ASSAY_MIOPEN_BIND
#undef ASSAY_MIOPEN_BIND_OPTIONAL

Result<std::vector<int>> as_ints(const std::int64_t* numbers, std::size_t count) {
  std::vector<int> ints;
  for (std::size_t i = 0; i < count; ++i) {
    if (numbers[i] > INT32_MAX) {
      return Error{ErrorKind::unsupported,
                   fmt::format("MIOpen counts in 32 bits, {} is too much", numbers[i])};
    }
    ints.push_back(static_cast<int>(numbers[i]));
  }
  return ints;
}

Result<Object> make_tensor(const Library& library, const ConvolutionProblem& problem,
                           const std::vector<std::int64_t>& shape) {
  const std::vector<std::int64_t> strides = problem.strides_of(shape);
  const std::vector<int> extents = TRY(as_ints(shape.data(), shape.size()));
  const std::vector<int> distances = TRY(as_ints(strides.data(), strides.size()));
  void* made = nullptr;
  TRY(library.check("miopenCreateTensorDescriptor", library.functions.tensor_create(&made)));
  Object tensor(made, library.functions.tensor_destroy);
  TRY(library.check(
      "miopenSetTensorDescriptor",
      library.functions.tensor_set(made, data_type(problem.type), static_cast<int>(extents.size()),
                                   extents.data(), distances.data())));
  return tensor;
}

}  // namespace

Result<const Library*> Library::load() {
  static const Result<Library> loaded = []() -> Result<Library> {
    const SharedLibrary file = TRY(open_rocm_library("libMIOpen", "ASSAY_MIOPEN_LIBRARY"));
    Library library;
    library.path = file.path();
    TRY(bind(file, library.functions));
    TRY(bind(file, library.passes));
    std::size_t major = 0, minor = 0, patch = 0;
    TRY(library.check("miopenGetVersion", library.functions.get_version(&major, &minor, &patch)));
    library.version = fmt::format("{}.{}.{}", major, minor, patch);
    return library;
  }();
  if (!loaded.ok()) return loaded.error();
  return &*loaded;
}

Status Library::check(std::string_view call, int status) const {
  if (status == success) return {};
  const char* const text = functions.get_error_string(status);
  const std::string_view all = text != nullptr ? text : "";
  const std::string_view said = all.substr(0, all.find('\n'));
  std::string message = fmt::format("{}: {}: {} ({})", name(), call, status_name(status), status);
  if (!said.empty() && said != status_name(status)) {
    message += fmt::format(": {}", shown_line(said, 300));
  }
  const ErrorKind kind = status == not_implemented || status == unsupported_op
                             ? ErrorKind::unsupported
                         : status == alloc_failed ? ErrorKind::exhausted
                                                  : ErrorKind::failed;
  return Error{kind, std::move(message)};
}

bool Library::has_find_2() const {
#define ASSAY_MIOPEN_HAS(member, symbol, parameters) \
  if (functions.member == nullptr && std::string_view(#member) != "set_find_mode") return false;
  ASSAY_MIOPEN_OPTIONAL_FUNCTIONS(ASSAY_MIOPEN_HAS)
#undef ASSAY_MIOPEN_HAS
  return true;
}

Result<Descriptors> Descriptors::create(const Library& library, const ConvolutionProblem& p) {
  Object x = TRY(make_tensor(library, p, p.x_shape()));
  Object w = TRY(make_tensor(library, p, p.w_shape()));
  Object y = TRY(make_tensor(library, p, p.y_shape()));
  const auto dimensions = static_cast<std::size_t>(p.dimensions);
  const std::vector<int> pads = TRY(as_ints(p.pad.data(), dimensions));
  const std::vector<int> strides = TRY(as_ints(p.stride.data(), dimensions));
  const std::vector<int> dilations = TRY(as_ints(p.dilation.data(), dimensions));
  const Functions& f = library.functions;
  void* made = nullptr;
  TRY(library.check("miopenCreateConvolutionDescriptor", f.descriptor_create(&made)));
  Object convolution(made, f.descriptor_destroy);
  TRY(library.check("miopenInitConvolutionNdDescriptor",
                    f.descriptor_init(made, p.dimensions, pads.data(), strides.data(),
                                      dilations.data(), mode_convolution)));
  TRY(library.check("miopenSetConvolutionGroupCount",
                    f.descriptor_set_groups(made, static_cast<int>(p.groups))));
  return Descriptors(std::move(x), std::move(w), std::move(y), std::move(convolution));
}

}  // namespace assay::miopen
