// Room on the stacks of threads, whatever the limits of the process are.
#pragma once

#include <cstddef>

namespace assay {

/// What glibc gives threads where no limit is set. Kernels on a CPU keep the shared memory of a
/// block, up to 200 KB, on the stack of a thread.
inline constexpr std::size_t least_thread_stack = std::size_t{2} << 20;

/// Threads that are made from now on have at least least_thread_stack bytes of stack, where
/// `ulimit -s` would give them fewer. If the C library refuses, they stay as they would be.
void ensure_thread_stacks();

}  // namespace assay
