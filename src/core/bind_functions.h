// Binds the functions of a shared library. A list of them is written once, as a macro
//   #define ASSAY_X(F) F(member, symbol) ...
// ASSAY_X(ASSAY_BIND) fills a table of pointers, and tests check the list against the vendor's
// headers (tests/abi). Lists named ASSAY_X_FUNCTIONS have a third argument and their own macros
// instead of ASSAY_BIND.
#pragma once

#include <fmt/format.h>

#include "core/result.h"
#include "core/shared_library.h"

// Statements for a function that has a SharedLibrary `library` and a table `api`. If the symbol is
// missing, ASSAY_BIND returns the error unavailable, and ASSAY_BIND_OPTIONAL sets the member to
// null.
#define ASSAY_BIND(member, symbol)                                                                \
  if (!library.bind(api.member, {#symbol})) {                                                     \
    return ::assay::Error{::assay::ErrorKind::unavailable,                                        \
                          fmt::format("{} has no function {}: it is older than what assay needs", \
                                      library.path(), #symbol)};                                  \
  }
#define ASSAY_BIND_OPTIONAL(member, symbol) library.bind(api.member, {#symbol});
