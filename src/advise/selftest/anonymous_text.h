// Text for a file that is sent to strangers.
#pragma once

#include <string>
#include <string_view>

namespace assay::selftest {

/// Returns one line of at most 500 bytes without what identifies a machine or a person. Secrets
/// (core/secrets.h), addresses of hosts and people, UUIDs, serial numbers, PCI and network
/// addresses and this machine's host and user names become "(hidden)". A path becomes "(path)"; the
/// names of libraries and source files at its end stay.
std::string anonymous_text(std::string_view text);

}  // namespace assay::selftest
