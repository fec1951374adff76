// `llmcalc rearrange PATTERN SHAPE [axis=n...]`: einops' rearrange.
#include "cli/all_commands.hpp"
#include "cli/product_options.hpp"

namespace llmcalc::cli {

namespace {

Exit run(const Arguments& arguments, Output& output) {
  write_product(rearranged_report(arguments, einsum::Rearrangement::rearrange), output);
  return Exit::done;
}

}  // namespace

Command rearrange_command() {
  Command command = rearranging_command(einsum::Rearrangement::rearrange, "rearrange");
  command.summary = "reorder, split and merge axes by a pattern of einops";
  command.description =
      "Says the shape, and whether the result is a view or a copy. Brackets on the left split an axis, on the right "
      "they merge; one length of a split may be left out.";
  command.examples = {"llmcalc rearrange 'b s (h d) -> b h s d' 2,16,32 h=4",
                      "llmcalc rearrange 'b c (h p1) (w p2) -> b (h w) (p1 p2 c)' 2,3,8,8 p1=4 p2=4"};
  command.explains = true;
  command.run = run;
  return command;
}

}  // namespace llmcalc::cli
