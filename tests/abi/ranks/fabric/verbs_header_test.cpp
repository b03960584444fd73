// Our declarations of libibverbs' structures, numbers and functions against rdma-core's header.
#include <gtest/gtest.h>

#include "abi/abi_match.h"
#include "ranks/fabric/verbs_abi.h"

#if __has_include(<infiniband/verbs.h>)
#include <infiniband/verbs.h>

// The header hides these functions behind macros of the same name.
#undef ibv_query_port
#undef ibv_reg_mr

namespace assay::verbs {
namespace {

#define SAME_PLACE(Ours, member, Theirs, their_member)                     \
  static_assert(offsetof(Ours, member) == offsetof(Theirs, their_member)); \
  static_assert(sizeof(Ours::member) == sizeof(Theirs::their_member));
#define SAME(Ours, Theirs, member) SAME_PLACE(Ours, member, Theirs, member)

SAME_PLACE(ContextOps, poll_cq, ibv_context_ops, poll_cq)
SAME_PLACE(ContextOps, post_send, ibv_context_ops, post_send)
SAME_PLACE(ContextOps, post_recv, ibv_context_ops, post_recv)
static_assert(sizeof(ContextOps) == sizeof(ibv_context_ops));
SAME(Context, ibv_context, device)
SAME(Context, ibv_context, ops)
SAME(QueuePair, ibv_qp, context)
SAME(QueuePair, ibv_qp, qp_num)
SAME(CompletionQueue, ibv_cq, context)
SAME(MemoryRegion, ibv_mr, lkey)
SAME(MemoryRegion, ibv_mr, rkey)

static_assert(sizeof(ScatterGather) == sizeof(ibv_sge));
SAME(ScatterGather, ibv_sge, addr)
SAME(ScatterGather, ibv_sge, length)
SAME(ScatterGather, ibv_sge, lkey)

static_assert(sizeof(SendRequest) == sizeof(ibv_send_wr));
SAME(SendRequest, ibv_send_wr, wr_id)
SAME(SendRequest, ibv_send_wr, next)
SAME(SendRequest, ibv_send_wr, sg_list)
SAME(SendRequest, ibv_send_wr, num_sge)
SAME(SendRequest, ibv_send_wr, opcode)
SAME(SendRequest, ibv_send_wr, send_flags)
SAME_PLACE(SendRequest, remote_addr, ibv_send_wr, wr.rdma.remote_addr)
SAME_PLACE(SendRequest, rkey, ibv_send_wr, wr.rdma.rkey)

static_assert(sizeof(ReceiveRequest) == sizeof(ibv_recv_wr));
SAME(ReceiveRequest, ibv_recv_wr, wr_id)
SAME(ReceiveRequest, ibv_recv_wr, next)
SAME(ReceiveRequest, ibv_recv_wr, sg_list)
SAME(ReceiveRequest, ibv_recv_wr, num_sge)

static_assert(sizeof(WorkCompletion) == sizeof(ibv_wc));
SAME(WorkCompletion, ibv_wc, wr_id)
SAME(WorkCompletion, ibv_wc, status)
SAME(WorkCompletion, ibv_wc, opcode)
SAME(WorkCompletion, ibv_wc, vendor_err)
SAME(WorkCompletion, ibv_wc, qp_num)

static_assert(sizeof(PortAttributes) == sizeof(ibv_port_attr));
SAME(PortAttributes, ibv_port_attr, state)
SAME(PortAttributes, ibv_port_attr, active_mtu)
SAME(PortAttributes, ibv_port_attr, gid_tbl_len)
SAME(PortAttributes, ibv_port_attr, lid)
SAME(PortAttributes, ibv_port_attr, link_layer)

static_assert(sizeof(DeviceAttributes) == sizeof(ibv_device_attr));
SAME(DeviceAttributes, ibv_device_attr, max_qp_rd_atom)
SAME(DeviceAttributes, ibv_device_attr, max_qp_init_rd_atom)
SAME(DeviceAttributes, ibv_device_attr, phys_port_cnt)

static_assert(sizeof(Gid) == sizeof(ibv_gid) && alignof(Gid) == alignof(ibv_gid));
static_assert(sizeof(GidEntry) == sizeof(ibv_gid_entry));
SAME(GidEntry, ibv_gid_entry, gid)
SAME(GidEntry, ibv_gid_entry, gid_type)

static_assert(sizeof(QueuePairInit) == sizeof(ibv_qp_init_attr));
SAME(QueuePairInit, ibv_qp_init_attr, send_cq)
SAME(QueuePairInit, ibv_qp_init_attr, recv_cq)
SAME(QueuePairInit, ibv_qp_init_attr, cap)
SAME(QueuePairInit, ibv_qp_init_attr, qp_type)
SAME(QueuePairInit, ibv_qp_init_attr, sq_sig_all)
SAME(QueuePairCapacity, ibv_qp_cap, max_send_wr)
SAME(QueuePairCapacity, ibv_qp_cap, max_recv_wr)
SAME(QueuePairCapacity, ibv_qp_cap, max_send_sge)
SAME(QueuePairCapacity, ibv_qp_cap, max_recv_sge)
SAME(QueuePairCapacity, ibv_qp_cap, max_inline_data)

static_assert(sizeof(AddressVector) == sizeof(ibv_ah_attr));
SAME_PLACE(AddressVector, dgid, ibv_ah_attr, grh.dgid)
SAME_PLACE(AddressVector, sgid_index, ibv_ah_attr, grh.sgid_index)
SAME_PLACE(AddressVector, hop_limit, ibv_ah_attr, grh.hop_limit)
SAME(AddressVector, ibv_ah_attr, dlid)
SAME(AddressVector, ibv_ah_attr, is_global)
SAME(AddressVector, ibv_ah_attr, port_num)

static_assert(sizeof(QueuePairAttributes) == sizeof(ibv_qp_attr));
SAME(QueuePairAttributes, ibv_qp_attr, qp_state)
SAME(QueuePairAttributes, ibv_qp_attr, path_mtu)
SAME(QueuePairAttributes, ibv_qp_attr, rq_psn)
SAME(QueuePairAttributes, ibv_qp_attr, sq_psn)
SAME(QueuePairAttributes, ibv_qp_attr, dest_qp_num)
SAME(QueuePairAttributes, ibv_qp_attr, qp_access_flags)
SAME(QueuePairAttributes, ibv_qp_attr, ah_attr)
SAME(QueuePairAttributes, ibv_qp_attr, pkey_index)
SAME(QueuePairAttributes, ibv_qp_attr, max_rd_atomic)
SAME(QueuePairAttributes, ibv_qp_attr, max_dest_rd_atomic)
SAME(QueuePairAttributes, ibv_qp_attr, min_rnr_timer)
SAME(QueuePairAttributes, ibv_qp_attr, port_num)
SAME(QueuePairAttributes, ibv_qp_attr, timeout)
SAME(QueuePairAttributes, ibv_qp_attr, retry_cnt)
SAME(QueuePairAttributes, ibv_qp_attr, rnr_retry)

#define FUNCTION(member, symbol) ASSAY_EXPECT_MATCH(VerbsApi, member, symbol)

TEST(VerbsHeader, Prototypes){ASSAY_VERBS(FUNCTION) ASSAY_VERBS_OPTIONAL(FUNCTION)}

TEST(VerbsHeader, Numbers) {
  EXPECT_EQ(port_active, IBV_PORT_ACTIVE);
  EXPECT_EQ(link_infiniband, IBV_LINK_LAYER_INFINIBAND);
  EXPECT_EQ(link_ethernet, IBV_LINK_LAYER_ETHERNET);
  EXPECT_EQ(type_reliable_connection, IBV_QPT_RC);
  EXPECT_EQ(state_init, IBV_QPS_INIT);
  EXPECT_EQ(state_ready_to_receive, IBV_QPS_RTR);
  EXPECT_EQ(state_ready_to_send, IBV_QPS_RTS);
  EXPECT_EQ(gid_infiniband, static_cast<unsigned>(IBV_GID_TYPE_IB));
  EXPECT_EQ(gid_roce_v1, static_cast<unsigned>(IBV_GID_TYPE_ROCE_V1));
  EXPECT_EQ(gid_roce_v2, static_cast<unsigned>(IBV_GID_TYPE_ROCE_V2));
  EXPECT_EQ(access::local_write, IBV_ACCESS_LOCAL_WRITE);
  EXPECT_EQ(access::remote_write, IBV_ACCESS_REMOTE_WRITE);
  EXPECT_EQ(access::remote_read, IBV_ACCESS_REMOTE_READ);
  EXPECT_EQ(access::relaxed_ordering, IBV_ACCESS_RELAXED_ORDERING);
  EXPECT_EQ(opcode::write, IBV_WR_RDMA_WRITE);
  EXPECT_EQ(opcode::send, IBV_WR_SEND);
  EXPECT_EQ(opcode::read, IBV_WR_RDMA_READ);
  EXPECT_EQ(send_flag::signaled, static_cast<unsigned>(IBV_SEND_SIGNALED));
  EXPECT_EQ(send_flag::inlined, static_cast<unsigned>(IBV_SEND_INLINE));
  EXPECT_EQ(attribute::state, IBV_QP_STATE);
  EXPECT_EQ(attribute::access_flags, IBV_QP_ACCESS_FLAGS);
  EXPECT_EQ(attribute::pkey_index, IBV_QP_PKEY_INDEX);
  EXPECT_EQ(attribute::port, IBV_QP_PORT);
  EXPECT_EQ(attribute::address_vector, IBV_QP_AV);
  EXPECT_EQ(attribute::path_mtu, IBV_QP_PATH_MTU);
  EXPECT_EQ(attribute::timeout, IBV_QP_TIMEOUT);
  EXPECT_EQ(attribute::retry_count, IBV_QP_RETRY_CNT);
  EXPECT_EQ(attribute::rnr_retry, IBV_QP_RNR_RETRY);
  EXPECT_EQ(attribute::receive_psn, IBV_QP_RQ_PSN);
  EXPECT_EQ(attribute::max_rd_atomic, IBV_QP_MAX_QP_RD_ATOMIC);
  EXPECT_EQ(attribute::min_rnr_timer, IBV_QP_MIN_RNR_TIMER);
  EXPECT_EQ(attribute::send_psn, IBV_QP_SQ_PSN);
  EXPECT_EQ(attribute::max_dest_rd_atomic, IBV_QP_MAX_DEST_RD_ATOMIC);
  EXPECT_EQ(attribute::destination, IBV_QP_DEST_QPN);
}

}  // namespace
}  // namespace assay::verbs

#else
TEST(VerbsHeader, Prototypes) {
  GTEST_SKIP() << "no infiniband/verbs.h (libibverbs-dev) here";
}
#endif
