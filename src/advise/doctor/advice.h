// What checks share: the constant part of a finding, and files that are read together with the
// reason why they could not be.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "advise/doctor/check.h"

namespace assay {

/// What a check wants, why, the source, and what fixes it; a finding adds what was found.
struct Advice {
  std::string_view wanted, why, source, mend;
};

Finding passed(const Advice& advice, const std::string& found, const std::string& subject = {});
Finding warned(const Advice& advice, const std::string& found, const std::string& subject = {});
Finding failed(const Advice& advice, const std::string& found, const std::string& subject = {});
/// `reason` says why the check cannot judge.
Finding unknown(const Advice& advice, const std::string& reason, const std::string& subject = {});
/// FAIL if `certain`, else WARN.
Finding bad(bool certain, const Advice& advice, const std::string& found,
            const std::string& subject = {});

/// `text` with every byte that is not printable ASCII replaced by "?".
std::string printable(std::string_view text);

/// A file's text without surrounding white space, or why there is none: "/proc/x: needs root".
struct Reading {
  std::optional<std::string> text;
  FileState state = FileState::missing;
  std::string why_not;
};
Reading read_setting(const Machine& machine, const std::filesystem::path& path);

/// False for the binary garbage that a broken driver or disk returns.
bool is_text(std::string_view bytes);

/// All of `text` as a decimal number; nullopt if it is not one.
std::optional<long long> whole_number(std::string_view text);
/// `text` in quotes, printable and shortened.
std::string in_quotes(std::string_view text);
/// The number of CPUs in a kernel list such as "0-47,96-143"; nullopt if the list is invalid.
std::optional<int> count_cpus(std::string_view list);

/// The words of `text`, split at white space.
std::vector<std::string_view> words(std::string_view text);

}  // namespace assay
