#include "core/tensor_expression/evaluate.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/quantity.hpp"
#include "core/tensor_expression/operations.hpp"

namespace llmcalc::expression {
namespace {

constexpr Count most_pieces_listed = 64;  // of a chain that ends in chunk, split or unbind
constexpr std::size_t most_steps = 200;

template <class Visit>
void each_operation(Visit visit) {
  for (const auto* table : {&view_operations(), &shape_operations(), &piece_operations(), &copy_operations()})
    for (const Operation& operation : *table) visit(operation);
}

// Names of tensor methods people try whose result depends on values.
bool depends_on_values(const std::string& name) {
  static const std::vector<std::string> names = {"nonzero", "masked_select", "unique", "unique_consecutive", "item",
                                                 "tolist",  "argwhere",      "where",  "bincount",           "numpy"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

const Operation& operation_named(const Step& step) {
  const Operation* found = nullptr;
  each_operation([&](const Operation& operation) {
    if (step.name == operation.name) found = &operation;
  });
  if (found == nullptr) {
    if (depends_on_values(step.name))
      throw Error(Exit::bad_input, step.name + ": its result depends on values, and only shapes are known here");
    const std::string near = did_you_mean(step.name, operation_names());
    throw Error(Exit::bad_input, "unknown tensor operation " + in_quotes(step.name),
                near.empty() ? "known: " + join(operation_names()) : near);
  }
  const bool attribute = step.kind == Step::Kind::attribute;
  if (attribute && !found->attribute)
    throw Error(Exit::bad_input, step.name + " is called with brackets",
                "write " + step.name + "(" + found->parameters + ")");
  if (!attribute && found->attribute)
    throw Error(Exit::bad_input, step.name + " is no method", "write it without brackets: x." + step.name);
  return *found;
}

class Evaluation {
 public:
  Evaluation(const Dims& shape, DType dtype) {
    Current first;
    first.dtype = dtype;
    first.layout = Layout::contiguous(shape);
    history_.storage_bytes.push_back(bytes_of(first));
    first.storage_bytes = history_.storage_bytes[0];
    current_ = first;
    record("x", first);
  }

  void step(const Step& step) {
    const std::string op = to_string(step);
    if (auto* pieces = std::get_if<Pieces>(&current_)) {
      take_piece(*pieces, step, op);
      return;
    }
    const Current& x = std::get<Current>(current_);
    Result result = step.kind == Step::Kind::index ? Result(apply_index(x, step)) : called(x, step);
    if (auto* pieces = std::get_if<Pieces>(&result)) {
      pieces->op = op;
      current_ = std::move(result);
    } else {
      settle(op, std::get<Current>(result));
    }
  }

  TensorHistory finish() {
    if (const auto* pieces = std::get_if<Pieces>(&current_)) {
      if (pieces->count > most_pieces_listed)
        throw Error(Exit::bad_input,
                    pieces->op + " gives " + format_count(pieces->count) + " tensors, too many to list",
                    "take one of them with [index]");
      for (Count i = 0; i < pieces->count; ++i) record(pieces->op + "[" + std::to_string(i) + "]", pieces->piece(i));
    }
    return std::move(history_);
  }

 private:
  static Int128 bytes_of(const Current& x) {
    return static_cast<Int128>(elements(x.shape())) * size_of(x.dtype).value();
  }

  static Result called(const Current& x, const Step& step) {
    const Operation& operation = operation_named(step);
    const Bound arguments(step, operation.parameters, x);
    try {
      return operation.apply(x, arguments);
    } catch (const Overflow&) {
      arguments.fail("its lengths or strides pass 64 bits");
    }
  }

  void take_piece(const Pieces& pieces, const Step& step, const std::string& op) {
    const bool one =
        step.kind == Step::Kind::index && step.index.size() == 1 && step.index[0].kind == IndexItem::Kind::integer;
    if (!one)
      throw Error(Exit::bad_input, op + ": " + pieces.op + " gives several tensors",
                  "take one of them first, as in " + pieces.op + "[0]");
    Count index = step.index[0].integer;
    if (index < -pieces.count || index >= pieces.count)
      throw Error(Exit::bad_input, op + ": " + pieces.op + " gives " + format_count(pieces.count) + " tensors only");
    if (index < 0) index += pieces.count;
    const std::string name = pieces.op + op;
    const Current piece = pieces.piece(index);
    settle(name, piece);
  }

  void settle(const std::string& op, Current x) {
    if (x.copied) {
      x.copied = false;
      x.storage = history_.storage_bytes.size();
      x.storage_bytes = bytes_of(x);
      history_.storage_bytes.push_back(x.storage_bytes);
    }
    record(op, x);
    current_ = x;
  }

  void record(const std::string& op, const Current& x) { history_.steps.push_back({op, x.dtype, x.layout, x.storage}); }

  TensorHistory history_;
  Result current_;
};

}  // namespace

Int128 TensorHistory::distinct_storage_bytes() const {
  Int128 sum = 0;
  for (const Int128 bytes : storage_bytes) sum += bytes;
  return sum;
}

TensorHistory evaluate(const Dims& shape, DType dtype, const Chain& chain) {
  if (chain.size() > most_steps)
    throw Error(Exit::bad_input, "a chain has at most 200 operations; this one has " + std::to_string(chain.size()));
  Evaluation evaluation(shape, dtype);
  for (const Step& step : chain) {
    try {
      evaluation.step(step);
    } catch (const Overflow&) {
      throw Error(Exit::bad_input, to_string(step) + ": its lengths or strides pass 64 bits");
    } catch (const std::length_error& error) {
      throw Error(Exit::bad_input, to_string(step) + ": " + error.what());
    }
  }
  return evaluation.finish();
}

std::vector<std::string> operation_names() {
  std::vector<std::string> names;
  each_operation([&](const Operation& operation) { names.emplace_back(operation.name); });
  return names;
}

}  // namespace llmcalc::expression
