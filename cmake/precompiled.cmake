# Headers of others that nearly every source needs, compiled once per preset: they are two thirds of what
# compiling a small source costs. Headers of this project are not among them, and a source still
# includes all that it uses (scripts/check-headers compiles without this).
#
# The compiler cache goes by what is in these headers, not by the bytes of the compiled form, which
# differ from folder to folder: see CCACHE_PCH_EXTSUM in scripts/build.
set(STANDARD_HEADERS
    <algorithm> <array> <charconv> <chrono> <coroutine> <deque> <expected> <functional> <map> <memory>
    <optional> <set> <span> <string> <string_view> <unordered_map> <unordered_set> <utility> <variant>
    <vector> <fmt/format.h> <boost/json/value.hpp>)
set(TEST_HEADERS ${STANDARD_HEADERS} <gmock/gmock.h> <gtest/gtest.h>)

file(WRITE ${CMAKE_BINARY_DIR}/nothing.cc "")

# precompiled_headers(NAME LIBRARIES… HEADERS…): what use_precompiled_headers(TARGET NAME) uses.
function(precompiled_headers name)
  cmake_parse_arguments(ARG "" "" "LIBRARIES;HEADERS" ${ARGN})
  add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/nothing.cc)
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES})
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
  # The compiled form names the folder it was made in: it is made anew, never taken from the cache.
  set_target_properties(${name} PROPERTIES CXX_COMPILER_LAUNCHER "")
  # What the cache goes by: the text of the headers.
  list(TRANSFORM ARG_HEADERS REPLACE "(.+)" "#include \\1\n" OUTPUT_VARIABLE includes)
  string(JOIN "" text ${includes})
  file(WRITE ${CMAKE_BINARY_DIR}/${name}.cc "${text}")
  execute_process(
    COMMAND ${CMAKE_CXX_COMPILER} -std=c++2b -E -P ${CMAKE_BINARY_DIR}/${name}.cc
    OUTPUT_VARIABLE preprocessed COMMAND_ERROR_IS_FATAL ANY)
  string(SHA256 sum "${preprocessed}")
  file(WRITE ${CMAKE_BINARY_DIR}/CMakeFiles/${name}.dir/cmake_pch.hxx.pch.sum "${sum}")
endfunction()

# As CMake's REUSE_FROM, but with an option whose path the compiler cache understands.
function(use_precompiled_headers target name)
  set(compiled ${CMAKE_BINARY_DIR}/CMakeFiles/${name}.dir/cmake_pch.hxx.pch)
  get_target_property(sources ${target} SOURCES)
  set_property(SOURCE ${sources} APPEND PROPERTY OBJECT_DEPENDS ${compiled})
  target_compile_options(${target} PRIVATE "SHELL:-include-pch ${compiled}")
  add_dependencies(${target} ${name})
endfunction()

precompiled_headers(standard_headers LIBRARIES fmt::fmt Boost::json HEADERS ${STANDARD_HEADERS})
precompiled_headers(test_headers LIBRARIES fmt::fmt Boost::json GTest::gtest GTest::gmock
                    HEADERS ${TEST_HEADERS})
if(NOT FAIRLEAD_TESTS)
  set_target_properties(test_headers PROPERTIES EXCLUDE_FROM_ALL ON)
endif()
