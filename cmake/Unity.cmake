# assay_unity(TARGET) compiles up to ASSAY_UNITY files of a room together: most of the time goes into
# headers, and a clean build takes half as long. Names in unnamed namespaces of neighbours must then
# differ, which they should for the reader's sake too; files that register themselves all use the same
# few names, in a namespace of each file's own. A new file shifts the groups of its room, not those of
# others.
function(assay_unity target)
  if(ASSAY_UNITY LESS_EQUAL 1)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${folder})
    string(FIND ${source} ${CMAKE_BINARY_DIR}/ generated)
    if(generated EQUAL 0 OR NOT source MATCHES "\\.cpp$")
      continue()
    endif()
    string(REGEX REPLACE "^${CMAKE_SOURCE_DIR}/(src|tests)/([a-z0-9_]+).*" "\\2" room ${source})
    math(EXPR group "0${count_${room}} / ${ASSAY_UNITY}")
    math(EXPR count_${room} "0${count_${room}} + 1")
    set_source_files_properties(${source} TARGET_DIRECTORY ${target} PROPERTIES
                                UNITY_GROUP ${room}_${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
