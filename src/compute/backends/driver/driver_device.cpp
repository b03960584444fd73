#include "compute/backends/driver/driver_device.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "compute/backends/driver/driver_facts.h"
#include "compute/backends/driver/driver_program.h"
#include "compute/backends/driver/driver_stream.h"
#include "compute/device/ipc_handle_text.h"

namespace assay::driver {
namespace {

constexpr std::size_t pageable_alignment = 256;  // bytes, as the Device interface promises

const char* name_of(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::device:
    case MemoryKind::peer:
      return "device";
    case MemoryKind::pinned:
      return "pinned host";
    default:
      return "pageable host";
  }
}

void release_device(void* owner, void* address, std::size_t) {
  const Place& place = *static_cast<const Place*>(owner);
  if (place.activate() == code::success) place.api().release(address);
}

void release_pinned(void* owner, void* address, std::size_t) {
  const Place& place = *static_cast<const Place*>(owner);
  if (place.activate() == code::success) place.api().release_host(address);
}

/// Unmaps what another process owns.
void close_shared(void* owner, void* address, std::size_t) {
  const Place& place = *static_cast<const Place*>(owner);
  if (place.activate() == code::success) place.api().ipc_close(address);
}

void release_pageable(void*, void* address, std::size_t) {
  std::free(address);
}

}  // namespace

Error no_such_device(std::string_view backend, int count, int ordinal) {
  return {ErrorKind::usage, fmt::format("{} has {} device{}, numbered from 0: there is no {}",
                                        backend, count, count == 1 ? "" : "s", ordinal)};
}

Result<std::unique_ptr<Device>> DriverDevice::open(std::shared_ptr<Dialect> dialect, int ordinal) {
  std::unique_ptr<DriverDevice> device(new DriverDevice(std::move(dialect), ordinal));
  TRY(device->make_current());
  return std::unique_ptr<Device>(std::move(device));
}

DriverDevice::DriverDevice(std::shared_ptr<Dialect> dialect, int ordinal)
    : place_(std::move(dialect), ordinal),
      facts_(read_facts(place_.dialect(), ordinal)),
      cache_(KernelCache::of_user()) {}

Status DriverDevice::make_current() {
  PLACE_TRY(place_, code::success, "making the device current");
  return {};
}

std::function<Status()> DriverDevice::current_maker() const {
  return [place = place_]() -> Status {
    PLACE_TRY(place, code::success, "making the device current");
    return {};
  };
}

Result<std::pair<std::uint64_t, std::uint64_t>> DriverDevice::memory_free_and_total() const {
  std::size_t free = 0, total = 0;
  PLACE_TRY(place_, place_.api().memory_info(&free, &total), "reading free memory");
  return std::pair<std::uint64_t, std::uint64_t>(free, total);
}

Error DriverDevice::out_of_memory(std::size_t bytes, MemoryKind kind) const {
  std::string free = "an unknown number";
  if (kind == MemoryKind::device || kind == MemoryKind::peer) {
    if (const auto memory = memory_free_and_total()) free = std::to_string(memory->first);
  } else {
    free = std::to_string(std::uint64_t(::sysconf(_SC_AVPHYS_PAGES)) * ::sysconf(_SC_PAGESIZE));
  }
  return Error{ErrorKind::exhausted,
               fmt::format("{}:{}: out of {} memory: requested {} bytes, {} free", facts_.backend,
                           facts_.ordinal, name_of(kind), bytes, free)};
}

Result<Buffer> DriverDevice::allocate(std::size_t bytes, MemoryKind kind) {
  if (bytes == 0) return Buffer();
  void* address = nullptr;
  if (kind == MemoryKind::pageable) {
    const std::size_t rounded = (bytes + pageable_alignment - 1) / pageable_alignment;
    address = std::aligned_alloc(pageable_alignment, rounded * pageable_alignment);
    if (address == nullptr) return out_of_memory(bytes, kind);
    return Buffer(address, bytes, nullptr, &release_pageable);
  }
  const bool pinned = kind == MemoryKind::pinned;
  Code result = place_.activate();
  if (result == code::success) {
    result = pinned ? place_.api().allocate_host(&address, bytes, host_portable | host_mapped)
             : kind == MemoryKind::peer ? place_.dialect().allocate_for_peers(&address, bytes)
                                        : place_.api().allocate(&address, bytes);
  }
  if (result == code::out_of_memory) return out_of_memory(bytes, kind);
  if (result != code::success) {
    return place_.error(result,
                        fmt::format("allocating {} bytes of {} memory", bytes, name_of(kind)));
  }
  return Buffer(address, bytes, &place_, pinned ? &release_pinned : &release_device);
}

Result<std::unique_ptr<Stream>> DriverDevice::create_stream(StreamPriority priority) {
  return DriverStream::create(place_, priority);
}

