#include "compute/device/device.h"

#include <fmt/format.h>
#include <unistd.h>

namespace assay {
namespace {

constexpr std::uint64_t most_cluster_blocks = 8;  // what every device with clusters can run

}  // namespace

Status check_cluster(const Dim3& cluster, const Dim3& grid) {
  const std::uint64_t blocks = std::uint64_t{cluster.x} * cluster.y * cluster.z;
  if (blocks < 1 || blocks > most_cluster_blocks) {
    return Error{ErrorKind::failed,
                 fmt::format("a cluster of {}x{}x{} blocks; 1 to {} blocks are possible", cluster.x,
                             cluster.y, cluster.z, most_cluster_blocks)};
  }
  if (grid.x % cluster.x != 0 || grid.y % cluster.y != 0 || grid.z % cluster.z != 0) {
    return Error{ErrorKind::failed,
                 fmt::format("a grid of {}x{}x{} blocks in clusters of {}x{}x{}; the cluster must "
                             "divide the grid in each direction",
                             grid.x, grid.y, grid.z, cluster.x, cluster.y, cluster.z)};
  }
  return {};
}

Status Stream::launch(const Kernel& kernel, const LaunchShape& shape,
                      const LaunchAttributes& attributes, std::span<void* const> arguments) {
  if (has_clusters(attributes.cluster)) {
    return Error{ErrorKind::unsupported,
                 "this backend's devices have no clusters of blocks: launch without"};
  }
  return launch(kernel, shape, arguments);
}

Status Stream::launch_packed(const Kernel&, const LaunchShape&, std::span<const std::byte>) {
  return Error{ErrorKind::unsupported, "this backend does not load code that others compiled"};
}

Result<std::unique_ptr<Program>> Device::load(const std::string& name, const std::string&) {
  return Error{ErrorKind::unsupported,
               fmt::format("{}:{} does not load code that others compiled, such as {}",
                           facts().backend, facts().ordinal, name)};
}

Result<TensorMap> Device::tensor_map(const TensorLayout&) {
  return Error{ErrorKind::unsupported,
               fmt::format("{}:{} has no tensor memory accelerator: copy with ordinary loads",
                           facts().backend, facts().ordinal)};
}

Error no_event_time() {
  return {ErrorKind::failed,
          "the time between two events of which one is untimed: create both as timed"};
}

Error wrong_arguments(const Kernel& kernel, std::span<const unsigned> bytes) {
  return {ErrorKind::failed,
          fmt::format("arguments of {} bytes given to a kernel with parameters of {} bytes",
                      fmt::join(bytes, ", "), fmt::join(kernel.parameter_bytes(), ", "))};
}

DmaBuf::~DmaBuf() {
  if (file >= 0) ::close(file);
}

}  // namespace assay
