// Identifies this build of assay.
#pragma once

#include <string_view>

namespace assay {

std::string_view version();  ///< the project's version, such as "0.1.0"
/// Returns the first 12 or more hex digits of the commit, followed by "-dirty" if tracked files had
/// changes. It is "unknown" if git could not tell.
std::string_view git_hash();
std::string_view compiler();  ///< name and version, such as "GNU 12.2.0"
/// Returns the oldest glibc with which this program works: "2.31" if it is linked with that
/// version, as released programs are, otherwise "2.34". On an older one it does not start, or, if
/// released, says what it needs.
std::string_view oldest_glibc();
/// Returns CMake's build type, with the sanitizers if it has any, such as "RelWithDebInfo" or
/// "Debug -fsanitize=address".
std::string_view build_type();

}  // namespace assay