Result<std::unique_ptr<Event>> DriverDevice::create_event(EventKind kind) {
  return DriverEvent::create(place_, kind);
}

Result<std::unique_ptr<Program>> DriverDevice::build(const ProgramSource& source) {
  return DriverProgram::build(place_, facts_, source, cache_);
}

Result<std::unique_ptr<Program>> DriverDevice::load(const std::string& name,
                                                    const std::string& code) {
  return DriverProgram::load(place_, facts_, name, code);
}

Result<TensorMap> DriverDevice::tensor_map(const TensorLayout& layout) {
  if (!place_.abilities().tensor_maps) return Device::tensor_map(layout);
  TRY(check_tensor_layout(layout));
  TensorMap map;
  PLACE_TRY(place_, place_.dialect().encode(map, layout), "making a tensor map");
  return map;
}

int DriverDevice::siblings() const {
  int count = 0;
  const Code result = place_.api().device_count(&count);
  return result == code::success && count > 0 ? count : 1;
}

Result<std::unique_ptr<Device>> DriverDevice::open_sibling(int ordinal) {
  const int count = siblings();
  if (ordinal < 0 || ordinal >= count) return no_such_device(facts_.backend, count, ordinal);
  return open(place_.shared_dialect(), ordinal);
}

Result<DmaBuf> DriverDevice::export_dmabuf(void* address, std::size_t bytes) {
  // Drivers export whole pages, and an allocation does not share its last page.
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  const std::uintptr_t first = begin / page * page;
  const std::uintptr_t end = (begin + bytes + page - 1) / page * page;
  int file = -1;
  std::uint64_t offset = 0;
  PLACE_TRY(
      place_,
      place_.dialect().export_dmabuf(&file, &offset, reinterpret_cast<void*>(first), end - first),
      "exporting device memory as a dmabuf");
  return DmaBuf(file, offset + (begin - first));
}

Status DriverDevice::enable_peer_access(int peer_ordinal) {
  const DriverApi& api = place_.api();
  Dialect& dialect = place_.dialect();
  int device = 0, peer = 0, there = 0, back = 0;
  const std::string doing =
      fmt::format("querying peer access to {}:{}", facts_.backend, peer_ordinal);
  PLACE_TRY(place_, api.device(&device, facts_.ordinal), doing);
  PLACE_TRY(place_, api.device(&peer, peer_ordinal), doing);
  PLACE_TRY(place_, api.can_access_peer(&there, device, peer), doing);
  PLACE_TRY(place_, api.can_access_peer(&back, peer, device), doing);
  if (there == 0 || back == 0) {
    return Error{ErrorKind::unsupported,
                 fmt::format("{}:{} and {}:{} cannot access each other's memory", facts_.backend,
                             facts_.ordinal, facts_.backend, peer_ordinal)};
  }
  const auto enable = [&](int ordinal, int other) {
    Code result = dialect.make_current(ordinal);
    if (result == code::success) result = dialect.enable_peer(other);
    return result == code::peer_access_already_enabled ? code::success : result;
  };
  Code result = enable(facts_.ordinal, peer_ordinal);
  if (result == code::success) result = enable(peer_ordinal, facts_.ordinal);
  const Code restored = place_.make_current();
  if (result == code::success) result = restored;
  if (result != code::success) {
    return place_.error(result,
                        fmt::format("enabling peer access to {}:{}", facts_.backend, peer_ordinal));
  }
  return {};
}

Result<std::string> DriverDevice::share(const Buffer& buffer) {
  IpcHandle handle{};
  Code shared = place_.activate();
  if (shared == code::success) shared = place_.api().ipc_handle(&handle, buffer.data());
  if (shared != code::success) {
    Error error = place_.error(shared, "sharing memory with ranks");
    const std::string hint = place_.dialect().sharing_hint();
    if (!hint.empty()) error.message += "; " + hint;
    return error;
  }
  std::string bytes(handle.bytes, handle.bytes + sizeof(handle.bytes));
  return SharedName::own(buffer, facts_.ordinal, std::move(bytes)).text();
}

Result<Buffer> DriverDevice::open_shared(const std::string& text) {
  const SharedName name = TRY(SharedName::parse(text));
  if (name.is_own()) {  // drivers open no handle in the process that made it
    if (name.place != facts_.ordinal) TRY(enable_peer_access(name.place));
    return name.borrowed();
  }
  IpcHandle handle{};
  if (name.handle.size() != sizeof(handle.bytes)) {
    return Error{ErrorKind::failed, "a rank named its memory in an unknown way"};
  }
  std::memcpy(handle.bytes, name.handle.data(), sizeof(handle.bytes));
  void* address = nullptr;
  PLACE_TRY(place_, place_.dialect().open_shared(&address, handle),
            fmt::format("mapping the memory of process {}", name.process));
  return Buffer(address, name.bytes, &place_, &close_shared);
}

}  // namespace assay::driver
