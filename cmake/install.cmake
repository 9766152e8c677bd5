# `cmake --install`: the program, headers, archives, a CMake package, perdure.pc, the documents, the
# examples, and the licences. The component `documents` is the documents and examples alone.

include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/perdure")
set(doc_dir "${CMAKE_INSTALL_DATAROOTDIR}/doc/perdure")

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/perdure" TYPE INCLUDE FILES_MATCHING PATTERN "*.hpp")
install(TARGETS perdure perdure_adapters perdure_agent perdure_runtime perdure_store perdure_core
                perdure_sqlite3
        EXPORT perdure-targets)
# The program, its man pages and its completions; the last two are made by the program itself.
if(PERDURE_BUILD_CLI)
  install(TARGETS perdure_program)
  set(cli_pages "${PROJECT_BINARY_DIR}/generated/cli")
  add_custom_command(
    OUTPUT "${cli_pages}/perdure.1"
    COMMAND perdure_program reference man "${cli_pages}"
    COMMAND perdure_program completion bash > "${cli_pages}/perdure.bash"
    COMMAND perdure_program completion zsh > "${cli_pages}/_perdure"
    COMMAND perdure_program completion fish > "${cli_pages}/perdure.fish"
    DEPENDS perdure_program
    VERBATIM)
  add_custom_target(perdure_pages ALL DEPENDS "${cli_pages}/perdure.1")
  install(DIRECTORY "${cli_pages}/" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1"
          FILES_MATCHING PATTERN "*.1")
  install(FILES "${cli_pages}/perdure.bash" RENAME perdure
          DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/bash-completion/completions")
  install(FILES "${cli_pages}/_perdure"
          DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/zsh/site-functions")
  install(FILES "${cli_pages}/perdure.fish"
          DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/fish/vendor_completions.d")
endif()
install(EXPORT perdure-targets NAMESPACE perdure:: DESTINATION "${package_dir}")

configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/perdure-config.cmake.in"
  "${PROJECT_BINARY_DIR}/generated/perdure-config.cmake" INSTALL_DESTINATION "${package_dir}"
  NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
# Before 1.0 a minor version may break compatibility.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/generated/perdure-config-version.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/generated/perdure-config.cmake"
              "${PROJECT_BINARY_DIR}/generated/perdure-config-version.cmake"
        DESTINATION "${package_dir}")

# The prefix is relative to the file's location, so that an installed tree can be moved, and
# `cmake --install --prefix` needs no second configure.
file(RELATIVE_PATH pc_to_prefix "/p/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/p")
if(PERDURE_SYSTEM_SQLITE)
  set(pc_requires ", sqlite3")
  set(pc_libs "")
else()
  set(pc_requires "")
  set(pc_libs " -lperdure_sqlite3")
endif()
configure_file("${PROJECT_SOURCE_DIR}/cmake/perdure.pc.in" "${PROJECT_BINARY_DIR}/generated/perdure.pc"
               @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/generated/perdure.pc"
        DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

# The documents keep their layout, so that links between them work; links to headers use a symbolic
# link to the installed headers.
install(FILES "${PROJECT_SOURCE_DIR}/README.md" "${PROJECT_SOURCE_DIR}/ARCHITECTURE.md"
              "${PROJECT_SOURCE_DIR}/CHANGELOG.md" "${PROJECT_SOURCE_DIR}/CONTRIBUTING.md"
              "${PROJECT_SOURCE_DIR}/SECURITY.md" "${PROJECT_SOURCE_DIR}/STYLE.md"
        DESTINATION "${doc_dir}" COMPONENT documents)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs" "${PROJECT_SOURCE_DIR}/examples" DESTINATION "${doc_dir}"
        COMPONENT documents USE_SOURCE_PERMISSIONS PATTERN "*_test.py" EXCLUDE PATTERN "__pycache__" EXCLUDE)
file(RELATIVE_PATH doc_to_include "${CMAKE_INSTALL_PREFIX}/${doc_dir}" "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
install(CODE "
  file(CREATE_LINK \"${doc_to_include}\"
       \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${doc_dir}/include\" SYMBOLIC)" COMPONENT documents)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${doc_dir}" COMPONENT documents)
if(NOT PERDURE_SYSTEM_SQLITE)
  install(FILES "${PROJECT_SOURCE_DIR}/cmake/SQLITE-NOTICE.txt" DESTINATION "${doc_dir}")
endif()
