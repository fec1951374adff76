// `llmcalc einsum EQUATION SHAPE...`: shape, FLOPs, bytes and intensity of an einsum.
#include "cli/all_commands.hpp"
#include "cli/product_options.hpp"
#include "core/tensor_expression/expression.hpp"

namespace llmcalc::cli {

namespace {

Exit run(const Arguments& arguments, Output& output) {
  const einsum::Equation equation = einsum::parse_equation(*arguments.get("EQUATION"));
  std::vector<Dims> shapes;
  for (const std::string& text : arguments.all("SHAPE")) shapes.push_back(expression::parse_shape(text));
  report::ProductReport product = product_report(equation, shapes, dtype_from(arguments, DType::bfloat16));
  set_device(arguments, product, output);
  write_product(product, output);
  return Exit::done;
}

}  // namespace

Command einsum_command() {
  Command command;
  command.name = "einsum";
  command.summary = "shape, FLOPs, bytes and intensity of an einsum";
  command.description =
      "The notation of torch.einsum, with an ellipsis, repeated letters and an implicit output. Of more than two "
      "operands, forward is the best order of products and left_to_right the order written.\n\n"
      "Products without a summed axis are elementwise and counted apart.";
  command.examples = {"llmcalc einsum 'bhqd,bhkd->bhqk' 2,4,16,8 2,4,16,8",
                      "llmcalc einsum 'ij,jk,kl->il' 8,16 16,4 4,32", "llmcalc einsum '...ij,...jk->...ik' 2,3,4 4,5"};
  command.positionals = {{.name = "EQUATION", .help = "\"bij,bjk->bik\"; without -> the output is implicit"},
                         {.name = "SHAPE", .help = "of each operand", .repeated = true}};
  command.options = {dtype_option("bf16"), device_option()};
  command.explains = true;
  command.run = run;
  return command;
}

}  // namespace llmcalc::cli
