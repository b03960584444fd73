#include "measure/benchmarks/rdma/rdma_link.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "core/shown_text.h"
#include "core/units.h"
#include "ranks/fabric/nic_choice.h"
#include "ranks/fabric/tcp_transport.h"
#include "ranks/fabric/verbs_transport.h"
#include "ranks/team/agreement.h"

namespace assay {
namespace {

constexpr std::uint64_t page = 4096;
/// Device memory is allocated in blocks of this size, so that nothing else shares its pages.
constexpr std::uint64_t device_block = 2 << 20;

/// The adapters a rank uses, the nearest first.
struct Adapters {
  std::vector<verbs::Port> ports;
  std::string nearness;
};

Result<Adapters> choose_adapters(const RdmaSettings& settings, const Device& device) {
  const Result<verbs::Ports>& here = verbs::ports_here();
  if (!here) return here.error();
  std::vector<verbs::Port> ports = here->ports;
  if (!settings.nic.empty()) ports = {TRY(verbs::port_named(ports, settings.nic))};
  std::vector<std::pair<std::string, int>> names;
  for (const verbs::Port& port : ports) names.emplace_back(port.device, port.number);
  const auto order = by_nearness(this_machine(), device.facts().pci, names);
  Adapters adapters;
  for (const NicNearness& near : order) {
    if (!adapters.ports.empty() && !settings.every_nic) break;
    adapters.ports.push_back(ports[near.index]);
    if (settings.gid) TRY(here->library->use_gid(adapters.ports.back(), *settings.gid));
  }
  if (!device.facts().pci.empty() && !settings.every_nic) adapters.nearness = describe(order[0]);
  return adapters;
}

Status allocate(const RdmaSettings& settings, Device& device, RdmaLink& link) {
  const std::uint64_t bytes = RdmaLayout(settings.size).window_bytes(link.queues);
  if (settings.device_memory) {
    const std::uint64_t blocks = (bytes + device_block - 1) / device_block;
    link.memory = TRY(device.allocate(blocks * device_block, MemoryKind::device));
    link.window = {link.memory.data(), bytes, &device};
    return {};
  }
  link.memory = TRY(device.allocate(bytes + page, MemoryKind::pageable));
  const auto begin = reinterpret_cast<std::uintptr_t>(link.memory.data());
  link.host_window = link.memory.as<char>() + (page - begin % page) % page;
  link.window = {link.host_window, bytes, nullptr};
  return {};
}

Result<std::string> open(const RdmaSettings& settings, Device& device, Adapters adapters,
                         RdmaLink& link) {
  TRY(allocate(settings, device, link));
  const FabricShape shape = fabric_shape(settings, link.queues);
  if (settings.verbs) {
    link.transport = TRY(make_verbs_transport(verbs::ports_here()->library,
                                              std::move(adapters.ports), link.window, shape));
  } else {
    link.transport = TRY(make_tcp_transport(link.window, shape));
  }
  return link.transport->address();
}

/// "nic=mlx5_0\nlink=..."
Result<std::string> connect(RdmaLink& link, const std::string& peer, const std::string& nearness,
                            Team& team) {
  TRY(link.transport->connect(peer, team));
  std::string text;
  for (const auto& [key, value] : link.transport->facts()) {
    text += fmt::format("{}={}\n", key, value);
  }
  if (!nearness.empty()) text += fmt::format("nic_place={}\n", nearness);
  return text;
}

void add_facts(RdmaLink& link, const std::string& prefix, const std::string& text) {
  constexpr std::size_t most_fact = 200;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find('=');
    link.facts.emplace_back(prefix + shown_line(line.substr(0, equals), most_fact),
                            shown_line(line.substr(equals + 1), most_fact));
  }
}

}  // namespace

Result<RdmaLink> link_ranks(const RdmaSettings& settings, Device& device, Team& team) {
  const bool first = team.rank() == settings.from, takes_part = first || team.rank() == settings.to;
  const auto from = static_cast<std::size_t>(settings.from);
  const auto to = static_cast<std::size_t>(settings.to);
  Result<Adapters> adapters = Adapters();
  if (takes_part && settings.verbs) adapters = choose_adapters(settings, device);
  const Result<std::string> found = adapters ? Result(std::to_string(adapters->ports.size()))
                                             : Result<std::string>(adapters.error());
  const auto counts = TRY(exchange_or_fail(team, "rdma: looking for adapters", found));
  RdmaLink link;
  // Both ends must have the same queues, so both use as many adapters as the end with fewer has.
  const std::uint64_t nics =
      settings.verbs ? std::min(TRY(parse_integer(counts[from])), TRY(parse_integer(counts[to])))
                     : 1;
  if (adapters->ports.size() > nics) adapters->ports.resize(nics);
  link.queues = settings.pairs * static_cast<int>(nics);

  Result<std::string> address = std::string();
  const std::string nearness = adapters->nearness;
  if (takes_part) address = open(settings, device, std::move(*adapters), link);
  const auto addresses = TRY(exchange_or_fail(team, "rdma: exchanging addresses", address));
  Result<std::string> facts = std::string();
  if (takes_part) facts = connect(link, addresses[first ? to : from], nearness, team);
  const auto all_facts = TRY(exchange_or_fail(team, "rdma: connecting", facts));
  add_facts(link, "from_", all_facts[from]);
  add_facts(link, "to_", all_facts[to]);
  return link;
}

}  // namespace assay
