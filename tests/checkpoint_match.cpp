// `llmcalc params FOLDER`: files as transformers writes them agree with the count, and whatever is changed in them is
// found and named.
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "tests/support/checkpoint_files.hpp"
#include "tests/support/program.hpp"
#include "tests/support/rows.hpp"
#include "tests/support/schema.hpp"
#include "tests/support/table.hpp"

using namespace llmcalc;
using namespace llmcalc::test;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

namespace {

struct Answer {
  int exit = 0;
  json output;

  // "missing layers.*.a.weight 2; ..." of everything that was found.
  std::string found() const {
    std::string all;
    for (const json& f : output["checkpoint"]["found"])
      all += f["finding"].get<std::string>() + " " + f["name"].get<std::string>() + " " + f["count"].dump() + "; ";
    return all;
  }
};

Answer params(const std::string& path, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{"params", path, "--format", "json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Ran ran = run_program(arguments);
  INFO(ran.err);
  REQUIRE((ran.exit == 0 || ran.exit == 1));
  Answer answer{ran.exit, json::parse(ran.out)};
  CHECK(schema_faults(published_schema("params"), answer.output) == std::vector<std::string>{});
  return answer;
}

// Processor time of all programs that were run and have ended: other work on the machine does not count.
double seconds_of_programs() {
  rusage used{};
  REQUIRE(::getrusage(RUSAGE_CHILDREN, &used) == 0);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

Row row_of(const std::string& model) {
  for (const Row& row : rows("checkpoints.tsv"))
    if (row.text("model") == model) return row;
  throw std::runtime_error("no row for " + model);
}

// The row's checkpoint after a change, against the row's configuration.
template <class Change>
Answer changed(const std::string& model, Change change) {
  const Folder folder;
  const Row row = row_of(model);
  std::vector<TestTensor> tensors = tensors_of(row.text("header"));
  change(tensors);
  folder.write("config.json", row.text("config"));
  write_safetensors(folder, "model.safetensors", tensors);
  return params(folder.path());
}

// A tensor of a GGUF file: names, orders of dimensions and types as llama.cpp's converter and quantiser write them.
struct Piece {
  const char* name;
  std::vector<std::uint64_t> fastest_first;
  std::uint32_t type;
  std::uint64_t bytes;
};

void write_gguf(const Folder& folder, const std::string& architecture, const std::vector<Piece>& pieces) {
  std::string head = gguf_start(pieces.size(), 1) + gguf_key("general.architecture", 8, gguf_text(architecture));
  std::uint64_t place = 0;
  for (const Piece& piece : pieces) {
    head += gguf_tensor(piece.name, piece.fastest_first, piece.type, place);
    place += (piece.bytes + 31) / 32 * 32;
  }
  folder.write("model.gguf", head, (head.size() + 31) / 32 * 32 + place);
}

TestTensor& named(std::vector<TestTensor>& tensors, const std::string& name) {
  const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const TestTensor& t) { return t.name == name; });
  if (found == tensors.end()) throw std::runtime_error("no tensor " + name);
  return *found;
}

}  // namespace

TEST_CASE("checkpoints as save_pretrained writes them agree with the count") {
  const auto compare = [](const Row& row, Comparison& comparison) {
    const Answer answer = changed(row.text("model"), [](auto&) {});
    INFO(answer.output["checkpoint"].dump(1));
    CHECK(answer.exit == 0);
    CHECK(answer.output["checkpoint"]["agrees"] == true);
    CHECK(answer.output["checkpoint"]["compared"] == "names");
    CHECK(answer.output["checkpoint"]["parameters"] == answer.output["parameters"]["total"]);
    CHECK(answer.output["checkpoint"]["counted"]["bytes"] == 2 * answer.output["parameters"]["total"].get<Count>());
    comparison.equal("parameters", answer.output["checkpoint"]["parameters"].get<Count>());
  };
  check_table({"checkpoints.tsv", {"model", "config", "header"}, compare, 20});
}

