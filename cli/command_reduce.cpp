// `llmcalc reduce --op OP PATTERN SHAPE [axis=n...]`: einops' reduce.
#include "cli/all_commands.hpp"
#include "cli/product_options.hpp"
#include "core/quantity.hpp"

namespace llmcalc::cli {

namespace {

Exit run(const Arguments& arguments, Output& output) {
  const auto op = arguments.get("op");
  if (!op) throw Error(Exit::usage, "reduce needs --op: mean, sum, max, min or prod");
  report::ProductReport product = rearranged_report(arguments, einsum::Rearrangement::reduce);
  // One operation less than elements, for each result; a mean divides each result besides.
  const Int128 joins = product.elements_in > product.elements_out ? product.elements_in - product.elements_out : 0;
  const bool divides = *op == "mean";
  product.elementwise = Flops(joins + (divides ? product.elements_out : 0));
  product.elementwise_how = "elements in - elements out = " + format_count(product.elements_in) + " - " +
                            format_count(product.elements_out) + (divides ? ", and a division for each result" : "");
  product.title = *op + ", " + product.title;
  write_product(product, output);
  return Exit::done;
}

}  // namespace

Command reduce_command() {
  Command command = rearranging_command(einsum::Rearrangement::reduce, "reduce");
  command.summary = "take axes away by their mean, sum, largest, smallest or product, by a pattern of einops";
  command.description =
      "Axes that are on the left side only are reduced. A number on the left is an axis without a name.";
  command.examples = {"llmcalc reduce --op mean 'b s d -> b d' 2,16,8",
                      "llmcalc reduce --op max 'b c (h 2) (w 2) -> b c h w' 2,3,8,8"};
  command.options.insert(command.options.begin(), Option{.name = "op",
                                                         .value = "OP",
                                                         .help = "what becomes of the elements",
                                                         .choices = {"mean", "sum", "max", "min", "prod"}});
  command.explains = true;
  command.run = run;
  return command;
}

}  // namespace llmcalc::cli
