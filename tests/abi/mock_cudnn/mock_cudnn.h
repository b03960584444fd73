// How tests control the mock of cuDNN, beyond the library's own functions.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {
/// Forgets what was set and counted.
void mock_cudnn_reset();
/// What cudnnGetVersion returns; initially 91900.
void mock_cudnn_set_version(std::size_t version);
/// The `after`th call of `function` from now on returns `status`; 0: the next.
void mock_cudnn_fail(const char* function, int after, int status);
/// The number of a graph's first configurations do not become plans.
void mock_cudnn_refuse_plans(int count);
/// Graphs of this many operations get no plan.
void mock_cudnn_refuse_graphs(int operations);
/// How many of the first configurations have an engine with this cudnnBackendNumericalNote_t.
void mock_cudnn_note(int count, int note);
/// All configurations but this one take two milliseconds more.
void mock_cudnn_fast(int configuration);
/// This configuration's plan computes nothing, as many times from now on.
void mock_cudnn_wrong(int configuration, int times);
/// Called before a plan runs.
void mock_cudnn_before(void (*function)(void* context), void* context);
/// Handles and descriptors that were made and not destroyed.
int mock_cudnn_live();
int mock_cudnn_calls(const char* function);
/// The operations of the last graph that was finalized: "matmul mul index ...".
const char* mock_cudnn_graph();
/// The number of the configuration, from 0, whose plan ran last.
int mock_cudnn_ran();
}
