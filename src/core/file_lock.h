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

/// Waits for the lock (flock) of an open file until it has it or `patience` is over. After a second
/// it tells lock_notice() whom it waits for. Error: file, naming who holds it.
Status lock_file(int descriptor, const std::filesystem::path& path,
                 std::chrono::milliseconds patience = lock_patience);
void unlock_file(int descriptor);

/// The function that gets "waiting for st/records.jsonl, which process 1234 (assay) has locked".
/// Any thread may call it, one after another. The program sets it once, before it has threads;
/// without one nothing is reported.
std::function<void(const std::string&)>& lock_notice();

/// Returns "process 1234 (sleep)", or "another process" if /proc/locks does not tell.
std::string lock_holder(int descriptor);

}  // namespace assay
