// `llmcalc tensor SHAPE [OP...]`: a tensor and what views and copies do to it.
#include "cli/all_commands.hpp"
#include "cli/product_options.hpp"
#include "core/tensor_expression/evaluate.hpp"
#include "report/tensor.hpp"

namespace llmcalc::cli {

namespace {

Exit run(const Arguments& arguments, Output& output) {
  const Dims shape = expression::parse_shape(*arguments.get("SHAPE"));
  const DType dtype = dtype_from(arguments, DType::float32);
  expression::Chain chain;
  for (const std::string& text : arguments.all("OP")) {
    const expression::Chain more = expression::parse(text);
    chain.insert(chain.end(), more.begin(), more.end());
  }
  const expression::TensorHistory history = expression::evaluate(shape, dtype, chain);
  switch (output.format) {
    case Format::json: output.out = report::tensor_json(history).dump(); break;
    case Format::csv: output.out = report::csv_table(report::tensor_table(history)); break;
    case Format::markdown: output.out = report::tensor_text(history, output.explain, true, false); break;
    case Format::text: output.out = report::tensor_text(history, output.explain, false, output.style()); break;
  }
  return Exit::done;
}

}  // namespace

Command tensor_command() {
  Command command;
  command.name = "tensor";
  command.summary = "a tensor and its views: shape, strides, contiguity, bytes, shared storage";
  command.description =
      "Operations are written as in PyTorch, in one expression or several arguments. Each is answered as PyTorch "
      "answers it: views share the storage of the first tensor, copies have one of their own.\n\n"
      "What depends on values (x[x > 0]) is refused: a shape is all there is.";
  command.examples = {"llmcalc tensor 2,16,8 --dtype bf16 'x.view(2,16,2,4).transpose(1,2)[:, ::2].contiguous()'",
                      "llmcalc tensor 4,12 'x.chunk(3, -1)[1]'", "llmcalc tensor 2,3,4 --explain"};
  command.positionals = {
      {.name = "SHAPE", .help = "2,3,4 or (2,3,4); a scalar is ()"},
      {.name = "OP", .help = "operations: 'x.t()', '[:, ::2]', 'view(2, -1)'", .required = false, .repeated = true}};
  command.options = {dtype_option("float32")};
  command.explains = true;
  command.run = run;
  return command;
}

}  // namespace llmcalc::cli
