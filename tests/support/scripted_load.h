// The requests that tests of the load generator send, and a valid reply to them.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "serving/client/load_run.h"
#include "support/scripted_server.h"

namespace assay {

class TextPrompts final : public Prompts {
 public:
  explicit TextPrompts(std::size_t count, bool conversation = false)
      : count_(count), conversation_(conversation) {}
  std::size_t size() const override { return count_; }
  Prompt at(std::size_t index) const override {
    Prompt prompt;
    prompt.text = "question " + std::to_string(index);
    prompt.tokens = 5;
    prompt.output_tokens = 3;
    prompt.conversation = conversation_ ? 0 : index;
    prompt.turn = conversation_ ? index : 0;
    prompt.think_seconds = prompt.turn > 0 ? 0.05 : 0;
    return prompt;
  }
  bool follows(std::size_t index) const override { return conversation_ && index > 0; }

 private:
  std::size_t count_;
  bool conversation_;
};

inline LoadOutcome load_server(const ScriptedServer& server, LoadPlan plan,
                               const Prompts& prompts) {
  std::vector<Endpoint> targets;
  auto endpoint = find_endpoint(*parse_url(server.url()), false);
  EXPECT_TRUE(endpoint.ok()) << endpoint.error().message;
  targets.push_back(*endpoint);
  auto outcome = run_load(plan, prompts, targets, nullptr, nullptr);
  EXPECT_TRUE(outcome.ok());
  return std::move(*outcome);
}

inline LoadPlan closed_loop(std::size_t concurrency) {
  LoadPlan plan;
  plan.max_concurrency = concurrency;
  plan.silence_seconds = 60;
  return plan;
}

inline void answer_well(ScriptedServer::Client& client) {
  client.begin_stream();
  for (const char* text : {"a", "b", "c"}) client.token(text);
  client.usage(5, 3);
  client.end_stream();
}

}  // namespace assay
