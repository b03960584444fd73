// Shared by the tests that execute kernels.
#pragma once

#include <gtest/gtest.h>

#include "compile.h"
#include "launching.h"

#define SKIP_WITHOUT_COMPILER() \
  if (!no_compiler().empty()) GTEST_SKIP() << no_compiler()

namespace mi300x {

inline const Settings& usual = default_settings();

/// Returns the fault with which `act` ends; fails the test if there is none.
template <typename Act>
Fault fault_of(Act act) {
  try {
    act();
  } catch (const Fault& fault) {
    return fault;
  }
  ADD_FAILURE() << "no fault";
  return {FaultKind::unknown_instruction, ""};
}

}  // namespace mi300x
