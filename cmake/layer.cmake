# Settings of all targets, and the functions that create a layer and its unit tests.
#
# A layer is src/<layer> and the headers include/perdure/<layer>. Its own folder is a PRIVATE
# include root, and so is src/, for what a lower layer shares: "<layer>/api/x.hpp". tools/tidy.py
# lets a layer include no other private header of another one.

include(unity)

# The language level, the warnings, and the unity build. PRIVATE where it must not reach a consumer.
# Call it when the target has all its sources.
function(perdure_compile_rules target)
  target_compile_features(${target} PRIVATE cxx_std_23)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF C_EXTENSIONS ON
                                             POSITION_INDEPENDENT_CODE ON)
  target_compile_options(
    ${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                      $<$<BOOL:${PERDURE_WERROR}>:-Werror>)
  # g++ 12 gives a false warning about overlapping copies in std::string's operator+ (GCC bug 105651).
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>)
  # Instrumentation causes false "uninitialized" warnings of g++; the plain builds still check.
  if(CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  endif()
  perdure_unity(${target})
endfunction()

# perdure_layer(<layer>): the static library perdure_<layer>, from PERDURE_<LAYER>_SOURCES.
function(perdure_layer layer)
  string(TOUPPER ${layer} upper)
  set(target perdure_${layer})
  add_library(${target} STATIC ${PERDURE_${upper}_SOURCES})
  add_library(perdure::${layer} ALIAS ${target})
  perdure_compile_rules(${target})
  target_compile_features(${target} PUBLIC cxx_std_23)
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${layer})
  target_include_directories(
    ${target}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} "${PROJECT_SOURCE_DIR}/src")
endfunction()
