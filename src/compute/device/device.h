// The interface every vendor's run-time stack implements: a device with memory, streams, events,
// graphs and compiled programs. Benchmarks, measuring and the training engine see nothing else of
// the vendor.
//
// Work on a stream runs asynchronously and in order. Objects may be used from one thread at a time;
// different streams may be driven from different threads. Every object must be destroyed before the
// Device it came from. A backend implements the pure functions, and the others where it can do more
// than the default.
//
// Every call that reaches a GPU's driver may return the driver's error, in addition to those named
// here. Its kind is exhausted if memory ran out, unavailable without a device, unsupported if the
// driver says so, and otherwise failed. The message is the driver's.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compute/device/tensor_map.h"
#include "core/result.h"
#include "machine/system/sensor_reading.h"
#include "results/record/device_facts.h"

namespace assay {

enum class MemoryKind {
  device,    ///< fastest for kernels; not readable by the host on a GPU
  pinned,    ///< host memory locked and mapped: asynchronous copies, visible to kernels
  pageable,  ///< ordinary host memory, as from malloc()
  peer,      ///< device memory that other devices may write while kernels read it: see share()
};

enum class StreamPriority { low, normal, high };

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
};

/// Launch geometry. Most kernels divide a block's work among any number of threads; some need the
/// number that they were compiled for (KERNEL_OF in dialect.h). The CPU backend runs each block
/// with one thread and ignores `block`.
struct LaunchShape {
  Dim3 grid;                          ///< in blocks
  Dim3 block;                         ///< in threads
  unsigned dynamic_shared_bytes = 0;  ///< per block
};

/// What a launch asks for beyond its shape.
struct LaunchAttributes {
  /// Blocks of one cluster: they run at the same time, close to each other, and reach each other's
  /// shared memory. Divides the grid in each direction; at most 8 blocks. One block: no clusters.
  Dim3 cluster = {};
  /// Programmatic dependent launch: the kernel may begin before its predecessor in the stream has
  /// ended. It must call wait_for_previous_kernel() (kernels/dialect.h) before it touches what the
  /// predecessor reads or writes. This is a hint: devices without it launch normally.
  bool programmatic = false;
};

/// Owns one allocation; frees it when destroyed, which waits until queued work has run, except for
/// a GPU backend's pageable memory. A default Buffer owns nothing.
class Buffer {
 public:
  using Release = void (*)(void* owner, void* address, std::size_t bytes);

  Buffer() = default;
  Buffer(void* address, std::size_t bytes, void* owner, Release release)
      : address_(address), bytes_(bytes), owner_(owner), release_(release) {}
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer(std::move(other)).swap(*this);
    return *this;
  }
  ~Buffer() {
    if (address_ != nullptr) release_(owner_, address_, bytes_);
  }

  void* data() const { return address_; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(address_);
  }
  std::size_t bytes() const { return bytes_; }

 private:
  void swap(Buffer& other) noexcept {
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
    std::swap(owner_, other.owner_);
    std::swap(release_, other.release_);
  }

  void* address_ = nullptr;
  std::size_t bytes_ = 0;
  void* owner_ = nullptr;
  Release release_ = nullptr;
};

/// The resources that the compiler assigned to a kernel.
struct KernelResources {
  int registers = 0;  ///< per thread; 0 where not applicable
  int static_shared_bytes = 0;
  int local_bytes = 0;  ///< per thread; > 0 means spills or arrays in scratch memory
  int max_threads_per_block = 0;
};

/// A kernel of a Program.
class Kernel {
 public:
  /// `parameter_bytes` is the size of each parameter as the source declares it, empty for a kernel
  /// from Device::load(); it must outlive this object.
  explicit Kernel(std::span<const unsigned> parameter_bytes) : parameter_bytes_(parameter_bytes) {}
  virtual ~Kernel() = default;
  std::span<const unsigned> parameter_bytes() const { return parameter_bytes_; }
  virtual Result<KernelResources> resources() const = 0;
  /// Returns how many blocks of `block_threads` threads fit on a multiprocessor at the same time.
  virtual Result<int> blocks_per_multiprocessor(int block_threads,
                                                unsigned dynamic_shared_bytes) const = 0;
  /// Must precede a launch with more dynamic shared memory than the default (48 KiB on CUDA).
  /// Error: unsupported, naming the device's limit.
  virtual Status allow_dynamic_shared(unsigned bytes) = 0;

