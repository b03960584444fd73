#include "runtime/virtual.h"

#include "emulator/corruption.h"
#include "emulator/memory_map.h"
#include "runtime/handles.h"
#include "runtime/memory.h"
#include "runtime/stream.h"

using namespace mi300x::runtime;

extern "C" {

const char* const mi300x_virtual = "virtual MI300X 1";

void mi300x_mark_written(const void* address, size_t bytes) {
  mi300x::MemoryMap::instance().mark_written(address, bytes);
}

void mi300x_check_read(const void* address, size_t bytes) {
  mi300x::MemoryMap::instance().check_read(reinterpret_cast<std::uint64_t>(address), bytes);
}

void mi300x_check_write(void* address, size_t bytes) {
  mi300x::MemoryMap::instance().check_write(reinterpret_cast<std::uint64_t>(address), bytes);
}

int mi300x_enqueue_host(void* stream, void (*function)(void*), void* data, double seconds) {
  return call(__func__, [&] {
    return submit(static_cast<hipStream_t>(stream), [=](double start) {
      function(data);
      return start + seconds;
    });
  });
}

void mi300x_reset(void) {
  Runtime::instance().reset();
  current_device = 0;
  last_error = hipSuccess;
}

void mi300x_fail_next(const char* function, int error) {
  Runtime::instance().injection.fail_next(function, static_cast<hipError_t>(error));
}

int mi300x_live_objects(void) {
  return Memory::instance().count() + Handles<ihipStream_t>::instance().size() +
         Handles<ihipEvent_t>::instance().size() + Handles<ihipGraph>::instance().size() +
         Handles<hipGraphExec>::instance().size() + Handles<ihipModule_t>::instance().size();
}

int mi300x_last_priority(void) {
  return Runtime::instance().last_priority;
}

void mi300x_corrupt(const char* kind, unsigned long long nth, unsigned long long seed,
                    const char* spared) {
  mi300x::Corruption::instance().plan(
      {.kind = mi300x::corruption_kind(kind), .nth = nth, .seed = seed, .spared = spared});
}

unsigned long long mi300x_corruptions(void) {
  return mi300x::Corruption::instance().count();
}

unsigned long long mi300x_corruption_events(void) {
  return mi300x::Corruption::instance().events();
}

const char* mi300x_last_fault(void) {
  return Runtime::instance().last_fault();
}

}  // extern "C"
