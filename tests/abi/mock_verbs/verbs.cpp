// A libibverbs that moves data between the queue pairs of one process, compiled with rdma-core's
// own header: devices, ports and objects. traffic.cpp executes requests.
#include <infiniband/verbs.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "internal.h"
#include "mock_verbs.h"

#undef ibv_query_port
#undef ibv_reg_mr

using namespace mock_verbs;

namespace {

std::uint32_t next_number = 100;

/// Whether this use of a setting is to fail.
bool fails(const char* name) {
  int& left = settings[name];
  return left > 0 && left-- > 0;
}

void* no_memory() {
  errno = ENOMEM;
  return nullptr;
}

/// Address `index` of an Ethernet port: link-local twice, then IPv4 as RoCE v1 and v2.
ibv_gid gid_at(int index) {
  ibv_gid gid{};
  if (index < 2) {
    gid.raw[0] = 0xfe;
    gid.raw[1] = 0x80;
    gid.raw[15] = 1;
  } else {
    gid.raw[10] = gid.raw[11] = 0xff;
    gid.raw[12] = 10;
    gid.raw[15] = 1;
  }
  return gid;
}

/// What each step of a reliable connection must set.
int required(ibv_qp_state state) {
  switch (state) {
    case IBV_QPS_INIT:
      return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
    case IBV_QPS_RTR:
      return IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
             IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    default:
      return IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
             IBV_QP_MAX_QP_RD_ATOMIC;
  }
}

Region* new_region(ibv_pd* pd, void* address, std::size_t bytes, std::uint64_t start, int access) {
  auto* region = new Region;
  region->mr.context = pd->context;
  region->mr.pd = pd;
  region->mr.addr = address;
  region->mr.length = bytes;
  region->mr.lkey = region->mr.rkey = next_number++;
  region->start = start;
  region->access = access;
  regions[region->mr.rkey] = region;
  ++counts["objects"];
  return region;
}

}  // namespace

extern "C" {

void mock_verbs_set(const char* name, int value) {
  const std::lock_guard lock(mutex);
  settings[name] = value;
}
int mock_verbs_count(const char* name) {
  const std::lock_guard lock(mutex);
  return counts[name];
}

ibv_device** ibv_get_device_list(int* count) {
  *count = settings["devices"];
  auto** list = new ibv_device*[static_cast<std::size_t>(*count) + 1]();
  for (int i = 0; i < *count; ++i) {
    auto* device = new Device;  // never freed: an open context may name it
    std::snprintf(device->device.name, sizeof device->device.name, "mock%d", i);
    list[i] = &device->device;
  }
  return list;
}
void ibv_free_device_list(ibv_device** list) {
  delete[] list;
}
const char* ibv_get_device_name(ibv_device* device) {
  return device->name;
}

ibv_context* ibv_open_device(ibv_device* device) {
  if (fails("fail_open")) {
    errno = EACCES;
    return nullptr;
  }
  auto* context = new ibv_context{};
  context->device = device;
  context->ops.poll_cq = &poll_cq;
  context->ops.post_send = &post_send;
  context->ops.post_recv = &post_recv;
  return context;
}
int ibv_close_device(ibv_context* context) {
  delete context;
  return 0;
}
int ibv_query_device(ibv_context*, ibv_device_attr* attributes) {
  attributes->phys_port_cnt = 1;
  attributes->max_qp_rd_atom = 16;
  attributes->max_qp_init_rd_atom = 8;
  return 0;
}
int ibv_query_port(ibv_context*, std::uint8_t, _compat_ibv_port_attr* out) {
  ibv_port_attr attributes{};
  attributes.state = static_cast<ibv_port_state>(settings["port_state"]);
  attributes.active_mtu = IBV_MTU_4096;
  attributes.gid_tbl_len = 4;
  attributes.lid = 7;
  attributes.link_layer =
      settings["infiniband"] != 0 ? IBV_LINK_LAYER_INFINIBAND : IBV_LINK_LAYER_ETHERNET;
  std::memcpy(out, &attributes, offsetof(ibv_port_attr, port_cap_flags2));
  return 0;
}
int ibv_query_gid(ibv_context*, std::uint8_t, int index, ibv_gid* gid) {
  *gid = gid_at(index);
  return 0;
}
int _ibv_query_gid_ex(ibv_context*, std::uint32_t, std::uint32_t index, ibv_gid_entry* entry,
                      std::uint32_t, std::size_t) {
  entry->gid = gid_at(static_cast<int>(index));
  entry->gid_type = index % 2 == 0 ? IBV_GID_TYPE_ROCE_V1 : IBV_GID_TYPE_ROCE_V2;
  return 0;
}

ibv_pd* ibv_alloc_pd(ibv_context* context) {
  const std::lock_guard lock(mutex);
  ++counts["objects"];
  return new ibv_pd{context, 0};
}
int ibv_dealloc_pd(ibv_pd* pd) {
  const std::lock_guard lock(mutex);
  --counts["objects"];
  delete pd;
  return 0;
}
ibv_mr* ibv_reg_mr(ibv_pd* pd, void* address, std::size_t bytes, int access) {
  const std::lock_guard lock(mutex);
  if (fails("fail_register")) return static_cast<ibv_mr*>(no_memory());
  const auto start = reinterpret_cast<std::uint64_t>(address);
  return &new_region(pd, address, bytes, start, access)->mr;
}
ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* address, std::size_t bytes, std::uint64_t iova,
                         unsigned access) {
  const std::lock_guard lock(mutex);
  if (settings["fail_register"] > 0) return static_cast<ibv_mr*>(no_memory());
  counts["relaxed"] += (access & IBV_ACCESS_RELAXED_ORDERING) != 0 ? 1 : 0;
  return &new_region(pd, address, bytes, iova, static_cast<int>(access))->mr;
}
ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* pd, std::uint64_t, std::size_t bytes, std::uint64_t iova, int,
                          int access) {
  const std::lock_guard lock(mutex);
  if (fails("fail_register_dmabuf")) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  ++counts["dmabuf"];
  return &new_region(pd, nullptr, bytes, iova, access)->mr;
}
int ibv_dereg_mr(ibv_mr* mr) {
  const std::lock_guard lock(mutex);
  auto* region = reinterpret_cast<Region*>(mr);
  regions.erase(mr->rkey);
  --counts["objects"];
  delete region;
  return 0;
}

