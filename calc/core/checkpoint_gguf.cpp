// The names GGUF has for the parameters of the count (the format's document, "Standardized tensor names", and the
// table of its Python package): token_embd, output_norm, output, blk.N.attn_q, blk.N.ffn_down_exps, ...
#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/checkpoint_names.hpp"

namespace llmcalc {
namespace {

struct Renamed {
  std::string_view ours;
  std::array<std::string_view, 2> theirs;  // together one of ours; the second may be empty
};

constexpr Renamed outside_layers[] = {
    {"embed_tokens", {"token_embd"}},
    {"wte", {"token_embd"}},
    {"word_embeddings", {"token_embd"}},
    {"embed_in", {"token_embd"}},
    {"embeddings", {"token_embd"}},
    {"shared", {"token_embd"}},
    {"embeddings.word_embeddings", {"token_embd"}},
    {"embeddings.token_type_embeddings", {"token_types"}},
    {"embeddings.position_embeddings", {"position_embd"}},
    {"embeddings.LayerNorm", {"token_embd_norm"}},
    {"wpe", {"position_embd"}},
    {"word_embeddings_layernorm", {"token_embd_norm"}},
    {"norm", {"output_norm"}},
    {"norm_f", {"output_norm"}},
    {"ln_f", {"output_norm"}},
    {"final_layer_norm", {"output_norm"}},
    {"final_layernorm", {"output_norm"}},
    {"final_norm", {"output_norm"}},
    {"embedding_norm", {"token_embd_norm"}},
    {"lm_head", {"output"}},
    {"embed_out", {"output"}},
};

constexpr Renamed inside_layers[] = {
    // Attention.
    {"self_attn.q_proj", {"attn_q"}},
    {"self_attn.k_proj", {"attn_k"}},
    {"self_attn.v_proj", {"attn_v"}},
    {"self_attn.o_proj", {"attn_output"}},
    {"self_attn.dense", {"attn_output"}},
    {"self_attn.out_proj", {"attn_output"}},
    {"self_attn.qkv_proj", {"attn_qkv"}},
    {"self_attn.q_norm", {"attn_q_norm"}},
    {"self_attn.k_norm", {"attn_k_norm"}},
    {"self_attn.q_layernorm", {"attn_q_norm"}},
    {"self_attn.k_layernorm", {"attn_k_norm"}},
    {"self_attn.sinks", {"attn_sinks"}},
    {"self_attn.q_a_proj", {"attn_q_a"}},
    {"self_attn.q_b_proj", {"attn_q_b"}},
    {"self_attn.q_a_layernorm", {"attn_q_a_norm"}},
    {"self_attn.kv_a_proj_with_mqa", {"attn_kv_a_mqa"}},
    {"self_attn.kv_a_layernorm", {"attn_kv_a_norm"}},
    {"self_attn.kv_b_proj", {"attn_kv_b"}},
    {"self_attn.kv_b_proj", {"attn_k_b", "attn_v_b"}},
    {"attn.c_attn", {"attn_qkv"}},
    {"attn.c_proj", {"attn_output"}},
    {"attn.q_proj", {"attn_q"}},
    {"attn.k_proj", {"attn_k"}},
    {"attn.v_proj", {"attn_v"}},
    {"attn.out_proj", {"attn_output"}},
    {"attn.Wqkv", {"attn_qkv"}},
    {"self_attention.query_key_value", {"attn_qkv"}},
    {"self_attention.dense", {"attn_output"}},
    {"attention.query_key_value", {"attn_qkv"}},
    {"attention.dense", {"attn_output"}},
    {"attention.self.query", {"attn_q"}},
    {"attention.self.key", {"attn_k"}},
    {"attention.self.value", {"attn_v"}},
    {"attention.output.dense", {"attn_output"}},
    {"attention.output.LayerNorm", {"attn_output_norm"}},
    // Norms. Where a name has two meanings the one in the file is taken.
    {"input_layernorm", {"attn_norm"}},
    {"ln_1", {"attn_norm"}},
    {"norm_1", {"attn_norm"}},
    {"norm", {"attn_norm"}},
    {"ln_attn", {"attn_norm_2"}},
    {"ln_mlp", {"attn_norm"}},
    {"post_attention_layernorm", {"post_attention_norm"}},
    {"post_self_attn_layernorm", {"post_attention_norm"}},
    {"post_attention_layernorm", {"ffn_norm"}},
    {"ln_2", {"ffn_norm"}},
    {"norm_2", {"ffn_norm"}},
    {"pre_feedforward_layernorm", {"ffn_norm"}},
    {"pre_ff_layernorm", {"ffn_norm"}},
    {"post_feedforward_layernorm", {"post_ffw_norm"}},
    {"post_mlp_layernorm", {"post_ffw_norm"}},
    {"output.LayerNorm", {"layer_output_norm"}},
    // MLP.
    {"mlp.gate_proj", {"ffn_gate"}},
    {"mlp.up_proj", {"ffn_up"}},
    {"mlp.down_proj", {"ffn_down"}},
    {"mlp.gate_up_proj", {"ffn_up"}},
    {"mlp.fc1", {"ffn_up"}},
    {"mlp.fc2", {"ffn_down"}},
    {"mlp.c_fc", {"ffn_up"}},
    {"mlp.c_proj", {"ffn_down"}},
    {"mlp.fc_in", {"ffn_up"}},
    {"mlp.fc_out", {"ffn_down"}},
    {"mlp.dense_h_to_4h", {"ffn_up"}},
    {"mlp.dense_4h_to_h", {"ffn_down"}},
    {"ffn.up_proj", {"ffn_up"}},
    {"ffn.down_proj", {"ffn_down"}},
    {"feed_forward.gate_proj", {"ffn_gate"}},
    {"feed_forward.up_proj", {"ffn_up"}},
    {"feed_forward.down_proj", {"ffn_down"}},
    {"intermediate.dense", {"ffn_up"}},
    {"output.dense", {"ffn_down"}},
    // Experts.
    {"mlp.gate", {"ffn_gate_inp"}},
    {"mlp.router", {"ffn_gate_inp"}},
    {"block_sparse_moe.router", {"ffn_gate_inp"}},
    {"feed_forward.router", {"ffn_gate_inp"}},
    {"experts.gate_up_proj", {"ffn_gate_exps", "ffn_up_exps"}},
    {"experts.down_proj", {"ffn_down_exps"}},
    {"shared_expert.gate_proj", {"ffn_gate_shexp"}},
    {"shared_expert.up_proj", {"ffn_up_shexp"}},
    {"shared_expert.down_proj", {"ffn_down_shexp"}},
    {"shared_experts.gate_proj", {"ffn_gate_shexp"}},
    {"shared_experts.up_proj", {"ffn_up_shexp"}},
    {"shared_experts.down_proj", {"ffn_down_shexp"}},
    {"mlp.shared_expert_gate", {"ffn_gate_inp_shexp"}},
    // State space.
    {"mixer.in_proj", {"ssm_in"}},
    {"mixer.conv1d", {"ssm_conv1d"}},
    {"mixer.x_proj", {"ssm_x"}},
    {"mixer.dt_proj", {"ssm_dt"}},
    {"mixer.out_proj", {"ssm_out"}},
    {"mixer.norm", {"ssm_norm"}},
};

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// Is `module` called that, or does it end in it, as a whole word?
bool is_called(std::string_view module, std::string_view name) {
  if (!module.ends_with(name)) return false;
  return module.size() == name.size() || module[module.size() - name.size() - 1] == '.';
}

// "layers.3.mlp.gate.weight" in its pieces: "blk.3." (empty outside the layers), "mlp.gate", ".weight".
struct Parts {
  std::string block, module, end;
};

Parts parts_of(const std::string& bare) {
  Parts parts;
  std::string_view rest = bare;
  const auto digit = std::find_if(rest.begin(), rest.end(), is_digit);
  const auto at = static_cast<std::size_t>(digit - rest.begin());
  if (digit != rest.end() && at > 0 && rest[at - 1] == '.') {
    const std::size_t stop = rest.find('.', at);
    if (stop != std::string_view::npos) {
      parts.block = "blk." + std::string(rest.substr(at, stop - at)) + ".";
      rest.remove_prefix(stop + 1);
    }
  }
  parts.end = ".weight";  // what the library keeps as a bare parameter has it in GGUF
  for (const char* end : {".weight", ".bias"}) {
    const std::string_view text = end;
    if (rest.size() <= text.size() || !rest.ends_with(text)) continue;
    parts.end = end;
    rest.remove_suffix(text.size());
  }
  constexpr std::string_view expert_bias = "_bias";  // experts.down_proj_bias
  if (rest.size() > expert_bias.size() && rest.ends_with(expert_bias)) {
    parts.end = ".bias";
    rest.remove_suffix(expert_bias.size());
  }
  parts.module = rest;
  return parts;
}

void add_ways(std::span<const Renamed> table, const Parts& parts, std::vector<StoredAs>& ways) {
  for (const Renamed& row : table) {
    const bool whole = row.ours.find('.') == std::string_view::npos;
    if (whole ? parts.module != row.ours : !is_called(parts.module, row.ours)) continue;
    StoredAs way;
    for (const std::string_view name : row.theirs)
      if (!name.empty()) way.names.push_back(parts.block + std::string(name) + parts.end);
    ways.push_back(std::move(way));
  }
}

}  // namespace

std::vector<StoredAs> gguf_names(const std::string& bare) {
  const Parts parts = parts_of(bare);
  std::vector<StoredAs> ways;
  if (parts.block.empty()) {
    add_ways(outside_layers, parts, ways);
    return ways;
  }
  if (is_called(parts.module, "A_log")) return {{{parts.block + "ssm_a"}}};
  if (is_called(parts.module, "mixer.D")) return {{{parts.block + "ssm_d"}}};
  if (is_called(parts.module, "dt_bias")) return {{{parts.block + "ssm_dt.bias"}}};
  add_ways(inside_layers, parts, ways);
  return ways;
}

}  // namespace llmcalc
