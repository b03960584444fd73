// Removes what identifies a machine or a person from text that is sent to strangers.
#pragma once

#include <string>
#include <string_view>

namespace assay::selftest {

/// Returns one line of at most 500 bytes, without control characters. Secrets (core/secrets.h)
/// become "(set)". URLs, USER@HOST, IP, Ethernet and PCI addresses, UUIDs and serial numbers become
/// "(hidden)", and so do this machine's host name and the user's name. An absolute path, or one
/// from the home folder, becomes "(path)". A file name at its end stays if it ends in .so, .cu,
/// .cpp, .h, .json or .dat.
///
/// Not all that identifies somebody is recognised. These stay: bare names of other machines,
/// relative paths, own names of fewer than three letters, and the names root, user and localhost.
std::string anonymous_text(std::string_view text);

}  // namespace assay::selftest
