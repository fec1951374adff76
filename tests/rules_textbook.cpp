// Every rule of thumb against a number from a textbook, a paper, or a sheet of paper.
#include <set>

#include "core/rules.hpp"
#include "tests/catch.hpp"
#include "tests/support/apply_rule.hpp"

using namespace llmcalc;
using llmcalc::test::applied;
using llmcalc::test::value;

namespace {

struct Textbook {
  const char* rule;
  const char* words;
  const char* key;
  const char* digits;  // all of them where exact
  double tolerance;    // relative; 0: exact
};

// Worked out by hand, or read in the source named.
const Textbook textbook[] = {
    // 8 · 1024 · 4096 · 2
    {"tensor_bytes", "shape=8,1024,4096 dtype=bf16", "bytes", "67108864", 0},
    {"tensor_bytes", "shape=(8,1024,4096) dtype=2", "bytes", "67108864", 0},
    {"tensor_bytes", "elements=100M dtype=fp32", "bytes", "400000000", 0},
    {"tensor_bytes", "elements=100M dtype=bf16", "bytes", "200000000", 0},
    // (2,3) × (3,4): 2 · 2 · 4 · 3, and 8 results of 3 products and 2 sums
    {"matmul_flops", "m=2 n=4 k=3", "flops", "48", 0},
    {"matmul_flops", "m=2 n=4 k=3", "exact", "40", 0},
    {"linear_flops", "rows=7 in=4 out=5", "forward", "280", 0},
    {"linear_flops", "rows=7 in=4 out=5", "backward", "560", 0},
    {"linear_flops", "rows=7 in=4 out=5", "total", "840", 0},
    {"linear_flops", "batch=2 seq=3 in=4 out=5", "forward", "240", 0},  // 2 · B · T · H · K
    {"6nd", "parameters=1B tokens=10B", "flops", "60000000000000000000", 0},
    {"2nd", "parameters=1B tokens=10B", "flops", "20000000000000000000", 0},
    {"4nd", "parameters=1B tokens=10B", "flops", "40000000000000000000", 0},
    // Llama 3.1 405B: 6 · 405,853,388,800 · 15.6 · 10¹²
    {"6nd", "parameters=405853388800 tokens=15.6T", "flops", "37987877191680000000000000", 0},
    // 6 · 8,030,261,248 + 12 · 32 · 4096 · 8192 = 61,066,469,376 per token
    {"6nd_attention", "parameters=8030261248 tokens=1 layers=32 width=4096 seq=8192", "flops", "61066469376", 0},
    {"attention_flops", "seq=8 width=4", "full", "1024", 0},  // 2 products · 2 · 8² · 4
    {"attention_flops", "seq=8 width=4", "causal", "512", 0},
    {"attention_window_flops", "seq=8 width=4 window=8", "flops", "512", 0},
    {"attention_window_flops", "seq=8 width=4 window=2", "flops", "224", 0},  // 4 · 4 · (2 · 8 − 2)
    // GPT-3's shape, a batch of 1536: 96 B T L H² (1 + T/6H + V/16LH), in exact fractions
    {"transformer_flops", "passes=4 batch=1536 seq=2048 layers=96 hidden=12288 vocab=51200", "flops",
     "4510970753323106304", 0},
    // NVIDIA's Llama-3-70B LoRA rows: 278.8 GFLOP per token, 4 · 69.5 · 10⁹ and nothing for attention
    {"lora_flops", "frozen=69.5B trained=0 tokens=1", "flops", "278000000000", 0},
    // Published parameter counts
    {"gpt_parameters", "layers=12 hidden=768 vocab=50257 positions=1024", "parameters", "124439808", 0},
    {"llama_parameters", "layers=32 hidden=4096 width=4096 kv_width=4096 ffn=11008 vocab=32000", "parameters",
     "6738415616", 0},
    {"llama_parameters", "layers=32 hidden=4096 width=4096 kv_width=1024 ffn=14336 vocab=128256", "parameters",
     "8030261248", 0},
    {"llama_parameters", "layers=126 hidden=16384 width=16384 kv_width=1024 ffn=53248 vocab=128256", "parameters",
     "405853388800", 0},
    {"moe_active", "shared=1B expert=500M active_experts=2", "parameters", "2000000000", 0},
    {"lora_parameters", "rank=16 in=4096 out=1024 matrices=32", "parameters", "2621440", 0},  // 32 · 16 · 5120
    {"chinchilla_tokens", "parameters=70B", "tokens", "1400000000000", 0},                    // the paper's 70B on 1.4T
    // Bytes per parameter by recipe
    {"16n", "parameters=1B", "bytes", "16000000000", 0},
    {"16n", "parameters=1B recipe=sgd-fp32", "bytes", "8000000000", 0},
    {"16n", "parameters=1B recipe=momentum-fp32", "bytes", "12000000000", 0},
    {"16n", "parameters=1B recipe=adamw-bf16", "bytes", "8000000000", 0},
    {"16n", "parameters=1B recipe=momentum-bf16-fp32-grads", "bytes", "14000000000", 0},
    {"16n", "parameters=1B recipe=adamw-bf16-master", "bytes", "16000000000", 0},
    {"16n", "parameters=1B recipe=adamw-bf16-fp32-grads", "bytes", "18000000000", 0},
    {"16n", "parameters=1B recipe=adamw-fp16-megatron", "bytes", "20000000000", 0},
    {"16n", "parameters=1B recipe=adamw-bf16-master gradient=4", "bytes", "18000000000", 0},
    // The ZeRO paper's figure 1: 7.5B parameters on 64 devices, 31.4, 16.6 and 1.9 GB
    {"zero", "parameters=7.5B ranks=64", "stage_1", "31400000000", 0.001},
    {"zero", "parameters=7.5B ranks=64", "stage_2", "16600000000", 0.003},
    {"zero", "parameters=7.5B ranks=64", "stage_3", "1875000000", 0},
    // Llama 3 8B: 2 · 32 · 8 · 128 · 2 = 128 KiB for a token
    {"kv_cache", "layers=32 kv_heads=8 head_dim=128 dtype=bf16", "per_token", "131072", 0},
    {"kv_cache", "layers=32 kv_heads=8 head_dim=128 dtype=bf16 tokens=8192", "bytes", "1073741824", 0},
    // s b h (34 + 5 a s / h) with s = 2, b = 3, h = 4, a = 2: 24 · 34 + 3 · 5 · 2 · 4
    {"activations", "seq=2 batch=3 hidden=4 heads=2", "bytes", "936", 0},
    {"activations", "seq=2 batch=3 hidden=4 heads=2", "without_scores", "816", 0},
    {"activations", "seq=2 batch=3 hidden=4 heads=2", "recomputed", "48", 0},
    {"logits", "batch=2 seq=4096 vocab=128256 dtype=fp32", "bytes", "4202692608", 0},
    {"embedding", "batch=2 seq=3 hidden=4 dtype=fp32", "elements", "24", 0},
    {"embedding", "batch=2 seq=3 hidden=4 dtype=fp32", "bytes", "96", 0},
    {"checkpoint_bytes", "parameters=1B", "bytes", "12000000000", 0},
    {"checkpoint_bytes", "parameters=1B weight=2", "weights", "2000000000", 0},
    {"checkpoint_time", "parameters=1B rate=2GB/s", "time", "6", 0},
    {"dataset_bytes", "tokens=10B bytes_per_id=uint16", "bytes", "20000000000", 0},
    {"batch_bytes", "batch=8 seq=1024 arrays=2", "bytes", "131072", 0},
    {"transfer_time", "batch=8 seq=1024 arrays=2 rate=1MB/s", "time", "0.131072", 0},
    // The hypothetical card of 100 TFLOP/s and 1 TB/s
    {"ridge", "peak=100TFLOP/s bandwidth=1TB/s", "intensity", "100", 0},
    {"roofline", "peak=100TFLOP/s bandwidth=1TB/s intensity=20", "attainable", "20000000000000", 0},
    {"roofline", "peak=100TFLOP/s bandwidth=1TB/s intensity=150", "attainable", "100000000000000", 0},
    {"roofline_time", "flops=2e12 bytes=1TB peak=100TFLOP/s bandwidth=1TB/s", "time", "1", 0},
    {"arithmetic_intensity", "flops=48 bytes=96B", "intensity", "0.5", 0},
    {"matmul_intensity", "m=2 n=4 k=3 dtype=fp32", "bytes", "104", 0},  // (6 + 12 + 8) · 4
    {"mfu", "achieved=40TFLOP/s peak=100TFLOP/s", "mfu", "0.4", 0},
    {"mfu", "parameters=1B tokens_per_second=8000 devices=2 peak=100TFLOP/s", "mfu", "0.24", 0},
    {"hfu", "mfu=30%", "hfu", "0.4", 0},  // four passes for three
    {"training_time", "flops=6e19 peak=100TFLOP/s mfu=40%", "time", "1500000", 0},
    {"training_time", "parameters=1B tokens=10B peak=100TFLOP/s mfu=0.4", "time", "1500000", 0},
    // Narayanan et al.: 34 days for 175B parameters, 300B tokens, 1024 devices at 140 TFLOP/s
    {"training_time_recompute", "parameters=175B tokens=300B devices=1024 achieved=140TFLOP/s", "time", "2937600",
     0.005},
    {"throughput", "parameters=1B peak=100TFLOP/s mfu=45%", "tokens_per_second", "7500", 0},
    {"device_hours", "time=10days devices=64", "device_time", "55296000", 0},
    {"cost", "time=10h devices=8 usd_per_hour=$2.50/h", "usd", "200", 0},
    {"energy", "time=1h devices=10 power=700W pue=1.5", "energy", "37800000", 0},  // 10.5 kWh
    {"effective_batch", "micro_batch=2 accumulate=4", "batch", "8", 0},
    {"tokens_per_step", "micro_batch=2 seq=4096 accumulate=4 devices=8", "tokens", "262144", 0},
    {"optimizer_steps", "tokens=1000001 tokens_per_step=1000", "steps", "1001", 0},
    {"micro_batch_weights", "sizes=4,4,2", "total", "10", 0},
    {"micro_batch_weights", "sizes=4,4,2", "weight_1", "0.4", 0},
    {"micro_batch_weights", "sizes=4,4,2", "weight_3", "0.2", 0},
    {"pipeline_bubble", "stages=8 micro_batches=7", "bubble", "1", 0},
    {"ring_all_reduce", "bytes=8GB ranks=8 bandwidth=100GB/s", "traffic", "14000000000", 0},     // 2 · 7/8 · 8 GB
    {"ring_all_reduce", "bytes=8GB ranks=8 bandwidth=100GB/s latency=10ms", "time", "0.28", 0},  // 0.14 + 14 · 0.01
    {"ring_all_gather", "bytes=8GB ranks=8 bandwidth=100GB/s", "time", "0.07", 0},
    // One step from w = 1: the loss falls from 9 to 0.09
    {"gradient_descent", "weight=1 gradient=-18 rate=0.05", "new_weight", "1.9", 0},
    {"squared_error_step", "rate=0.05", "gradient", "-18", 0},
    {"squared_error_step", "rate=0.05", "new_weight", "1.9", 0},
    {"squared_error_step", "rate=0.05", "loss", "9", 0},
    {"squared_error_step", "rate=0.05", "new_loss", "0.09", 0},
    {"cross_entropy", "p=0.25", "loss", "1.3862943611198906", 1e-15},  // 2 ln 2
    {"uniform_loss", "vocab=50257", "loss", "10.82490511970208", 1e-14},
    {"perplexity", "p=0.25", "perplexity", "4", 1e-14},
    {"xavier", "fan_in=4096", "std", "0.015625", 0},
    {"glorot", "fan_in=4 fan_out=4", "std", "0.5", 0},
};

}  // namespace

