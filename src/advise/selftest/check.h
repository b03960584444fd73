// A check of the self-test: one question about assay on this machine, answered with the device at
// hand. Checks are in src/advise/selftest/checks/ and register themselves with
//   const AddChecks registered{{.name = "graph-streams", ..., .run = &two_streams}};
// `assay selftest` runs each in a process of its own; tests/gpu and the tests of backends run the
// same functions.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "compute/device/device.h"
#include "core/registry.h"
#include "core/result.h"

namespace assay::selftest {

/// What a check tests; the results are shown in this order.
enum class Topic {
  device,         ///< memory, streams, events, graphs, compiled programs
  kernels,        ///< assay's kernels against references
  libraries,      ///< the vendor's libraries of products, attention and convolutions
  communication,  ///< collective libraries, peer memory, several devices
  hardware,       ///< what only the hardware can tell, and an emulator takes for granted
};

/// Where a check runs.
struct Stage {
  Device& device;
  Stream& stream;
  /// Whether work sized for a real GPU ends in reasonable time; on CPUs and emulated GPUs a check
  /// uses small sizes.
  bool large = false;
  std::string program = {};  ///< path of assay, for checks that start it; empty: they cannot
};

/// What a check saw that a reader may want to know, such as "event clock: 40 ns"; may be empty.
/// Error: unsupported or unavailable if this machine cannot be asked, with the reason; any other
/// kind means that something is wrong (verification: a result is).
using Answer = Result<std::string>;

struct Check {
  std::string_view name;  ///< "graph-replay"
  Topic topic;
  std::string_view about;   ///< what holds if it passes: "a graph replays two streams in order"
  bool accelerator = true;  ///< whether a host CPU cannot be asked
  int devices = 1;          ///< how many devices of the machine it needs
  /// The check is ended after this time; after ten times as long where Stage::large is false.
  double limit_seconds = 60;
  Answer (*run)(Stage& stage);
};
using CheckRegistry = Registry<Check>;

/// A namespace-scope object of this type registers several checks.
struct AddChecks {
  AddChecks(std::initializer_list<Check> checks) {
    for (const Check& check : checks) CheckRegistry::Add{check};
  }
};

/// Makes the answer of a check that passed.
inline Answer passed(std::string seen = {}) {
  return seen;
}

std::string_view name_of(Topic topic);  ///< "device"

}  // namespace assay::selftest
