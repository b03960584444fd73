// How tests control the MIOpen of this folder, beyond the library's own functions. In processes
// that they start, MOCK_MIOPEN_FAIL and MOCK_MIOPEN_CRASH name a function that always fails or ends
// the process, and MOCK_MIOPEN_MISJUDGES makes searches take the slowest solver for the fastest.
#pragma once

extern "C" {
/// Forgets what was set, counted and found.
void mock_miopen_reset();
/// The `after`th call of `function` from now on returns `status`; 0: the next.
void mock_miopen_fail(const char* function, int after, int status);
/// The functions called since the reset, in order, without "miopen" and those that create, set and
/// destroy descriptors: "FindConvolutionForwardAlgorithm ConvolutionForward".
const char* mock_miopen_sequence();
int mock_miopen_calls(const char* function);
/// The find mode of the last search.
int mock_miopen_find_mode();
/// No solver takes anything from now on.
void mock_miopen_refuse();
/// Objects that were made and not destroyed.
int mock_miopen_live();
}
