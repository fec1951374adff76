# The standard, the warnings and the sanitizers that every target of ours is built with.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
# -O2 rather than CMake's -O3: smaller and as fast here. Assertions stay off in releases only.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG" CACHE STRING "Flags of a release build" FORCE)
set(CMAKE_CXX_FLAGS_SANITIZE "-O1 -g1 -fno-omit-frame-pointer -D_GLIBCXX_ASSERTIONS" CACHE STRING "Flags of a sanitizer build" FORCE)

set(llmcalc_warnings -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  list(APPEND llmcalc_warnings -Wno-restrict)  # false alarms on std::string's operator+: GCC bug 105651, fixed in 13
endif()
if(LLMCALC_WERROR)
  list(APPEND llmcalc_warnings -Werror)
endif()

if(LLMCALC_SANITIZE)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${LLMCALC_SANITIZE}>
                      $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize-recover=all>)
  add_link_options(-fsanitize=${LLMCALC_SANITIZE})
endif()

if(LLMCALC_COVERAGE AND NOT CMAKE_CXX_COMPILER_ID MATCHES Clang)
  message(FATAL_ERROR "LLMCALC_COVERAGE needs clang: llvm-cov counts")
endif()

if(LLMCALC_FUZZ)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsanitize=fuzzer-no-link>)
endif()

# llmcalc_target(TARGET): warnings for our own code only.
function(llmcalc_target target)
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${llmcalc_warnings}>")
endfunction()

# llmcalc_precompile(TARGET): the standard headers that most files include are read once for all files of a target, which
# takes a third off a build. Not beside a compiler cache, which keeps nothing of such a build. With precompiled headers
# g++ 12 warns inside its own std::string (false alarms of the kind named above), so it may not warn of these here. What
# a file forgot to include scripts/tidy.sh finds.
function(llmcalc_precompile target)
  if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
    target_precompile_headers(${target} PRIVATE
      <algorithm> <cmath> <functional> <map> <memory> <optional> <string> <string_view> <vector>)
    target_compile_options(${target} PRIVATE
      "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>")
  endif()
endfunction()

# llmcalc_library(NAME SOURCES...): the static library llmcalc_NAME, headers found from calc/ ("core/units.hpp") and from
# the repository ("kernels/backend.hpp"). A folder that holds no source yet becomes a library of headers.
function(llmcalc_library name)
  if(NOT ARGN)
    file(WRITE ${PROJECT_BINARY_DIR}/generated/empty_${name}.cpp "// ${name} has no source file yet.\n")
    list(APPEND ARGN ${PROJECT_BINARY_DIR}/generated/empty_${name}.cpp)
  endif()
  add_library(llmcalc_${name} STATIC ${ARGN})
  add_library(llmcalc::${name} ALIAS llmcalc_${name})
  set_target_properties(llmcalc_${name} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  target_compile_features(llmcalc_${name} PUBLIC cxx_std_20)
  target_include_directories(llmcalc_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/calc> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/llmcalc>)
  llmcalc_target(llmcalc_${name})
  llmcalc_precompile(llmcalc_${name})
  if(LLMCALC_COVERAGE)
    target_compile_options(llmcalc_${name} PRIVATE -fprofile-instr-generate -fcoverage-mapping)
    target_link_options(llmcalc_${name} PUBLIC $<BUILD_INTERFACE:-fprofile-instr-generate>)
    # Functions local to a file are told apart by its name without folder: two files called measure.cpp would be mixed up.
    foreach(source IN LISTS ARGN)
      set_property(SOURCE ${source} APPEND_STRING PROPERTY COMPILE_FLAGS " -Xclang -main-file-name -Xclang ${source}")
    endforeach()
  endif()
endfunction()

# llmcalc_builds_quickly(TARGET...): what reads a profile or writes a page once is compiled in two thirds of the time with
# less optimisation, and nobody can tell (bench/README.md). Under the sanitizers it is half the time without any.
function(llmcalc_builds_quickly)
  foreach(target IN LISTS ARGN)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1> $<$<CONFIG:Sanitize>:-O0>)
  endforeach()
endfunction()

# llmcalc_static_runtime(TARGET): the C++ runtime inside the program. It starts sooner (no symbol look-ups across
# libraries) and runs on machines with another compiler's runtime. Sanitizers need the shared one.
function(llmcalc_static_runtime target)
  if(NOT LLMCALC_SANITIZE)
    target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc)
  endif()
endfunction()
