// Identifies this build of assay.
#pragma once

#include <string_view>

namespace assay {

std::string_view version();   ///< "0.1.0"
std::string_view git_hash();  ///< commit, with "-dirty" if modified; or "unknown"
std::string_view compiler();  ///< "GNU 12.2.0"
/// Returns the oldest glibc that this program starts on: "2.34", or "2.31" as released.
std::string_view oldest_glibc();
std::string_view build_type();  ///< "RelWithDebInfo", with the sanitizers if any

}  // namespace assay