 private:
  std::span<const unsigned> parameter_bytes_;
};

/// Kernels compiled together from one source. Owns them: a Kernel* lives as long as its Program.
class Program {
 public:
  virtual ~Program() = default;
  /// Error: failed, naming the kernel, if the program has no such kernel. Kernels of a program from
  /// Device::load() must be launched with launch_packed().
  virtual Result<Kernel*> kernel(std::string_view name) = 0;
};

/// One kernel source in the common dialect of src/compute/kernels/.
struct ProgramSource {
  std::string name;  ///< of its file, without ".cu"
  /// Macros that select a variant of it: names and values. The CPU backend ignores them: its
  /// kernels were compiled with the values that the file itself sets.
  std::vector<std::pair<std::string, std::string>> defines;
};

enum class EventKind {
  timed,
  untimed,  ///< only orders streams; cheaper, because the device records no time
};

/// A point in the work of a stream, recorded by Stream::record().
class Event {
 public:
  virtual ~Event() = default;
  /// Waits until the last recording is done; returns at once if there was none.
  virtual Status synchronize() = 0;
  /// Returns whether the last recording is done; true if there was none.
  virtual Result<bool> done() const = 0;
  /// Waits for at most `patience` if the device can do so without using a CPU; otherwise returns
  /// done() at once.
  virtual Result<bool> done_within(std::chrono::milliseconds /*patience*/) const { return done(); }
  /// Returns the seconds from `start` to this event on the device's clock. Error: failed unless
  /// both are timed and done.
  virtual Result<double> seconds_since(const Event& start) const = 0;
};

/// A captured sequence of stream work, ready to be replayed with Stream::launch(Graph&).
class Graph {
 public:
  virtual ~Graph() = default;
};

/// What end_capture_into() did to a graph.
enum class GraphUpdate {
  in_place,  ///< the steps were the same; only arguments were replaced
  rebuilt,   ///< the steps differed; this cost as much as a new graph
};

struct QueuedOperation;  // compute/device/queued_operation.h

/// A queue of work on a device, which runs it in order.
class Stream {
 public:
  virtual ~Stream() = default;
  /// `arguments` holds one pointer per kernel parameter; the values are copied before returning.
  virtual Status launch(const Kernel& kernel, const LaunchShape& shape,
                        std::span<void* const> arguments) = 0;
  /// Launches with attributes. Error: unsupported if `attributes` ask for a cluster and the device
  /// has none; failed if it cannot run this cluster.
  virtual Status launch(const Kernel& kernel, const LaunchShape& shape,
                        const LaunchAttributes& attributes, std::span<void* const> arguments);
  /// Launches a kernel from Device::load(), whose arguments are one buffer, laid out as its
  /// metadata describe. Error: unsupported if this backend does not load code.
  virtual Status launch_packed(const Kernel& kernel, const LaunchShape& shape,
                               std::span<const std::byte> arguments);
  virtual Status launch(Graph& graph) = 0;
  /// Copies between any two of device, pinned and pageable memory; addresses are unified. A copy
  /// that touches pageable memory may block the host.
  virtual Status copy(void* destination, const void* source, std::size_t bytes) = 0;
  /// `source` is on the device `source_ordinal` of the same backend.
  virtual Status copy_from_peer(void* destination, int source_ordinal, const void* source,
                                std::size_t bytes) = 0;
  /// `destination` is on the device `destination_ordinal` of the same backend. In both functions
  /// this stream's device runs the copy: it pulls or pushes.
  virtual Status copy_to_peer(int destination_ordinal, void* destination, const void* source,
                              std::size_t bytes) = 0;
  /// Sets each of `bytes` bytes to `value`.
  virtual Status fill(void* destination, std::uint8_t value, std::size_t bytes) = 0;
  /// `event` is done when all work queued before has run.
  virtual Status record(Event& event) = 0;
  /// Later work on this stream waits for the last recording of `event`, on any stream of the same
  /// backend; it does not wait if there was none.
  virtual Status wait(const Event& event) = 0;
  /// Waits until all queued work has run. Error: failed during a capture; that of queued work.
  virtual Status synchronize() = 0;
  /// Calls `function` on a host thread when the stream reaches it, in order with other work. It
  /// must not use the device. This is for libraries that compute on the host. Error: unsupported on
  /// GPUs.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): by value for the backends that keep it
  virtual Status call(std::function<void()>) {
    return Error{ErrorKind::unsupported, "this backend's streams do not run host functions"};
  }
  /// Between begin_capture and end_capture, work is recorded and not run. A stream that waits for
  /// an event recorded during the capture is captured too. Error: failed if a capture is under way.
  virtual Status begin_capture() = 0;
  virtual Result<std::unique_ptr<Graph>> end_capture() = 0;
  /// Ends the capture and makes `graph` replay it from now on. This is much cheaper than a new
  /// graph if only arguments differ. Replays queued earlier must have finished. HIP compares only
  /// how many predecessors a step has: use end_capture() there if the same steps are connected in
  /// another way. After an error `graph` must not be launched.
  virtual Result<GraphUpdate> end_capture_into(Graph& graph) = 0;
  /// During a capture: adds a step that records `event` at every replay. Once the replaying stream
  /// is synchronized, seconds_since() gives times inside the last replay. Streams cannot wait for
  /// such an event, and kernels on either side of it do not overlap as programmatic launches.
  /// `event` must outlive the graph. Error: failed outside a capture; unsupported by the driver.
  virtual Status record_each_replay(Event& event) = 0;
  /// Uploads `graph` to the device, which its first launch would do otherwise. Error: unsupported
  /// before HIP 5.3.
  virtual Status upload(Graph& graph) = 0;
  /// The vendor's stream handle, for one call of a vendor's library; null on the CPU. Another
  /// stream may take its place after a failed capture.
  virtual void* native_handle() = 0;

