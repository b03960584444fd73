# assay_install(TARGET) says what `cmake --install` puts where: the program; its manual page and shells'
# completions, which it prints itself; documents and integrations, in the tree's own layout, so that links
# between them hold; licences.
include(GNUInstallDirs)
function(assay_install target)
  set(folder ${CMAKE_BINARY_DIR}/share)
  file(MAKE_DIRECTORY ${folder})
  set(files "")
  foreach(file "assay.1 man" "assay.bash completion bash" "assay.zsh completion zsh"
          "assay.fish completion fish")
    separate_arguments(words UNIX_COMMAND "${file}")
    list(POP_FRONT words name)
    add_custom_command(OUTPUT ${folder}/${name} COMMAND ${target} ${words} > ${folder}/${name}
                       DEPENDS ${target} VERBATIM)
    list(APPEND files ${folder}/${name})
  endforeach()
  add_custom_target(assay_share ALL DEPENDS ${files})

  install(TARGETS ${target})
  install(FILES ${folder}/assay.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${folder}/assay.bash RENAME assay
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${folder}/assay.zsh RENAME _assay
          DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${folder}/assay.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
  install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN results EXCLUDE)
  install(DIRECTORY integrations DESTINATION ${CMAKE_INSTALL_DOCDIR} USE_SOURCE_PERMISSIONS)
endfunction()