TEST_CASE("checkpoints: what lies beside the parameters is named") {
  CHECK(changed("llama", [](auto&) {}).found().empty());
  CHECK(changed("deepseek_v3", [](auto&) {}).found() == "buffer model.layers.*.mlp.gate.e_score_correction_bias 1; ");
  CHECK_THAT(changed("gemma3", [](auto&) {}).found(),
             ContainsSubstring("other_part vision_tower.") || ContainsSubstring("other_part model.vision_tower."));
  // Published files: buffers of older library versions, a head stored twice, layers that predict further tokens.
  const Answer old = changed("llama", [](auto& tensors) {
    tensors.push_back({"model.layers.0.self_attn.rotary_emb.inv_freq", "F32", {4}});
    tensors.push_back({"lm_head.weight", "BF16", {40, 16}});
    tensors.push_back({"model.layers.2.eh_proj.weight", "BF16", {16, 32}});
  });
  CHECK(old.exit == 0);
  CHECK(old.found() ==
        "tied_head lm_head.weight 1; buffer model.layers.*.self_attn.rotary_emb.inv_freq 1; "
        "prediction model.layers.*.eh_proj.weight 1; ");
}

TEST_CASE("checkpoints: on a page, what is not counted is a line for each kind") {
  const Folder folder;
  const Row row = row_of("gemma3");
  folder.write("config.json", row.text("config"));
  write_safetensors(folder, "model.safetensors", tensors_of(row.text("header")));
  const Ran page = run_program({"params", folder.path()});
  CHECK(page.exit == 0);
  CHECK_THAT(page.out, ContainsSubstring(" and 33 more") && !ContainsSubstring("vision_tower.head") &&
                           ContainsSubstring("scope: the language model of 'gemma3' alone") &&
                           ContainsSubstring("The files hold what the configuration describes, tensor by tensor."));
}

TEST_CASE("checkpoints: names without the class's prefix, or with others, are the same tensors") {
  for (const char* model : {"gpt2", "bloom", "llama", "bert"}) {
    INFO(model);
    CHECK(changed(model, [](auto& tensors) {
            for (TestTensor& t : tensors)
              for (const std::string prefix : {"transformer.", "model.", "bert."})
                if (t.name.compare(0, prefix.size(), prefix) == 0) t.name.erase(0, prefix.size());
          }).exit == 0);
  }
  CHECK(changed("llama", [](auto& tensors) {
          for (TestTensor& t : tensors) t.name = "language_model." + t.name;
        }).exit == 0);
}

TEST_CASE("checkpoints: every planted fault is found") {
  const Answer missing = changed("llama", [](auto& tensors) {
    tensors.erase(std::find_if(tensors.begin(), tensors.end(),
                               [](const TestTensor& t) { return t.name == "model.layers.1.mlp.up_proj.weight"; }));
  });
  CHECK(missing.exit == 1);
  CHECK(missing.output["checkpoint"]["agrees"] == false);
  CHECK(missing.found() == "missing model.layers.*.mlp.up_proj.weight 1; ");
  CHECK(missing.output["checkpoint"]["found"][0]["counted_shape"] == json({24, 16}));
  CHECK(missing.output["checkpoint"]["parameters"] == row_of("llama").count("parameters") - 24 * 16);

  const Answer unexpected =
      changed("llama", [](auto& tensors) { tensors.push_back({"model.layers.0.mlp.extra.weight", "BF16", {3}}); });
  CHECK(unexpected.exit == 1);
  CHECK(unexpected.found() == "unexpected model.layers.*.mlp.extra.weight 1; ");

  const Answer shape = changed("qwen2", [](auto& tensors) { named(tensors, "lm_head.weight").shape = {64, 16}; });
  CHECK(shape.exit == 1);
  CHECK(shape.found() == "shape lm_head.weight 1; ");
  CHECK(shape.output["checkpoint"]["found"][0]["stored_shape"] == json({64, 16}));
  const Answer turned = changed("llama", [](auto& tensors) {
    std::swap(named(tensors, "model.layers.0.mlp.up_proj.weight").shape[0],
              named(tensors, "model.layers.0.mlp.up_proj.weight").shape[1]);
  });
  CHECK(turned.found() == "shape model.layers.*.mlp.up_proj.weight 1; ");

  const Answer type = changed("llama", [](auto& tensors) { named(tensors, "model.norm.weight").type = "F32"; });
  CHECK(type.exit == 0);  // the count holds whatever the type
  CHECK(type.found() == "type model.norm.weight 1; ");

  // One expert less, and one of another size.
  const Answer expert = changed("mixtral", [](auto& tensors) {
    tensors.erase(std::find_if(tensors.begin(), tensors.end(), [](const TestTensor& t) {
      return t.name == "model.layers.0.block_sparse_moe.experts.3.w1.weight";
    }));
  });
  CHECK(expert.exit == 1);
  CHECK_THAT(expert.found(), ContainsSubstring("missing model.layers.*.mlp.experts.gate_up_proj 1; ") &&
                                 ContainsSubstring("unexpected model.layers.*.block_sparse_moe.experts.*.w1.weight"));
  CHECK(changed("mixtral", [](auto& tensors) {
          named(tensors, "model.layers.0.block_sparse_moe.experts.3.w1.weight").shape = {25, 16};
        }).found() == "shape model.layers.*.mlp.experts.gate_up_proj 1; ");
}

