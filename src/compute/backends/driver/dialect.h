// The differences between CUDA's driver API and HIP, behind one interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compute/backends/driver/driver_api.h"
#include "compute/device/backend.h"
#include "core/result.h"
#include "machine/system/sensor_reading.h"
#include "results/record/device_facts.h"

namespace assay::driver {

/// A run-time compiler ready for use.
struct RtcTool {
  std::string path;      ///< of its library
  std::string version;   ///< as the library reports it, "13.0"
  std::string identity;  ///< changes whenever its output may change; for the kernel cache
};

/// Features of a device beyond launching and copying.
struct Abilities {
  bool clusters = false;
  bool programmatic_launch = false;  ///< LaunchAttributes::programmatic
  bool tensor_maps = false;          ///< Device::tensor_map()
};

/// Functions that return a Code call the driver and return its status.
class Dialect {
 public:
  virtual ~Dialect() = default;

  const DriverApi& api() const { return api_; }
  virtual std::string_view backend() const = 0;  ///< "cuda" or "hip"
  virtual const AttributeNumbers& attributes() const = 0;

  /// Makes the device `ordinal` current on the calling thread.
  virtual Code make_current(int ordinal) = 0;
  /// Allocates device memory in which kernels see at once what other devices write.
  virtual Code allocate_for_peers(void** address, std::size_t bytes) {
    return api_.allocate(address, bytes);
  }
  /// Maps memory that another process shares.
  virtual Code open_shared(void** address, const IpcHandle& handle) {
    return api_.ipc_open(address, handle, ipc_enable_peer_access);
  }
  /// Returns why memory cannot be shared between processes here, as far as the environment shows;
  /// empty if it shows nothing.
  virtual std::string sharing_hint() const { return {}; }
  /// Copies between any two addresses of device and host memory, including pageable memory.
  virtual Code copy(void* to, const void* from, std::size_t bytes, StreamObject* stream) = 0;
  virtual Code copy_peer(void* to, int to_ordinal, const void* from, int from_ordinal,
                         std::size_t bytes, StreamObject* stream) = 0;
  /// Lets the current device access the memory of `peer_ordinal`.
  virtual Code enable_peer(int peer_ordinal) = 0;
  /// Makes the executable graph `exec` from the captured `graph`.
  virtual Code instantiate(GraphExecObject** exec, GraphObject* graph) = 0;
  /// Returns whether a stream keeps the state of a failed capture. It must not capture again then.
  virtual bool failed_captures_spoil_streams() const { return false; }
  /// Exports whole pages of the current device's memory as a file: its descriptor, which the caller
  /// closes, and the pages' offset in it. Returns not_supported if the driver is too old.
  virtual Code export_dmabuf(int* file, std::uint64_t* offset, void* address,
                             std::size_t bytes) = 0;
  /// Allows launches with up to `bytes` of dynamic shared memory.
  virtual Code allow_dynamic_shared(FunctionObject* function, int bytes) = 0;
  /// The marker that ends the list which api().launch() takes as `extra`.
  virtual std::uintptr_t end_of_launch() const = 0;

  virtual Abilities abilities(int /*ordinal*/) { return {}; }
  /// launch() and encode() are called only for features that abilities() reports.
  virtual Code launch(FunctionObject*, const LaunchShape&, const LaunchAttributes&, StreamObject*,
                      void** /*arguments*/) {
    return code::not_supported;
  }
  /// Makes a tensor map. `layout` has passed check_tensor_layout().
  virtual Code encode(TensorMap&, const TensorLayout& /*layout*/) { return code::not_supported; }
  /// Adds a node that records `event` to the graph that `stream` is captured into. Returns
  /// not_supported if the driver is too old.
  virtual Code record_each_replay(EventObject* event, StreamObject* stream) = 0;

  /// Returns a status as text: "CUDA_ERROR_OUT_OF_MEMORY (out of memory)".
  virtual std::string describe(Code code) const = 0;
  /// Returns why the library is present but no device is, as far as the system shows; may be empty.
  virtual std::string no_device_hint() const = 0;
  virtual std::vector<LibraryFact> libraries() = 0;

  /// Adds to `facts` what attributes do not tell: architecture, UUID and partition, and where the
  /// vendor needs it, last-level cache, rate of ticks and whether the device is emulated.
  virtual void complete(DeviceFacts& facts, int device) = 0;
  /// Reads the sensors of the device at `facts.pci`; what cannot be read stays empty.
  virtual SensorReading sense(const DeviceFacts& facts) = 0;

  /// Finds the run-time compiler on the first call. Error: unavailable, naming what was looked for
  /// or the missing function.
  virtual Result<RtcTool> rtc() = 0;
  virtual std::vector<std::string> compile_options(const std::string& arch,
                                                   const RtcTool& tool) const = 0;
  /// Returns the code of a complete source text. Error: as rtc() and rtc_compile()
  /// (compute/device/rtc_compiler.h), or as compile_in_child() (compute/device/rtc_worker.h).
  virtual Result<std::string> compile(const std::string& name, const std::string& source,
                                      const std::vector<std::string>& options) = 0;

 protected:
  DriverApi api_{};
};

}  // namespace assay::driver
