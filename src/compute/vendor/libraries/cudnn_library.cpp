#include "compute/vendor/libraries/cudnn_library.h"

#include <fmt/format.h>

#include "compute/device/vendor_libraries.h"
#include "core/shown_text.h"

namespace assay::cudnn {

Result<Library> load() {
  const SharedLibrary file = TRY(open_cudnn_library());
  Library library;
  library.path = file.path();
  const auto missing = [&](const char* symbol) {
    return Error{ErrorKind::unavailable,
                 fmt::format("{} has no function {}: cuDNN 9 is needed", file.path(), symbol)};
  };
#define ASSAY_CUDNN_BIND(member, symbol, parameters) \
  if (!file.bind(library.functions.member, {#symbol})) return missing(#symbol);
  ASSAY_CUDNN_FUNCTIONS(ASSAY_CUDNN_BIND)
#undef ASSAY_CUDNN_BIND
  if (!file.bind(library.functions.get_version, {"cudnnGetVersion"})) {
    return missing("cudnnGetVersion");
  }
  if (!file.bind(library.functions.get_error_string, {"cudnnGetErrorString"})) {
    return missing("cudnnGetErrorString");
  }
  file.bind(library.functions.get_last_error, {"cudnnGetLastErrorString"});
  library.version = library.functions.get_version();
  return library;
}

std::string Library::name() const {
  return fmt::format("cuDNN {}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

Error Library::error(std::string_view call, int status) const {
  std::string message =
      fmt::format("{}: {}: {} ({})", name(), call, functions.get_error_string(status), status);
  if (functions.get_last_error != nullptr) {
    char text[2048] = "";
    functions.get_last_error(text, sizeof text);
    text[sizeof text - 1] = '\0';
    const std::string_view all = text;
    const std::string_view line = all.substr(0, all.find('\n'));
    if (!line.empty()) message += fmt::format(": {}", shown_line(line, 300));
  }
  const bool no_memory = status == no_host_memory || status == no_device_memory;
  return {status / 1000 == status_unsupported ? ErrorKind::unsupported
          : no_memory                         ? ErrorKind::exhausted
                                              : ErrorKind::failed,
          std::move(message)};
}

Status Library::check(std::string_view call, int status) const {
  if (status == 0) return {};
  return error(call, status);
}

Result<Descriptor> Descriptor::create(const Library& library, int type, std::string_view role) {
  void* address = nullptr;
  const int status = library.functions.create_descriptor(type, &address);
  if (status != 0) return library.error(fmt::format("creating {}", role), status);
  return Descriptor(library, role, address);
}

Descriptor::~Descriptor() {
  if (address_ != nullptr) library_->functions.destroy_descriptor(address_);
}

Status Descriptor::set(int attribute, int type, std::int64_t count, const void* values) {
  const int status = library_->functions.set_attribute(address_, attribute, type, count, values);
  if (status == 0) return {};
  return library_->error(fmt::format("attribute {} of {}", attribute, role_), status);
}

Status Descriptor::set_descriptor(int attribute, void* value) {
  return set(attribute, type::descriptor, value);
}

Result<std::int64_t> Descriptor::get(int attribute, int type, std::int64_t room,
                                     void* values) const {
  std::int64_t count = 0;
  const int status =
      library_->functions.get_attribute(address_, attribute, type, room, &count, values);
  if (status == 0) return count;
  return library_->error(fmt::format("reading attribute {} of {}", attribute, role_), status);
}

Status Descriptor::finalize() {
  const int status = library_->functions.finalize(address_);
  if (status == 0) return {};
  return library_->error(fmt::format("finalizing {}", role_), status);
}

Result<Handle> Handle::create(const Library& library) {
  void* address = nullptr;
  TRY(library.check("cudnnCreate", library.functions.create(&address)));
  return Handle(library, address);
}

Handle::~Handle() {
  if (address_ != nullptr) library_->functions.destroy(address_);
}

Status Handle::use(void* stream) {
  if (stream_ && *stream_ == stream) return {};
  TRY(library_->check("cudnnSetStream", library_->functions.set_stream(address_, stream)));
  stream_ = stream;
  return {};
}

}  // namespace assay::cudnn
