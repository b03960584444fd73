// What may be recorded of a machine's settings. Variables, boot options and mounts carry passwords
// and tokens under names that nobody can list, so the question is turned round: settings that are
// known to explain speed are recorded with their values, of every other one the name and a short
// hash. The hash shows that two machines differ; of 65,536 differences it misses one, so that a
// guessed password cannot be confirmed by it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "machine/system/machine.h"

namespace assay {

/// Variables that change how GPU runtimes, collectives, BLAS, threads, allocators or frameworks
/// behave, or that identify the container or job: these are recorded, known or not.
bool is_performance_variable(std::string_view name);

/// The value of a variable as it may be recorded: itself if the variable is known and the value has
/// nothing of an address or a secret, else "#" and four hexadecimal digits.
std::string recorded_value(std::string_view variable, std::string_view value);

/// The performance variables of this process with their values as they may be recorded.
Variables performance_variables();

/// The words of the kernel's command line: split at white space outside double quotes, as the
/// kernel does.
std::vector<std::string> boot_words(std::string_view line);

/// A file's content as it may be recorded: of the kernel's command line and the tables of mounts
/// only the known options with their values ("\x01" if they are no text), any other file as it is.
/// `path` is relative to "/".
std::string recorded_file(std::string_view path, std::string_view content);

}  // namespace assay
