// How a test controls the mock libibverbs that it loaded.
#pragma once

extern "C" {

/// Settings by name; those that fail calls count down with every use:
///   devices         number of devices (2)
///   port_state      of every port, in the library's numbers (4: active)
///   gid             index of the only address that connections may use (3)
///   infiniband      1: ports are InfiniBand, else Ethernet with four addresses
///   fail_open, fail_register, fail_register_dmabuf, fail_inline   number of failures
///   fail_request    the request of this number from now on is refused
///   fail_status     the next request completes with this status
void mock_verbs_set(const char* name, int value);
/// Counts, by name: "objects" alive, "requests", "signalled", "posts", "inlined", "relaxed" and
/// "dmabuf" registrations, "overruns" of completion queues.
int mock_verbs_count(const char* name);
}
