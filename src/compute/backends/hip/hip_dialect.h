// HIP as a Dialect.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compute/backends/driver/dialect.h"
#include "compute/backends/hip/hip_functions.h"
#include "core/mutex.h"
#include "core/shared_library.h"

namespace assay::hip {

/// abilities() stays empty, because Instinct GPUs up to the MI355X have neither clusters nor
/// programmatic launches. hipDrvLaunchKernelEx (HIP 7.0 and later) supports clusters for gfx1250
/// only.
class HipDialect : public driver::Dialect {
 public:
  /// Error: unavailable, naming what was looked for or which function is missing.
  static Result<std::unique_ptr<driver::Dialect>> load();

  std::string_view backend() const override { return "hip"; }
  const driver::AttributeNumbers& attributes() const override { return attribute_numbers; }
  driver::Code make_current(int ordinal) override { return hip_.set_device(ordinal); }
  driver::Code allocate_for_peers(void** address, std::size_t bytes) override {
    return hip_.allocate_with_flags(address, bytes, malloc_uncached);
  }
  /// Releases before 6.0 number this flag 0 and accept no other.
  driver::Code open_shared(void** address, const driver::IpcHandle& handle) override {
    const driver::Code code = Dialect::open_shared(address, handle);
    return code == driver::code::invalid_value ? api_.ipc_open(address, handle, 0) : code;
  }
  std::string sharing_hint() const override;
  driver::Code copy(void* to, const void* from, std::size_t bytes,
                    driver::StreamObject* stream) override {
    return hip_.copy(to, from, bytes, copy_default, stream);
  }
  driver::Code copy_peer(void* to, int to_ordinal, const void* from, int from_ordinal,
                         std::size_t bytes, driver::StreamObject* stream) override {
    return hip_.copy_peer(to, to_ordinal, from, from_ordinal, bytes, stream);
  }
  driver::Code enable_peer(int peer_ordinal) override { return hip_.enable_peer(peer_ordinal, 0); }
  driver::Code instantiate(driver::GraphExecObject** exec, driver::GraphObject* graph) override {
    return hip_.instantiate(exec, graph, nullptr, nullptr, 0);
  }
  /// In releases up to 7.2 at least, if a capture fails because streams were not joined, the next
  /// capture on its stream crashes when it ends.
  bool failed_captures_spoil_streams() const override { return true; }
  /// Uses the HSA runtime below HIP; needs ROCm 5.6 or later.
  driver::Code export_dmabuf(int* file, std::uint64_t* offset, void* address,
                             std::size_t bytes) override;
  /// Does nothing: HIP lets every kernel use all the LDS.
  driver::Code allow_dynamic_shared(driver::FunctionObject*, int) override {
    return driver::code::success;
  }
  std::uintptr_t end_of_launch() const override { return launch_end; }
  driver::Code record_each_replay(driver::EventObject* event,
                                  driver::StreamObject* stream) override;
  std::string describe(driver::Code code) const override;
  std::string no_device_hint() const override;
  std::vector<LibraryFact> libraries() override;
  void complete(DeviceFacts& facts, int device) override;
  SensorReading sense(const DeviceFacts& facts) override;
  Result<driver::RtcTool> rtc() override;
  std::vector<std::string> compile_options(const std::string& arch,
                                           const driver::RtcTool& tool) const override;
  /// Compiles in a child process, because some releases abort on an unknown architecture.
  Result<std::string> compile(const std::string& name, const std::string& source,
                              const std::vector<std::string>& options) override;

 private:
  explicit HipDialect(SharedLibrary library) : library_(std::move(library)) {}
  std::string arch_of(int device) const;

  SharedLibrary library_;
  HipApi hip_{};
  Mutex mutex_;
  std::optional<driver::RtcTool> rtc_ GUARDED_BY(mutex_);
};

}  // namespace assay::hip
