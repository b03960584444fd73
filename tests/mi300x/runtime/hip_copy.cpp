// HIP's copies and fills. Both addresses are checked against the direction that the caller states.
#include <cstring>

#include "runtime/memory.h"
#include "runtime/stream.h"

using namespace mi300x::runtime;

namespace {

/// The memory at one end of a copy.
struct Side {
  int device = -1;       ///< -1: the host
  bool pageable = true;  ///< memory that the runtime does not know
  bool valid = true;
};

Side side_of(const void* address, std::size_t bytes) {
  Side side;
  if (const auto allocation = Memory::instance().find(address, bytes)) {
    side.device = allocation->device;
    side.pageable = false;
  } else {
    side.valid = address != nullptr && !Memory::instance().among_devices(address) &&
                 !Memory::instance().find(address, 1);
  }
  return side;
}

bool fits(hipMemcpyKind kind, const Side& to, const Side& from) {
  switch (kind) {
    case hipMemcpyHostToHost:
      return to.device < 0 && from.device < 0;
    case hipMemcpyHostToDevice:
      return to.device >= 0 && from.device < 0;
    case hipMemcpyDeviceToHost:
      return to.device < 0 && from.device >= 0;
    case hipMemcpyDeviceToDevice:
      return to.device >= 0 && from.device >= 0;
    default:
      return true;
  }
}

double copy_rate(const Side& to, const Side& from) {
  if (to.device < 0 || from.device < 0) return host_link_rate;
  if (to.device != from.device) return peer_link_rate;
  return Runtime::instance().device(to.device).chip.memory_bytes_per_second / 2;
}

Step copy_step(void* to, const void* from, std::size_t bytes, double rate) {
  return [=](double start) {
    copy_bytes(to, from, bytes);
    return start + static_cast<double>(bytes) / rate;
  };
}

enum class Waits { no, yes };

hipError_t copy(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind,
                hipStream_t stream, Waits waits) {
  if (kind < hipMemcpyHostToHost || kind > hipMemcpyDefault) {
    return hipErrorInvalidMemcpyDirection;
  }
  if (bytes == 0) return hipSuccess;
  const Side there = side_of(to, bytes), here = side_of(from, bytes);
  if (!there.valid || !here.valid || !fits(kind, there, here)) return hipErrorInvalidValue;
  Step step = copy_step(to, from, bytes, copy_rate(there, here));
  if (waits == Waits::yes) return submit_and_wait(stream, std::move(step));
  const hipError_t error = submit(stream, std::move(step));
  if (error != hipSuccess || (!there.pageable && !here.pageable)) return error;
  // The caller may reuse pageable memory after the call, unless the copy is only recorded.
  const auto queue = stream_of(stream);
  {
    const std::lock_guard lock(capture_mutex());
    if (queue->capture) return hipSuccess;
  }
  queue->drain();
  return queue->device.failure(true);
}

hipError_t copy_peer(void* to, int to_device, const void* from, int from_device, std::size_t bytes,
                     hipStream_t stream, Waits waits) {
  const Runtime& runtime = Runtime::instance();
  if (!runtime.valid(to_device) || !runtime.valid(from_device)) return hipErrorInvalidDevice;
  if (bytes == 0) return hipSuccess;
  const Side there = side_of(to, bytes), here = side_of(from, bytes);
  if (there.device != to_device || here.device != from_device) return hipErrorInvalidValue;
  Step step = copy_step(to, from, bytes, copy_rate(there, here));
  return waits == Waits::yes ? submit_and_wait(stream, std::move(step))
                             : submit(stream, std::move(step));
}

hipError_t fill(void* to, unsigned value, std::size_t width, std::size_t count, hipStream_t stream,
                Waits waits) {
  if (count == 0) return hipSuccess;
  const Side there = side_of(to, width * count);
  if (there.pageable) return hipErrorInvalidValue;
  const double rate = Runtime::instance().current().chip.memory_bytes_per_second;
  Step step = [=](double start) {
    fill_bytes(to, &value, width, count);
    return start + static_cast<double>(width * count) / rate;
  };
  return waits == Waits::yes ? submit_and_wait(stream, std::move(step))
                             : submit(stream, std::move(step));
}

}  // namespace

