// A transport's resources on one port: registered memory, a completion queue, queue pairs.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ranks/fabric/transport.h"
#include "ranks/fabric/verbs.h"

namespace assay::verbs {

/// How to reach a queue pair, and its capabilities.
struct QueueAddress {
  unsigned lid = 0;  ///< the port's local identifier, with which InfiniBand routes in a subnet
  std::string gid;   ///< 32 hexadecimal digits
  bool ethernet = false;
  int mtu = 0;  ///< the library's enumeration value
  int served_read_depth = 0;
  std::uint64_t window = 0;        ///< start of the owner's window in its own address space
  std::uint32_t key = 0;           ///< key of the window
  std::uint32_t number = 0;        ///< of the queue pair
  std::uint32_t first_packet = 0;  ///< sequence number of the first packet that it sends
};
std::string to_text(const QueueAddress& address);
/// Error: failed if `text` is not such an address.
Result<QueueAddress> parse_queue_address(const std::string& text);

/// Owns an object of the library.
template <typename Object>
using Handle = std::unique_ptr<Object, int (*)(Object*)>;

class Rail {
 public:
  /// Error: failed, naming the device and the step; unsupported if a GPU's memory cannot be
  /// registered, with the reason why each method failed.
  static Result<std::unique_ptr<Rail>> create(std::shared_ptr<const Library> library, Port port,
                                              const FabricWindow& window, const FabricShape& shape,
                                              int queues);

  const Port& port() const { return port_; }
  /// Returns how the memory was registered: "host", "dmabuf", "peer memory (dmabuf: why not)".
  const std::string& memory_path() const { return memory_path_; }
  /// Returns the size up to which messages are sent inside the request.
  std::uint32_t inline_bytes() const { return inline_bytes_; }

  /// `queue` is the number of one of this rail's queue pairs, from 0.
  QueueAddress address(std::size_t queue) const;
  /// Error: failed, naming the port and the step, or if one port is Ethernet and one InfiniBand.
  Status connect(std::size_t queue, const QueueAddress& peer);
  std::uint32_t key() const { return region_->lkey; }
  QueuePair* pair(std::size_t queue) const { return pairs_[queue].get(); }
  /// Returns up to completions.size() completions; never waits. Error: failed.
  Result<std::size_t> poll(std::span<WorkCompletion> completions) const;

 private:
  Rail(std::shared_ptr<const Library> library, Port port, const FabricWindow& window);
  Status register_window(bool in_order);
  Status add_pair(const FabricShape& shape);
  Status modify(std::size_t queue, QueuePairAttributes& attributes, int mask, const char* to) const;

  std::shared_ptr<const Library> library_;
  Port port_;
  FabricWindow window_;
  std::string memory_path_;
  std::uint32_t inline_bytes_ = 0;
  Handle<ProtectionDomain> domain_;
  Handle<MemoryRegion> region_;
  Handle<CompletionQueue> completions_;
  std::vector<Handle<QueuePair>> pairs_;
};

}  // namespace assay::verbs
