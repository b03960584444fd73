// How tests control the mock of CUPTI, beyond the library's own functions.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {
/// Forgets what was set, queued and counted.
void mock_cupti_reset();
/// The next call of `function` returns `status`.
void mock_cupti_fail(const char* function, int status);
/// What cuptiGetVersion returns; initially 130000.
void mock_cupti_set_version(std::uint32_t version);
/// A GPU ran a kernel, which a call of the current external number launched. `node` is the number
/// of a graph's node, 0 for none. Times are in ns of the mock's clock.
void mock_cupti_run_kernel(const char* name, std::uint64_t start, std::uint64_t end,
                           std::uint64_t node);
/// A GPU copied (or filled) bytes in the same way.
void mock_cupti_move(bool fill, std::uint64_t bytes, std::uint64_t start, std::uint64_t end);
/// A GPU copied bytes to another GPU in the same way.
void mock_cupti_copy_to_peer(std::uint64_t bytes, std::uint64_t start, std::uint64_t end);
/// A node was captured, or cloned from `original` into an executable graph. Nodes are numbers.
void mock_cupti_create_node(std::uint64_t node);
void mock_cupti_clone_node(std::uint64_t node, std::uint64_t original);
/// How many records cuptiActivityGetNumDroppedRecords admits to.
void mock_cupti_drop(std::size_t count);
/// The mock's clock: the host's monotonic one plus a constant.
std::uint64_t mock_cupti_now();
/// Kinds that are enabled, and subscribers that have not unsubscribed.
int mock_cupti_enabled();
int mock_cupti_subscribers();
}
