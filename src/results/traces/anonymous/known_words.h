// What a trace made anonymous may say: words that profilers and frameworks write themselves,
// numbers, and names of code. Everything else is the program's own and may tell who ran it where.
#pragma once

#include <string_view>

namespace assay {

// Each function returns whether a text is such a word. All but is_name_of_code() compare with lists
// or patterns, and empty texts pass all but is_profiler_step().

/// "12.5", "-3e9", "0x7f03643e9e00", "[1, 2]", "inf"; also empty lists.
bool is_number_or_list(std::string_view text);
/// "2.21.5"
bool is_version(std::string_view text);
/// An argument of an operator: a number, a list of numbers, "True", "None".
bool is_plain_argument(std::string_view text);
/// "ProfilerStep#12", "execute_context_3(1200)_generation_16(16)": what trace readers take for
/// steps.
bool is_profiler_step(std::string_view text);
/// Returns whether a name of a kernel, an operator or a call has no path, e-mail address, URL, IP
/// or Ethernet address in it. Names of hosts are not recognised, nor is an IPv6 address that could
/// be a name of C++, like "fe80::beef".
bool is_name_of_code(std::string_view text);
/// "NVIDIA H100 80GB HBM3", "gfx942"
bool is_device_name(std::string_view text);

/// Categories of events ("cat"): "kernel", "cpu_op".
bool is_category(std::string_view text);
/// Names of lanes: "7", "stream 7", "GPU 3", "thread 19392", "PyTorch Profiler".
bool is_lane_name(std::string_view text);
/// Names of events that profilers make themselves: "[memory]", "Iteration Start: PyTorch Profiler".
bool is_profiler_event(std::string_view text);
/// Collectives as PyTorch, NCCL and assay name them: "_allgather_base".
bool is_collective_name(std::string_view text);
/// Element types and types of operators' arguments: "BFloat16", "c10::Half", "TensorList".
bool is_type_name(std::string_view text);
/// Kinds of kernels, copies and waits; backends; units of time.
bool is_kind_word(std::string_view text);

}  // namespace assay
