// A reply in progress: turns tokens into bytes, with the fault drawn for it.
#pragma once

#include <memory>
#include <vector>

#include "serving/simulator/connection.h"
#include "serving/simulator/http_text.h"
#include "serving/simulator/reply_format.h"
#include "serving/simulator/server_metrics.h"
#include "serving/simulator/token_source.h"

namespace assay::simulator {

struct ReplyPlan {
  std::unique_ptr<ReplyFormat> format;
  std::uint64_t request = 0;  ///< request number
  std::size_t choices = 1;
  std::uint64_t prompt_tokens = 0;
  std::uint64_t tokens = 0;  ///< per choice; 0 only for the fault `empty`
  bool stream = false;
  bool keep_alive = true;
  bool natural_end = false;  ///< it ends by itself, not at the token limit
  double received = 0;
  Fault fault = Fault::none;
};

class Reply final : public TokenSink,
                    public Abandonable,
                    public Due,
                    public std::enable_shared_from_this<Reply> {
 public:
  /// `driver` is null if tokens come at fixed times; otherwise it lives while the loop runs.
  Reply(Loop& loop, std::shared_ptr<Connection> connection, std::shared_ptr<ServerMetrics> metrics,
        EngineDriver* driver, ReplyPlan plan);
  ~Reply() override;
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;

  /// Call before any tokens: writes the head of a stream. A reply without tokens is then complete.
  void begin();
  /// Adds a request in the engine, which is cancelled if the reader is gone.
  void add_engine_id(std::uint64_t id) { engine_ids_.push_back(id); }

  void on_started(double when) override;
  bool on_token(const SourceToken& token) override;
  void abandoned() override;
  void on_due(double due) override;  ///< ends the pause of a slow close

 private:
  void write_token(const SourceToken& token);
  void write_chunk(std::string_view events);
  void write_split(std::string_view event);
  void write_merged(std::string_view event, bool all);
  void observe(const SourceToken& token, double now);
  void finish();

  Loop& loop_;
  std::shared_ptr<Connection> connection_;
  std::shared_ptr<ServerMetrics> metrics_;
  EngineDriver* driver_;
  ReplyPlan plan_;
  std::vector<std::uint64_t> engine_ids_;
  std::vector<double> last_token_;  // when each choice's last token was written
  double started_ = -1;
  std::size_t finished_ = 0;  // choices
  std::size_t merged_ = 0;    // events in the chunk that is being filled
  std::string merged_events_;
  bool over_ = false;
};

}  // namespace assay::simulator
