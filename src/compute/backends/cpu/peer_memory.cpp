#include "compute/backends/cpu/peer_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "compute/backends/cpu/cpu_stream.h"
#include "compute/device/ipc_handle_text.h"

namespace assay::cpu {
namespace {

Error cannot(ErrorKind kind, std::string_view what, std::size_t bytes) {
  return {kind, fmt::format("{} {} bytes that ranks share: {}", what, bytes, std::strerror(errno))};
}

/// Returns null on failure, with errno set.
void* map(int file, std::size_t bytes) {
  void* address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return address == MAP_FAILED ? nullptr : address;
}

/// Returns a text that is unique to this file on this host: its identity and its length.
std::string identity_of(int file) {
  struct stat found = {};
  if (::fstat(file, &found) != 0) return {};
  return fmt::format("{} {} {}", found.st_dev, found.st_ino, found.st_size);
}

}  // namespace

Result<Buffer> PeerMemory::allocate(std::size_t bytes) {
  if (bytes == 0) return Buffer();
  const int file = ::memfd_create("assay", MFD_CLOEXEC);
  if (file < 0) return cannot(ErrorKind::exhausted, "making a file for", bytes);
  // The file must not be sparse: a page that cannot be allocated later would raise SIGBUS.
  const int full = ::posix_fallocate(file, 0, static_cast<off_t>(bytes));
  if (full != 0) errno = full;
  void* address = full == 0 ? map(file, bytes) : nullptr;
  if (address == nullptr) {
    Error error = cannot(ErrorKind::exhausted, "allocating", bytes);
    ::close(file);
    return error;
  }
  const MutexLock lock(mutex_);
  files_[address] = file;
  return Buffer(address, bytes, this, &release);
}

void PeerMemory::release(void* owner, void* address, std::size_t bytes) {
  auto& memory = *static_cast<PeerMemory*>(owner);
  const MutexLock lock(memory.mutex_);
  unmap_after_queued_work(address, bytes);
  const auto file = memory.files_.extract(address);
  if (!file.empty()) ::close(file.mapped());
}

Result<std::string> PeerMemory::share(const Buffer& buffer) {
  const MutexLock lock(mutex_);
  const auto file = files_.find(buffer.data());
  if (file == files_.end()) {
    return Error{ErrorKind::usage, "only memory of kind `peer` can be shared"};
  }
  return SharedName::own(buffer, file->second, identity_of(file->second)).text();
}

Result<Buffer> PeerMemory::open(const std::string& text) {
  const SharedName name = TRY(SharedName::parse(text));
  if (name.is_own()) return name.borrowed();
  const std::string path = fmt::format("/proc/{}/fd/{}", name.process, name.place);
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  // In another container, the same number is another process or none.
  const bool is_meant = file >= 0 && identity_of(file) == name.handle;
  if (file >= 0 && !is_meant) errno = ESTALE;
  void* address = is_meant ? map(file, name.bytes) : nullptr;
  const int why = errno;
  if (file >= 0) ::close(file);
  errno = why;
  if (address == nullptr) {
    return cannot(ErrorKind::failed, fmt::format("mapping process {}'s", name.process), name.bytes);
  }
  return Buffer(address, name.bytes, nullptr, [](void*, void* mapped, std::size_t bytes) {
    unmap_after_queued_work(mapped, bytes);
  });
}

}  // namespace assay::cpu
