#include "ranks/fabric/verbs_rail.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <sstream>

namespace assay::verbs {
namespace {

// ib_write_bw uses the same values.
constexpr std::uint8_t ack_timeout = 14;  // 4.096 us times 2^14: 67 ms
constexpr std::uint8_t retries = 7;
constexpr std::uint8_t receiver_not_ready_retries = 7;  // unlimited
constexpr std::uint8_t receiver_not_ready_timer = 12;   // 0.64 ms
constexpr std::uint8_t hop_limit = 255;
constexpr std::uint32_t first_packet = 0x1234;  // arbitrary, because queue pairs are new

std::string hex(const Gid& gid) {
  std::string text;
  for (const std::uint8_t byte : gid.raw) text += fmt::format("{:02x}", byte);
  return text;
}

Gid parse_gid(const std::string& text) {
  Gid gid{};
  for (std::size_t i = 0; i < sizeof gid.raw && text.size() == 2 * sizeof gid.raw; ++i) {
    gid.raw[i] =
        static_cast<std::uint8_t>(std::strtoul(text.substr(2 * i, 2).c_str(), nullptr, 16));
  }
  return gid;
}

}  // namespace

std::string to_text(const QueueAddress& address) {
  return fmt::format("{} {} {:d} {} {} {} {} {} {}", address.lid, address.gid, address.ethernet,
                     address.mtu, address.served_read_depth, address.window, address.key,
                     address.number, address.first_packet);
}

Result<QueueAddress> parse_queue_address(const std::string& text) {
  QueueAddress address;
  std::istringstream words(text);
  words >> address.lid >> address.gid >> address.ethernet >> address.mtu >>
      address.served_read_depth >> address.window >> address.key >> address.number >>
      address.first_packet;
  if (!words) return Error{ErrorKind::failed, fmt::format("\"{}\" is not a queue address", text)};
  return address;
}

Rail::Rail(std::shared_ptr<const Library> library, Port port, const FabricWindow& window)
    : library_(std::move(library)),
      port_(std::move(port)),
      window_(window),
      domain_(nullptr, library_->api().dealloc_pd),
      region_(nullptr, library_->api().dereg_mr),
      completions_(nullptr, library_->api().destroy_cq) {}

Result<std::unique_ptr<Rail>> Rail::create(std::shared_ptr<const Library> library, Port port,
                                           const FabricWindow& window, const FabricShape& shape,
                                           int queues) {
  std::unique_ptr<Rail> rail(new Rail(std::move(library), std::move(port), window));
  const VerbsApi& api = rail->library_->api();
  Context* context = rail->port_.context.get();
  errno = 0;
  rail->domain_.reset(api.alloc_pd(context));
  if (rail->domain_ == nullptr) {
    return verbs_error(rail->port_.device, "creating a protection domain", -1);
  }
  TRY(rail->register_window(shape.in_order));
  const int entries = queues * (shape.send_depth + shape.receive_depth);
  rail->completions_.reset(api.create_cq(context, entries, nullptr, nullptr, 0));
  if (rail->completions_ == nullptr) {
    return verbs_error(rail->port_.device,
                       fmt::format("creating a completion queue of {} entries", entries), -1);
  }
  for (int i = 0; i < queues; ++i) TRY(rail->add_pair(shape));
  return rail;
}

Status Rail::register_window(bool in_order) {
  const VerbsApi& api = library_->api();
  const int access = access::local_write | access::remote_write | access::remote_read;
  std::string why_no_dmabuf;
  if (window_.device != nullptr) {
    auto exported = window_.device->export_dmabuf(window_.address, window_.bytes);
    if (!exported) {
      why_no_dmabuf = exported.error().message;
    } else if (api.reg_dmabuf_mr == nullptr) {
      why_no_dmabuf = "libibverbs is older than rdma-core 34";
    } else {
      const auto address = reinterpret_cast<std::uint64_t>(window_.address);
      region_.reset(api.reg_dmabuf_mr(domain_.get(), exported->offset, window_.bytes, address,
                                      exported->file, access));
      if (region_ != nullptr) {
        memory_path_ = "dmabuf";
        return {};
      }
      why_no_dmabuf = verbs_error(port_.device, "registering the dmabuf", -1).message;
    }
  }
  // Relaxed ordering lets PCIe writes overtake each other. Many machines need it for full
  // bandwidth, and ib_write_bw requests it, too.
  if (!in_order && api.reg_mr_iova2 != nullptr) {
    region_.reset(api.reg_mr_iova2(domain_.get(), window_.address, window_.bytes,
                                   reinterpret_cast<std::uint64_t>(window_.address),
                                   static_cast<unsigned>(access | access::relaxed_ordering)));
  }
  if (region_ == nullptr) {
    region_.reset(api.reg_mr(domain_.get(), window_.address, window_.bytes, access));
  }
  if (region_ != nullptr) {
    memory_path_ =
        window_.device == nullptr ? "host" : fmt::format("peer memory (dmabuf: {})", why_no_dmabuf);
    return {};
  }
  const std::string what = fmt::format("registering {} bytes", window_.bytes);
  const Error error = verbs_error(port_.device, what, -1);
  if (window_.device == nullptr) {
    return Error{ErrorKind::failed, error.message + "; is `ulimit -l` unlimited?"};
  }
  return Error{ErrorKind::unsupported,
               fmt::format("{} of GPU memory; peer memory needs nvidia_peermem or ib_peer_mem; "
                           "dmabuf: {}",
                           error.message, why_no_dmabuf)};
}

Status Rail::add_pair(const FabricShape& shape) {
  const VerbsApi& api = library_->api();
  // The processor cannot copy a device's memory into a request.
  const std::uint32_t wanted = window_.device == nullptr ? shape.inline_bytes : 0;
  QueuePairInit init{};
  init.send_cq = init.recv_cq = completions_.get();
  init.qp_type = type_reliable_connection;
  const auto create = [&](std::uint32_t inline_bytes) {
    init.cap = {static_cast<std::uint32_t>(shape.send_depth),
                static_cast<std::uint32_t>(shape.receive_depth), 1, 1, inline_bytes};
    return Handle<QueuePair>(api.create_qp(domain_.get(), &init), api.destroy_qp);
  };
  inline_bytes_ = wanted;
  Handle<QueuePair> pair = create(wanted);
  if (pair == nullptr && wanted > 0) {
    inline_bytes_ = 0;
    pair = create(0);
  }
  if (pair == nullptr) {
    return verbs_error(port_.device,
                       fmt::format("creating a queue pair {} requests deep", shape.send_depth), -1);
  }
  pairs_.push_back(std::move(pair));
  QueuePairAttributes attributes{};
  attributes.qp_state = state_init;
  attributes.port_num = port_.number;
  attributes.qp_access_flags = access::local_write | access::remote_write | access::remote_read;
  return modify(
      pairs_.size() - 1, attributes,
      attribute::state | attribute::pkey_index | attribute::port | attribute::access_flags, "init");
}

QueueAddress Rail::address(std::size_t queue) const {
  return {.lid = port_.attributes.lid,
          .gid = hex(port_.gid),
          .ethernet = port_.ethernet(),
          .mtu = port_.attributes.active_mtu,
          .served_read_depth = port_.served_read_depth,
          .window = reinterpret_cast<std::uint64_t>(window_.address),
          .key = region_->rkey,
          .number = pairs_[queue]->qp_num,
          .first_packet = first_packet};
}

Status Rail::connect(std::size_t queue, const QueueAddress& peer) {
  if (peer.ethernet != port_.ethernet()) {
    return Error{ErrorKind::failed, fmt::format("{} is {} and the peer's port is {}", label(port_),
                                                port_.ethernet() ? "Ethernet" : "InfiniBand",
                                                peer.ethernet ? "Ethernet" : "InfiniBand")};
  }
  QueuePairAttributes attributes{};
  attributes.qp_state = state_ready_to_receive;
  attributes.path_mtu = std::min(port_.attributes.active_mtu, peer.mtu);
  attributes.dest_qp_num = peer.number;
  attributes.rq_psn = peer.first_packet;
  attributes.max_dest_rd_atomic = static_cast<std::uint8_t>(std::min(port_.served_read_depth, 255));
  attributes.min_rnr_timer = receiver_not_ready_timer;
  attributes.ah_attr.port_num = port_.number;
  attributes.ah_attr.dlid = static_cast<std::uint16_t>(peer.lid);
  if (port_.gid_index >= 0) {
    attributes.ah_attr.is_global = 1;
    attributes.ah_attr.dgid = parse_gid(peer.gid);
    attributes.ah_attr.sgid_index = static_cast<std::uint8_t>(port_.gid_index);
    attributes.ah_attr.hop_limit = hop_limit;
  }
  TRY(modify(queue, attributes,
             attribute::state | attribute::address_vector | attribute::path_mtu |
                 attribute::destination | attribute::receive_psn | attribute::max_dest_rd_atomic |
                 attribute::min_rnr_timer,
             "ready to receive"));
  attributes = {};
  attributes.qp_state = state_ready_to_send;
  attributes.timeout = ack_timeout;
  attributes.retry_cnt = retries;
  attributes.rnr_retry = receiver_not_ready_retries;
  attributes.sq_psn = first_packet;
  attributes.max_rd_atomic =
      static_cast<std::uint8_t>(std::min({port_.read_depth, peer.served_read_depth, 255}));
  return modify(queue, attributes,
                attribute::state | attribute::timeout | attribute::retry_count |
                    attribute::rnr_retry | attribute::send_psn | attribute::max_rd_atomic,
                "ready to send");
}

Status Rail::modify(std::size_t queue, QueuePairAttributes& attributes, int mask,
                    const char* to) const {
  errno = 0;
  const int code = library_->api().modify_qp(pairs_[queue].get(), &attributes, mask);
  if (code == 0) return {};
  return verbs_error(label(port_), fmt::format("bringing a queue pair to \"{}\"", to), code);
}

Result<std::size_t> Rail::poll(std::span<WorkCompletion> completions) const {
  CompletionQueue* queue = completions_.get();
  const int found =
      queue->context->ops.poll_cq(queue, static_cast<int>(completions.size()), completions.data());
  if (found < 0) return verbs_error(port_.device, "polling the completion queue", found);
  return static_cast<std::size_t>(found);
}

}  // namespace assay::verbs
