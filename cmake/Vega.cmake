# assay_vega(OUT): the parts of Vega that the report's charts need (src/judge/report/page/*.js), from
# Debian's libjs-vega. The package has them one by one; page/vega.js puts them together.
function(assay_vega out)
  set(parts util time format loader dataflow scale statistics canvas scenegraph transforms
      view-transforms encode expression selection functions event-selector parser runtime view
      interpreter)
  find_path(VEGA_FOLDER vega-scenegraph.min.js
            PATHS /usr/share/javascript/vega /usr/share/nodejs/vega/build)
  if(NOT VEGA_FOLDER)
    message(FATAL_ERROR "vega-scenegraph.min.js was not found in /usr/share/javascript/vega; "
            "install the package libjs-vega, or name its folder with -DVEGA_FOLDER=")
  endif()
  set(files "")
  foreach(part IN LISTS parts)
    if(NOT EXISTS ${VEGA_FOLDER}/vega-${part}.min.js)
      message(FATAL_ERROR "${VEGA_FOLDER}/vega-${part}.min.js is missing; install libjs-vega")
    endif()
    list(APPEND files ${VEGA_FOLDER}/vega-${part}.min.js)
  endforeach()
  # Its licences ask for their notices wherever it goes.
  set(notices /usr/share/doc/libjs-vega/copyright)
  if(NOT EXISTS ${notices})
    message(FATAL_ERROR "${notices} is missing; install libjs-vega with its licences")
  endif()
  set(${out} ${files} ${notices} PARENT_SCOPE)
endfunction()
