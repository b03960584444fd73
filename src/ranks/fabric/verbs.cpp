#include "ranks/fabric/verbs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/bind.h"
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

/// How far packets with this address can travel: larger is better, 0 is not an address.
int worth(const Gid& gid, const std::string& type) {
  const auto* const begin = std::begin(gid.raw);
  if (std::all_of(begin, std::end(gid.raw), [](std::uint8_t byte) { return byte == 0; })) return 0;
  const bool link_local = gid.raw[0] == 0xfe && (gid.raw[1] & 0xc0) == 0x80;
  constexpr std::uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  const bool ipv4 = std::equal(std::begin(mapped), std::end(mapped), begin);
  return (type == "RoCE v2" ? 4 : 1) + (ipv4 ? 2 : link_local ? 0 : 1);
}

void choose_gid(const VerbsApi& api, Port& port) {
  int best = 0;
  for (int index = 0; index < port.attributes.gid_tbl_len; ++index) {
    Gid gid{};
    if (api.query_gid(port.context.get(), port.number, index, &gid) != 0) continue;
    const std::string type = gid_type(api, port, index);
    if (worth(gid, type) <= best) continue;
    best = worth(gid, type);
    port.gid_index = index;
    port.gid = gid;
    port.gid_type = type;
  }
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
