// Helpers for checks: the constant part of a finding, and reading files with a reason if that
// fails.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "advise/doctor/check.h"

namespace assay {

/// The constant part of a check's findings: what is wanted, why, the source of the advice, and the
/// fix. A finding adds what was found.
struct Advice {
  std::string_view wanted, why, source, fix;
};

/// Each makes the finding that its name says. `found` and `subject` are as in Finding, and made
/// printable.
Finding passed(const Advice& advice, const std::string& found, const std::string& subject = {});
Finding warned(const Advice& advice, const std::string& found, const std::string& subject = {});
Finding failed(const Advice& advice, const std::string& found, const std::string& subject = {});
/// Makes a finding UNKNOWN; `reason` says why the check cannot judge.
Finding unknown(const Advice& advice, const std::string& reason, const std::string& subject = {});
/// Makes a finding FAIL if `certain`, otherwise WARN.
Finding bad(bool certain, const Advice& advice, const std::string& found,
            const std::string& subject = {});

/// Returns `text` with every byte that is not printable ASCII replaced by "?".
std::string printable(std::string_view text);

/// What a small file says.
struct Reading {
  std::optional<std::string> text;       ///< without surrounding white space; never empty
  FileState state = FileState::missing;  ///< `found` also for an empty file, which has no text here
  std::string why_not;                   ///< why there is no text: "/proc/x: needs root"
};
/// Reads a file of the machine, whose path has no leading slash: "proc/x". Binary data count as
/// `failed`.
Reading read_setting(const Machine& machine, const std::filesystem::path& path);

/// Returns whether the bytes are text, as opposed to the binary garbage that a broken driver or
/// disk returns.
bool is_text(std::string_view bytes);

/// Returns all of `text` as a whole decimal number; nullopt if it is not one.
std::optional<long long> whole_number(std::string_view text);
/// Returns `text` in quotes, made printable, and cut after 40 bytes.
std::string in_quotes(std::string_view text);
/// Returns the number of CPUs in a kernel list such as "0-47,96-143"; nullopt if the list is
/// invalid or empty.
std::optional<int> count_cpus(std::string_view list);

/// Returns the words of `text`, split at white space.
std::vector<std::string_view> words(std::string_view text);

}  // namespace assay
