#include "compute/libraries/onednn_library.h"

#include <fmt/format.h>

#include "compute/device/vendor_libraries.h"

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

Status Library::check(int status, std::string_view call) const {
  if (status == success) return {};
  const ErrorKind kind = status == unimplemented   ? ErrorKind::unsupported
                         : status == out_of_memory ? ErrorKind::exhausted
                                                   : ErrorKind::failed;
  return Error{kind,
               fmt::format("onednn {}: {}: {} ({})", version_, call, status_name(status), status)};
}

Result<OwnedDesc> Library::describe(const MatrixView& view) const {
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
  TRY(check(functions_.attributes_create(&made), "attr_create"));
  Object attributes(made, functions_.attributes_destroy);
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

}  // namespace assay::onednn
