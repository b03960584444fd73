// Functions by which tests control the MIOpen of this folder, in addition to the library's own. In
// processes that tests start, MOCK_MIOPEN_FAIL and MOCK_MIOPEN_CRASH name a function that always
// fails or ends the process. MOCK_MIOPEN_MISJUDGES makes searches take the slowest solver for the
// fastest.
#pragma once

extern "C" {
/// Forgets everything that was set, counted and found.
void mock_miopen_reset();
/// The `after`th call of `function` from now on returns `status`; 0 means the next call.
void mock_miopen_fail(const char* function, int after, int status);
/// Returns the functions called since the reset, in order, without "miopen" and without functions
/// that create, set and destroy descriptors: "FindConvolutionForwardAlgorithm ConvolutionForward".
const char* mock_miopen_sequence();
int mock_miopen_calls(const char* function);
/// Returns the find mode of the last search.
int mock_miopen_find_mode();
/// Makes no solver applicable from now on.
void mock_miopen_refuse();
/// Returns the number of objects that were made and not destroyed.
int mock_miopen_live();
}
