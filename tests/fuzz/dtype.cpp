// Any text as the name of a number format.
#include "core/dtype.hpp"

#include "tests/fuzz/target.hpp"

namespace {

void take(std::string_view input) {
  using namespace llmcalc;
  const std::optional<DType> dtype = dtype_named(input);
  if (!dtype) return;
  fuzz::require(size_of(*dtype) > Bytes(0), "a format has a size");
  fuzz::require(dtype_named(name_of(*dtype)) == dtype, "a format answers to its own name");
  fuzz::require(promote(*dtype, *dtype) == *dtype, "a format with itself stays");
}

}  // namespace

LLMCALC_FUZZ_TARGET(take)
