// What the self-test asks of every device: the tests of each backend ask theirs.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "advise/selftest/selftest.h"
#include "compute/device/helpers.h"

namespace assay {

/// The checks of launches, streams, events, graphs and memory that a device can be asked; for a
/// host CPU, those that are not about GPUs. Cells of benchmarks have tests of their own.
inline std::vector<const selftest::Check*> checks_of_every_device(bool accelerator) {
  using selftest::Topic;
  std::vector<const selftest::Check*> chosen;
  for (const selftest::Check* check : selftest::checks()) {
    const bool is_about_devices = check->topic == Topic::device || check->topic == Topic::hardware;
    if (is_about_devices && (accelerator || !check->accelerator) &&
        !check->name.ends_with("-cells")) {
      chosen.push_back(check);
    }
  }
  return chosen;
}

/// Skips where the device cannot be asked.
inline void expect_passes(const selftest::Check& check, Device& device) {
  if (device.siblings() < check.devices) GTEST_SKIP() << "needs " << check.devices << " devices";
  const auto stream = std::move(device.create_stream()).value();
  selftest::Stage stage = {device, *stream, suits_large_work(device.facts())};
  const auto answer = check.run(stage);
  if (answer.ok()) return;
  const ErrorKind kind = answer.error().kind;
  if (kind == ErrorKind::unsupported || kind == ErrorKind::unavailable) {
    GTEST_SKIP() << answer.error().message;
  }
  ADD_FAILURE() << answer.error().message;
}

inline std::string test_name_of(const selftest::Check& check) {
  std::string name(check.name);
  for (char& letter : name) {
    if (letter == '-') letter = '_';
  }
  return name;
}

}  // namespace assay
