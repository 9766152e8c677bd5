# Configures the project in this folder with one dependency missing, each in turn. PREFIX: where Perdure is
# installed; FOLDER: to configure in; C_COMPILER.

function(configure missing how code output)
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -E env ${ARGN} "${CMAKE_COMMAND}" --fresh -G Ninja -S "${CMAKE_CURRENT_LIST_DIR}"
            -B "${FOLDER}" "-DCMAKE_PREFIX_PATH=${PREFIX}" "-DCMAKE_C_COMPILER=${C_COMPILER}"
            "-DMISSING=${missing}" "-DHOW=${how}" ${disabled}
    OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE ended)
  set(${code} "${ended}" PARENT_SCOPE)
  set(${output} "${said}" PARENT_SCOPE)
endfunction()

function(expect_missing missing)
  configure("${missing}" OPTIONAL code said ${ARGN})
  if(NOT code EQUAL 0)
    message(SEND_ERROR "a program that can do without Perdure is not configured without ${missing}:\n${said}")
  endif()
  configure("${missing}" REQUIRED code said ${ARGN})
  if(code EQUAL 0 OR NOT said MATCHES "${missing}")
    message(SEND_ERROR "the error for a program that requires Perdure does not name ${missing}:\n${said}")
  endif()
endfunction()

foreach(package Threads OpenSSL fmt)
  set(disabled "-DCMAKE_DISABLE_FIND_PACKAGE_${package}=ON")
  expect_missing("${package}")
endforeach()
# CMake's search for OpenSSL needs the module FindPkgConfig, but not the program pkg-config.
set(disabled -DPKG_CONFIG_EXECUTABLE=/nowhere/pkg-config)
expect_missing(PkgConfig)

# Hides each dependency that pkg-config searches in turn, by copying the files of the others. OpenSSL's files
# are included because libpq's file requires them.
set(disabled "")
find_program(PKG_CONFIG NAMES pkg-config pkgconf REQUIRED)
set(modules libpq libcurl yaml-cpp libpcre2-8)
foreach(missing IN LISTS modules)
  set(others "${FOLDER}-without-${missing}")
  foreach(there IN LISTS modules ITEMS libssl libcrypto)
    if(there STREQUAL missing)
      continue()
    endif()
    execute_process(COMMAND "${PKG_CONFIG}" --variable=pcfiledir "${there}" OUTPUT_VARIABLE folder
                    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    file(COPY "${folder}/${there}.pc" DESTINATION "${others}")
  endforeach()
  expect_missing("${missing}" "PKG_CONFIG_LIBDIR=${others}" "PKG_CONFIG_PATH=")
endforeach()
