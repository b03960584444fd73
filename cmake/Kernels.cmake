# assay_cpu_kernels(OUT NAME GLOB) compiles the matching kernel files for the CPU, once per instruction
# set, and sets OUT to the objects. The best set the machine has is chosen at run time
# (src/compute/device/kernel_registry.h). The pattern is relative to the source tree.
function(assay_cpu_kernels out name pattern)
  file(GLOB kernels CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${pattern})
  set_source_files_properties(${kernels} PROPERTIES LANGUAGE CXX)
  set(optimize -O3)
  if(ASSAY_SANITIZE)
    # Its speed is nobody's result. Where sanitizers check every sum and index, a kernel whose functions
    # and loops become one body takes up to 40 s to compile, seven times as long.
    set(optimize -O1 -DCOMPILE_QUICKLY)
  else()
    # Their tiles are loops of known lengths, which -O3 unrolls for a minute.
    set(tiled ${kernels})
    list(FILTER tiled INCLUDE REGEX "/flash_(attention|backward)(_wgmma)?\\.cu$")
    set_source_files_properties(${tiled} PROPERTIES COMPILE_OPTIONS -O2)
    # These are for GPUs: on CPUs only tests run them.
    set(for_gpus ${kernels})
    list(FILTER for_gpus INCLUDE REGEX "/(paged_tiles|skinny_product)\\.cu$")
    set_source_files_properties(${for_gpus} PROPERTIES COMPILE_OPTIONS -O1)
  endif()
  if(ASSAY_CPU_VARIANTS)
    set(variants ${ASSAY_CPU_VARIANTS})
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set(variants x86_64_v2 x86_64_v3 x86_64_v4)
  else()
    set(variants generic)
  endif()
  set(objects)
  foreach(variant IN LISTS variants)
    add_library(${name}_${variant} OBJECT ${kernels})
    target_link_libraries(${name}_${variant} PRIVATE assay_options)
    target_include_directories(${name}_${variant} PRIVATE ${CMAKE_SOURCE_DIR}/src/compute/kernels)
    # Most of the time of a small kernel goes into this header and the compiler's intrinsics.
    target_precompile_headers(${name}_${variant} PRIVATE ${CMAKE_SOURCE_DIR}/src/compute/kernels/dialect.h)
    # fp-contract=fast only where the hardware has fma: results stay within the tests' bounds.
    # local-exec: kernels are only ever linked into executables, and with sanitizers the AVX-512 code
    # for another TLS model is one that ld cannot relax.
    target_compile_options(${name}_${variant} PRIVATE -x c++ ${optimize} -fno-math-errno
                           -ftls-model=local-exec
                           -DASSAY_CPU_VARIANT=${variant})
    if(NOT variant STREQUAL generic)
      string(REPLACE "x86_64_" "x86-64-" march ${variant})
      target_compile_options(${name}_${variant} PRIVATE -march=${march})
      if(variant STREQUAL x86_64_v4)
        target_compile_options(${name}_${variant} PRIVATE -mprefer-vector-width=512)
      endif()
    endif()
    list(APPEND objects $<TARGET_OBJECTS:${name}_${variant}>)
  endforeach()
  set(${out} ${objects} PARENT_SCOPE)
endfunction()
