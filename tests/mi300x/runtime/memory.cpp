#include "runtime/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "emulator/emulator.h"
#include "emulator/memory_map.h"

namespace mi300x::runtime {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t arena_bytes = std::size_t{1} << 44;
constexpr std::size_t gap_bytes = 16 * page;  // inaccessible bytes after every allocation
// more would cost the host too many pages
constexpr std::size_t garbage_bytes = std::size_t{1} << 20;

std::size_t pages(std::size_t bytes) {
  return (bytes + page - 1) / page * page;
}

void fill_with_garbage(char* memory, std::size_t bytes, std::uint64_t seed) {
  std::uint64_t state = seed * 0x9E3779B97F4A7C15ull + 1;
  for (std::size_t i = 0; i < bytes; ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    memory[i] = static_cast<char>(state >> 32);
  }
}

}  // namespace

Memory::Memory() {
  void* range =
      ::mmap(nullptr, arena_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range != MAP_FAILED) arena_ = next_ = static_cast<char*>(range);
}

Memory& Memory::instance() {
  static Memory& the_memory = *new Memory;
  return the_memory;
}

/// Addresses ascend and wrap around, skipping existing allocations, so that freed addresses are not
/// reused for a long time.
char* Memory::take_range(std::size_t bytes) {
  const std::size_t wanted = pages(bytes) + gap_bytes;
  for (int round = 0; arena_ != nullptr && round < 2; ++round) {
    auto after = allocations_.lower_bound(next_);
    while (after != allocations_.end() && after->first < next_ + wanted &&
           after->first < arena_ + arena_bytes) {
      next_ = after->second.address + pages(after->second.bytes) + gap_bytes;
      ++after;
    }
    if (next_ + wanted <= arena_ + arena_bytes) {
      char* const taken = next_;
      next_ += wanted;
      return taken;
    }
    next_ = arena_;
  }
  return nullptr;
}

void* Memory::allocate(Device& device, std::size_t bytes, unsigned flags) {
  const std::lock_guard lock(mutex_);
  if (bytes > device.memory_bytes - device.used) return nullptr;
  char* const address = take_range(bytes);
  if (address == nullptr) return nullptr;
  if (::mprotect(address, pages(bytes), PROT_READ | PROT_WRITE) != 0) return nullptr;
  device.used += bytes;
  if (bytes <= garbage_bytes) fill_with_garbage(address, bytes, default_settings().seed);
  allocations_[address] = {address, bytes, device.ordinal, MemoryOrigin::device, flags};
  MemoryMap::instance().add(address, bytes, device.ordinal, "device memory", false);
  return address;
}

void* Memory::allocate_host(std::size_t bytes, MemoryOrigin origin, unsigned flags) {
  void* const address =
      ::mmap(nullptr, pages(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) return nullptr;
  announce({static_cast<char*>(address), bytes, -1, origin, flags});
  return address;
}

void Memory::announce(const Allocation& allocation) {
  const std::lock_guard lock(mutex_);
  allocations_[allocation.address] = allocation;
  const bool pinned = allocation.origin == MemoryOrigin::pinned;
  MemoryMap::instance().add(allocation.address, allocation.bytes, allocation.device,
                            allocation.device >= 0 ? "another process's device memory"
                            : pinned               ? "pinned host memory"
                                                   : "host memory",
                            true);
}

bool Memory::release(void* address) {
  const std::lock_guard lock(mutex_);
  const auto found = allocations_.find(static_cast<char*>(address));
  if (found == allocations_.end()) return false;
  const Allocation gone = found->second;
  allocations_.erase(found);
  MemoryMap::instance().remove(gone.address);
  if (const auto file = files_.find(gone.address); file != files_.end()) {
    ::close(file->second);
    files_.erase(file);
  }
  if (gone.origin == MemoryOrigin::device) {
    Runtime::instance().device(gone.device).used -= gone.bytes;
    ::mmap(gone.address, pages(gone.bytes), PROT_NONE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  } else if (gone.origin != MemoryOrigin::registered) {
    ::munmap(gone.address, pages(gone.bytes));
  }
  return true;
}

std::optional<Allocation> Memory::find(const void* address, std::size_t bytes) const {
  const char* const begin = static_cast<const char*>(address);
  const std::lock_guard lock(mutex_);
  auto after = allocations_.upper_bound(begin);
  if (after == allocations_.begin()) return std::nullopt;
  const Allocation& allocation = (--after)->second;
  const std::size_t offset = static_cast<std::size_t>(begin - allocation.address);
  if (offset >= allocation.bytes || bytes > allocation.bytes - offset) return std::nullopt;
  return allocation;
}

bool Memory::among_devices(const void* address) const {
  const char* const place = static_cast<const char*>(address);
  return arena_ != nullptr && place >= arena_ && place < arena_ + arena_bytes;
}

std::vector<mi300x::StaleMemory::Piece> Memory::copy_of_devices() const {
  const std::lock_guard lock(mutex_);
  std::vector<mi300x::StaleMemory::Piece> pieces;
  for (const auto& [address, allocation] : allocations_) {
    if (allocation.device < 0) continue;
    pieces.push_back({reinterpret_cast<std::uintptr_t>(allocation.address),
                      {allocation.address, allocation.address + allocation.bytes}});
  }
  return pieces;
}

int Memory::count() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(allocations_.size());
}

int Memory::share(const Allocation& allocation) {
  const std::lock_guard lock(mutex_);
  if (const auto known = files_.find(allocation.address); known != files_.end()) {
    return known->second;
  }
  const int file = ::memfd_create("mi300x", MFD_CLOEXEC);
  const std::size_t whole = pages(allocation.bytes);
  if (file < 0 || ::ftruncate(file, static_cast<off_t>(whole)) != 0) return -1;
  // The content moves into the file, whose pages then replace the old ones.
  void* const copy = ::mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (copy == MAP_FAILED) return -1;
  std::memcpy(copy, allocation.address, allocation.bytes);
  ::munmap(copy, whole);
  ::mmap(allocation.address, whole, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
  // From now on, what other processes write cannot be distinguished from garbage.
  MemoryMap::instance().mark_written(allocation.address, allocation.bytes);
  files_[allocation.address] = file;
  return file;
}

// ---- Copies and fills ----

namespace {

/// Returns whether the bytes belong to an allocation. Throws if they are freed device memory.
bool known(const void* address, std::size_t bytes, const char* what) {
  const Memory& memory = Memory::instance();
  if (memory.find(address, bytes)) return true;
  if (!memory.among_devices(address)) return false;
  throw Fault(FaultKind::illegal_address,
              fmt::format("a {} of {} bytes at {} meets freed memory", what, bytes, address));
}

}  // namespace

void copy_bytes(void* to, const void* from, std::size_t bytes) {
  const bool marks = known(from, bytes, "copy"), marked = known(to, bytes, "copy");
  std::memmove(to, from, bytes);
  if (marked && marks) {
    MemoryMap::instance().copy_marks(to, from, bytes);
  } else if (marked) {
    MemoryMap::instance().mark_written(to, bytes);
  }
}

void fill_bytes(void* to, const void* pattern, std::size_t width, std::size_t count) {
  const bool marked = known(to, width * count, "fill");
  if (width == 1) {
    std::memset(to, *static_cast<const unsigned char*>(pattern), count);
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      std::memcpy(static_cast<char*>(to) + i * width, pattern, width);
    }
  }
  if (marked) MemoryMap::instance().mark_written(to, width * count);
}

}  // namespace mi300x::runtime
