// Profiles of nodes (hardware/nodes/*.yaml): machines made of known devices. Read to be checked; no estimate uses them
// yet.
#pragma once

#include "core/diagnostics.hpp"
#include "core/value.hpp"

namespace llmcalc {

// Every problem of a node's profile: unknown device, no count, links without a rate, unknown keys, no sources.
void check_node(const Value& root, Diagnostics& diagnostics);

}  // namespace llmcalc
