// The part of libibverbs' binary interface that is used here. Posting and polling have no exported
// functions: they go through a table in the device's context, so its layout is declared as well.
// Tests check every offset, size and number against the real <infiniband/verbs.h> (tests/abi/).
//
// Structures that only the library creates are declared up to the last member used here.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::verbs {

struct DeviceHandle;
struct ProtectionDomain;
struct QueuePair;
struct CompletionQueue;
struct SendRequest;
struct ReceiveRequest;
struct WorkCompletion;

/// struct ibv_context_ops
struct ContextOps {
  void* unused_before_poll[11];
  int (*poll_cq)(CompletionQueue* queue, int entries, WorkCompletion* completions);
  void* unused_before_post[13];
  int (*post_send)(QueuePair* pair, SendRequest* requests, SendRequest** first_bad);
  int (*post_recv)(QueuePair* pair, ReceiveRequest* requests, ReceiveRequest** first_bad);
  void* unused_after_post[5];
};

/// struct ibv_context
struct Context {
  DeviceHandle* device;
  ContextOps ops;
};

/// struct ibv_qp
struct QueuePair {
  Context* context;
  void* qp_context;
  ProtectionDomain* pd;
  CompletionQueue* send_cq;
  CompletionQueue* recv_cq;
  void* srq;
  std::uint32_t handle;
  std::uint32_t qp_num;
};

/// struct ibv_cq
struct CompletionQueue {
  Context* context;
};

/// struct ibv_mr
struct MemoryRegion {
  Context* context;
  ProtectionDomain* pd;
  void* addr;
  std::size_t length;
  std::uint32_t handle;
  std::uint32_t lkey;
  std::uint32_t rkey;
};

/// struct ibv_sge
struct ScatterGather {
  std::uint64_t addr;
  std::uint32_t length;
  std::uint32_t lkey;
};

/// struct ibv_send_wr; the library's union of request kinds is as large as its atomic request.
struct SendRequest {
  std::uint64_t wr_id;
  SendRequest* next;
  ScatterGather* sg_list;
  int num_sge;
  int opcode;
  unsigned send_flags;
  std::uint32_t imm_data;
  std::uint64_t remote_addr;
  std::uint32_t rkey;
  std::uint32_t unused[19];
};

/// struct ibv_recv_wr
struct ReceiveRequest {
  std::uint64_t wr_id;
  ReceiveRequest* next;
  ScatterGather* sg_list;
  int num_sge;
};

/// struct ibv_wc
struct WorkCompletion {
  std::uint64_t wr_id;
  int status;
  int opcode;
  std::uint32_t vendor_err;
  std::uint32_t byte_len;
  std::uint32_t imm_data;
  std::uint32_t qp_num;
  std::uint32_t src_qp;
  unsigned wc_flags;
  std::uint16_t pkey_index;
  std::uint16_t slid;
  std::uint8_t sl;
  std::uint8_t dlid_path_bits;
};

/// struct ibv_port_attr. ibv_query_port() itself fills all but the last member, which an inline
/// function of the header fills.
struct PortAttributes {
  int state;
  int max_mtu;
  int active_mtu;
  int gid_tbl_len;
  std::uint32_t port_cap_flags;
  std::uint32_t max_msg_sz;
  std::uint32_t bad_pkey_cntr;
  std::uint32_t qkey_viol_cntr;
  std::uint16_t pkey_tbl_len;
  std::uint16_t lid;
  std::uint16_t sm_lid;
  std::uint8_t lmc;
  std::uint8_t max_vl_num;
  std::uint8_t sm_sl;
  std::uint8_t subnet_timeout;
  std::uint8_t init_type_reply;
  std::uint8_t active_width;
  std::uint8_t active_speed;
  std::uint8_t phys_state;
  std::uint8_t link_layer;
  std::uint8_t flags;
  std::uint16_t port_cap_flags2;
};

/// struct ibv_device_attr; members not used here are plain bytes.
struct DeviceAttributes {
  unsigned char unused_before_reads[144];
  int max_qp_rd_atom;
  int max_ee_rd_atom;
  int max_res_rd_atom;
  int max_qp_init_rd_atom;
  unsigned char unused_after_reads[67];
  std::uint8_t phys_port_cnt;
  unsigned char unused_at_end[4];
};

/// union ibv_gid
struct alignas(8) Gid {
  std::uint8_t raw[16];
};

/// struct ibv_gid_entry
struct GidEntry {
  Gid gid;
  std::uint32_t gid_index;
  std::uint32_t port_num;
  std::uint32_t gid_type;
  std::uint32_t ndev_ifindex;
};

/// struct ibv_qp_cap
struct QueuePairCapacity {
  std::uint32_t max_send_wr;
  std::uint32_t max_recv_wr;
  std::uint32_t max_send_sge;
  std::uint32_t max_recv_sge;
  std::uint32_t max_inline_data;
};

/// struct ibv_qp_init_attr
struct QueuePairInit {
  void* qp_context;
  CompletionQueue* send_cq;
  CompletionQueue* recv_cq;
  void* srq;
  QueuePairCapacity cap;
  int qp_type;
  int sq_sig_all;
};

/// struct ibv_ah_attr
struct AddressVector {
  Gid dgid;
  std::uint32_t flow_label;
  std::uint8_t sgid_index;
  std::uint8_t hop_limit;
  std::uint8_t traffic_class;
  std::uint8_t unused[1];
  std::uint16_t dlid;
  std::uint8_t sl;
  std::uint8_t src_path_bits;
  std::uint8_t static_rate;
  std::uint8_t is_global;
  std::uint8_t port_num;
};

