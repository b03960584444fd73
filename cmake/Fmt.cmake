# Sets ASSAY_FMT to what a target that uses fmt links. src/core/fmt_compiled.cpp compiles the part of fmt that
# is not in headers; it knows fmt 9.1, which both Debian 12 and Ubuntu 24.04 have.
find_package(fmt REQUIRED)
set(ASSAY_FMT "")
if(NOT fmt_VERSION VERSION_EQUAL 9.1.0)
  set(ASSAY_FMT fmt::fmt-header-only)
endif()
