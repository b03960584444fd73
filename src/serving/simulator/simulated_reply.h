// A reply of the simulated server, with the fault drawn for it.
#pragma once

#include <string>
#include <vector>

#include "serving/server/reply.h"
#include "serving/simulator/faults.h"
#include "serving/simulator/use_server_namespace.h"

namespace assay::simulator {

struct SimulatedReplyPlan {
  std::uint64_t request = 0;  ///< request number
  std::uint64_t prompt_tokens = 0;
  std::uint64_t tokens = 0;  ///< per choice; 0 only for the fault `empty`
  Fault fault = Fault::none;
};

class SimulatedReply final : public Reply, public Due {
 public:
  /// `source` is null if tokens come at fixed times.
  SimulatedReply(Loop& loop, std::shared_ptr<Connection> connection,
                 std::shared_ptr<ServerMetrics> metrics, TokenSource* source, ReplyPlan plan,
                 SimulatedReplyPlan simulated);
  ~SimulatedReply() override;
  SimulatedReply(const SimulatedReply&) = delete;
  SimulatedReply& operator=(const SimulatedReply&) = delete;

  /// Also completes a reply without tokens.
  void begin() override;
  bool on_token(const SourceToken& token) override;
  void on_due(double due) override;  ///< ends the pause of a slow close

 protected:
  void write_token(const TokenEvent& event) override;
  void observe(const SourceToken& token, double now) override;
  bool writes_end_mark() const override { return simulated_.fault != Fault::nodone; }
  void close_or_next() override;

 private:
  void write_split(std::string_view event);
  void write_merged(std::string_view event, bool all);

  const SimulatedReplyPlan simulated_;
  const bool fixed_;
  std::size_t merged_ = 0;  // events in the chunk that is being filled
  std::string merged_events_;
};

}  // namespace assay::simulator
