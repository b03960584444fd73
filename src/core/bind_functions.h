// Lists of functions to load. A vendor writes each list once, as a macro
//   #define ASSAY_X_FUNCTIONS(F) F(member, symbol) ...
// The macro fills a table here, and the tests check it against the vendor's real headers.
#pragma once

#include <fmt/format.h>

#include "core/result.h"
#include "core/shared_library.h"

// Steps of a function `Status bind(const SharedLibrary& library, Api& api)`.
#define ASSAY_BIND(member, symbol)                                                                \
  if (!library.bind(api.member, {#symbol})) {                                                     \
    return ::assay::Error{::assay::ErrorKind::unavailable,                                        \
                          fmt::format("{} has no function {}: it is older than what assay needs", \
                                      library.path(), #symbol)};                                  \
  }
#define ASSAY_BIND_OPTIONAL(member, symbol) library.bind(api.member, {#symbol});
