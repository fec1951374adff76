// A chain of tensor operations written as in PyTorch, `x.view(2, -1).transpose(0, 1)[:, ::2]`, as text and as steps.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.hpp"
#include "core/layout.hpp"

namespace llmcalc::expression {

// An argument of a call: 3, True, None, torch.bfloat16, (2, -1), or a word such as 'cuda'.
struct Value {
  enum class Kind : unsigned char { integer, boolean, none, dtype, word, list };

  Kind kind = Kind::none;
  Count integer = 0;  // 0 or 1 for a boolean
  DType dtype = DType::float32;
  std::string word = {};
  std::vector<Value> list = {};
};

struct Argument {
  std::string name;  // empty: by place
  Value value;
};

// One place of an index: 3, 1:-1, ::2, None, ..., [0, 2].
struct IndexItem {
  enum class Kind : unsigned char { integer, slice, new_axis, ellipsis, list };

  Kind kind = Kind::integer;
  Count integer = 0;
  std::optional<Count> start = {}, stop = {}, step = {};
  std::vector<Count> list = {};
};

struct Step {
  enum class Kind : unsigned char { attribute, call, index };

  Kind kind = Kind::call;
  std::string name = {};  // "view", "T"; empty for an index
  std::vector<Argument> arguments = {};
  std::vector<IndexItem> index = {};
};

using Chain = std::vector<Step>;

bool operator==(const Value& a, const Value& b);
bool operator==(const Argument& a, const Argument& b);
bool operator==(const IndexItem& a, const IndexItem& b);
bool operator==(const Step& a, const Step& b);

// Reads "x.t()", ".t()", "t()", "[:, 0]", "torch.t(x)"; "x" alone has no steps. Throws Error(bad_input) saying at which
// character what was expected, and for anything whose result depends on values (x[x > 0]).
Chain parse(std::string_view text);

// The shape "2,3,4", "(2, 3, 4)", "(4,)"; "()" is a scalar. Throws Error(bad_input): lengths are whole numbers from 0
// on, at most Dims::max_rank of them, with at most `max_elements` elements.
Dims parse_shape(std::string_view text);

constexpr Count max_elements = Count{1} << 62;

// As PyTorch would have it written; parse() of it gives the same steps.
std::string to_string(const Step& step);    // "view(2, -1)", "T", "[:, ::2]"
std::string to_string(const Chain& chain);  // "x.view(2, -1).T[:, ::2]"

}  // namespace llmcalc::expression
