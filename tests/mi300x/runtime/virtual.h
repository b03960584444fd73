// What the virtual MI300X's runtime exports beyond HIP: who runs on it may know that, libraries
// that compute on the host take part in its streams, tests make it fail.
#pragma once

#include <stddef.h>

extern "C" {

/// Its name and version. That the symbol exists says that the devices are emulated.
extern const char* const mi300x_virtual;

// ---- For libraries that compute on the host ----

/// Bytes of device memory that were written without a kernel or a copy.
void mi300x_mark_written(const void* address, size_t bytes);
/// Within work that is enqueued: stops the device unless all bytes may be read and were written, or
/// may be written; these then count as written. Leave `function` by a C++ exception if so.
void mi300x_check_read(const void* address, size_t bytes);
void mi300x_check_write(void* address, size_t bytes);
/// Runs `function` when `stream` reaches it, or keeps it in the graph that the stream is captured
/// into; it takes `seconds` of model time. Returns a hipError_t.
int mi300x_enqueue_host(void* stream, void (*function)(void*), void* data, double seconds);

// ---- For tests ----

/// Reads the environment again: MI300X_DEVICES, _MODE, _VM, _MEMORY, _FAULT (machine.h,
/// injection.h). Devices that had failed work again. Nothing may be alive.
void mi300x_reset(void);
/// The next call of `function` gives `error` and does nothing.
void mi300x_fail_next(const char* function, int error);
/// Allocations, streams, events, graphs and modules made and not yet released.
int mi300x_live_objects(void);
/// Priority of the stream made last.
int mi300x_last_priority(void);
/// What stopped the last kernel that was stopped; "" if none was.
const char* mi300x_last_fault(void);

}  // extern "C"
