// The `schema:` line of a profile: what kind of document it is, and of which version.
#pragma once

#include <string>
#include <string_view>

#include "core/diagnostics.hpp"
#include "core/value.hpp"

namespace llmcalc {

inline constexpr std::string_view model_schema = "llmcalc.model/1";
inline constexpr std::string_view device_schema = "llmcalc.device/1";
inline constexpr std::string_view node_schema = "llmcalc.node/1";

// What the document says it is; "" when it does not.
std::string schema_of(const Value& root);

// Adds an error unless the document says that it is of this schema.
void check_schema(const Value& root, std::string_view wanted, Diagnostics& diagnostics);

}  // namespace llmcalc
