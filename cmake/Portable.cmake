# assay_portable(TARGET): the program finds nothing but glibc on the machine where it starts, and an old
# one is enough. src/core/older_glibc has what its static libraries want from newer ones. The linker's
# map says which object needs what (scripts/glibc-needs).
set(ASSAY_SYSROOT "" CACHE PATH
    "a folder with the glibc to link with, as scripts/sysroot makes it; empty: this machine's")
if(ASSAY_SYSROOT)
  if(NOT EXISTS ${ASSAY_SYSROOT}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/libc.so)
    message(FATAL_ERROR "ASSAY_SYSROOT=${ASSAY_SYSROOT} has no usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/libc.so; "
            "scripts/sysroot makes such a folder")
  endif()
  set(ASSAY_OLDEST_GLIBC 2.31)
  # What is released is the same in whatever folder it was built. Of two maps that fit, GCC takes the
  # later one.
  add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}=/usr/src/assay
                      -ffile-prefix-map=${CMAKE_BINARY_DIR}=/usr/src/assay/build)
else()
  set(ASSAY_OLDEST_GLIBC 2.34)
endif()

function(assay_portable target)
  target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc
                      -Wl,-Map=${CMAKE_CURRENT_BINARY_DIR}/${target}.map,--cref)
  if(ASSAY_SYSROOT)
    # With --sysroot alone, g++ still looks first where this machine's glibc is. The other glibc's
    # libpthread and libdl are libraries of their own.
    target_link_options(${target} PRIVATE --sysroot=${ASSAY_SYSROOT}
                        -B${ASSAY_SYSROOT}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE})
    target_link_libraries(${target} PRIVATE -lpthread -ldl -lm)
    # On an even older glibc the dynamic linker would list what is missing; the program is made to start
    # there, and says itself what it needs. It then names no version of glibc after 2.27, of 2018, which has the
    # exp2f() and log2f() that kernels for CPUs call: the oldest ones check for errors, and made attention 15%
    # slower.
    target_sources(${target} PRIVATE src/core/older_glibc/refusal.cpp)
    add_custom_command(TARGET ${target} POST_BUILD
      COMMAND python3 ${CMAKE_SOURCE_DIR}/cmake/unname_versions.py $<TARGET_FILE:${target}> 2.27
              ${ASSAY_OLDEST_GLIBC}
      VERBATIM)
  endif()
endfunction()
