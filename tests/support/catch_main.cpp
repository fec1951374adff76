// Catch2 2 compiles its runner here, once; with version 3 it comes from the library and this file is not built.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
