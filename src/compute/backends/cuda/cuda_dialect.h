// CUDA's driver API as a Dialect.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compute/backends/cuda/cuda_functions.h"
#include "compute/backends/driver/dialect.h"
#include "core/mutex.h"
#include "core/shared_library.h"

namespace assay::cuda {

/// Returns NVRTC's option for the architecture `arch` ("sm_90"). If that is sm_90 or later, and
/// NVRTC's `version` ("12.4") is 12 or later, the option names the variant "sm_90a": its code runs
/// on that architecture only, and it alone may use wgmma and its successors.
std::string architecture_option(const std::string& arch, const std::string& version);

class CudaDialect : public driver::Dialect {
 public:
  /// Error: unavailable, naming what was looked for or which function is missing.
  static Result<std::unique_ptr<driver::Dialect>> load();
  ~CudaDialect() override;

  std::string_view backend() const override { return "cuda"; }
  const driver::AttributeNumbers& attributes() const override { return attribute_numbers; }
  driver::Code make_current(int ordinal) override;
  driver::Code copy(void* to, const void* from, std::size_t bytes,
                    driver::StreamObject* stream) override;
  driver::Code copy_peer(void* to, int to_ordinal, const void* from, int from_ordinal,
                         std::size_t bytes, driver::StreamObject* stream) override;
  driver::Code enable_peer(int peer_ordinal) override;
  driver::Code instantiate(driver::GraphExecObject** exec, driver::GraphObject* graph) override;
  driver::Code export_dmabuf(int* file, std::uint64_t* offset, void* address,
                             std::size_t bytes) override;
  driver::Code allow_dynamic_shared(driver::FunctionObject* function, int bytes) override;
  std::uintptr_t end_of_launch() const override { return launch_end; }
  driver::Abilities abilities(int ordinal) override;
  driver::Code launch(driver::FunctionObject* function, const LaunchShape& shape,
                      const LaunchAttributes& attributes, driver::StreamObject* stream,
                      void** arguments) override;
  driver::Code encode(TensorMap& map, const TensorLayout& layout) override;
  driver::Code record_each_replay(driver::EventObject* event,
                                  driver::StreamObject* stream) override {
    return api_.event_record_with_flags(event, stream, driver::event_record_external);
  }
  std::string describe(driver::Code code) const override;
  std::string no_device_hint() const override;
  std::vector<LibraryFact> libraries() override;
  void complete(DeviceFacts& facts, int device) override;
  SensorReading sense(const DeviceFacts& facts) override;
  Result<driver::RtcTool> rtc() override;
  std::vector<std::string> compile_options(const std::string& arch,
                                           const driver::RtcTool& tool) const override;
  Result<std::string> compile(const std::string& name, const std::string& source,
                              const std::vector<std::string>& options) override;

 private:
  explicit CudaDialect(SharedLibrary library) : library_(std::move(library)) {}
  /// Sets `context` to the primary context of a device, which is retained until this object ends.
  driver::Code context(int ordinal, ContextObject** context);

  SharedLibrary library_;
  CudaApi cuda_{};
  Mutex mutex_;
  std::vector<ContextObject*> contexts_ GUARDED_BY(mutex_);
  std::optional<driver::RtcTool> rtc_ GUARDED_BY(mutex_);
};

}  // namespace assay::cuda
