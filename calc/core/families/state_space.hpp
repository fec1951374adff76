// What families with state-space layers read alike.
#pragma once

#include "core/fields.hpp"
#include "core/mixers/mixers.hpp"

namespace llmcalc {

// The rank of Mamba's time step: a number, or "auto" (as when absent), which is hidden / 16 rounded up.
Count read_rank(Fields& f, const char* key, Count hidden);

// Reports groups that do not divide the heads.
void check_groups(Fields& f, const Mamba2Spec& spec);

}  // namespace llmcalc
