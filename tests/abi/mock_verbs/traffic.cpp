// How the mock executes requests: immediately, when they are posted.
#include <cerrno>
#include <cstring>

#include "internal.h"

namespace mock_verbs {
namespace {

bool reachable(std::uint32_t key, std::uint64_t address, std::uint64_t bytes, int access) {
  const auto found = regions.find(key);
  if (found == regions.end()) return false;
  const Region& region = *found->second;
  return (region.access & access) == access && address >= region.start &&
         address + bytes <= region.start + region.mr.length;
}

void copy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes) {
  std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
}

void complete(Pair& pair, ibv_cq* queue, std::uint64_t id, ibv_wc_status status,
              ibv_wc_opcode opcode, std::uint64_t ends) {
  auto& ring = *reinterpret_cast<CompletionRing*>(queue);
  ibv_wc entry{};
  entry.wr_id = id;
  entry.status = status;
  entry.opcode = opcode;
  entry.vendor_err = status == IBV_WC_SUCCESS ? 0 : 0x88;
  entry.qp_num = pair.qp.qp_num;
  if (static_cast<int>(ring.entries.size()) >= queue->cqe) ++counts["overruns"];
  ring.entries.emplace_back(entry, ends);
}

/// A send goes to the oldest receive of the peer.
ibv_wc_status deliver(Pair& peer, const ibv_send_wr& request, const ibv_sge& from) {
  const ibv_recv_wr receive = peer.receives.front();
  const ibv_sge place = peer.places.front();
  peer.receives.pop_front();
  peer.places.pop_front();
  const std::uint32_t bytes = request.num_sge > 0 ? from.length : 0;
  if (bytes > place.length) return IBV_WC_REM_INV_REQ_ERR;
  if (bytes > 0) copy(place.addr, from.addr, bytes);
  complete(peer, peer.qp.recv_cq, receive.wr_id, IBV_WC_SUCCESS, IBV_WC_RECV, 0);
  return IBV_WC_SUCCESS;
}

void finish(Pair& pair, const ibv_send_wr& request, ibv_wc_status status) {
  if ((request.send_flags & IBV_SEND_SIGNALED) == 0 && status == IBV_WC_SUCCESS) return;
  const ibv_wc_opcode opcode = request.opcode == IBV_WR_RDMA_WRITE  ? IBV_WC_RDMA_WRITE
                               : request.opcode == IBV_WR_RDMA_READ ? IBV_WC_RDMA_READ
                                                                    : IBV_WC_SEND;
  complete(pair, pair.qp.send_cq, request.wr_id, status, opcode, pair.posted);
}

void carry_out(Pair& pair, const ibv_send_wr& request) {
  const ibv_sge from = request.num_sge > 0 ? request.sg_list[0] : ibv_sge{};
  if (const int status = settings["fail_status"]; status != 0) {
    settings["fail_status"] = 0;
    return finish(pair, request, static_cast<ibv_wc_status>(status));
  }
  const auto found = pairs.find(pair.destination);
  if (found == pairs.end()) return finish(pair, request, IBV_WC_RETRY_EXC_ERR);
  Pair& peer = *found->second;
  const bool read = request.opcode == IBV_WR_RDMA_READ;
  if (from.length > 0 && !reachable(from.lkey, from.addr, from.length, 0)) {
    return finish(pair, request, IBV_WC_LOC_PROT_ERR);
  }
  if (request.opcode == IBV_WR_SEND) {
    if (peer.receives.empty()) {
      peer.waiting.push_back({request, {from, &pair}});
      return;
    }
    return finish(pair, request, deliver(peer, request, from));
  }
  const std::uint64_t remote = request.wr.rdma.remote_addr;
  if (!reachable(request.wr.rdma.rkey, remote, from.length,
                 read ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE)) {
    return finish(pair, request, IBV_WC_REM_ACCESS_ERR);
  }
  copy(read ? from.addr : remote, read ? remote : from.addr, from.length);
  finish(pair, request, IBV_WC_SUCCESS);
}

int refusal(const Pair& pair, const ibv_send_wr& request) {
  if (pair.qp.state != IBV_QPS_RTS) return EINVAL;
  const bool inlined = (request.send_flags & IBV_SEND_INLINE) != 0;
  if (inlined && request.sg_list[0].length > pair.cap.max_inline_data) return EINVAL;
  if (pair.posted - pair.retired >= pair.cap.max_send_wr) return ENOMEM;
  int& countdown = settings["fail_request"];
  return countdown > 0 && --countdown == 0 ? ENOMEM : 0;
}

}  // namespace

int post_send(ibv_qp* qp, ibv_send_wr* request, ibv_send_wr** bad) {
  const std::lock_guard lock(mutex);
  Pair& pair = *reinterpret_cast<Pair*>(qp);
  ++counts["posts"];
  for (; request != nullptr; request = request->next) {
    if (const int code = refusal(pair, *request); code != 0) {
      *bad = request;
      return code;
    }
    ++pair.posted;
    ++counts["requests"];
    counts["signalled"] += (request->send_flags & IBV_SEND_SIGNALED) != 0 ? 1 : 0;
    counts["inlined"] += (request->send_flags & IBV_SEND_INLINE) != 0 ? 1 : 0;
    carry_out(pair, *request);
  }
  return 0;
}

int post_recv(ibv_qp* qp, ibv_recv_wr* request, ibv_recv_wr** bad) {
  const std::lock_guard lock(mutex);
  Pair& pair = *reinterpret_cast<Pair*>(qp);
  for (; request != nullptr; request = request->next) {
    if (pair.receives.size() >= pair.cap.max_recv_wr) {
      *bad = request;
      return ENOMEM;
    }
    pair.receives.push_back(*request);
    pair.places.push_back(request->num_sge > 0 ? request->sg_list[0] : ibv_sge{});
    if (pair.waiting.empty()) continue;
    const auto [send, origin] = pair.waiting.front();
    pair.waiting.pop_front();
    finish(*origin.second, send, deliver(pair, send, origin.first));
  }
  return 0;
}

int poll_cq(ibv_cq* queue, int room, ibv_wc* out) {
  const std::lock_guard lock(mutex);
  auto& ring = *reinterpret_cast<CompletionRing*>(queue);
  int count = 0;
  for (; count < room && !ring.entries.empty(); ++count) {
    const auto& [entry, ends] = ring.entries.front();
    out[count] = entry;
    Pair& pair = *pairs.at(entry.qp_num);
    if (ends > pair.retired) pair.retired = ends;
    ring.entries.pop_front();
  }
  return count;
}

}  // namespace mock_verbs
