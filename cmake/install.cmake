# `cmake --install`: headers, archives, a CMake package, perdure.pc, and the licences.

include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/perdure")
set(doc_dir "${CMAKE_INSTALL_DATAROOTDIR}/doc/perdure")

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/perdure" TYPE INCLUDE FILES_MATCHING PATTERN "*.hpp")
install(TARGETS perdure perdure_agent perdure_runtime perdure_store perdure_core perdure_sqlite3
        EXPORT perdure-targets)
install(EXPORT perdure-targets NAMESPACE perdure:: DESTINATION "${package_dir}")

configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/perdure-config.cmake.in"
  "${PROJECT_BINARY_DIR}/generated/perdure-config.cmake" INSTALL_DESTINATION "${package_dir}"
  NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
# Before 1.0 a minor version may break its users.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/generated/perdure-config-version.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/generated/perdure-config.cmake"
              "${PROJECT_BINARY_DIR}/generated/perdure-config-version.cmake"
        DESTINATION "${package_dir}")

# The prefix is found from where the file lies, so that an installed tree can be moved, and
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

install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${doc_dir}")
if(NOT PERDURE_SYSTEM_SQLITE)
  install(FILES "${PROJECT_SOURCE_DIR}/cmake/SQLITE-NOTICE.txt" DESTINATION "${doc_dir}")
endif()