TEST_CASE("textbook numbers") {
  for (const Textbook& row : textbook) {
    CAPTURE(row.rule, row.words, row.key);
    const RuleAnswer answer = applied(row.rule, row.words);
    const Number& found = value(answer, row.key).value;
    if (row.tolerance == 0) {
      CHECK(to_digits(found) == row.digits);
    } else {
      CHECK(found.as_double() == Approx(std::stod(row.digits)).epsilon(row.tolerance));
    }
  }
}

TEST_CASE("every rule has a textbook row, a source and an example that works") {
  std::set<std::string> tested;
  for (const Textbook& row : textbook) tested.insert(row.rule);
  std::set<std::string> names;
  for (const Rule& rule : rules()) {
    CAPTURE(rule.name);
    CHECK(names.insert(rule.name).second);
    CHECK((tested.count(rule.name) == 1 ||
           std::set<std::string>{"elements", "rows", "flops_per_token", "achieved_rate"}.count(rule.name) ==
               1));  // behind others, tested through them
    CHECK(std::string(rule.title) != "");
    CHECK(std::string(rule.scope) != "");
    CHECK(std::string(rule.caution) != "");
    CHECK(std::string(rule.source) != "");
    CHECK(applied(rule.name, rule.example).values.size() >= rule.results.size());
  }
}