  /// Returns whether a recorder (compute/recording/) notes what is queued. Only then do the
  /// following three functions do anything.
  virtual bool is_recorded() const { return false; }
  /// What is queued until end_operation() is one operation; see queued_operation.h.
  virtual Status begin_operation(const QueuedOperation&) { return {}; }
  virtual Status end_operation() { return {}; }
  /// What was queued since the last call is one part of a step, such as "forward" and "attention".
  virtual void end_part(std::string_view /*phase*/, std::string_view /*name*/) {}
};

/// Device memory as a file that other drivers can open, e.g. that of a network adapter.
struct DmaBuf {
  DmaBuf(int open_file, std::uint64_t start) : file(open_file), offset(start) {}
  DmaBuf(DmaBuf&& other) noexcept : file(std::exchange(other.file, -1)), offset(other.offset) {}
  DmaBuf& operator=(DmaBuf&&) = delete;
  ~DmaBuf();

  int file;              ///< descriptor, closed with this object
  std::uint64_t offset;  ///< offset of the memory in it, bytes
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceFacts& facts() const = 0;
  /// Free and total bytes of device memory at this moment.
  virtual Result<std::pair<std::uint64_t, std::uint64_t>> memory_free_and_total() const = 0;
  /// Allocates memory aligned to at least 256 bytes; its contents are undefined. For 0 bytes,
  /// data() may be null. Error: exhausted, naming the bytes requested and free.
  virtual Result<Buffer> allocate(std::size_t bytes, MemoryKind kind) = 0;
  virtual Result<std::unique_ptr<Stream>> create_stream(
      StreamPriority priority = StreamPriority::normal) = 0;
  virtual Result<std::unique_ptr<Event>> create_event(EventKind kind = EventKind::timed) = 0;
  /// Compiles `source` for this device, or takes it from the kernel cache; on the CPU it was built
  /// in. Error: failed, with the compiler's messages; unavailable without a compiler.
  virtual Result<std::unique_ptr<Program>> build(const ProgramSource& source) = 0;
  /// Loads an ELF file with code compiled elsewhere for this device. `name` is for messages. Error:
  /// unsupported if this backend does not load code.
  virtual Result<std::unique_ptr<Program>> load(const std::string& name, const std::string& code);
  /// Describes a matrix or tensor to the tensor memory accelerator (TMA); the result is a kernel's
  /// parameter. Error: unsupported where there is no TMA; failed, naming the limit that `layout`
  /// exceeds.
  virtual Result<TensorMap> tensor_map(const TensorLayout& layout);
  /// The number of devices of this backend, including this one; they are numbered from 0.
  virtual int siblings() const { return 1; }
  /// Opens another device of the same backend. Error: usage if there is no device with that number.
  virtual Result<std::unique_ptr<Device>> open_sibling(int ordinal) {
    return Error{ErrorKind::usage, "there is no device " + std::to_string(ordinal)};
  }
  /// Makes this device's memory copyable from and to `peer`. Error: unsupported if there is no
  /// path.
  virtual Status enable_peer_access(int peer_ordinal) = 0;
  /// Returns a text with which other ranks of this host, each on its own device, can open `buffer`
  /// (of kind `peer`), in this process or another. Error: unsupported by this backend; usage if the
  /// CPU's buffer is of another kind.
  virtual Result<std::string> share(const Buffer& /*buffer*/) {
    return Error{ErrorKind::unsupported, "this backend does not share memory"};
  }
  /// Maps the buffer that another rank's share() described, for kernels and copies of this device.
  /// The result must be destroyed before that buffer. Error: unsupported by this backend, or if
  /// there is no path; failed if `text` is not from share() or the memory cannot be mapped.
  virtual Result<Buffer> open_shared(const std::string& /*text*/) {
    return Error{ErrorKind::unsupported, "this backend does not share memory"};
  }
  /// Exports device memory of this device as a file. Error: unsupported if the driver has no such
  /// call.
  virtual Result<DmaBuf> export_dmabuf(void* /*address*/, std::size_t /*bytes*/) {
    return Error{ErrorKind::unsupported, "this backend does not export memory"};
  }
  /// Makes this device current on the calling thread, for vendor libraries called directly. If it
  /// already is, this costs only a thread-local comparison.
  virtual Status make_current() { return {}; }
  /// Returns a function that makes this device current, for a thread that may outlive this object.
  virtual std::function<Status()> current_maker() const {
    return [] { return Status(); };
  }
  /// Never fails: values that cannot be read stay empty.
  virtual SensorReading sense() const = 0;
  /// Returns whether its streams are recorded.
  virtual bool is_recorded() const { return false; }
};

