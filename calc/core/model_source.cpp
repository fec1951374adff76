#include "core/model_source.hpp"

#include <stdexcept>

#include "core/suggest.hpp"
#include "core/wrapper.hpp"

namespace llmcalc {
namespace {

std::vector<std::string> architecture_names() {
  std::vector<std::string> names;
  for (const Architecture& a : architectures()) names.emplace_back(a.name);
  return names;
}

// The family a document names: `architecture` in a profile, `model_type` in a config.json.
const Architecture* family_of(Fields& f, const std::optional<std::string>& as_family) {
  const KeyNames key{"architecture", "model_type"};
  const std::string named = f.text(key, "");
  if (as_family) {
    const Architecture* architecture = architecture_named(*as_family);
    if (!architecture)
      throw Error(Exit::bad_input, "--as: unknown architecture " + in_quotes(*as_family),
                  did_you_mean(*as_family, architecture_names()));
    return architecture;
  }
  if (named.empty()) {
    f.error(
        key, "missing: the model's family",
        "one of " + join(architecture_names(), "or") + "; a model known only by its size has `parameters:` instead");
    return nullptr;
  }
  const Architecture* architecture = architecture_named(named);
  if (!architecture) {
    std::string hint = did_you_mean(named, architecture_names());
    if (!hint.empty()) hint += " ";
    const char* whole = f.peek("text_config") ? "its text_config" : "it";
    f.error(key, "unknown architecture " + in_quotes(named), hint + "(--as FAMILY reads " + whole + " as a known one)");
  }
  return architecture;
}

// A profile with neither family nor size may have one of the two misspelt; of its other keys nothing can be said.
void report_misspelt(const Fields& f, Diagnostics& diagnostics) {
  for (const std::string& key : f.unread()) {
    const std::string hint = did_you_mean(key, {"architecture", "parameters", "active_parameters"});
    if (!hint.empty()) diagnostics.error(f.key_place(key), "unknown key", hint);
  }
}

void read_size(Fields& f, ModelSource& found) {
  found.parameters = f.total("parameters");
  if (f.has("active_parameters")) {
    found.active_parameters = f.total("active_parameters");
    if (*found.active_parameters > *found.parameters)
      f.error("active_parameters", "more active parameters than there are in all");
  }
}

// "bfloat16" or, as old files have it, "torch.bfloat16".
std::optional<DType> stored_dtype(const Value& root) {
  for (const char* key : {"dtype", "torch_dtype"}) {
    const Value* value = root.find(key);
    if (!value || value->kind != Value::Kind::text) continue;
    constexpr std::string_view prefix = "torch.";
    const std::string_view name = value->text;
    return dtype_named(name.starts_with(prefix) ? name.substr(prefix.size()) : name);
  }
  return std::nullopt;
}

// How a document was read where its own words do not say it.
void note_reading(ModelSource& found, const std::optional<Wrapped>& wrapped) {
  if (found.read_as) found.reading.push_back("read as the family " + *found.read_as + ", because --as said so");
  if (!wrapped) return;
  found.reading.push_back("the language model of " + in_quotes(wrapped->wrapper) +
                          " alone (its text_config): what it has for images or sound is not counted");
  found.assumed.insert(found.assumed.end(), wrapped->assumed.begin(), wrapped->assumed.end());
}

}  // namespace

ModelSource read_model(const Value& root, const std::string& source, bool yaml, const std::string& id,
                       const std::optional<std::string>& as_family, Diagnostics& diagnostics) {
  ModelSource found;
  found.source = source;
  const std::optional<Wrapped> wrapped = yaml ? std::nullopt : language_model_in(root, as_family.has_value());
  const Value& document = wrapped ? wrapped->text : root;
  found.stored = stored_dtype(root);
  if (!found.stored) found.stored = stored_dtype(document);
  Fields f(document, diagnostics, wrapped ? "text_config" : "");
  f.ignore({"schema", "source", "run"});
  found.name = yaml ? f.text("name", id) : id;
  const bool only_size = yaml && f.has("parameters") && !f.has("architecture") && !as_family;
  if (only_size) {
    read_size(f, found);
  } else {
    found.architecture = family_of(f, as_family);
    found.read_as = as_family;
    note_reading(found, wrapped);
    if (found.architecture) {
      try {
        found.model = found.architecture->build(f);
      } catch (const Overflow& overflow) {
        diagnostics.error(f.place(""), std::string("the model is too large to count: ") + overflow.what());
      }
      for (Fields::Assumed assumed : f.assumed()) {
        if (assumed.key == "name" || assumed.key == "architecture") continue;
        // An absent head size is derived from the others.
        if (assumed.key == "head_dim" && assumed.value == "none" && found.model && !found.model->info.attention.empty())
          assumed.value = std::to_string(found.model->info.attention.front().qk_size);
        found.assumed.push_back(std::move(assumed));
      }
    }
  }
  if (found.architecture || only_size) report_unread(f, yaml, diagnostics);
  if (yaml && !only_size && !f.has("architecture")) report_misspelt(f, diagnostics);
  diagnostics.throw_if_errors();
  if (found.model) {
    try {
      count_parameters(found.model->parameters);
    } catch (const Overflow& overflow) {
      diagnostics.error(f.place(""), std::string("the model is too large to count: ") + overflow.what());
      diagnostics.throw_if_errors();
    }
  }
  return found;
}

void check_prediction(const ModelSource& source) {
  if (source.model && source.model->with_prediction) return;
  if (!source.model) throw Error(Exit::bad_input, "--mtp needs the model's layers; only its size is known");
  throw Error(
      Exit::bad_input, "--mtp: the configuration states no heads of multi-token prediction",
      "num_nextn_predict_layers counts them (DeepSeek, GLM, Ernie, Nemotron-H, Qwen3-Next), mtp_num_hidden_layers "
      "(Qwen3.5), num_mtp_modules (MiniMax), prediction_heads (architecture: transformer)");
}

}  // namespace llmcalc
