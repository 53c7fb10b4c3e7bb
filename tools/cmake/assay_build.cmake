# Build rules shared by all folders: floating-point contract, warnings, dependencies, registries.

# fp_strict: every target computes exactly what is written. No contraction of a*b+c, no fast-math.
add_library(assay_fp_strict INTERFACE)
target_compile_options(assay_fp_strict INTERFACE -ffp-contract=off -fno-fast-math)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 drops roundings to float where it vectorizes straight-line code: (double)(float)x becomes x. The test
  # reference/rounded/every_operation_rounds shows it.
  target_compile_options(assay_fp_strict INTERFACE -fno-tree-slp-vectorize)
  # By default GCC collects garbage each time its memory has grown by a third beyond 128 MiB. From 1 GiB on is early
  # enough, and saves a twelfth of the time.
  target_compile_options(assay_fp_strict INTERFACE "SHELL:--param ggc-min-heapsize=1048576")
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 19)
  # xtensor 0.24 predates CWG 2398 (P0522), which clang applies from version 19 on.
  target_compile_options(assay_fp_strict INTERFACE -fno-relaxed-template-template-args -Wno-deprecated-no-relaxed-template-template-args)
endif()
target_include_directories(assay_fp_strict INTERFACE "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}/generated")
if(CMAKE_CXX_FLAGS MATCHES "-ffast-math|-Ofast")
  message(FATAL_ERROR "Assay needs IEEE arithmetic: remove -ffast-math and -Ofast from CMAKE_CXX_FLAGS")
endif()

