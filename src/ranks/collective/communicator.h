// Collective operations and messages between the ranks of a team, provided by a library: NCCL or
// RCCL on GPUs, MPI, or assay's own: "peer", through memory that the devices of one host share, and
// "tcp".
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compute/device/device.h"
#include "core/data_type.h"
#include "core/registry.h"
#include "core/result.h"
#include "ranks/team/team.h"

namespace assay {

enum class CollectiveOperation {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  reduce,
  all_to_all,
  gather,
  scatter,
  send_recv,  ///< a ring: send to the next rank, receive from the previous one
};
enum class Reduction { sum, prod, min, max, avg };

/// One collective operation, seen from one rank. `count` is the number of elements in ONE block:
/// what each rank contributes to all_gather and gather, receives from reduce_scatter and scatter,
/// and sends to each rank in all_to_all; for all_reduce, broadcast, reduce and send_recv it is the
/// whole vector. In place, `receive` equals `send` for all_reduce, broadcast and reduce; block
/// `rank` of `receive` equals `send` for all_gather; block `rank` of `send` equals `receive` for
/// reduce_scatter.
struct CollectiveCall {
  CollectiveOperation operation = CollectiveOperation::all_reduce;
  const void* send = nullptr;
  void* receive = nullptr;
  std::size_t count = 0;
  DataType type = DataType::f32;
  Reduction reduction = Reduction::sum;  ///< for operations that reduce
  int root = 0;                          ///< a rank, for operations that have a root
};

/// A message to or from rank `peer`.
struct Message {
  int peer = 0;
  void* data = nullptr;
  std::size_t bytes = 0;
};

/// How a communicator is made; 0 leaves a choice to the library. All of its ranks pass the same
/// values.
struct CommunicatorConfig {
  /// Bounds on the number of thread blocks ("CTAs") with which one operation occupies a GPU. Fewer
  /// blocks leave more multiprocessors to concurrent kernels. Libraries that launch no kernels
  /// accept any bounds.
  int min_ctas = 0, max_ctas = 0;
};

/// Memory that has been registered with a library, which may make operations on it faster. It must
/// be destroyed before its communicator and before the memory is freed.
class Registration {
 public:
  using Release = std::function<void()>;

  /// Makes an empty registration, for libraries that need none.
  Registration() = default;
  explicit Registration(Release release) : release_(std::move(release)) {}
  Registration(Registration&& other) noexcept : release_(std::exchange(other.release_, nullptr)) {}
  Registration& operator=(Registration&& other) noexcept {
    std::swap(release_, other.release_);
    return *this;
  }
  ~Registration() {
    if (release_) release_();
  }

 private:
  Release release_;
};

/// One rank's endpoint of a communicator. A team can have several at once, over all or some of its
/// ranks. All ranks of a communicator call the same operations in the same order. A rank that uses
/// several communicators must not let the ranks of one wait in another. Only one thread at a time
/// may call it, and the operations that it queues belong on one stream, or on streams that are
/// ordered by events.
///
/// Operations can be called through two functions. enqueue() orders them on a stream with all other
/// work there:
///
///   kind         implementation of enqueue()            in captured graphs
///   nccl, rccl   queued by the library                  yes
///   peer         kernels and copies                     yes
///   tcp          a host function of the stream          where Stream::call() can be captured
///   mpi          a host function, on host memory only,  where Stream::call() can be captured
///                after mpi_use_from_streams()
///
/// run() is the plain call as the library provides it and as benchmarks measure it. Errors of both,
/// of transfer() and of status(): unsupported, if the library lacks the operation; failed, with the
/// library's message or the name of a lost rank; or that of a call of the device.
///
/// If ranks are threads of one process, they share a driver, which frees memory only once all GPUs
/// of the process are idle. This includes memory that a communicator frees when it is destroyed. So
/// all ranks must destroy a communicator, or free a buffer, before any of them queues an operation
/// that waits for the others (otherwise NCCL on two H200s hangs).
class Communicator {
 public:
  virtual ~Communicator() = default;

