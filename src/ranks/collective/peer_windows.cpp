#include "ranks/collective/peer_windows.h"

#include <fmt/format.h>

#include "ranks/team/agreement.h"

namespace assay {
namespace {

Status check_host(const Team& team) {
  const TeamMember& first = team.members().front();
  for (const TeamMember& member : team.members()) {
    if (member.host == first.host) continue;
    return Error{ErrorKind::unsupported,
                 fmt::format("peer works between ranks of one host; {} and {} are on two",
                             name_of(first), name_of(member))};
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<PeerWindows>> PeerWindows::open(Device& device, Stream& stream, Team& team,
                                                       std::size_t bytes) {
  TRY(check_host(team));
  std::unique_ptr<PeerWindows> made(new PeerWindows);
  const auto make_own = [&]() -> Result<std::string> {
    made->own_ = TRY(device.allocate(bytes, MemoryKind::peer));
    TRY(stream.fill(made->own_.data(), 0, bytes));
    TRY(stream.synchronize());  // before any rank writes there
    return device.share(made->own_);
  };
  const auto names = TRY(exchange_or_fail(team, "sharing memory with the other ranks", make_own()));
  const auto open_others = [&]() -> Result<std::string> {
    for (int rank = 0; rank < team.size(); ++rank) {
      const bool is_own = rank == team.rank();
      Buffer other;
      if (!is_own) other = TRY(device.open_shared(names[static_cast<std::size_t>(rank)]));
      made->addresses_.push_back((is_own ? made->own_ : other).as<std::byte>());
      made->others_.push_back(std::move(other));
    }
    const std::size_t size = made->addresses_.size() * sizeof(std::byte*);
    made->table_ = TRY(device.allocate(size, MemoryKind::device));
    TRY(stream.copy(made->table_.data(), made->addresses_.data(), size));
    TRY(stream.synchronize());
    return std::string();
  };
  TRY(exchange_or_fail(team, "mapping the memory of the other ranks", open_others()));
  return made;
}

}  // namespace assay
