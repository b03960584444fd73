// Functions by which tests control the mock of NCCL and RCCL, in addition to the library's own.
#pragma once

extern "C" {
/// Forgets everything that was set and counted.
void mock_nccl_reset();
/// Sets the version that ncclGetVersion returns; initially 22809.
void mock_nccl_set_version(int version);
/// Makes the next call of `function` return `status`.
void mock_nccl_fail_next(const char* function, int status);
/// Sets what ncclCommGetAsyncError reports from now on.
void mock_nccl_set_async_error(int status);
/// Returns the number of communicators that were made and neither destroyed nor aborted.
int mock_nccl_live();
/// Returns how often `function` was called since the last reset.
int mock_nccl_calls(const char* function);
/// Returns the number of registered pieces of memory.
int mock_nccl_registered();
/// Returns the bounds of the last given configuration; INT_MIN for bounds that it left open.
void mock_nccl_last_ctas(int* least, int* most);
/// Returns the element type of the last collective that the caller's thread called.
int mock_nccl_last_type();
}