ibv_cq* ibv_create_cq(ibv_context* context, int entries, void*, ibv_comp_channel*, int) {
  const std::lock_guard lock(mutex);
  auto* ring = new CompletionRing;
  ring->cq.context = context;
  ring->cq.cqe = entries;
  ++counts["objects"];
  return &ring->cq;
}
int ibv_destroy_cq(ibv_cq* queue) {
  const std::lock_guard lock(mutex);
  --counts["objects"];
  delete reinterpret_cast<CompletionRing*>(queue);
  return 0;
}

ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* init) {
  const std::lock_guard lock(mutex);
  if (init->cap.max_inline_data > 0 && fails("fail_inline")) {
    return static_cast<ibv_qp*>(no_memory());
  }
  auto* pair = new Pair;
  pair->qp.context = pd->context;
  pair->qp.pd = pd;
  pair->qp.send_cq = init->send_cq;
  pair->qp.recv_cq = init->recv_cq;
  pair->qp.qp_type = init->qp_type;
  pair->qp.qp_num = next_number++;
  pair->cap = init->cap;
  pairs[pair->qp.qp_num] = pair;
  ++counts["objects"];
  return &pair->qp;
}
int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) {
  const std::lock_guard lock(mutex);
  auto& pair = *reinterpret_cast<Pair*>(qp);
  const bool next = static_cast<int>(attributes->qp_state) == static_cast<int>(qp->state) + 1;
  if (!next || mask != required(attributes->qp_state)) return EINVAL;
  if (attributes->qp_state == IBV_QPS_RTR) {
    const ibv_gid wanted = gid_at(settings["gid"]);
    const bool address_good =
        settings["infiniband"] != 0
            ? attributes->ah_attr.dlid == 7 && attributes->ah_attr.is_global == 0
            : attributes->ah_attr.is_global == 1 &&
                  attributes->ah_attr.grh.sgid_index == settings["gid"] &&
                  std::memcmp(&attributes->ah_attr.grh.dgid, &wanted, sizeof wanted) == 0;
    if (!address_good) return ENETUNREACH;
    pair.destination = attributes->dest_qp_num;
  }
  if (attributes->qp_state == IBV_QPS_RTS && attributes->max_rd_atomic != 8) return EINVAL;
  qp->state = attributes->qp_state;
  return 0;
}
int ibv_destroy_qp(ibv_qp* qp) {
  const std::lock_guard lock(mutex);
  pairs.erase(qp->qp_num);
  --counts["objects"];
  delete reinterpret_cast<Pair*>(qp);
  return 0;
}

const char* ibv_wc_status_str(ibv_wc_status status) {
  return status == IBV_WC_RETRY_EXC_ERR    ? "transport retry counter exceeded"
         : status == IBV_WC_REM_ACCESS_ERR ? "remote access error"
                                           : "another error";
}
}
