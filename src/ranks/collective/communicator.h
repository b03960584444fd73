// Collective operations and messages between the ranks of a team, provided by a library: NCCL or
// RCCL on GPUs, MPI, or assay's own TCP if there is no library.
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
  Reduction reduction = Reduction::sum;
  int root = 0;
};

/// A message to or from rank `peer`.
struct Message {
  int peer = 0;
  void* data = nullptr;
  std::size_t bytes = 0;
};

/// How a communicator is made; 0 leaves a choice to the library. Alike on all of its ranks.
struct CommunicatorConfig {
  /// Bounds on the thread blocks ("CTAs") by which one operation occupies a GPU: fewer leave more
  /// multiprocessors to kernels that run meanwhile. Kinds that launch no kernels meet any bounds.
  int min_ctas = 0, max_ctas = 0;
};

/// Memory that a library knows in advance, which may make operations on it faster. Destroyed before
/// its communicator and before the memory is freed.
class Registration {
 public:
  using Release = std::function<void()>;

  /// Of a library that needs none.
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

/// One rank's endpoint of a communicator. A team can have several at once, over all of its ranks or
/// over some. All ranks of one communicator call the same operations in the same order; a rank that
/// uses several must not let the ranks of one wait in another. One thread at a time may call it,
/// and what it queues belongs on one stream, or on streams that events order.
///
/// Operations are called in two ways. enqueue() orders them on a stream with all other work there:
///
///   kind         how                                    in captured graphs
///   nccl, rccl   queued by the library                  yes
///   peer         kernels and copies                     yes
///   tcp          by a host function of the stream       where Stream::call() can be captured
///   mpi          the same, on host memory only, and     the same
///                after mpi_use_from_streams()
///
/// run() is the call itself, as the library has it and as benchmarks measure it.
///
/// Ranks that are threads of one process share its driver, which frees memory, also what a
/// communicator frees at its end, only once all GPUs of the process are idle. So all ranks end a
/// communicator, or free a buffer, before one of them queues an operation that waits for the others
/// (NCCL on two H200s hangs otherwise).
class Communicator {
 public:
  virtual ~Communicator() = default;

  /// "NCCL 2.28.3", "Open MPI 4.1.4", "TCP"
  virtual std::string library() const = 0;
  /// The file it was loaded from; empty: none.
  virtual std::string path() const { return {}; }
  /// This rank among those of the communicator, from 0, and their number.
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// True: run() queues the operation on the stream and returns. False: run() returns when the
  /// operation is complete on this rank; the stream's earlier work must be complete before the
  /// call.
  virtual bool queues_on_stream() const = 0;
  /// Why this library does not support it; empty: it does.
  virtual std::optional<std::string> unsupported(CollectiveOperation operation, DataType type,
                                                 Reduction reduction) const = 0;
  virtual Status run(const CollectiveCall& call, Stream& stream) = 0;
  /// Performs all sends and receives at once; the messages of each pair of ranks stay in order.
  virtual Status transfer(std::span<const Message> sends, std::span<const Message> receives,
                          Stream& stream) = 0;
  /// run() and transfer() as work of the stream: they begin when its earlier work is complete,
  /// later work waits for them, and while the stream captures they become part of its graph. The
  /// communicator and the stream must outlive what is queued and captured. Whether the operation
  /// succeeded, status() tells after the stream was synchronised. Error: unsupported, where the
  /// table above has no way.
  virtual Status enqueue(const CollectiveCall& call, Stream& stream) = 0;
  virtual Status enqueue(std::span<const Message> sends, std::span<const Message> receives,
                         Stream& stream) = 0;
  /// The first error of what was queued; after it, queued operations do nothing.
  virtual Status status() const = 0;
  /// Calls between begin_group() and end_group() are collected and queued together. Does nothing if
  /// the library has no groups.
  virtual Status begin_group() { return {}; }
  virtual Status end_group() { return {}; }

  /// A communicator over those ranks of this one that give the same `colour`, numbered in the order
  /// of `key`, then of their ranks here. Null where `colour` is negative. All ranks of this one
  /// call it together, with nothing queued on it that is not complete. It lives independently of
  /// this one, but not longer than device and team. Error: unsupported, if the library is too old
  /// for `config`; usage, for bounds that contradict each other; failed, with the library's
  /// message.
  virtual Result<std::unique_ptr<Communicator>> split(int colour, int key,
                                                      const CommunicatorConfig& config) = 0;
  /// Tells the library that operations will use `bytes` at `address` again and again. Not
  /// collective. Error: unsupported, if the library could use it but is too old; failed, with the
  /// library's message.
  virtual Result<Registration> register_memory(void* /*address*/, std::size_t /*bytes*/) {
    return Registration();
  }
  /// Ends calls that hang because another rank is gone, also those of a stream's thread. Afterwards
  /// only the destructor may be called.
  virtual void abort() {}
};

/// A kind of communicator: one file per library, ending in
///   const CommunicatorRegistry::Add registered{{...}};
struct CommunicatorKind {
  std::string_view name;     ///< "nccl", "rccl", "mpi", "tcp"
  std::string_view summary;  ///< one line
  /// Larger is better; 0: not for this device. "nccl" for CUDA devices, "mpi" for CPUs if an MPI
  /// launcher started this process, else "tcp".
  int (*score)(const Device& device, const Team& team);
  /// A communicator over all ranks of `team`, which call it together; they may make several. Error:
  /// unavailable, naming what was looked for and what to install; unsupported, usage and failed, as
  /// Communicator::split().
  Result<std::unique_ptr<Communicator>> (*create)(Device& device, Team& team,
                                                  const CommunicatorConfig& config);
};
using CommunicatorRegistry = Registry<CommunicatorKind>;

/// Sorted by name.
std::vector<CommunicatorKind> communicator_kinds();

std::string_view name_of(CollectiveOperation operation);
std::string_view name_of(Reduction reduction);
std::optional<CollectiveOperation> parse_collective_operation(std::string_view name);
std::optional<Reduction> parse_reduction(std::string_view name);
bool reduces(CollectiveOperation operation);   ///< all_reduce, reduce_scatter, reduce
bool has_root(CollectiveOperation operation);  ///< broadcast, reduce, gather, scatter

/// The size of the larger of a rank's two buffers, in elements: what nccl-tests prints as size /
/// element size. For all_gather, reduce_scatter, all_to_all, gather and scatter it is the block
/// count times `ranks`.
std::size_t elements_of(CollectiveOperation operation, std::size_t count, int ranks);
/// The bytes of elements_of().
std::size_t bytes_of(const CollectiveCall& call, int ranks);
/// Bus bandwidth over algorithm bandwidth, where algorithm bandwidth is the bytes of elements_of()
/// over seconds: 2(n-1)/n for all_reduce; (n-1)/n for all_gather, reduce_scatter, all_to_all,
/// gather and scatter; else 1 (nccl-tests, doc/PERFORMANCE.md).
double bus_factor(CollectiveOperation operation, int ranks);

}  // namespace assay
