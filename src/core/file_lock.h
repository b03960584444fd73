// The lock of a file that several processes write, and the process that holds it.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>

#include "core/result.h"

namespace assay {

/// Waiting is limited, because every process that may read a file may hold its lock for ever.
inline constexpr std::chrono::milliseconds lock_patience{60'000};

/// Waits for the exclusive lock (flock) of an open file until it has it or `patience` is over.
/// After a second, or after half the patience if that is less, it tells lock_notice() who holds the
/// lock. `path` is for messages. Error: file, naming who holds it; as kind_of_file_error()
/// (file_error.h) if the file cannot be locked.
Status lock_file(int descriptor, const std::filesystem::path& path,
                 std::chrono::milliseconds patience = lock_patience);
/// Closing the descriptor also gives up its lock.
void unlock_file(int descriptor);

/// Returns the function that gets "waiting for st/records.jsonl, which process 1234 (assay) has
/// locked". lock_file() calls it from the thread that waits, never from two threads at once. The
/// program sets it once, before it has threads; without one nothing is reported.
std::function<void(const std::string&)>& lock_notice();

/// Returns who holds the lock of an open file: "process 1234 (sleep)", or "another process" if
/// /proc/locks does not name it, as for a process of another container.
std::string lock_holder(int descriptor);

}  // namespace assay
