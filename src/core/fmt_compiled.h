// Files that format into an existing string (fmt::format_to) include this header. It says that
// fmt_compiled.cpp has the code for that; <fmt/format.h> alone makes each unit compile a copy.
#pragma once

#include <fmt/format.h>

#ifndef FMT_HEADER_ONLY
FMT_BEGIN_NAMESPACE
namespace detail {

extern template FMT_API void vformat_to(buffer<char>&, string_view,
                                        basic_format_args<FMT_BUFFER_CONTEXT(char)>, locale_ref);

}  // namespace detail
FMT_END_NAMESPACE
#endif
