# cmake --install, find_package(llmcalc) and the .deb. The program with its manual page and shell completions is the
# component `program` (the .deb holds that one); headers and libraries are `development`.

if(TARGET llmcalc)
  # Written by the program itself, from the definitions that --help is made of.
  set(made ${PROJECT_BINARY_DIR}/generated/share)
  file(MAKE_DIRECTORY ${made})
  add_custom_command(OUTPUT ${made}/llmcalc.1 ${made}/llmcalc.bash ${made}/_llmcalc ${made}/llmcalc.fish
    COMMAND llmcalc man > ${made}/llmcalc.1
    COMMAND llmcalc completions bash > ${made}/llmcalc.bash
    COMMAND llmcalc completions zsh > ${made}/_llmcalc
    COMMAND llmcalc completions fish > ${made}/llmcalc.fish
    DEPENDS llmcalc COMMENT "Writing the manual page and the completions" VERBATIM)
  add_custom_target(llmcalc_share ALL DEPENDS ${made}/llmcalc.1)

  install(TARGETS llmcalc RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
  install(FILES ${made}/llmcalc.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
  install(FILES ${made}/llmcalc.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME llmcalc
    COMPONENT program)
  install(FILES ${made}/_llmcalc DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT program)
  install(FILES ${made}/llmcalc.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT program)
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright COMPONENT program)
  install(FILES CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
endif()

install(TARGETS llmcalc_core llmcalc_read llmcalc_report EXPORT llmcalcTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(DIRECTORY calc/core calc/read calc/report DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/llmcalc
  COMPONENT development FILES_MATCHING PATTERN "*.hpp")
install(FILES ${PROJECT_BINARY_DIR}/generated/core/version.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/llmcalc/core
  COMPONENT development)

include(CMakePackageConfigHelpers)
set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/llmcalc)
configure_package_config_file(cmake/llmcalcConfig.cmake.in generated/llmcalcConfig.cmake
  INSTALL_DESTINATION ${config_folder})
write_basic_package_version_file(generated/llmcalcConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(EXPORT llmcalcTargets NAMESPACE llmcalc:: DESTINATION ${config_folder} COMPONENT development)
install(FILES ${PROJECT_BINARY_DIR}/generated/llmcalcConfig.cmake ${PROJECT_BINARY_DIR}/generated/llmcalcConfigVersion.cmake
  DESTINATION ${config_folder} COMPONENT development)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "the llmcalc authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL program)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME llmcalc)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
# What measuring and plotting open at run time; estimates need none of it.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libopenblas0, gnuplot-nox")
find_program(LLMCALC_SHLIBDEPS dpkg-shlibdeps)
mark_as_advanced(LLMCALC_SHLIBDEPS)
if(LLMCALC_SHLIBDEPS)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
else()
  set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6")
endif()
include(CPack)
