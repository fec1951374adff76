// What is in a checkpoint's files, and how it compares with the count: the second half of `llmcalc params FOLDER`.
#pragma once

#include <string>

#include "core/checkpoint_match.hpp"
#include "report/json.hpp"
#include "report/table.hpp"

namespace llmcalc::report {

// `compared`: there is a count to compare with; else sizes and types alone are shown.
Json checkpoint_json(const Checkpoint& checkpoint, const CheckpointMatch& match, bool compared);
std::string checkpoint_text(const Checkpoint& checkpoint, const CheckpointMatch& match, bool compared, bool markdown,
                            Style style);

// Every tensor of the files; those that differ in the numbers of layers and experts alone are one row.
Table stored_table(const Checkpoint& checkpoint);

}  // namespace llmcalc::report
