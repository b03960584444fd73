// What the virtual MI300X's runtime exports in addition to HIP: programs can recognise it,
// libraries that compute on the host use its streams, and tests make it fail.
#pragma once

#include <stddef.h>

extern "C" {

/// Name and version. The existence of this symbol means that the devices are emulated.
extern const char* const mi300x_virtual;

// ---- For libraries that compute on the host ----

/// Marks bytes of device memory as written if neither a kernel nor a copy wrote them.
void mi300x_mark_written(const void* address, size_t bytes);
/// Call these within enqueued work. The first stops the device unless all bytes may be read and
/// were written before. The second stops it unless they may be written, and marks them as written.
/// A stop leaves `function` by a C++ exception.
void mi300x_check_read(const void* address, size_t bytes);
void mi300x_check_write(void* address, size_t bytes);
/// Runs `function` when `stream` reaches it, or adds it to the graph into which the stream is
/// captured; it takes `seconds` of model time. Returns a hipError_t.
int mi300x_enqueue_host(void* stream, void (*function)(void*), void* data, double seconds);

// ---- For tests ----

/// Reads the environment again: MI300X_DEVICES, _MODE, _VM, _MEMORY, _FAULT (machine.h,
/// injection.h). Failed devices work again. No HIP object may be alive.
void mi300x_reset(void);
/// Makes the next call of `function` return `error` and do nothing.
void mi300x_fail_next(const char* function, int error);
/// Returns the number of allocations, streams, events, graphs and modules that are not released
/// yet.
int mi300x_live_objects(void);
/// Returns the priority of the stream made last.
int mi300x_last_priority(void);
/// Makes the event number `nth` of `kind` ("mfma") go wrong (emulator/corruption.h), from 1, not in
/// kernels whose names begin with `spared`. 0: only counts events. "none" ends it.
void mi300x_corrupt(const char* kind, unsigned long long nth, unsigned long long seed,
                    const char* spared);
/// Return how many events went wrong since then, and how many there were.
unsigned long long mi300x_corruptions(void);
unsigned long long mi300x_corruption_events(void);
/// Returns the reason why the last kernel was stopped; "" if none was.
const char* mi300x_last_fault(void);

}  // extern "C"