TEST_CASE("checkpoints: names of a scheme of its own are compared by totals") {
  const auto rename = [](std::vector<TestTensor>& tensors) {
    for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].name = "t" + std::to_string(i);
  };
  const Answer same = changed("llama", rename);
  CHECK(same.exit == 0);
  CHECK(same.output["checkpoint"]["compared"] == "totals");
  const Answer more = changed("llama", [&](auto& tensors) {
    rename(tensors);
    tensors.push_back({"x", "BF16", {7}});
  });
  CHECK(more.exit == 1);
  CHECK(more.output["checkpoint"]["parameters"] == row_of("llama").count("parameters") + 7);
}

TEST_CASE("checkpoints: quantised ones are described, not refused") {
  // As DeepSeek-V3 is published: 8-bit weights, each with a table of scales.
  const Answer fp8 = changed("llama", [](auto& tensors) {
    std::vector<TestTensor> scales;
    for (TestTensor& t : tensors) {
      if (t.name.find("_proj.weight") == std::string::npos) continue;
      t.type = "F8_E4M3";
      scales.push_back({t.name + "_scale_inv", "F32", {1, 1}});
    }
    tensors.insert(tensors.end(), scales.begin(), scales.end());
  });
  CHECK(fp8.exit == 0);
  CHECK(fp8.output["checkpoint"]["parameters"] == row_of("llama").count("parameters"));
  CHECK_THAT(fp8.found(), ContainsSubstring("type model.layers.*.mlp.up_proj.weight 2; ") &&
                              ContainsSubstring("scales model.layers.*.mlp.up_proj.weight_scale_inv 2; "));
  // As GPTQ packs 4 bits: eight rows in one of int32.
  const Answer gptq = changed("llama", [](auto& tensors) {
    std::vector<TestTensor> packed;
    for (const TestTensor& t : tensors) {
      const std::size_t at = t.name.find("_proj.weight");
      if (at == std::string::npos) {
        packed.push_back(t);
        continue;
      }
      const std::string module = t.name.substr(0, at) + "_proj.";
      packed.push_back({module + "qweight", "I32", {t.shape[1] / 8, t.shape[0]}});
      packed.push_back({module + "qzeros", "I32", {1, t.shape[0] / 8}});
      packed.push_back({module + "scales", "F16", {1, t.shape[0]}});
      packed.push_back({module + "g_idx", "I32", {t.shape[1]}});
    }
    tensors = packed;
  });
  CHECK(gptq.exit == 0);
  CHECK(gptq.output["checkpoint"]["compared"] == "names");
  CHECK(gptq.output["checkpoint"]["parameters"] == row_of("llama").count("parameters"));
  CHECK_THAT(gptq.found(), ContainsSubstring("packed model.layers.*.mlp.up_proj.qweight 2; "));
}