add_library(assay_warnings INTERFACE)
target_compile_options(assay_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(assay_warnings INTERFACE -Wno-restrict)  # false positives on std::string: GCC bug 105329
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # std::stable_sort of libstdc++ 12 calls a function that C++17 deprecates, and clang warns of it. GCC keeps this
  # warning for other code.
  target_compile_options(assay_warnings INTERFACE -Wno-deprecated-declarations)
endif()
if(ASSAY_WERROR)
  target_compile_options(assay_warnings INTERFACE -Werror)
endif()

# find_package with an error that names the Debian package.
function(assay_require name version package)
  find_package(${name} ${version} QUIET)
  if(NOT ${name}_FOUND)
    message(FATAL_ERROR "${name} ${version} was not found. On Debian: apt-get install ${package} (or run tools/install_dependencies)")
  endif()
endfunction()

# A library without a package file: an imported target assay_external::<NAME>.
function(assay_require_library name library header package)
  find_library(${name}_LIBRARY ${library})
  find_path(${name}_INCLUDE ${header})
  if(NOT ${name}_LIBRARY OR NOT ${name}_INCLUDE)
    message(FATAL_ERROR "${name} was not found. On Debian: apt-get install ${package} (or run tools/install_dependencies)")
  endif()
  add_library(assay_external::${name} UNKNOWN IMPORTED GLOBAL)
  set_target_properties(assay_external::${name} PROPERTIES
    IMPORTED_LOCATION "${${name}_LIBRARY}" INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${${name}_INCLUDE}")
endfunction()

# Programs that judge allocate very many small arrays: with tcmalloc (gperftools) they take a fifth less time than with
# the allocator of glibc. It prints nothing about large allocations, and fails impossible ones. Sanitizers have an
# allocator of their own.
add_library(assay_allocator INTERFACE)
if(NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  find_library(ASSAY_TCMALLOC_LIBRARY tcmalloc_minimal)
  if(ASSAY_TCMALLOC_LIBRARY)
    target_link_libraries(assay_allocator INTERFACE "-Wl,--push-state,--no-as-needed" "${ASSAY_TCMALLOC_LIBRARY}"
                                                    "-Wl,--pop-state")
  else()
    message(STATUS "tcmalloc was not found: assay is a fifth slower. On Debian: apt-get install libgoogle-perftools-dev")
  endif()
endif()

# Precompiles the headers that most files of a target read. With ccache set CCACHE_SLOPPINESS=pch_defines,time_macros.
set(assay_common_headers <algorithm> <cmath> <functional> <map> <optional> <string> <vector>
                         <tl/expected.hpp> <xtensor/xarray.hpp>)
function(assay_headers_of_gcc target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # False positives on std::string, as above: GCC 12 forgets that precompiled headers are system headers.
    target_compile_options(${target} PRIVATE -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds)
  endif()
endfunction()
function(assay_precompile target)
  if(ASSAY_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE ${assay_common_headers} ${ARGN})
    assay_headers_of_gcc(${target})
  endif()
endfunction()

# Precompiles the same headers once for all targets with the same flags. The sets are library (the flags of the build,
# -O2 in the presets), cold (-O1) and tests (-O1, with Catch2). The compiler does not use a precompiled header that was
# made with other flags; with -Werror this is an error.
function(assay_shared_precompile target set)
  if(NOT ASSAY_PRECOMPILE)
    return()
  endif()
  if(NOT TARGET assay_headers_${set})
    file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/generated/headers_${set}.cpp" CONTENT "" @ONLY)
    add_library(assay_headers_${set} OBJECT "${PROJECT_BINARY_DIR}/generated/headers_${set}.cpp")
    target_link_libraries(assay_headers_${set} PRIVATE assay_fp_strict assay_warnings tl::expected xtensor fmt::fmt
                          nlohmann_json::nlohmann_json)
    set(headers ${assay_common_headers} <fmt/format.h>)
    if(set STREQUAL "tests")
      target_link_libraries(assay_headers_${set} PRIVATE Catch2::Catch2)
      list(APPEND headers <catch2/catch.hpp>)
    else()
      list(APPEND headers <nlohmann/json.hpp>)
    endif()
    if(NOT set STREQUAL "library")
      assay_cold(assay_headers_${set})
    endif()
    target_precompile_headers(assay_headers_${set} PRIVATE ${headers})
    assay_headers_of_gcc(assay_headers_${set})
  endif()
  target_link_libraries(${target} PRIVATE fmt::fmt nlohmann_json::nlohmann_json)
  target_compile_options(${target} PRIVATE -fPIC)  # executables, too: CMake gives them -fPIE, which is another flag
  target_precompile_headers(${target} REUSE_FROM assay_headers_${set})
  assay_headers_of_gcc(${target})
endfunction()

# For code that runs at most once for each case, and not for each element: fast compilation is worth more than speed.
# The analyses of pointers and constant arguments that are left out take a tenth of the time of compilation.
function(assay_cold target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -fno-tree-pta -fno-ipa-cp -fno-ipa-sra -fno-ipa-icf)
  endif()
endfunction()
# For code whose speed is measured: kernels.
function(assay_hot target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O3>)
endfunction()

# Adds the kernels of an instruction set: SOURCE, compiled with FLAGS. A processor needs CPU_FEATURES, with the names of
# __builtin_cpu_supports; without any, all processors have the set. Call this function for the slowest set first. Adds
# ASSAY_ISA(name, supported) to ${group}_lines, and the object library ${group}_${name} to ${group}_objects;
# assay_write_instruction_sets writes the lines to generated/${group}.inc.
function(assay_instruction_set group name)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "SOURCE" "FLAGS;CPU_FEATURES")
  add_library(${group}_${name} OBJECT ${arg_SOURCE})
  # Kernels never throw. Without this flag a weak symbol for exceptions may remain.
  target_compile_options(${group}_${name} PRIVATE ${arg_FLAGS} -fno-exceptions)
  target_link_libraries(${group}_${name} PRIVATE assay_fp_strict assay_warnings)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # GCC 12 takes the undefined operand of its own AVX-512 intrinsics for an uninitialized variable (GCC bug 105593).
    target_compile_options(${group}_${name} PRIVATE -Wno-maybe-uninitialized)
  endif()
  assay_hot(${group}_${name})
  set(supported true)
  foreach(feature IN LISTS arg_CPU_FEATURES)
    string(APPEND supported " && (__builtin_cpu_supports(\"${feature}\") != 0)")
  endforeach()
  set(${group}_lines "${${group}_lines}ASSAY_ISA(${name}, (${supported}))\n" PARENT_SCOPE)
  set(${group}_objects ${${group}_objects} $<TARGET_OBJECTS:${group}_${name}> PARENT_SCOPE)
  set(${group}_names ${${group}_names} ${name} PARENT_SCOPE)
endfunction()
function(assay_write_instruction_sets group)
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/generated/${group}.inc" CONTENT "${${group}_lines}" @ONLY)
endfunction()

# Compiles the sources of one folder as one text, at most eight files at a time. Most of the time of a file goes into
# templates that its neighbours instantiate as well (JSON, arrays, containers); together they take a third of the time.
# So names in anonymous namespaces must differ within a folder. Further arguments are regular expressions of folders:
# all folders below one of them count as one folder.
function(assay_compile_together target)
  if(NOT ASSAY_COMPILE_TOGETHER)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    if(source MATCHES "[.]cpp$" AND NOT IS_ABSOLUTE "${source}")
      get_filename_component(folder "${source}" DIRECTORY)
      foreach(whole IN LISTS ARGN)
        string(REGEX REPLACE "^(${whole})/.*" "\\1" folder "${folder}")
      endforeach()
      string(MAKE_C_IDENTIFIER "in_${folder}" folder)
      list(APPEND of_${folder} "${source}")
      list(LENGTH of_${folder} count)
      math(EXPR part "(${count} - 1) / 8")
      set_property(SOURCE "${source}" PROPERTY UNITY_GROUP "${folder}_${part}")
    endif()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC takes the files that one text includes for headers, and warns if their types hold types of anonymous
    # namespaces.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()

# Adds the library of a folder, assay::<folder>. PRECOMPILE lists headers that are precompiled for it alone; without it,
# a library that is not HOT shares precompiled headers with others. TOGETHER, FOLDERS: see assay_compile_together.
function(assay_library folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "COLD;HOT;TOGETHER" "" "SOURCES;LINK;LINK_PRIVATE;PRECOMPILE;FOLDERS")
  add_library(assay_${folder} STATIC ${arg_SOURCES})
  add_library(assay::${folder} ALIAS assay_${folder})
  target_link_libraries(assay_${folder} PUBLIC assay_fp_strict ${arg_LINK} PRIVATE assay_warnings ${arg_LINK_PRIVATE})
  if(arg_COLD)
    assay_cold(assay_${folder})
  elseif(arg_HOT)
    assay_hot(assay_${folder})
  endif()
  if(arg_PRECOMPILE OR arg_HOT)
    assay_precompile(assay_${folder} ${arg_PRECOMPILE})
  elseif(arg_COLD)
    assay_shared_precompile(assay_${folder} cold)
  else()
    assay_shared_precompile(assay_${folder} library)
  endif()
  if(arg_TOGETHER)
    assay_compile_together(assay_${folder} ${arg_FOLDERS})
  endif()
endfunction()

# Adds a Catch2 test program: one CTest per test case, with the name of the test case. Tests in SOURCES need all
# encodings; tests in EACH_ENCODING run over the encodings of the build. See assay_compile_together.
function(assay_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;EACH_ENCODING;LINK")
  if(NOT ASSAY_ALL_TESTS)
    set(arg_SOURCES "")
  endif()
  if(NOT ASSAY_TESTS OR "${arg_SOURCES}${arg_EACH_ENCODING}" STREQUAL "")
    return()
  endif()
  add_executable(${name} ${arg_SOURCES} ${arg_EACH_ENCODING})
  target_link_libraries(${name} PRIVATE ${arg_LINK} assay_catch_main assay_warnings assay_allocator)
  assay_cold(${name})
  assay_shared_precompile(${name} tests)
  assay_compile_together(${name})
  catch_discover_tests(${name})
  assay_label_tests_of(${name})
endfunction()

# Adds a test that is a command. Exit status 77 skips it: it cannot run here. LABELS come in addition to those of its
# name.
function(assay_command_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "COMMAND;ENVIRONMENT;LABELS")
  add_test(NAME ${name} COMMAND ${arg_COMMAND})
  assay_labels(labels ${name})
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 LABELS "${labels};${arg_LABELS}"
                                          ENVIRONMENT "ASSAY=$<TARGET_FILE:assay>;${arg_ENVIRONMENT}")
endfunction()

if(ASSAY_TESTS)
  find_package(Catch2 2.13 QUIET)
  if(Catch2_FOUND)
    include(Catch)
    # main is weak: a test program may have a main of its own, which calls assay_run_tests.
    file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/generated/catch_main.cpp" CONTENT [=[
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
int assay_run_tests(int argc, char** argv) { return Catch::Session().run(argc, argv); }
[[gnu::weak]] int main(int argc, char** argv) { return assay_run_tests(argc, argv); }
]=] @ONLY)
    add_library(assay_catch_main STATIC "${PROJECT_BINARY_DIR}/generated/catch_main.cpp")
    assay_cold(assay_catch_main)
    target_link_libraries(assay_catch_main PUBLIC Catch2::Catch2 assay_fp_strict)
  endif()
endif()

# Stops configuration unless each of the encodings has a file in `folder` whose name is that of the encoding followed by
# one of `rests`.
function(assay_check_encoding_files encodings folder rests)
  foreach(encoding IN LISTS encodings)
    list(TRANSFORM rests PREPEND "${folder}/${encoding}" OUTPUT_VARIABLE files)
    set(found FALSE)
    foreach(file IN LISTS files)
      if(EXISTS "${PROJECT_SOURCE_DIR}/${file}")
        set(found TRUE)
      endif()
    endforeach()
    if(NOT found)
      list(JOIN files " or " files)
      message(FATAL_ERROR "encoding '${encoding}' has no ${files}")
    endif()
  endforeach()
endfunction()

# Writes generated/<file>, with a line ASSAY_ENCODING(name) for each encoding.
function(assay_write_encodings file)
  list(TRANSFORM ARGN REPLACE "(.+)" "ASSAY_ENCODING(\\1)\n" OUTPUT_VARIABLE lines)
  list(JOIN lines "" lines)
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/generated/${file}" CONTENT "${lines}" @ONLY)
endfunction()
assay_write_encodings(assay_encodings.inc ${ASSAY_ENCODINGS})
