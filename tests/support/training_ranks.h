// Ranks that compute one model together as threads of the test, with one CPU each.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "model/training/training.h"
#include "ranks/collective/communicator.h"
#include "ranks/team/thread_team.h"
#include "support/test_device.h"

namespace assay {

/// Calls `use` on each rank with a device, a stream and, if there are several ranks, the team.
inline void on_ranks(int ranks,
                     const std::function<Status(int, Device&, Stream&, ModelRanks)>& use) {
  ThreadTeam team(ranks);
  team.run([&](ThreadTeam::End& end) {
    const auto device = open_test_device("cpu");
    const auto stream = std::move(device->create_stream()).value();
    std::unique_ptr<Communicator> communicator;
    if (ranks > 1) {
      communicator = communicator_kind("tcp")->create(*device, end, {}).value();
    }
    const Status used = use(end.rank(), *device, *stream, {communicator.get(), &end});
    EXPECT_TRUE(used) << "rank " << end.rank() << ": " << used.error().message;
  });
}

}  // namespace assay