TEST_CASE("checkpoints: one file, one piece, no configuration") {
  const Folder folder;
  const Row row = row_of("llama");
  const std::vector<TestTensor> tensors = tensors_of(row.text("header"));
  const std::string path = write_safetensors(folder, "weights.safetensors", tensors);
  const Answer alone = params(path, {"--tensors"});
  CHECK(alone.exit == 0);
  CHECK_FALSE(alone.output.contains("parameters"));
  CHECK(alone.output["checkpoint"]["parameters"] == row.count("parameters"));
  CHECK(alone.output["stored_tensors"].size() == 11);  // nine of a layer, embedding, norm
  folder.write("config.json", row.text("config"));
  CHECK(params(path).output["checkpoint"]["agrees"] == true);
  const std::string piece =
      write_safetensors(folder, "model-00001-of-00002.safetensors", {tensors.begin(), tensors.begin() + 5});
  const Answer part = params(piece);
  CHECK(part.exit == 0);
  CHECK(part.found().empty());  // the rest may be in the other piece
}

TEST_CASE("checkpoints: a terabyte takes no longer than its header") {
  const Folder folder;
  folder.write("config.json", R"({"model_type": "llama",
      "hidden_size": 16384, "num_hidden_layers": 126, "num_attention_heads": 128, "num_key_value_heads": 8,
      "intermediate_size": 53248, "vocab_size": 128256, "tie_word_embeddings": false, "dtype": "bfloat16"})");
  std::vector<TestTensor> tensors{{"model.embed_tokens.weight", "BF16", {128256, 16384}},
                                  {"lm_head.weight", "BF16", {128256, 16384}},
                                  {"model.norm.weight", "BF16", {16384}}};
  for (int i = 0; i < 126; ++i) {
    const std::string layer = "model.layers." + std::to_string(i) + ".";
    for (const char* norm : {"input_layernorm", "post_attention_layernorm"})
      tensors.push_back({layer + norm + ".weight", "BF16", {16384}});
    for (const char* square : {"q_proj", "o_proj"})
      tensors.push_back({layer + "self_attn." + square + ".weight", "BF16", {16384, 16384}});
    for (const char* few : {"k_proj", "v_proj"})
      tensors.push_back({layer + "self_attn." + few + ".weight", "BF16", {1024, 16384}});
    for (const char* wide : {"gate_proj", "up_proj"})
      tensors.push_back({layer + "mlp." + wide + ".weight", "BF16", {53248, 16384}});
    tensors.push_back({layer + "mlp.down_proj.weight", "BF16", {16384, 53248}});
  }
  write_safetensors(folder, "model.safetensors", tensors);
  const double begin = seconds_of_programs();
  const Answer answer = params(folder.path());
  const double took = seconds_of_programs() - begin;
  CHECK(answer.output["checkpoint"]["agrees"] == true);
  CHECK(answer.output["checkpoint"]["tensor_bytes"] == 811706777600);  // 2 * 405853388800
  CHECK(took < 2);
}

