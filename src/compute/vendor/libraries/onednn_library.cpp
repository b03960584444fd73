#include "compute/vendor/libraries/onednn_library.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "compute/device/vendor_libraries.h"
#include "machine/system/affinity.h"

namespace assay::onednn {
namespace {

#define ASSAY_ONEDNN_BIND(member, symbol, parameters)                         \
  if (!file.bind(table.member, {#symbol})) {                                  \
    return Error{ErrorKind::unavailable,                                      \
                 fmt::format("{} has no function {}", file.path(), #symbol)}; \
  }

Status bind(const SharedLibrary& file, Functions& table) {
  ASSAY_ONEDNN_FUNCTIONS(ASSAY_ONEDNN_BIND)
  ASSAY_ONEDNN_BIND(primitive_desc_md, dnnl_primitive_desc_query_md, )
  ASSAY_ONEDNN_BIND(descs_equal, dnnl_memory_desc_equal, )
  ASSAY_ONEDNN_BIND(desc_bytes, dnnl_memory_desc_get_size, )
  ASSAY_ONEDNN_BIND(version, dnnl_version, )
  return {};
}
Status bind(const SharedLibrary& file, FunctionsV2& table) {
  ASSAY_ONEDNN_V2_FUNCTIONS(ASSAY_ONEDNN_BIND)
  return {};
}
Status bind(const SharedLibrary& file, FunctionsV3& table) {
  ASSAY_ONEDNN_V3_FUNCTIONS(ASSAY_ONEDNN_BIND)
  return {};
}
#undef ASSAY_ONEDNN_BIND

bool user_places_threads() {
  constexpr std::array names = {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"};
  return std::ranges::any_of(names, [](const char* name) { return std::getenv(name) != nullptr; });
}

std::string_view status_name(int status) {
  switch (status) {
    case out_of_memory:
      return "out of memory";
    case invalid_arguments:
      return "invalid arguments";
    case unimplemented:
      return "unimplemented";
    default:
      return "failed";
  }
}

}  // namespace

Result<const Library*> Library::load() {
  static const Result<Library> loaded = []() -> Result<Library> {
    const SharedLibrary file = TRY(open_onednn_library());
    Library library;
    TRY(bind(file, library.functions_));
    file.bind(library.most_threads_, {"omp_get_max_threads"});
    file.bind(library.set_threads_, {"omp_set_num_threads"});
    file.bind(library.thread_number_, {"omp_get_thread_num"});
    file.bind(library.parallel_, {"GOMP_parallel"});  // LLVM's and Intel's runtimes have it, too
    const Version& version = *library.functions_.version();
    library.major_ = version.major;
    library.path_ = file.path();
    library.version_ = fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
    if (version.major == 2) {
      TRY(bind(file, library.v2_));
    } else if (version.major == 3) {
      TRY(bind(file, library.v3_));
    } else {
      return Error{ErrorKind::unavailable, fmt::format("{} is oneDNN {}; assay knows 2 and 3",
                                                       file.path(), library.version_)};
    }
    return library;
  }();
  if (!loaded.ok()) return loaded.error();
  return &*loaded;
}

std::optional<int> Library::threads() const {
  if (most_threads_ == nullptr || set_threads_ == nullptr) return std::nullopt;
  return most_threads_();
}

void Library::set_threads(int count) const {
  if (set_threads_ != nullptr) set_threads_(count);
}

void Library::place_threads() const {
  if (most_threads_ == nullptr || thread_number_ == nullptr || parallel_ == nullptr) return;
  // A runtime ends threads that a smaller team does not need, so a new size may mean new threads.
  thread_local int placed = 0;
  // A team of one has no threads to place and leaves the others where they are.
  const int count = most_threads_();
  if (count < 2 || count == placed) return;
  struct Places {
    int (*number)();
    std::vector<int> cpus;
  } places{thread_number_, affinity_cpus()};
  const auto threads = static_cast<unsigned>(count);
  if (places.cpus.size() < threads || user_places_threads()) return;
  const auto move = [](void* data) {
    const Places& to = *static_cast<const Places*>(data);
    const int number = to.number();
    if (number > 0) run_on_cpus({to.cpus[static_cast<std::size_t>(number)]});
  };
  parallel_(move, &places, threads, 0);
  placed = count;
}

Status Library::check(int status, std::string_view call) const {
  if (status == success) return {};
  const ErrorKind kind = status == unimplemented   ? ErrorKind::unsupported
                         : status == out_of_memory ? ErrorKind::exhausted
                                                   : ErrorKind::failed;
  return Error{kind,
               fmt::format("onednn {}: {}: {} ({})", version_, call, status_name(status), status)};
}

Result<OwnedDesc> Library::describe(const TensorView& view) const {
  OwnedDesc desc;
  const int type = data_type(view.type);
  int status = success;
  if (major_ == 2) {
    desc.bytes_ = std::make_shared<std::array<std::byte, memory_desc_bytes_v2>>();
    status = view.any_layout ? v2_.desc_by_tag(desc.bytes_.get(), view.dimensions, view.extents,
                                               type, format_any)
                             : v2_.desc_by_strides(desc.bytes_.get(), view.dimensions, view.extents,
                                                   type, view.strides);
  } else {
    void* object = nullptr;
    status = view.any_layout
                 ? v3_.desc_by_tag(&object, view.dimensions, view.extents, type, format_any)
                 : v3_.desc_by_strides(&object, view.dimensions, view.extents, type, view.strides);
    if (status == success) desc.object_ = {object, v3_.desc_destroy};
  }
  TRY(check(status, "memory descriptor"));
  return desc;
}

Result<Object> Library::bare_attributes() const {
  void* made = nullptr;
  TRY(check(functions_.attributes_create(&made), "attr_create"));
  Object attributes(made, functions_.attributes_destroy);
  TRY(check(functions_.attributes_set_scratchpad(attributes.get(), scratchpad_user),
            "set_scratchpad_mode"));
  return attributes;
}

Result<Object> Library::attributes(const Finish& finish) const {
  const Eltwise& kinds = major_ == 2 ? eltwise_v2 : eltwise_v3;
  void* made = nullptr;
  TRY(check(functions_.post_ops_create(&made), "post_ops_create"));
  const Object ops(made, functions_.post_ops_destroy);
  const auto append = [&](int kind, float factor) {
    return major_ == 2 ? v2_.post_ops_eltwise(ops.get(), 1, kind, factor, 0)
                       : v3_.post_ops_eltwise(ops.get(), kind, factor, 0);
  };
  if (finish.alpha != 1) TRY(check(append(kinds.linear, finish.alpha), "alpha"));
  if (finish.beta != 0) {
    constexpr int type_of_d = 0;  // dnnl_data_type_undef: the type of D
    TRY(check(major_ == 2 ? v2_.post_ops_sum(ops.get(), finish.beta)
                          : v3_.post_ops_sum(ops.get(), finish.beta, 0, type_of_d),
              "beta"));
  }
  if (finish.added != nullptr) {
    TRY(check(functions_.post_ops_binary(ops.get(), binary_add, finish.added), "bias"));
  }
  if (finish.function == Finish::Function::relu) TRY(check(append(kinds.relu, 0), "relu"));
  if (finish.function == Finish::Function::gelu_tanh) {
    TRY(check(append(kinds.gelu_tanh, 0), "gelu"));
  }
  Object attributes = TRY(bare_attributes());
  TRY(check(functions_.attributes_set_post_ops(attributes.get(), ops.get()), "set_post_ops"));
  return attributes;
}

int Library::added_argument(const Finish& finish) {
  const int position = (finish.alpha != 1 ? 1 : 0) + (finish.beta != 0 ? 1 : 0);
  return (argument_post_op * (position + 1)) | argument_source_1;
}

Result<Object> Library::matmul(Engine engine, MemoryDesc a, MemoryDesc b, MemoryDesc bias,
                               MemoryDesc d, const Finish& finish) const {
  const Object attributes = TRY(this->attributes(finish));
  PrimitiveDesc desc = nullptr;
  if (major_ == 2) {
    alignas(64) std::array<std::byte, matmul_desc_bytes_v2> operation;
    TRY(check(v2_.matmul_desc_init(operation.data(), a, b, bias, d), "matmul_desc_init"));
    TRY(check(v2_.primitive_desc_create(&desc, operation.data(), attributes.get(), engine, nullptr),
              "matmul"));
  } else {
    TRY(check(v3_.matmul_desc_create(&desc, engine, a, b, bias, d, attributes.get()), "matmul"));
  }
  return Object(desc, functions_.primitive_desc_destroy);
}

Result<Object> Library::convolution_v2(Engine engine, const ConvolutionSpec& s,
                                       const void* attributes, const void* hint) const {
  alignas(64) std::array<std::byte, convolution_desc_bytes_v2> operation;
  int status = success;
  switch (s.pass) {
    case Pass::forward:
      status =
          v2_.convolution_forward_init(operation.data(), forward_training, convolution_direct, s.x,
                                       s.w, nullptr, s.y, s.strides, s.dilations, s.pads, s.pads);
      break;
    case Pass::backward_data:
      status = v2_.convolution_backward_data_init(operation.data(), convolution_direct, s.x, s.w,
                                                  s.y, s.strides, s.dilations, s.pads, s.pads);
      break;
    case Pass::backward_weights:
      status = v2_.convolution_backward_weights_init(operation.data(), convolution_direct, s.x, s.w,
                                                     nullptr, s.y, s.strides, s.dilations, s.pads,
                                                     s.pads);
      break;
  }
  TRY(check(status, "convolution_desc_init"));
  PrimitiveDesc desc = nullptr;
  TRY(check(v2_.primitive_desc_create(&desc, operation.data(), attributes, engine, hint),
            "convolution"));
  return Object(desc, functions_.primitive_desc_destroy);
}

Result<Object> Library::convolution_v3(Engine engine, const ConvolutionSpec& s,
                                       const void* attributes, const void* hint) const {
  PrimitiveDesc desc = nullptr;
  int status = success;
  switch (s.pass) {
    case Pass::forward:
      status = v3_.convolution_forward_create(&desc, engine, forward_training, convolution_direct,
                                              s.x, s.w, nullptr, s.y, s.strides, s.dilations,
                                              s.pads, s.pads, attributes);
      break;
    case Pass::backward_data:
      status = v3_.convolution_backward_data_create(&desc, engine, convolution_direct, s.x, s.w,
                                                    s.y, s.strides, s.dilations, s.pads, s.pads,
                                                    hint, attributes);
      break;
    case Pass::backward_weights:
      status = v3_.convolution_backward_weights_create(&desc, engine, convolution_direct, s.x, s.w,
                                                       nullptr, s.y, s.strides, s.dilations, s.pads,
                                                       s.pads, hint, attributes);
      break;
  }
  TRY(check(status, "convolution"));
  return Object(desc, functions_.primitive_desc_destroy);
}

Result<Object> Library::convolution(Engine engine, const ConvolutionSpec& spec) const {
  const Object attributes = TRY(bare_attributes());
  const auto make = [&](const ConvolutionSpec& s, const void* hint) {
    return major_ == 2 ? convolution_v2(engine, s, attributes.get(), hint)
                       : convolution_v3(engine, s, attributes.get(), hint);
  };
  if (spec.pass == Pass::forward) return make(spec, nullptr);
  ConvolutionSpec forward = spec;
  forward.pass = Pass::forward;
  const Object hint = TRY(make(forward, nullptr));
  return make(spec, hint.get());
}

Result<Object> Library::reorder(Engine engine, MemoryDesc from, MemoryDesc to) const {
  const Object attributes = TRY(bare_attributes());
  PrimitiveDesc desc = nullptr;
  TRY(check(functions_.reorder_desc_create(&desc, from, engine, to, engine, attributes.get()),
            "reorder"));
  return Object(desc, functions_.primitive_desc_destroy);
}

Result<std::shared_ptr<void>> Library::memory(Engine engine, MemoryDesc desc, void* data) const {
  void* made = nullptr;
  TRY(check(functions_.memory_create(&made, desc, engine, data), "memory_create"));
  return std::shared_ptr<void>(made, functions_.memory_destroy);
}

Result<Step> Library::step(Engine engine, const Object& desc) const {
  Step step;
  step.functions_ = &functions_;
  void* made = nullptr;
  TRY(check(functions_.primitive_create(&made, desc.get()), "primitive_create"));
  step.primitive_ = {made, functions_.primitive_destroy};
  const MemoryDesc scratch = functions_.primitive_desc_md(desc.get(), query_scratchpad, 0);
  if (scratch != nullptr && functions_.desc_bytes(scratch) > 0) {
    step.scratch_ = TRY(memory(engine, scratch, allocate_inside()));
  }
  return step;
}

int Step::run(Stream stream, std::vector<Argument> arguments) const {
  if (scratch_) arguments.push_back({argument_scratchpad, scratch_.get()});
  return functions_->primitive_execute(primitive_.get(), stream, static_cast<int>(arguments.size()),
                                       arguments.data());
}

}  // namespace assay::onednn
