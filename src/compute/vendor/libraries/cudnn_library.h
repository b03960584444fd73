// Loads the cuDNN of this machine and owns its descriptors.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "compute/vendor/libraries/cudnn_api.h"
#include "core/result.h"

namespace assay::cudnn {

struct Library {
  Functions functions;
  std::string path;
  std::size_t version = 0;  ///< 91900

  /// Returns the library's name and version: "cuDNN 9.19.0".
  std::string name() const;
  /// Returns the error "cuDNN 9.19.0: CALL: CUDNN_STATUS_... (3000): the library's explanation". It
  /// is unsupported if the status is 3000 to 3999, exhausted without memory, otherwise failed.
  /// Calls below fail with it.
  Error error(std::string_view call, int status) const;
  /// Returns ok, or the same error, for a call that may have succeeded.
  Status check(std::string_view call, int status) const;
};

/// Error: unavailable, if libcudnn.so.9 is absent or lacks a function.
Result<Library> load();

/// Owns one descriptor of the library and destroys it. The library must outlive it.
class Descriptor {
 public:
  /// `role` is for messages: "a tensor". It must outlive the descriptor.
  static Result<Descriptor> create(const Library& library, int type, std::string_view role);
  Descriptor(Descriptor&& other) noexcept
      : library_(other.library_),
        role_(other.role_),
        address_(std::exchange(other.address_, nullptr)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor();

  void* get() const { return address_; }
  Status set(int attribute, int type, std::int64_t count, const void* values);
  template <typename Value>
  Status set(int attribute, int type, const Value& value) {
    return set(attribute, type, 1, &value);
  }
  Status set(int attribute, const Descriptor& value) {
    return set_descriptor(attribute, value.get());
  }
  Status set_descriptor(int attribute, void* value);
  /// Returns how many values there are; at most `room` of them are written.
  Result<std::int64_t> get(int attribute, int type, std::int64_t room, void* values) const;
  Status finalize();

 private:
  Descriptor(const Library& library, std::string_view role, void* address)
      : library_(&library), role_(role), address_(address) {}

  const Library* library_;
  std::string_view role_;
  void* address_;
};

/// A library handle on the device that is current when it is made. The library must outlive it.
class Handle {
 public:
  static Result<Handle> create(const Library& library);
  Handle(Handle&& other) noexcept
      : library_(other.library_),
        address_(std::exchange(other.address_, nullptr)),
        stream_(other.stream_) {}
  Handle& operator=(Handle&&) = delete;
  ~Handle();

  void* get() const { return address_; }
  /// Queues later work on `stream`, a native stream handle.
  Status use(void* stream);

 private:
  Handle(const Library& library, void* address) : library_(&library), address_(address) {}

  const Library* library_;
  void* address_;
  std::optional<void*> stream_;
};

}  // namespace assay::cudnn