/// struct ibv_qp_attr
struct QueuePairAttributes {
  int qp_state;
  int cur_qp_state;
  int path_mtu;
  int path_mig_state;
  std::uint32_t qkey;
  std::uint32_t rq_psn;
  std::uint32_t sq_psn;
  std::uint32_t dest_qp_num;
  unsigned qp_access_flags;
  QueuePairCapacity cap;
  AddressVector ah_attr;
  AddressVector alt_ah_attr;
  std::uint16_t pkey_index;
  std::uint16_t alt_pkey_index;
  std::uint8_t en_sqd_async_notify;
  std::uint8_t sq_draining;
  std::uint8_t max_rd_atomic;
  std::uint8_t max_dest_rd_atomic;
  std::uint8_t min_rnr_timer;
  std::uint8_t port_num;
  std::uint8_t timeout;
  std::uint8_t retry_cnt;
  std::uint8_t rnr_retry;
  std::uint8_t alt_port_num;
  std::uint8_t alt_timeout;
  std::uint32_t rate_limit;
};

// These are values of the library's enumerations.
constexpr int port_active = 4;
constexpr std::uint8_t link_infiniband = 1, link_ethernet = 2;
constexpr int type_reliable_connection = 2;
constexpr int state_init = 1, state_ready_to_receive = 2, state_ready_to_send = 3;
constexpr std::uint32_t gid_infiniband = 0, gid_roce_v1 = 1, gid_roce_v2 = 2;

namespace access {
constexpr int local_write = 1, remote_write = 2, remote_read = 4;
constexpr int relaxed_ordering = 1 << 20;  ///< accepted only by ibv_reg_mr_iova2
}  // namespace access

namespace opcode {
constexpr int write = 0, send = 2, read = 4;
}

namespace send_flag {
constexpr unsigned signaled = 2, inlined = 8;
}

/// Bits of the mask of ibv_modify_qp().
namespace attribute {
constexpr int state = 1 << 0, access_flags = 1 << 3, pkey_index = 1 << 4, port = 1 << 5,
              address_vector = 1 << 7, path_mtu = 1 << 8, timeout = 1 << 9, retry_count = 1 << 10,
              rnr_retry = 1 << 11, receive_psn = 1 << 12, max_rd_atomic = 1 << 13,
              min_rnr_timer = 1 << 15, send_psn = 1 << 16, max_dest_rd_atomic = 1 << 17,
              destination = 1 << 20;
}  // namespace attribute

/// The library's functions, looked up at run time.
struct VerbsApi {
  DeviceHandle** (*get_device_list)(int* count);
  void (*free_device_list)(DeviceHandle** list);
  const char* (*device_name)(DeviceHandle* device);
  Context* (*open_device)(DeviceHandle* device);
  int (*close_device)(Context* context);
  int (*query_device)(Context* context, DeviceAttributes* attributes);
  int (*query_port)(Context* context, std::uint8_t port, PortAttributes* attributes);
  int (*query_gid)(Context* context, std::uint8_t port, int index, Gid* gid);
  ProtectionDomain* (*alloc_pd)(Context* context);
  int (*dealloc_pd)(ProtectionDomain* domain);
  MemoryRegion* (*reg_mr)(ProtectionDomain* domain, void* address, std::size_t bytes, int access);
  int (*dereg_mr)(MemoryRegion* region);
  CompletionQueue* (*create_cq)(Context* context, int entries, void* cq_context, void* channel,
                                int vector);
  int (*destroy_cq)(CompletionQueue* queue);
  QueuePair* (*create_qp)(ProtectionDomain* domain, QueuePairInit* init);
  int (*modify_qp)(QueuePair* pair, QueuePairAttributes* attributes, int mask);
  int (*destroy_qp)(QueuePair* pair);
  const char* (*status_text)(int status);

  // These are null in libraries older than the release that added them.
  MemoryRegion* (*reg_mr_iova2)(ProtectionDomain* domain, void* address, std::size_t bytes,
                                std::uint64_t iova, unsigned access);
  MemoryRegion* (*reg_dmabuf_mr)(ProtectionDomain* domain, std::uint64_t offset, std::size_t bytes,
                                 std::uint64_t iova, int fd, int access);
  int (*query_gid_ex)(Context* context, std::uint32_t port, std::uint32_t index, GidEntry* entry,
                      std::uint32_t flags, std::size_t entry_bytes);
};

#define ASSAY_VERBS(F)                      \
  F(get_device_list, ibv_get_device_list)   \
  F(free_device_list, ibv_free_device_list) \
  F(device_name, ibv_get_device_name)       \
  F(open_device, ibv_open_device)           \
  F(close_device, ibv_close_device)         \
  F(query_device, ibv_query_device)         \
  F(query_port, ibv_query_port)             \
  F(query_gid, ibv_query_gid)               \
  F(alloc_pd, ibv_alloc_pd)                 \
  F(dealloc_pd, ibv_dealloc_pd)             \
  F(reg_mr, ibv_reg_mr)                     \
  F(dereg_mr, ibv_dereg_mr)                 \
  F(create_cq, ibv_create_cq)               \
  F(destroy_cq, ibv_destroy_cq)             \
  F(create_qp, ibv_create_qp)               \
  F(modify_qp, ibv_modify_qp)               \
  F(destroy_qp, ibv_destroy_qp)             \
  F(status_text, ibv_wc_status_str)
#define ASSAY_VERBS_OPTIONAL(F)       \
  F(reg_mr_iova2, ibv_reg_mr_iova2)   \
  F(reg_dmabuf_mr, ibv_reg_dmabuf_mr) \
  F(query_gid_ex, _ibv_query_gid_ex)

}  // namespace assay::verbs
