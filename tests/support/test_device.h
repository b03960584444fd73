// Devices for tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "compute/device/backend.h"

namespace assay {

inline std::unique_ptr<Device> open_test_device(const std::string& choice) {
  auto backends = make_backends();
  auto device = open_device(backends, choice);
  if (!device) {
    ADD_FAILURE() << device.error().message;
    return nullptr;
  }
  return std::move(device).value();
}

/// Opens a scripted device; `script` is as in ASSAY_FAKE.
inline std::unique_ptr<Device> open_fake_device(const std::string& script) {
  setenv("ASSAY_FAKE", script.c_str(), 1);
  auto device = open_test_device("fake");
  unsetenv("ASSAY_FAKE");
  return device;
}

}  // namespace assay
