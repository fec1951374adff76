// `llmcalc matmul SHAPE SHAPE`: shape, FLOPs, bytes and intensity of a matrix product or a linear layer.
#include "cli/all_commands.hpp"
#include "cli/product_options.hpp"
#include "core/einsum/matmul.hpp"
#include "core/quantity.hpp"
#include "core/tensor_expression/expression.hpp"

namespace llmcalc::cli {

namespace {

Count features(const std::string& text, const char* what) {
  const Parsed<Count> count = parse_count(text);
  if (!count) throw Error(Exit::bad_input, std::string(what) + ": " + count.message, count.hint);
  return *count;
}

report::ProductReport linear_report(const std::vector<std::string>& words, DType dtype) {
  constexpr std::size_t wanted = 3;
  if (words.size() != wanted)
    throw Error(Exit::usage, "--linear takes three things: IN OUT SHAPE",
                "for example `llmcalc matmul --linear 4 5 2,3,4`");
  const Count in = features(words[0], "input features"), out = features(words[1], "output features");
  const einsum::Linear layer = einsum::linear(in, out, expression::parse_shape(words[2]));
  report::ProductReport product = product_report(layer.product.equation, layer.product.shapes, dtype);
  const std::string h = std::to_string(in), k = std::to_string(out);
  product.weight_shape = layer.weight_stored;
  product.title =
      "nn.Linear(" + h + ", " + k + "): " + to_string(layer.product.shapes[0]) + " → " + to_string(product.shape);
  product.notes.push_back("The formula Y = X · W writes W as (H, K) = (" + h + ", " + k +
                          "); the layer stores its weight as (out, in) = (K, H) = (" + k + ", " + h +
                          ") and computes Y = X · Wᵀ.");
  return product;
}

Exit run(const Arguments& arguments, Output& output) {
  const std::vector<std::string>& words = arguments.all("SHAPE");
  const DType dtype = dtype_from(arguments, DType::bfloat16);
  report::ProductReport product;
  if (arguments.has("linear")) {
    product = linear_report(words, dtype);
  } else {
    if (words.size() != 2) throw Error(Exit::usage, "matmul takes two shapes", "for example `llmcalc matmul 3,4 4,5`");
    const einsum::Product matmul = einsum::matmul(expression::parse_shape(words[0]), expression::parse_shape(words[1]));
    product = product_report(matmul.equation, matmul.shapes, dtype);
    product.title =
        to_string(matmul.shapes[0]) + " @ " + to_string(matmul.shapes[1]) + " → " + to_string(product.shape);
  }
  set_device(arguments, product, output);
  write_product(product, output);
  return Exit::done;
}

}  // namespace

Command matmul_command() {
  Command command;
  command.name = "matmul";
  command.summary = "shape, FLOPs, bytes and intensity of a matrix product";
  command.description =
      "torch.matmul: leading axes are broadcast, vectors are taken as a row or a column. FLOPs count a multiply-add "
      "as 2; the exact count, MN(2K-1), is beside it.\n\n"
      "With --linear IN OUT SHAPE: a linear layer, which stores its weight as (out, in).";
  command.examples = {"llmcalc matmul 3,4 4,5", "llmcalc matmul --linear 4 5 2,3,4",
                      "llmcalc matmul 4096,4096 4096,4096 --device h100-sxm --explain"};
  command.positionals = {
      {.name = "SHAPE", .help = "of the two factors, or IN OUT SHAPE with --linear", .repeated = true}};
  command.options = {{.name = "linear", .help = "a linear layer: IN OUT and the shape of its input"},
                     dtype_option("bf16"),
                     device_option()};
  command.explains = true;
  command.run = run;
  return command;
}

}  // namespace llmcalc::cli
