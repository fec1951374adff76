// The small ones of the course: one gradient step, cross-entropy, initial scales.
#include "core/rules/formulas.hpp"
#include "core/rules/tables.hpp"

namespace llmcalc::rule {
namespace {

constexpr auto any = SymbolKind::any;
constexpr auto whole = SymbolKind::whole;

std::vector<Rule> gradient_rules() {
  const RuleSymbol rate{"rate", "η", "learning rate", dim::none, SymbolKind::positive};
  return {
      {.name = "gradient_descent",
       .title = "One step of gradient descent",
       .symbols = {{"weight", "w", "weight before", dim::none, any},
                   {"gradient", "g", "gradient of the loss", dim::none, any},
                   rate},
       .results = {{"new_weight", "w'", "weight after", dim::none, any}},
       .scope = "Plain SGD, one weight.",
       .caution = "A rate that is too large jumps over the minimum.",
       .source = "definition",
       .example = "weight=1 gradient=-18 rate=0.05",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> {
         return {gradient_step(in["weight"], in["gradient"], in["rate"])};
       }},
      {.name = "squared_error_step",
       .title = "One step on a squared error",
       .symbols = {{"weight", "w", "weight before", dim::none, any, "1"},
                   {"x", "x", "input", dim::none, any, "3"},
                   {"y", "y", "target", dim::none, any, "6"},
                   rate},
       .results = {{"new_weight", "w'", "weight after", dim::none, any},
                   {"gradient", "g", "gradient", dim::none, any},
                   {"loss", "ℓ", "loss before", dim::none, SymbolKind::zero_up},
                   {"new_loss", "ℓ'", "loss after", dim::none, SymbolKind::zero_up}},
       .scope = "From data to the new loss: one sample, prediction w · x, loss (w · x − y)², gradient 2 x (w · x − y).",
       .caution = "x = 3 and y = 6 are the numbers that turn w = 1 into a loss of 9 and a gradient of −18.",
       .source = "derived: the derivative of (w · x − y)² with respect to w",
       .example = "rate=0.05",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> {
         const auto &w = in["weight"], &x = in["x"], &y = in["y"];
         const Traced gradient = squared_error_gradient(w, x, y);
         const Traced updated = gradient_step(w, gradient, in["rate"]);
         return {updated, gradient, squared_error(w, x, y), squared_error(updated, x, y)};
       }},
  };
}

std::vector<Rule> loss_rules() {
  return {
      {.name = "cross_entropy",
       .title = "Cross-entropy of one token",
       .symbols = {{"p", "p", "probability that the model gives the right token", dim::none, SymbolKind::fraction}},
       .results = {{"loss", "ℓ", "loss in nats", dim::none, SymbolKind::zero_up}},
       .scope = "One position; the loss of a batch is the mean over positions.",
       .caution = "Natural logarithm. In bits it is 1.44 times as much.",
       .source = "definition",
       .example = "p=0.25",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> { return {negative_log(in["p"])}; }},
      {.name = "uniform_loss",
       .title = "Loss of a model that knows nothing",
       .symbols = {vocab},
       .results = {{"loss", "ℓ", "loss in nats", dim::none, SymbolKind::zero_up}},
       .scope = "Every token of the vocabulary equally likely: about where training starts.",
       .caution = "A first loss far above it points to an initial scale that is too large.",
       .source = "derived: −ln(1/V)",
       .example = "vocab=50257",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> { return {log_of(in["vocab"])}; }},
      {.name = "perplexity",
       .title = "Perplexity",
       .symbols = {{"loss", "ℓ", "mean cross-entropy in nats", dim::none, SymbolKind::zero_up, "", "cross_entropy"}},
       .results = {{"perplexity", "PPL", "as many equally likely choices", dim::none, SymbolKind::positive}},
       .scope = "Losses per token.",
       .caution = "Depends on the tokenizer: compare only models that share one.",
       .source = "definition",
       .example = "loss=2.5",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> { return {exp_of(in["loss"])}; }},
  };
}

std::vector<Rule> scale_rules() {
  const RuleSymbol fan_in{"fan_in", "n_in", "inputs of each unit", dim::none, whole};
  return {
      {.name = "xavier",
       .title = "Xavier scale, as the course has it",
       .symbols = {fan_in},
       .results = {{"std", "σ", "standard deviation of the initial weights", dim::none, SymbolKind::positive}},
       .scope = "A linear layer whose output should have the variance of its input.",
       .caution =
           "The name is used for several formulas: Glorot's own averages over both sides (glorot), He's for ReLU is "
           "√(2 / n_in), and PyTorch's nn.Linear draws from a uniform distribution of another width.",
       .source = "the forward half of Glorot and Bengio 2010 (AISTATS), section 4.2",
       .example = "fan_in=4096",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> { return {xavier(in["fan_in"])}; }},
      {.name = "glorot",
       .title = "Glorot (Xavier) scale",
       .symbols = {fan_in, {"fan_out", "n_out", "units", dim::none, whole}},
       .results = {{"std", "σ", "standard deviation of the initial weights", dim::none, SymbolKind::positive}},
       .scope = "A compromise between keeping the variance forward and backward; torch's xavier_normal_.",
       .caution = "Made for tanh-like units. Language models mostly use a fixed 0.02, or scale by depth.",
       .source = "Glorot and Bengio 2010 (AISTATS), eq. 12",
       .example = "fan_in=1024 fan_out=4096",
       .compute = [](const RuleInputs& in) -> std::vector<Traced> { return {glorot(in["fan_in"], in["fan_out"])}; }},
  };
}

}  // namespace

std::vector<Rule> course_rules() {
  std::vector<Rule> all = gradient_rules();
  for (auto* more : {loss_rules, scale_rules}) {
    for (Rule& rule : more()) all.push_back(std::move(rule));
  }
  return all;
}

}  // namespace llmcalc::rule
