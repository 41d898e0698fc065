# How a folder becomes a library, its tests and its benchmarks. Sources are found by name, so that a
# new file is one new file: *_test.cpp are tests, *_bench.cpp benchmarks, the rest is the library.

# ft_split_sources(<prefix>): <prefix>_sources, _tests, _benches of this folder and below it.
function(ft_split_sources prefix)
  file(GLOB_RECURSE all CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *.cpp *.c)
  set(tests ${all})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  set(benches ${all})
  list(FILTER benches INCLUDE REGEX "_bench\\.cpp$")
  set(sources ${all})
  list(FILTER sources EXCLUDE REGEX "(_test|_bench)\\.cpp$|(^|/)main\\.cpp$")
  set(${prefix}_sources ${sources} PARENT_SCOPE)
  set(${prefix}_tests ${tests} PARENT_SCOPE)
  set(${prefix}_benches ${benches} PARENT_SCOPE)
endfunction()

# ft_add_test_program(<name> SOURCES … DEPS … [LABEL unit]): one gtest program, each case a ctest.
function(ft_add_test_program name)
  cmake_parse_arguments(ARG "" "LABEL" "SOURCES;DEPS" ${ARGN})
  if(NOT FT_TESTS)
    return()
  endif()
  if(NOT ARG_LABEL)
    set(ARG_LABEL unit)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/core/plugin_api)
  target_compile_definitions(${name} PRIVATE
    FT_SOURCE_DIR="${PROJECT_SOURCE_DIR}" FT_BINARY_DIR="${PROJECT_BINARY_DIR}"
    FT_PLUGIN_DIR="${FT_PLUGIN_OUTPUT_DIR}")
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gmock GTest::gtest_main)
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST PROPERTIES LABELS ${ARG_LABEL} TIMEOUT 600)
endfunction()

# ft_add_core_library(<folder> [DEPS other core folders…] [LINK third-party targets…])
# One library per core folder: what it may link is what it may include (tests/architecture).
function(ft_add_core_library name)
  cmake_parse_arguments(ARG "" "" "DEPS;LINK" ${ARGN})
  ft_split_sources(found)
  list(TRANSFORM ARG_DEPS PREPEND ft_)
  if(found_sources)
    add_library(ft_${name} STATIC ${found_sources})
    target_include_directories(ft_${name} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/core/plugin_api)
    target_link_libraries(ft_${name} PUBLIC ${ARG_DEPS} fmt::fmt PRIVATE ${ARG_LINK})
  else()
    add_library(ft_${name} INTERFACE)
    target_include_directories(ft_${name} INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/core/plugin_api)
    target_link_libraries(ft_${name} INTERFACE ${ARG_DEPS})
  endif()
  if(found_tests)
    ft_add_test_program(${name}_test SOURCES ${found_tests} DEPS ft_${name} ${ARG_LINK})
  endif()
  if(found_benches AND FT_BENCH AND benchmark_FOUND)
    add_executable(${name}_bench ${found_benches})
    target_compile_definitions(${name}_bench PRIVATE FT_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    target_link_libraries(${name}_bench PRIVATE ft_${name} benchmark::benchmark_main)
  endif()
endfunction()

# ft_compile_for_isa(<file> generic|avx2|<flags…>): one translation unit for one instruction set.
# The named levels are for kernels: no contraction behind our back (sums must have the same bits in
# every instantiation), optimised in debug builds too, vectors as plain values on any CPU.
function(ft_compile_for_isa file)
  set(flags ${ARGN})
  set(kernel_flags -O3 -ffp-contract=off -Wno-psabi)
  if("${flags}" STREQUAL "generic")
    set(flags ${kernel_flags})
  elseif("${flags}" STREQUAL "avx2")
    set(flags ${kernel_flags} -mavx2 -mfma -mf16c)
  endif()
  set_source_files_properties(${file} PROPERTIES COMPILE_OPTIONS "${flags}")
endfunction()

# ft_add_plugin(<name> [SOURCES files…] [DEPS core folders…] [LINK third-party targets…])
# <name>.so in FT_PLUGIN_OUTPUT_DIR from the sources of this folder (or those given), its tests
# (<name>_test), its benchmarks (<name>_bench) and the check that it exports its entry point alone.
# The folder's ftplugin.yaml becomes "ft/plugin/embedded_manifest.h", which entry.cpp includes. DEPS
# default to all that plugins may use; static, so that a plugin needs nothing of the program.
function(ft_add_plugin name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LINK" ${ARGN})
  ft_split_sources(found)
  if(ARG_SOURCES)
    set(found_sources ${ARG_SOURCES})
  endif()
  if(NOT ARG_DEPS)
    set(ARG_DEPS quant expert tensor base)
  endif()
  set(deps ${ARG_LINK})
  foreach(dep IN LISTS ARG_DEPS)
    if(TARGET ft_${dep})
      list(APPEND deps ft_${dep})
    endif()
  endforeach()

  set(generated ${CMAKE_CURRENT_BINARY_DIR}/generated)
  set(header ${generated}/ft/plugin/embedded_manifest.h)
  file(MAKE_DIRECTORY ${generated}/ft/plugin)
  set(hashed ${found_sources})
  list(TRANSFORM hashed PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  add_custom_command(OUTPUT ${header}
    COMMAND /usr/bin/python3 ${PROJECT_SOURCE_DIR}/cmake/embed_manifest.py
            ${CMAKE_CURRENT_SOURCE_DIR}/ftplugin.yaml ${header} ${hashed}
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/ftplugin.yaml ${PROJECT_SOURCE_DIR}/cmake/embed_manifest.py
            ${hashed}
    COMMENT "Manifest of ${name}" VERBATIM)

  add_library(${name}_objects OBJECT ${found_sources} ${header})
  target_include_directories(${name}_objects PUBLIC
    ${generated} ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/core/plugin_api)
  target_link_libraries(${name}_objects PUBLIC ${deps})
  add_library(${name} MODULE)
  target_link_libraries(${name} PRIVATE ${name}_objects)
  set_target_properties(${name} PROPERTIES PREFIX "" LINKER_LANGUAGE CXX
    LIBRARY_OUTPUT_DIRECTORY ${FT_PLUGIN_OUTPUT_DIR})
  if(NOT FT_SANITIZE AND NOT FT_COVERAGE)  # both add exported runtime symbols
    target_link_options(${name} PRIVATE -static-libgcc -static-libstdc++
      -Wl,--no-undefined -Wl,--as-needed -Wl,--gc-sections
      -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/plugin_exports.map)
    set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS
      ${PROJECT_SOURCE_DIR}/cmake/plugin_exports.map)
    if(FT_TESTS)
      add_test(NAME ${name}.exports COMMAND ${CMAKE_COMMAND} -DLIBRARY=$<TARGET_FILE:${name}>
        -P ${PROJECT_SOURCE_DIR}/tests/architecture/check_exports.cmake)
      set_tests_properties(${name}.exports PROPERTIES LABELS architecture)
    endif()
  endif()
  set_property(GLOBAL APPEND PROPERTY FT_PLUGINS ${name})

  if(found_tests)
    ft_add_test_program(${name}_test SOURCES ${found_tests} DEPS ${name}_objects)
  endif()
  if(found_benches AND FT_BENCH AND benchmark_FOUND)
    add_executable(${name}_bench ${found_benches})
    target_compile_definitions(${name}_bench PRIVATE FT_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    target_link_libraries(${name}_bench PRIVATE ${name}_objects benchmark::benchmark_main)
  endif()
endfunction()
