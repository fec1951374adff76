#include "core/checkpoint_names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>

namespace llmcalc {
namespace {

// Modules the library's classes put around the layers; publishers leave them out or add more.
constexpr std::string_view wrappers[] = {"model",    "transformer", "backbone", "language_model",
                                         "gpt_neox", "bert",        "module"};

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; });
}

bool ends_with(std::string_view text, std::string_view with) {
  return text.size() >= with.size() && text.substr(text.size() - with.size()) == with;
}

bool starts_with(std::string_view text, std::string_view with) { return text.substr(0, with.size()) == with; }

// What the library fuses or renames when it loads: the end of the name in the count, and the ends it has in files.
struct Renamed {
  std::string_view ours;
  std::array<std::string_view, 2> theirs;  // the second may be empty
};
constexpr Renamed renamed[] = {
    {"experts.gate_up_proj", {"experts.*.gate_proj.weight", "experts.*.up_proj.weight"}},
    {"experts.gate_up_proj", {"experts.*.w1.weight", "experts.*.w3.weight"}},
    {"experts.gate_up_proj", {"input_linear.weight"}},
    {"experts.up_proj", {"experts.*.up_proj.weight"}},
    {"experts.down_proj", {"experts.*.down_proj.weight"}},
    {"experts.down_proj", {"experts.*.w2.weight"}},
    {"experts.down_proj", {"output_linear.weight"}},
    {"router.weight", {"router.layer.weight"}},
    {"router.weight", {"gate.weight"}},
    {"mlp.gate.moe_statics.e_score_correction_bias", {"mlp.moe_statics.e_score_correction_bias"}},
    {"lm_head.weight", {"embed_out.weight"}},
    {"lm_head.weight", {"output.weight"}},
    {"LayerNorm.weight", {"LayerNorm.gamma"}},
    {"LayerNorm.bias", {"LayerNorm.beta"}},
};

// What a quantised weight's own tensor is called: GPTQ and AWQ, compressed-tensors, MXFP4.
struct Packed {
  std::string_view ours, theirs;
};
constexpr Packed packed[] = {
    {".weight", ".qweight"}, {".weight", ".weight_packed"}, {"_proj", "_proj_blocks"}, {".weight", ".weight_blocks"}};

std::string replaced(const std::string& text, std::string_view what, std::string_view with) {
  const std::size_t at = text.find(what);
  return at == std::string::npos ? text : text.substr(0, at) + std::string(with) + text.substr(at + what.size());
}

void add_ways(const std::string& bare, std::vector<StoredAs>& ways) {
  ways.push_back({{bare}});
  for (const Renamed& row : renamed) {
    if (!ends_with(bare, row.ours)) continue;
    const std::string start = bare.substr(0, bare.size() - row.ours.size());
    StoredAs way;
    for (const std::string_view end : row.theirs)
      if (!end.empty()) way.names.push_back(start + std::string(end));
    ways.push_back(std::move(way));
  }
}

struct Mark {
  std::string_view text;
  Beside what;
};
constexpr Mark beginnings[] = {
    {"vision_tower.", Beside::other_part},
    {"vision_model.", Beside::other_part},
    {"vision_embed_tokens.", Beside::other_part},
    {"visual.", Beside::other_part},
    {"multi_modal_projector.", Beside::other_part},
    {"mm_projector.", Beside::other_part},
    {"connector.", Beside::other_part},
    {"mlp1.", Beside::other_part},
    {"embed_vision.", Beside::other_part},
    {"embed_audio.", Beside::other_part},
    {"audio_tower.", Beside::other_part},
    {"image_newline", Beside::other_part},
    {"patch_merger.", Beside::other_part},
    {"mtp.", Beside::prediction},
    {"rope_freqs.", Beside::buffer},
};
constexpr Mark endings[] = {
    {"inv_freq", Beside::buffer},
    {"e_score_correction_bias", Beside::buffer},
    {"exp_probs_b.bias", Beside::buffer},
    {".attn.bias", Beside::buffer},
    {".attn.attention.bias", Beside::buffer},
    {".attention.bias", Beside::buffer},
    {"masked_bias", Beside::buffer},
    {"position_ids", Beside::buffer},
    {"act_fn.beta", Beside::buffer},
    {"act_fn.eps", Beside::buffer},
    {"layer_scalar", Beside::buffer},
    {"tid2eid", Beside::buffer},
    {".ffn.gate.bias", Beside::buffer},
    {"scale_inv", Beside::scales},
    {"weight_scale", Beside::scales},
    {"input_scale", Beside::scales},
    {"output_scale", Beside::scales},
    {"_scales", Beside::scales},
    {"_scale_2", Beside::scales},
    {".scale", Beside::scales},
    {".scales", Beside::scales},
    {".qzeros", Beside::scales},
    {".g_idx", Beside::scales},
    {"_zero_point", Beside::scales},
    {".weight_shape", Beside::scales},
    {".absmax", Beside::scales},
    {".SCB", Beside::scales},
    {".quant_map", Beside::scales},
};

}  // namespace

std::string bare_name(std::string_view name) {
  for (;;) {
    const std::string_view first = name.substr(0, name.find('.'));
    const bool wraps =
        first.size() < name.size() && std::find(std::begin(wrappers), std::end(wrappers), first) != std::end(wrappers);
    if (!wraps) return std::string(name);
    name.remove_prefix(first.size() + 1);
  }
}

std::string without_numbers(std::string_view name) {
  std::string out;
  while (!name.empty()) {
    const std::string_view part = name.substr(0, name.find('.'));
    out += is_number(part) ? "*" : part;
    name.remove_prefix(part.size());
    if (name.empty()) break;
    out += '.';
    name.remove_prefix(1);
  }
  return out;
}

std::vector<StoredAs> safetensors_names(const std::string& bare) {
  std::vector<StoredAs> ways;
  add_ways(bare, ways);
  if (bare.find(".mlp.") != std::string::npos) add_ways(replaced(bare, ".mlp.", ".block_sparse_moe."), ways);
  const std::size_t plain = ways.size();
  for (std::size_t i = 0; i < plain; ++i) {
    for (const Packed& row : packed) {
      StoredAs way;
      way.packed = true;
      for (const std::string& name : ways[i].names)
        if (ends_with(name, row.ours))
          way.names.push_back(name.substr(0, name.size() - row.ours.size()) + std::string(row.theirs));
      if (way.names.size() == ways[i].names.size()) ways.push_back(std::move(way));
    }
  }
  return ways;
}

Beside what_beside(std::string_view bare) {
  for (const Mark& mark : beginnings)
    if (starts_with(bare, mark.text)) return mark.what;
  for (const Mark& mark : endings)
    if (ends_with(bare, mark.text)) return mark.what;
  const bool bits_and_bytes = bare.find(".weight.quant_state.") != std::string_view::npos ||
                              ends_with(bare, ".nested_absmax") || ends_with(bare, ".nested_quant_map");
  return bits_and_bytes ? Beside::scales : Beside::unknown;
}

}  // namespace llmcalc
