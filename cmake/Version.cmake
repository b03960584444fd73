# assay_version(OUT) generates the source that defines core/version.h, and sets OUT to its path. Every
# build asks git for the commit; the file changes, and is compiled, only if the answer does.
function(assay_version out)
  set(source ${CMAKE_BINARY_DIR}/version.cpp)
  set(build_type ${CMAKE_BUILD_TYPE})
  if(ASSAY_SANITIZE)
    string(APPEND build_type " -fsanitize=${ASSAY_SANITIZE}")
  endif()
  add_custom_target(assay_version
    COMMAND ${CMAKE_COMMAND} -DOUT=${source} -DSOURCE_DIR=${CMAKE_SOURCE_DIR}
            -DVERSION=${PROJECT_VERSION} -DGLIBC=${ASSAY_OLDEST_GLIBC}
            "-DCOMPILER=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}"
            "-DBUILD_TYPE=${build_type}" -P ${CMAKE_SOURCE_DIR}/cmake/WriteVersion.cmake
    BYPRODUCTS ${source}
    VERBATIM)
  set(${out} ${source} PARENT_SCOPE)
endfunction()