TEST_CASE("checkpoints: GGUF against the configuration beside it") {
  const Folder folder;
  folder.write("config.json", R"({"model_type": "mixtral", "hidden_size": 256, "num_hidden_layers": 1,
      "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 512, "vocab_size": 64,
      "num_local_experts": 4, "num_experts_per_tok": 2, "tie_word_embeddings": false})");
  const std::vector<Piece> pieces = {
      {"token_embd.weight", {256, 64}, 12, 64 * 144},
      {"output.weight", {256, 64}, 14, 64 * 210},
      {"output_norm.weight", {256}, 0, 1024},
      {"blk.0.attn_norm.weight", {256}, 0, 1024},
      {"blk.0.attn_q.weight", {256, 256}, 12, 256 * 144},
      {"blk.0.attn_k.weight", {256, 128}, 12, 128 * 144},
      {"blk.0.attn_v.weight", {256, 128}, 14, 128 * 210},
      {"blk.0.attn_output.weight", {256, 256}, 12, 256 * 144},
      {"blk.0.ffn_norm.weight", {256}, 0, 1024},
      {"blk.0.ffn_gate_inp.weight", {256, 4}, 0, 4096},
      {"blk.0.ffn_gate_exps.weight", {256, 512, 4}, 12, 2048 * 144},
      {"blk.0.ffn_up_exps.weight", {256, 512, 4}, 12, 2048 * 144},
      {"blk.0.ffn_down_exps.weight", {512, 256, 4}, 12, 2048 * 144},
  };
  write_gguf(folder, "llama", pieces);
  const Answer answer = params(folder.path());
  INFO(answer.output.dump(1));
  CHECK(answer.exit == 0);
  CHECK(answer.found().empty());
  CHECK(answer.output["checkpoint"]["parameters"] == answer.output["parameters"]["total"]);
  CHECK(answer.output["checkpoint"]["metadata"]["general.architecture"] == "llama");
  CHECK(answer.output["checkpoint"]["types"].size() == 3);
  std::vector<Piece> wrong = pieces;
  std::filesystem::rename(folder.path() + "/model.gguf", folder.path() + "/Model.GGUF");
  CHECK(params(folder.path()).output["checkpoint"]["format"] == "GGUF");
  std::filesystem::remove(folder.path() + "/Model.GGUF");
  wrong.back() = {"blk.0.ffn_down_exps.weight", {512, 256, 2}, 12, 1024 * 144};
  write_gguf(folder, "llama", wrong);
  CHECK(params(folder.path()).exit == 1);
  folder.write("second.gguf", "");
  CHECK_THAT(run_program({"params", folder.path()}).err, ContainsSubstring("several GGUF files"));
}

TEST_CASE("checkpoints: GGUF without the dimensions of 1 that PyTorch has") {
  // llama.cpp's converter squeezes Mamba's convolution (32, 1, 4). All in float32.
  const Folder folder;
  folder.write("config.json", R"({"model_type": "mamba", "hidden_size": 16, "num_hidden_layers": 1, "vocab_size": 40,
      "state_size": 8, "expand": 2, "conv_kernel": 4, "time_step_rank": 2})");
  std::vector<Piece> pieces = {{"token_embd.weight", {16, 40}, 0, 2560},
                               {"output_norm.weight", {16}, 0, 64},
                               {"blk.0.attn_norm.weight", {16}, 0, 64},
                               {"blk.0.ssm_in.weight", {16, 64}, 0, 4096},
                               {"blk.0.ssm_conv1d.weight", {4, 32}, 0, 512},
                               {"blk.0.ssm_conv1d.bias", {32}, 0, 128},
                               {"blk.0.ssm_x.weight", {32, 18}, 0, 2304},
                               {"blk.0.ssm_dt.weight", {2, 32}, 0, 256},
                               {"blk.0.ssm_dt.bias", {32}, 0, 128},
                               {"blk.0.ssm_a", {8, 32}, 0, 1024},
                               {"blk.0.ssm_d", {32}, 0, 128},
                               {"blk.0.ssm_out.weight", {32, 16}, 0, 2048}};
  write_gguf(folder, "mamba", pieces);
  const Answer answer = params(folder.path());
  INFO(answer.output.dump(1));
  CHECK(answer.exit == 0);
  CHECK(answer.found().empty());
  CHECK(answer.output["checkpoint"]["parameters"] == answer.output["parameters"]["total"]);
  pieces[4] = {"blk.0.ssm_conv1d.weight", {2, 32}, 0, 256};
  write_gguf(folder, "mamba", pieces);
  CHECK(params(folder.path()).found() == "shape backbone.layers.*.mixer.conv1d.weight 1; ");
}
