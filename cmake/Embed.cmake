# assay_embed(OUT NAME GLOB...) puts the matching files into a C++ source that defines
#   const std::vector<assay::EmbeddedFile>& assay::embedded_NAME()
# (src/core/embedded.h) and sets OUT to its path. A new file is found by its place alone. Patterns are
# relative to the source tree or absolute.
function(assay_embed out name)
  set(patterns "")
  foreach(pattern IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH pattern BASE_DIRECTORY ${CMAKE_SOURCE_DIR})
    list(APPEND patterns ${pattern})
  endforeach()
  file(GLOB files CONFIGURE_DEPENDS ${patterns})
  set(source ${CMAKE_BINARY_DIR}/embedded_${name}.cpp)
  string(REPLACE ";" "|" joined "${files}")
  add_custom_command(
    OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DNAME=${name} -DFILES=${joined} -DOUT=${source}
            -P ${CMAKE_SOURCE_DIR}/cmake/WriteEmbedded.cmake
    DEPENDS ${files} ${CMAKE_SOURCE_DIR}/cmake/WriteEmbedded.cmake
    VERBATIM)
  set_source_files_properties(${source} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  set(${out} ${source} PARENT_SCOPE)
endfunction()
