# assay_unity(TARGET) compiles ASSAY_UNITY neighbouring files together: most of the time goes into
# headers, and a clean build takes half as long. Names in unnamed namespaces of neighbours must then
# differ, which they should for the reader's sake too. Files that register themselves all use the
# same few names, and stay alone.
function(assay_unity target)
  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  set(count 0)
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${folder})
    string(FIND ${source} ${CMAKE_BINARY_DIR}/ generated)
    if(generated EQUAL 0 OR NOT source MATCHES "\\.cpp$")
      continue()
    endif()
    file(STRINGS ${source} registers REGEX "::Add registered" LIMIT_COUNT 1)
    if(registers)
      continue()
    endif()
    math(EXPR group "${count} / ${ASSAY_UNITY}")
    math(EXPR count "${count} + 1")
    set_source_files_properties(${source} TARGET_DIRECTORY ${target} PROPERTIES
                                UNITY_GROUP ${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
