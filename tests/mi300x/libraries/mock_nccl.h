// How tests control the mock of NCCL and RCCL, beyond the library's own functions.
#pragma once

extern "C" {
/// Forgets what was set and counted.
void mock_nccl_reset();
/// Sets the version that ncclGetVersion returns; initially 22809.
void mock_nccl_set_version(int version);
/// The next call of `function` returns `status`.
void mock_nccl_fail_next(const char* function, int status);
/// What ncclCommGetAsyncError reports from now on.
void mock_nccl_set_async_error(int status);
/// Communicators that were made and neither destroyed nor aborted.
int mock_nccl_live();
/// How often `function` was called since the last reset.
int mock_nccl_calls(const char* function);
/// Memory that is registered now, in pieces.
int mock_nccl_registered();
/// The bounds of the last configuration that was given; INT_MIN where it left them open.
void mock_nccl_last_ctas(int* least, int* most);
/// The element type that the last collective of the caller's thread was given.
int mock_nccl_last_type();
}