extern "C" {

// ---- Copies ----

hipError_t hipMemcpy(void* to, const void* from, size_t bytes, hipMemcpyKind kind) {
  return device_call(__func__, [&] { return copy(to, from, bytes, kind, nullptr, Waits::yes); });
}

hipError_t hipMemcpyAsync(void* to, const void* from, size_t bytes, hipMemcpyKind kind,
                          hipStream_t stream) {
  return device_call(__func__, [&] { return copy(to, from, bytes, kind, stream, Waits::no); });
}

hipError_t hipMemcpyWithStream(void* to, const void* from, size_t bytes, hipMemcpyKind kind,
                               hipStream_t stream) {
  return device_call(__func__, [&] { return copy(to, from, bytes, kind, stream, Waits::yes); });
}

hipError_t hipMemcpyHtoD(hipDeviceptr_t to, void* from, size_t bytes) {
  return device_call(
      __func__, [&] { return copy(to, from, bytes, hipMemcpyHostToDevice, nullptr, Waits::yes); });
}

hipError_t hipMemcpyDtoH(void* to, hipDeviceptr_t from, size_t bytes) {
  return device_call(
      __func__, [&] { return copy(to, from, bytes, hipMemcpyDeviceToHost, nullptr, Waits::yes); });
}

hipError_t hipMemcpyDtoD(hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes) {
  return device_call(__func__, [&] {
    return copy(to, from, bytes, hipMemcpyDeviceToDevice, nullptr, Waits::yes);
  });
}

hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t to, void* from, size_t bytes, hipStream_t stream) {
  return device_call(
      __func__, [&] { return copy(to, from, bytes, hipMemcpyHostToDevice, stream, Waits::no); });
}

hipError_t hipMemcpyDtoHAsync(void* to, hipDeviceptr_t from, size_t bytes, hipStream_t stream) {
  return device_call(
      __func__, [&] { return copy(to, from, bytes, hipMemcpyDeviceToHost, stream, Waits::no); });
}

hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes,
                              hipStream_t stream) {
  return device_call(
      __func__, [&] { return copy(to, from, bytes, hipMemcpyDeviceToDevice, stream, Waits::no); });
}

hipError_t hipMemcpyPeer(void* to, int to_device, const void* from, int from_device, size_t bytes) {
  return device_call(__func__, [&] {
    return copy_peer(to, to_device, from, from_device, bytes, nullptr, Waits::yes);
  });
}

hipError_t hipMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                              size_t bytes, hipStream_t stream) {
  return device_call(__func__, [&] {
    return copy_peer(to, to_device, from, from_device, bytes, stream, Waits::no);
  });
}

// ---- Fills ----

hipError_t hipMemset(void* to, int value, size_t bytes) {
  return device_call(__func__, [&] {
    return fill(to, static_cast<unsigned char>(value), 1, bytes, nullptr, Waits::yes);
  });
}

hipError_t hipMemsetAsync(void* to, int value, size_t bytes, hipStream_t stream) {
  return device_call(__func__, [&] {
    return fill(to, static_cast<unsigned char>(value), 1, bytes, stream, Waits::no);
  });
}

hipError_t hipMemsetD8(hipDeviceptr_t to, unsigned char value, size_t count) {
  return device_call(__func__, [&] { return fill(to, value, 1, count, nullptr, Waits::yes); });
}

hipError_t hipMemsetD8Async(hipDeviceptr_t to, unsigned char value, size_t count,
                            hipStream_t stream) {
  return device_call(__func__, [&] { return fill(to, value, 1, count, stream, Waits::no); });
}

hipError_t hipMemsetD32(hipDeviceptr_t to, int value, size_t count) {
  return device_call(__func__, [&] {
    return fill(to, static_cast<unsigned>(value), 4, count, nullptr, Waits::yes);
  });
}

hipError_t hipMemsetD32Async(hipDeviceptr_t to, int value, size_t count, hipStream_t stream) {
  return device_call(__func__, [&] {
    return fill(to, static_cast<unsigned>(value), 4, count, stream, Waits::no);
  });
}

}  // extern "C"
