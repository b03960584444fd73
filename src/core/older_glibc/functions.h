// Functions that assay's static libraries call and that only newer versions of glibc have. assay
// defines these symbols itself, hidden from the libraries that it opens, so that it also starts on
// older versions. Each is declared under another name here, so that it cannot clash with a
// declaration in glibc's headers.
#pragma once

#include <link.h>

#include <cstdint>

namespace assay {

/// The result of `_dl_find_object`. The layout is glibc's `struct dl_find_object` (2.35,
/// <dlfcn.h>).
struct FoundObject {
  unsigned long long flags;  ///< 0: no flag is defined
  void* map_start;           ///< first address of the object
  void* map_end;             ///< the address after its last byte
  link_map* link;            ///< the object in the dynamic linker's list
  void* eh_frame;            ///< its segment PT_GNU_EH_FRAME; null if it has none
#if !defined(__x86_64__)
  void* eh_dbase;  ///< base address of its exception tables, which only some processors need
#endif
  unsigned long long reserved[7];
};

}  // namespace assay

extern "C" {

/// Returns 32 random bits from the kernel. Like glibc's (2.36), it never fails: if the kernel
/// provides none, the process ends. libstdc++'s std::random_device calls it.
std::uint32_t assay_arc4random() __asm__("arc4random");

/// Finds the program or library that contains `address`, under the dynamic linker's lock. Returns 0
/// and fills in `found`, or returns -1 if no object contains it. libgcc's unwinder calls it for
/// every frame through which an exception passes. glibc's version (2.35) takes no lock and is
/// faster.
int assay_find_object(void* address, assay::FoundObject* found) __asm__("_dl_find_object");

/// These are strtol() and related functions, under the names that headers of glibc 2.38 and later
/// give them. glibc's versions also read "0b101" if the base is 0 or 2; these do not, and no caller
/// needs it.
long assay_isoc23_strtol(const char* text, char** end, int base) __asm__("__isoc23_strtol");
unsigned long assay_isoc23_strtoul(const char* text, char** end,
                                   int base) __asm__("__isoc23_strtoul");
long long assay_isoc23_strtoll(const char* text, char** end, int base) __asm__("__isoc23_strtoll");
unsigned long long assay_isoc23_strtoull(const char* text, char** end,
                                         int base) __asm__("__isoc23_strtoull");

/// Returns whether the process has only one thread. glibc (2.32) sets its variable at the start and
/// clears it with the first thread. This one would never be cleared, so it is false from the start.
/// libstdc++ omits atomic operations while it is true.
extern char assay_single_threaded __asm__("__libc_single_threaded");
}
