#include "ranks/launch/other_users.h"

#include <cerrno>
#include <set>
#include <sstream>
#include <string>
#include <system_error>

#include "core/read_file.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr uid_t first_of_people = 1000, nobody = 65534;

/// Returns the real user id from the text of a process's status file.
std::optional<uid_t> user_in(const std::string& status) {
  const std::size_t at = status.find("\nUid:");
  if (at == std::string::npos) return std::nullopt;
  std::istringstream words(status.substr(at + 5));
  uid_t user = 0;
  return words >> user ? std::optional(user) : std::nullopt;
}

}  // namespace

std::optional<std::vector<uid_t>> other_users(uid_t self, const fs::path& proc) {
  constexpr std::size_t most_status = 1 << 16;
  std::set<uid_t> users;
  bool first_seen = false;  // process 1; if missing, /proc hides other users' processes
  std::error_code error;
  for (fs::directory_iterator at(proc, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const FileBytes status = read_bytes(at->path() / "status", most_status);
    if (status.error == EACCES || status.error == EPERM) return std::nullopt;
    const auto user = user_in(status.text);
    if (!user) continue;  // the process has ended
    first_seen = first_seen || name == "1";
    const bool of_system = *user < first_of_people || *user == nobody;
    if (!of_system && *user != self) users.insert(*user);
  }
  if (!first_seen) return std::nullopt;
  return std::vector<uid_t>(users.begin(), users.end());
}

}  // namespace assay
