# Which commit is being built, for `fairlead --version` and fairlead_build_info.
#
#   write_commit(FILE)
#
# writes a C++ file that defines it: 12 digits, with "-dirty" where tracked files differ; "unknown" outside a clone. It
# is written only when that changes, so a new commit compiles this one file and links the program. The clone's log of
# HEAD makes ninja configure again after a commit or a checkout. -DFAIRLEAD_COMMIT=… says it instead, for builds from
# an archive.
set(FAIRLEAD_COMMIT "" CACHE STRING "The commit to name; empty: what git says")

function(write_commit file)
  set(commit ${FAIRLEAD_COMMIT})
  if(NOT commit)
    set(commit unknown)
    set(git git -C ${PROJECT_SOURCE_DIR})
    execute_process(COMMAND ${git} rev-parse --path-format=absolute --show-toplevel --git-path logs/HEAD --short=12 HEAD
                    OUTPUT_VARIABLE told ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
    string(REPLACE "\n" ";" told "${told}")
    list(LENGTH told words)
    # An archive that was unpacked inside somebody else's clone is not of that clone.
    if(NOT failed AND words EQUAL 3)
      list(GET told 0 top)
      list(GET told 1 log)
      file(REAL_PATH ${PROJECT_SOURCE_DIR} source)
      if(top STREQUAL source)
        list(GET told 2 commit)
        execute_process(COMMAND ${git} diff-index --quiet HEAD -- RESULT_VARIABLE changed OUTPUT_QUIET ERROR_QUIET)
        if(changed)
          string(APPEND commit -dirty)
        endif()
        if(EXISTS ${log})
          set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${log})
        endif()
      endif()
    endif()
  endif()
  file(CONFIGURE OUTPUT ${file} @ONLY CONTENT
       "#include \"program/build_info.h\"\n\nstd::string_view fairlead::program::commit() { return \"@commit@\"; }\n")
endfunction()
