// What checks have in common: the part of a finding that never changes, and files read with the
// reason why they could not be.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "machine/doctor/check.h"

namespace assay {

/// What a check wants, why, who says so, and what mends it; findings add what was found.
struct Advice {
  std::string_view wanted, why, source, mend;
};

Finding passed(const Advice& advice, const std::string& found, const std::string& subject = {});
Finding warned(const Advice& advice, const std::string& found, const std::string& subject = {});
Finding failed(const Advice& advice, const std::string& found, const std::string& subject = {});
/// `reason` says why it cannot be told.
Finding unknown(const Advice& advice, const std::string& reason, const std::string& subject = {});
/// FAIL if `certain`, else WARN.
Finding bad(bool certain, const Advice& advice, const std::string& found,
            const std::string& subject = {});

/// `text` fit to be shown: bytes that are no printable ASCII as "?".
std::string printable(std::string_view text);

/// A file's text without surrounding white space, or why there is none: "/proc/x: needs root".
struct Reading {
  std::optional<std::string> text;
  FileState state = FileState::missing;
  std::string why_not;
};
Reading read_setting(const Machine& machine, const std::filesystem::path& path);

/// The binary rubbish a broken driver or disk leaves is no text.
bool is_text(std::string_view bytes);

/// All of `text` as a decimal number.
std::optional<long long> whole_number(std::string_view text);
/// `text` in quotes, printable and shortened.
std::string in_quotes(std::string_view text);
/// How many CPUs a kernel list such as "0-47,96-143" names; none if it is none.
std::optional<int> count_cpus(std::string_view list);

/// The words of `text` between white space.
std::vector<std::string_view> words(std::string_view text);

}  // namespace assay