/// Returns whether a cluster has more than one block.
inline bool has_clusters(const Dim3& cluster) {
  return cluster.x != 1 || cluster.y != 1 || cluster.z != 1;
}
/// Error: failed if `cluster` has no block or more than 8, or does not divide `grid`.
Status check_cluster(const Dim3& cluster, const Dim3& grid);

/// Returns the error of seconds_since() for untimed events.
Error no_event_time();

/// Returns the error for launching `kernel` with arguments of these sizes: failed, with both lists.
Error wrong_arguments(const Kernel& kernel, std::span<const unsigned> bytes);

/// Calls `launch(pointers)` with pointers to the arguments, after checking their sizes against the
/// kernel's parameters: an int passed for a u64 would leave half of it undefined.
template <typename Launch, typename... Arguments>
Status with_arguments(const Kernel& kernel, const Launch& launch, Arguments&... arguments) {
  static constexpr std::array<unsigned, sizeof...(Arguments)> bytes = {sizeof(Arguments)...};
  if (!std::ranges::equal(bytes, kernel.parameter_bytes())) return wrong_arguments(kernel, bytes);
  const std::array<void*, sizeof...(Arguments)> pointers = {static_cast<void*>(&arguments)...};
  return launch(std::span<void* const>(pointers));
}

/// Launches with the arguments given by value:
///   TRY(launch(stream, kernel, shape, pointer, count));
///   TRY(launch(stream, kernel, shape, {.programmatic = true}, pointer, count));
/// Error: failed if their sizes differ from those of the kernel's parameters.
template <typename... Arguments>
Status launch(Stream& stream, const Kernel& kernel, const LaunchShape& shape,
              Arguments... arguments) {
  return with_arguments(
      kernel,
      [&](std::span<void* const> pointers) { return stream.launch(kernel, shape, pointers); },
      arguments...);
}
template <typename... Arguments>
Status launch(Stream& stream, const Kernel& kernel, const LaunchShape& shape,
              const LaunchAttributes& attributes, Arguments... arguments) {
  return with_arguments(
      kernel,
      [&](std::span<void* const> pointers) {
        return stream.launch(kernel, shape, attributes, pointers);
      },
      arguments...);
}

}  // namespace assay
