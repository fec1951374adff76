#include "core/checkpoint_names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>

#include "core/checkpoint_match.hpp"

namespace llmcalc {
namespace {

// Modules the library's classes put around the layers; publishers leave them out or add more.
constexpr std::string_view wrappers[] = {"model",    "transformer", "backbone", "language_model",
                                         "gpt_neox", "bert",        "module"};

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; });
}

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
    if (!bare.ends_with(row.ours)) continue;
    const std::string start = bare.substr(0, bare.size() - row.ours.size());
    StoredAs way;
    for (const std::string_view end : row.theirs)
      if (!end.empty()) way.names.push_back(start + std::string(end));
    ways.push_back(std::move(way));
  }
}

struct Mark {
  std::string_view text;
  Finding what;
};
constexpr Mark beginnings[] = {
    {"vision_tower.", Finding::other_part},
    {"vision_model.", Finding::other_part},
    {"vision_embed_tokens.", Finding::other_part},
    {"visual.", Finding::other_part},
    {"multi_modal_projector.", Finding::other_part},
    {"mm_projector.", Finding::other_part},
    {"connector.", Finding::other_part},
    {"mlp1.", Finding::other_part},
    {"embed_vision.", Finding::other_part},
    {"embed_audio.", Finding::other_part},
    {"audio_tower.", Finding::other_part},
    {"image_newline", Finding::other_part},
    {"patch_merger.", Finding::other_part},
    {"mtp.", Finding::prediction},
    {"rope_freqs.", Finding::buffer},
};
constexpr Mark endings[] = {
    {"inv_freq", Finding::buffer},
    {"e_score_correction_bias", Finding::buffer},
    {"exp_probs_b.bias", Finding::buffer},
    {".attn.bias", Finding::buffer},
    {".attn.attention.bias", Finding::buffer},
    {".attention.bias", Finding::buffer},
    {"masked_bias", Finding::buffer},
    {"position_ids", Finding::buffer},
    {"act_fn.beta", Finding::buffer},
    {"act_fn.eps", Finding::buffer},
    {"layer_scalar", Finding::buffer},
    {"tid2eid", Finding::buffer},
    {".ffn.gate.bias", Finding::buffer},
    {"scale_inv", Finding::scales},
    {"weight_scale", Finding::scales},
    {"input_scale", Finding::scales},
    {"output_scale", Finding::scales},
    {"_scales", Finding::scales},
    {"_scale_2", Finding::scales},
    {".scale", Finding::scales},
    {".scales", Finding::scales},
    {".qzeros", Finding::scales},
    {".g_idx", Finding::scales},
    {"_zero_point", Finding::scales},
    {".weight_shape", Finding::scales},
    {".absmax", Finding::scales},
    {".SCB", Finding::scales},
    {".quant_map", Finding::scales},
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
        if (name.ends_with(row.ours))
          way.names.push_back(name.substr(0, name.size() - row.ours.size()) + std::string(row.theirs));
      if (way.names.size() == ways[i].names.size()) ways.push_back(std::move(way));
    }
  }
  return ways;
}

Finding what_beside(std::string_view bare) {
  for (const Mark& mark : beginnings)
    if (bare.starts_with(mark.text)) return mark.what;
  for (const Mark& mark : endings)
    if (bare.ends_with(mark.text)) return mark.what;
  const bool bits_and_bytes = bare.find(".weight.quant_state.") != std::string_view::npos ||
                              bare.ends_with(".nested_absmax") || bare.ends_with(".nested_quant_map");
  return bits_and_bytes ? Finding::scales : Finding::unexpected;
}

}  // namespace llmcalc