  /// Returns the library's name and version: "NCCL 2.28.3", "Open MPI 4.1.4", "TCP".
  virtual std::string library() const = 0;
  /// Returns the file that the library was loaded from; empty if there is none.
  virtual std::string path() const { return {}; }
  /// Returns this rank's number in the communicator, from 0; size() is the number of ranks.
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// If true, run() queues the operation on the stream and returns. If false, run() returns when
  /// the operation is complete on this rank, and earlier work of the stream must be complete before
  /// the call.
  virtual bool queues_on_stream() const = 0;
  /// Returns why this library does not support the operation; empty if it does.
  virtual std::optional<std::string> unsupported(CollectiveOperation operation, DataType type,
                                                 Reduction reduction) const = 0;
  virtual Status run(const CollectiveCall& call, Stream& stream) = 0;
  /// Performs all sends and receives at once, as run() does with a collective; the messages of each
  /// pair of ranks stay in order.
  virtual Status transfer(std::span<const Message> sends, std::span<const Message> receives,
                          Stream& stream) = 0;
  /// Queues run() or transfer() as work of the stream: it begins when earlier work is complete, and
  /// later work waits for it. During a capture it becomes part of the graph. The communicator and
  /// the stream must outlive queued and captured work. After the stream was synchronized, status()
  /// tells whether the operation succeeded. Error: unsupported, if the kind has no such
  /// implementation, see above.
  virtual Status enqueue(const CollectiveCall& call, Stream& stream) = 0;
  virtual Status enqueue(std::span<const Message> sends, std::span<const Message> receives,
                         Stream& stream) = 0;
  /// Returns the first error of queued operations; after an error, queued operations do nothing.
  virtual Status status() const = 0;
  /// Operations between begin_group() and end_group() are collected and queued together. Does
  /// nothing if the library has no groups.
  virtual Status begin_group() { return {}; }
  virtual Status end_group() { return {}; }

  /// Makes a communicator over the ranks that pass the same `colour`, numbered in the order of
  /// `key`, then of their ranks in this communicator. Returns null if `colour` is negative. All
  /// ranks of this communicator call it together, when all operations queued on it are complete.
  /// The result may outlive this communicator, but not the device and the team. Error: unsupported,
  /// if the library is too old for `config`; usage, for contradictory bounds; failed, with the
  /// library's message.
  virtual Result<std::unique_ptr<Communicator>> split(int colour, int key,
                                                      const CommunicatorConfig& config) = 0;
  /// Tells the library that operations will use `bytes` bytes at `address` repeatedly. This is not
  /// a collective call. Error: unsupported, if the library could use it but is too old; failed,
  /// with the library's message.
  virtual Result<Registration> register_memory(void* /*address*/, std::size_t /*bytes*/) {
    return Registration();
  }
  /// Ends calls that hang because another rank is gone, including calls on a stream's thread.
  /// Afterwards only the destructor may be called.
  virtual void abort() {}
};

/// A kind of communicator. Each kind is one file that ends in
///   const CommunicatorRegistry::Add registered{{...}};
struct CommunicatorKind {
  std::string_view name;     ///< "nccl", "rccl", "mpi", "peer", "tcp"
  std::string_view summary;  ///< one line
  /// Returns how well the kind suits this device and team; larger is better, 0: not at all. "nccl"
  /// is best for CUDA devices and "rccl" for HIP devices. For CPUs "mpi" is best if an MPI launcher
  /// started this process, otherwise "tcp". "peer" suits every device a little.
  int (*score)(const Device& device, const Team& team);
  /// Makes a communicator over all ranks of `team`, which call it together; a team may have
  /// several. Error: unavailable, naming what was looked for and what to install; unsupported,
  /// usage and failed, as Communicator::split().
  Result<std::unique_ptr<Communicator>> (*create)(Device& device, Team& team,
                                                  const CommunicatorConfig& config);
};
using CommunicatorRegistry = Registry<CommunicatorKind>;

/// Sorted by name.
std::vector<CommunicatorKind> communicator_kinds();
/// Error: unsupported if this build has no kind of this name, with those that it has.
Result<CommunicatorKind> communicator_kind(std::string_view name);

std::string_view name_of(CollectiveOperation operation);
std::string_view name_of(Reduction reduction);
std::optional<CollectiveOperation> parse_collective_operation(std::string_view name);
std::optional<Reduction> parse_reduction(std::string_view name);
bool reduces(CollectiveOperation operation);   ///< all_reduce, reduce_scatter, reduce
bool has_root(CollectiveOperation operation);  ///< broadcast, reduce, gather, scatter

/// Returns the size of the larger of a rank's two buffers, in elements. This is what nccl-tests
/// prints as size / element size. For all_gather, reduce_scatter, all_to_all, gather and scatter it
/// is the block count times `ranks`.
std::size_t elements_of(CollectiveOperation operation, std::size_t count, int ranks);
/// Returns elements_of() in bytes.
std::size_t bytes_of(const CollectiveCall& call, int ranks);
/// Returns bus bandwidth over algorithm bandwidth, where algorithm bandwidth is bytes_of() over
/// seconds: 2(n-1)/n for all_reduce; (n-1)/n for all_gather, reduce_scatter, all_to_all, gather and
/// scatter; otherwise 1 (nccl-tests, doc/PERFORMANCE.md).
double bus_factor(CollectiveOperation operation, int ranks);

}  // namespace assay
