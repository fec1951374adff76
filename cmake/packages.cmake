# What comes from the distribution, under one name each whatever the version:
# llmcalc::yaml, llmcalc::json, llmcalc::cli11, llmcalc::threads.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(yaml-cpp CONFIG REQUIRED)
find_package(nlohmann_json CONFIG REQUIRED)
find_package(CLI11 CONFIG REQUIRED)

function(llmcalc_package name)
  # Imported, so that the exported libraries name it and bring no copy of it.
  add_library(llmcalc::${name} INTERFACE IMPORTED GLOBAL)
  target_link_libraries(llmcalc::${name} INTERFACE ${ARGN})
endfunction()

llmcalc_package(json nlohmann_json::nlohmann_json)
llmcalc_package(cli11 CLI11::CLI11)
llmcalc_package(threads Threads::Threads)

# The static yaml-cpp starts sooner than the shared library (bench/README.md has the figures).
find_library(LLMCALC_YAML_STATIC libyaml-cpp.a)
mark_as_advanced(LLMCALC_YAML_STATIC)
if(LLMCALC_YAML_STATIC)
  llmcalc_package(yaml ${LLMCALC_YAML_STATIC})
elseif(TARGET yaml-cpp::yaml-cpp)
  llmcalc_package(yaml yaml-cpp::yaml-cpp)
else()
  llmcalc_package(yaml yaml-cpp)
endif()
