#include "ranks/fabric/verbs.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/bind_functions.h"
#include "core/library_search.h"
#include "machine/system/fact_source.h"
#include "machine/system/nic.h"

namespace assay::verbs {
namespace {

Status bind_verbs(const SharedLibrary& library, VerbsApi& api) {
  ASSAY_VERBS(ASSAY_BIND)
  ASSAY_VERBS_OPTIONAL(ASSAY_BIND_OPTIONAL)
  return {};
}

/// "InfiniBand", "RoCE v1", "RoCE v2"; with libraries before rdma-core 32 it is read from sysfs.
std::string gid_type(const VerbsApi& api, const Port& port, int index) {
  GidEntry entry{};
  if (api.query_gid_ex != nullptr &&
      api.query_gid_ex(port.context.get(), port.number, static_cast<std::uint32_t>(index), &entry,
                       0, sizeof entry) == 0) {
    return entry.gid_type == gid_roce_v2   ? "RoCE v2"
           : entry.gid_type == gid_roce_v1 ? "RoCE v1"
                                           : "InfiniBand";
  }
  Nic nic;
  nic.name = port.device;
  nic.port = port.number;
  const auto file = nic.port_folder() / "gid_attrs/types" / std::to_string(index);
  return read_fact(this_machine(), file).value_or("");
}

bool is_set(const Gid& gid) {
  return std::any_of(std::begin(gid.raw), std::end(gid.raw),
                     [](std::uint8_t byte) { return byte != 0; });
}

/// "::ffff:10.0.0.1", "fe80::1"
std::string gid_text(const Gid& gid) {
  char text[INET6_ADDRSTRLEN] = "";
  ::inet_ntop(AF_INET6, gid.raw, text, sizeof text);
  return text;
}

/// An entry of a port's table of addresses.
struct PortAddress {
  int index = 0;
  Gid gid{};
  std::string type;
};

/// Without empty entries.
std::vector<PortAddress> addresses_of(const VerbsApi& api, const Port& port) {
  std::vector<PortAddress> addresses;
  for (int index = 0; index < port.attributes.gid_tbl_len; ++index) {
    Gid gid{};
    if (api.query_gid(port.context.get(), port.number, index, &gid) != 0 || !is_set(gid)) continue;
    addresses.push_back({index, gid, gid_type(api, port, index)});
  }
  return addresses;
}

void use_address(Port& port, const PortAddress& address) {
  port.gid_index = address.index;
  port.gid = address.gid;
  port.gid_type = address.type;
}

/// How far packets with this address can travel: larger is better.
int worth(const PortAddress& address) {
  const Gid& gid = address.gid;
  const bool link_local = gid.raw[0] == 0xfe && (gid.raw[1] & 0xc0) == 0x80;
  constexpr std::uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  const bool ipv4 = std::equal(std::begin(mapped), std::end(mapped), std::begin(gid.raw));
  return (address.type == "RoCE v2" ? 4 : 1) + (ipv4 ? 2 : link_local ? 0 : 1);
}

void choose_gid(const VerbsApi& api, Port& port) {
  const std::vector<PortAddress> addresses = addresses_of(api, port);
  const auto best = std::ranges::max_element(addresses, {}, worth);  // the first of equal ones
  if (best != addresses.end()) use_address(port, *best);
}

/// Appends to `trouble` why ports cannot be used.
void add_ports(const VerbsApi& api, const std::shared_ptr<Context>& context,
               const std::string& device, std::vector<Port>& ports,
               std::vector<std::string>& trouble) {
  DeviceAttributes attributes{};
  if (const int code = api.query_device(context.get(), &attributes); code != 0) {
    trouble.push_back(verbs_error(device, "querying the device", code).message);
    return;
  }
  for (std::uint8_t number = 1; number <= attributes.phys_port_cnt; ++number) {
    Port port;
    port.context = context;
    port.device = device;
    port.number = number;
    port.read_depth = attributes.max_qp_init_rd_atom;
    port.served_read_depth = attributes.max_qp_rd_atom;
    if (const int code = api.query_port(context.get(), number, &port.attributes); code != 0) {
      trouble.push_back(verbs_error(label(port), "querying the port", code).message);
    } else if (port.attributes.state != port_active) {
      trouble.push_back(label(port) + " is not active");
    } else {
      if (port.ethernet()) choose_gid(api, port);
      if (port.ethernet() && port.gid_index < 0) {
        trouble.push_back(label(port) + " has no RoCE address: give its interface an IP address");
      } else {
        ports.push_back(std::move(port));
      }
    }
  }
}

}  // namespace

std::string label(const Port& port) {
  return port.number == 1 ? port.device : fmt::format("{} port {}", port.device, port.number);
}

Error verbs_error(const std::string& device, const std::string& doing, int code) {
  // Some calls return -1 and set errno, others return the error number.
  const int number = code > 0 ? code : code < -1 ? -code : errno;
  return {ErrorKind::failed,
          fmt::format("{}: {}: {} (errno {})", device, doing, std::strerror(number), number)};
}

Result<std::shared_ptr<const Library>> Library::open() {
  LibraryCandidates candidates{"libibverbs",
                               {"libibverbs.so.1"},
                               {"", "/usr/lib64", "/usr/lib/x86_64-linux-gnu"},
                               "install rdma-core (apt: libibverbs1 ibverbs-providers; dnf: "
                               "libibverbs)"};
  apply_override(candidates, "ASSAY_VERBS_LIBRARY");
  const SharedLibrary library = TRY(SharedLibrary::open(candidates));
  auto opened = std::make_shared<Library>();
  TRY(bind_verbs(library, opened->api_));
  return std::shared_ptr<const Library>(std::move(opened));
}

Result<std::vector<Port>> Library::active_ports() const {
  int count = 0;
  DeviceHandle** list = api_.get_device_list(&count);
  std::vector<Port> ports;
  std::vector<std::string> trouble;
  for (int i = 0; list != nullptr && i < count; ++i) {
    const std::string device = api_.device_name(list[i]);
    const auto close = [close_device = api_.close_device](Context* context) {
      if (context != nullptr) close_device(context);
    };
    errno = 0;
    const std::shared_ptr<Context> context(api_.open_device(list[i]), close);
    if (context == nullptr) {
      trouble.push_back(verbs_error(device, "opening the device", -1).message);
    } else {
      add_ports(api_, context, device, ports, trouble);
    }
  }
  if (list != nullptr) api_.free_device_list(list);
  if (!ports.empty()) return ports;
  return Error{ErrorKind::unavailable,
               count == 0 ? "libibverbs found no RDMA device"
                          : fmt::format("no usable RDMA port: {}", fmt::join(trouble, "; "))};
}

Status Library::use_gid(Port& port, int index) const {
  std::vector<std::string> known;
  for (const PortAddress& address : addresses_of(api_, port)) {
    if (address.index == index) {
      use_address(port, address);
      return {};
    }
    known.push_back(fmt::format("{} ({}, {})", address.index, gid_text(address.gid), address.type));
  }
  return Error{ErrorKind::usage,
               fmt::format("{} has no GID {}; it has {}", label(port), index,
                           known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")))};
}

Result<Port> port_named(const std::vector<Port>& ports, std::string_view name) {
  std::vector<std::string> known;
  for (const Port& port : ports) {
    known.push_back(fmt::format("{}:{}", port.device, port.number));
    if (name == port.device || name == known.back()) return port;
  }
  return Error{ErrorKind::usage, fmt::format("no active RDMA port here is called {}; there are {}",
                                             name, fmt::join(known, ", "))};
}

const Result<Ports>& ports_here() {
  static const Result<Ports> ports = []() -> Result<Ports> {
    Ports found;
    found.library = TRY(Library::open());
    found.ports = TRY(found.library->active_ports());
    return found;
  }();
  return ports;
}

}  // namespace assay::verbs
