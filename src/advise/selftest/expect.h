// Functions that state what a check expects. Each returns an Error of the kind `verification` if
// the expectation does not hold.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>

#include "core/result.h"

namespace assay::selftest {

/// Makes the error of an expectation that does not hold.
inline Error wrong(std::string message) {
  return {ErrorKind::verification, std::move(message)};
}

/// Expects that `holds` is true. `otherwise` is the error's message: "capturing ran the kernel".
inline Status expect(bool holds, std::string_view otherwise) {
  if (holds) return {};
  return wrong(std::string(otherwise));
}

/// Expects that `found` is equal to `expected`. `what` names the value: "runs of the kernel".
template <typename Found, typename Expected>
Status expect_equal(std::string_view what, const Found& found, const Expected& expected) {
  if (found == expected) return {};
  return wrong(fmt::format("{}: {}, expected {}", what, found, expected));
}

/// Expects `low` <= `found` <= `high`.
inline Status expect_within(std::string_view what, double found, double low, double high) {
  if (found >= low && found <= high) return {};
  return wrong(fmt::format("{}: {:g}, expected {:g} to {:g}", what, found, low, high));
}

/// Expects that `call`, a Result, is an error whose message contains `part`; an empty `part` allows
/// every message. `what` names the call: "an allocation of 1 PiB".
template <typename Call>
Status expect_refused(std::string_view what, const Call& call, std::string_view part) {
  if (call.ok()) return wrong(fmt::format("{} was not refused", what));
  if (call.error().message.find(part) != std::string::npos) return {};
  return wrong(fmt::format("{} was refused with \"{}\", expected a message with \"{}\"", what,
                           call.error().message, part));
}

/// Expects the same, and that the error is of the kind `kind`.
template <typename Call>
Status expect_refused(std::string_view what, const Call& call, ErrorKind kind,
                      std::string_view part) {
  TRY(expect_refused(what, call, part));
  return expect(call.error().kind == kind,
                fmt::format("{} was refused with \"{}\", an error of another kind than expected",
                            what, call.error().message));
}

}  // namespace assay::selftest
