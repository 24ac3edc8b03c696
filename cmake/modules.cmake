# One static library per folder of src/, with its dependencies declared here and nowhere else.
#
#   fairlead_module(store DEPENDS base wire runtime LIBRARIES PkgConfig::SQLITE)
#
# takes every *.cc beside it; *_test.cc become <name>_test, a GoogleTest program run by ctest.
# scripts/check-layers.py reads the same lines and fails on an #include that no arrow allows.
function(fairlead_module name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LIBRARIES;TEST_DEPENDS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(TRANSFORM ARG_DEPENDS PREPEND fairlead_)
  list(TRANSFORM ARG_TEST_DEPENDS PREPEND fairlead_)
  if(sources)
    add_library(fairlead_${name} STATIC ${sources})
    target_include_directories(fairlead_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(fairlead_${name} PUBLIC ${ARG_DEPENDS} ${ARG_LIBRARIES})
  else()
    add_library(fairlead_${name} INTERFACE)
    target_include_directories(fairlead_${name} INTERFACE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(fairlead_${name} INTERFACE ${ARG_DEPENDS} ${ARG_LIBRARIES})
  endif()
  if(FAIRLEAD_TESTS AND tests)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test fairlead_${name} ${ARG_TEST_DEPENDS} GTest::gtest_main)
    add_test(NAME ${name} COMMAND ${name}_test)
  endif()
endfunction()
