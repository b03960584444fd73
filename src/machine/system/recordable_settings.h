// Decides what may be recorded of a machine's settings. Variables, boot options and mounts carry
// passwords and tokens under names that nobody can list. So the rule is an allowlist: settings that
// are known to explain speed are recorded with their values, of every other one only the name and a
// short hash. The hash shows that two machines differ, but it misses one of 65,536 differences, so
// that it cannot confirm a guessed password.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "machine/system/machine.h"

namespace assay {

/// Returns whether a variable changes how GPU runtimes, collectives, BLAS, threads, allocators or
/// frameworks behave, or identifies the container or job, by its prefix or name. Such a variable is
/// recorded, with its value or a hash of it (recorded_value()). ASSAY_TOKEN... is none, because it
/// differs in every run, nor is what mpirun sets for each process.
bool is_performance_variable(std::string_view name);

/// Returns the value of a variable as it may be recorded: the value itself if the variable is on
/// the allowlist and the value looks like a setting, not like a host, URL or secret; else "#" and
/// four hexadecimal digits. A value of that form stays as it is.
std::string recorded_value(std::string_view variable, std::string_view value);

/// Returns this process's performance variables with their values as they may be recorded.
Variables performance_variables();

/// Splits the kernel's command line at white space outside double quotes, as the kernel does. The
/// quotes stay in the words.
std::vector<std::string> boot_words(std::string_view line);

/// Returns a file's content as it may be recorded. In the kernel's command line and the tables of
/// mounts, options of the allowlist keep their values; others become their name and a hash of the
/// value, or a hash if they have no value. What is mounted becomes a hash unless it is a device or
/// a kind of file system; mount points stay. If such a file is no text, the result is the single
/// byte 0x01. Any other file is unchanged. `path` is relative to "/".
std::string recorded_file(std::string_view path, std::string_view content);

}  // namespace assay
