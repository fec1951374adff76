// The rules by theme; rules.cpp puts the lists together. A new rule: its template in formulas.hpp and a row in one of
// these.
#pragma once

#include <vector>

#include "core/rules.hpp"

namespace llmcalc::rule {

std::vector<Rule> tensor_rules();      // tensors and matmuls
std::vector<Rule> model_rules();       // FLOPs and parameters of models
std::vector<Rule> memory_rules();      // training memory, activations, caches, files
std::vector<Rule> time_rules();        // roofline, MFU, time, cost
std::vector<Rule> collective_rules();  // several devices
std::vector<Rule> course_rules();      // the small ones of the course

// Symbols that many rules share.
inline constexpr RuleSymbol parameters{"parameters", "N",
                                       "parameters of the model (active ones for a mixture of experts)", dim::parameter,
                                       SymbolKind::whole};
inline constexpr RuleSymbol tokens{"tokens", "D", "training tokens", dim::token, SymbolKind::whole};
inline constexpr RuleSymbol devices{"devices", "G", "devices", dim::none, SymbolKind::whole, "1"};
inline constexpr RuleSymbol peak{"peak", "P", "peak rate of one device, dense, for the dtype used",
                                 dim::flops_per_second};
inline constexpr RuleSymbol bandwidth{"bandwidth", "β", "memory bandwidth of one device", dim::bytes_per_second};
inline constexpr RuleSymbol mfu_share{"mfu", "MFU", "model FLOPs utilisation", dim::none, SymbolKind::share};
inline constexpr RuleSymbol layers{"layers", "L", "layers", dim::none, SymbolKind::whole};
inline constexpr RuleSymbol one_layer{"layers", "L", "layers", dim::none, SymbolKind::whole, "1"};
inline constexpr RuleSymbol batch{"batch", "B", "sequences in a micro-batch", dim::none, SymbolKind::whole};
inline constexpr RuleSymbol seq{"seq", "T", "tokens per sequence", dim::token, SymbolKind::whole};
inline constexpr RuleSymbol hidden{"hidden", "H", "hidden size", dim::none, SymbolKind::whole};
inline constexpr RuleSymbol vocab{"vocab", "V", "vocabulary", dim::none, SymbolKind::whole};
inline constexpr RuleSymbol attention_width{"width", "h_q", "query heads · head dimension", dim::none,
                                            SymbolKind::whole};
inline constexpr RuleSymbol value_width{"dtype", "w", "bytes of one value, or a dtype", dim::byte, SymbolKind::width};

}  // namespace llmcalc::rule
