// What the parts of the mock libibverbs have in common.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace mock_verbs {

struct Device {
  ibv_device device{};  // first: the library's users hold its address
};
struct CompletionRing {
  ibv_cq cq{};
  std::deque<std::pair<ibv_wc, std::uint64_t>>
      entries;  // and how many requests of its pair it ends
};
struct Pair {
  ibv_qp qp{};
  ibv_qp_cap cap{};
  std::uint32_t destination = 0;
  std::uint64_t posted = 0, retired = 0;
  std::deque<ibv_recv_wr> receives;
  std::deque<ibv_sge> places;                                             // of the receives
  std::deque<std::pair<ibv_send_wr, std::pair<ibv_sge, Pair*>>> waiting;  // sends without a receive
};
struct Region {
  ibv_mr mr{};
  std::uint64_t start = 0;
  int access = 0;
};

inline std::mutex mutex;  // guards what follows, and every object
inline std::map<std::string, int> settings = {
    {"devices", 2}, {"port_state", IBV_PORT_ACTIVE}, {"gid", 3}};
inline std::map<std::string, int> counts;
inline std::map<std::uint32_t, Pair*> pairs;
inline std::map<std::uint32_t, Region*> regions;

// The functions that libibverbs reaches through a context.
int post_send(ibv_qp* qp, ibv_send_wr* request, ibv_send_wr** bad);
int post_recv(ibv_qp* qp, ibv_recv_wr* request, ibv_recv_wr** bad);
int poll_cq(ibv_cq* queue, int room, ibv_wc* out);

}  // namespace mock_verbs
