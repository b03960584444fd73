# assay_split_debug(TARGET): the program without debug information, a third of its size, which is in
# TARGET.debug beside it, where debuggers and addr2line find it.
function(assay_split_debug target)
  add_custom_command(TARGET ${target} POST_BUILD
    COMMAND ${CMAKE_OBJCOPY} --only-keep-debug $<TARGET_FILE:${target}> ${target}.debug
    COMMAND ${CMAKE_STRIP} $<TARGET_FILE:${target}>
    COMMAND ${CMAKE_OBJCOPY} --add-gnu-debuglink=${target}.debug $<TARGET_FILE:${target}>
    WORKING_DIRECTORY $<TARGET_FILE_DIR:${target}> BYPRODUCTS ${CMAKE_CURRENT_BINARY_DIR}/${target}.debug
    VERBATIM)
endfunction()
