// The rules of thumb: textbook numbers, both directions, wrong input, and the reference page.
#include "core/rules.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "tests/catch.hpp"

using namespace llmcalc;
using Catch::Matchers::ContainsSubstring;

namespace {

using Given = std::vector<std::pair<std::string, std::string>>;

Given given(const std::string& words) {
  Given pairs;
  std::istringstream stream(words);
  for (std::string word; stream >> word;)
    pairs.emplace_back(word.substr(0, word.find('=')), word.substr(word.find('=') + 1));
  return pairs;
}

RuleAnswer applied(const std::string& name, const std::string& words) {
  return apply_rule(rule_named(name), given(words));
}

const RuleValue& value(const RuleAnswer& answer, const std::string& key) {
  for (const RuleValue& one : answer.values) {
    if (one.key == key) return one;
  }
  throw std::logic_error("no value " + key);
}

// A value in the unit's base, as it can be typed.
std::string typed(const Number& number, Dimension unit) {
  const std::string digits = to_digits(number);
  if (unit == dim::dollar / dim::second) return to_digits(number * Number(3600)) + "/h";
  if (unit == dim::joule) return digits + "J";
  if (unit == dim::byte || unit == dim::flops_per_second || unit == dim::bytes_per_second || unit == dim::watt ||
      unit == dim::second) {
    return digits + to_string(unit);
  }
  return digits;
}

std::string problem(const std::string& name, const std::string& words) {
  try {
    applied(name, words);
  } catch (const Error& error) {
    CHECK(error.exit() == Exit::bad_input);
    return error.what();
  }
  return "";
}

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

// A sign that stands for two things in one formula would mislead, and solving would find the wrong one.
TEST_CASE("signs and keys are unique within a rule and those behind it") {
  for (const Rule& rule : rules()) {
    CAPTURE(rule.name);
    std::map<std::string, std::string> key_of_sign;
    std::set<std::string> keys;
    const auto visit = [&](const auto& self, const Rule& inner) -> void {
      for (const RuleSymbol& symbol : inner.symbols) {
        const auto [found, is_new] = key_of_sign.emplace(symbol.sign, symbol.key);
        CAPTURE(symbol.sign, symbol.key);
        CHECK((is_new || found->second == symbol.key));
        keys.insert(symbol.key);
        if (*symbol.from != '\0') self(self, rule_named(symbol.from));
      }
    };
    visit(visit, rule);
    for (const RuleResult& result : rule.results) {
      CAPTURE(result.key);
      CHECK(keys.count(result.key) == 0);
      CHECK(key_of_sign.count(result.sign) == 0);
    }
  }
}

TEST_CASE("each rule solved for each of its symbols gives back what it was computed from") {
  int solved = 0;
  for (const Rule& rule : rules()) {
    const std::string name = rule.name;
    if (name == "squared_error_step") continue;  // a square has two roots
    const RuleAnswer forward = applied(name, rule.example);
    for (const RuleValue& result : forward.values) {
      const std::string formula = result.symbolic.substr(result.symbolic.find('=') + 1);
      for (const RuleInput& unknown : forward.inputs) {
        if (unknown.symbol->kind == SymbolKind::wholes) continue;
        std::string words = result.key + "=" + typed(result.value, result.unit);
        for (const RuleInput& input : forward.inputs) {
          std::string text = &input == &unknown ? "?" : "";
          for (const Number& one : input.values) {
            if (&input != &unknown) text += (text.empty() ? "" : ",") + typed(one, input.symbol->unit);
          }
          words += " " + std::string(input.symbol->key) + "=" + text;
        }
        CAPTURE(name, words, formula);
        RuleAnswer back;
        try {
          back = applied(name, words);
        } catch (const Error& error) {
          // Only where the symbol is not in this formula, is there twice, or is hidden by a rounding or a choice.
          const std::string why = error.what();
          const bool stated =
              why.find("times") != std::string::npos || why.find("does not stand") != std::string::npos ||
              why.find("rounding") != std::string::npos || why.find("not determined") != std::string::npos ||
              why.find("decides a branch") != std::string::npos;
          CAPTURE(why);
          CHECK(stated);
          continue;
        }
        REQUIRE(back.values.size() == 1);
        CHECK(back.solved_for == unknown.symbol->key);
        CHECK(back.values[0].value.as_double() == Approx(unknown.values[0].as_double()).epsilon(1e-9));
        ++solved;
      }
    }
  }
  CHECK(solved > 150);
}

TEST_CASE("time, MFU, devices and tokens from one another") {
  const std::string base = "peak=100TFLOP/s parameters=1B ";
  CHECK(to_digits(applied("training_time", base + "tokens=10B time=1500000s").values[0].value) == "0.4");
  CHECK(to_digits(applied("training_time", base + "mfu=40% time=1500000s").values[0].value) == "10000000000");
  CHECK(to_digits(applied("training_time", base + "tokens=10B mfu=40% time=750000s").values[0].value) == "2");
  const RuleAnswer devices = applied("training_time", base + "tokens=10B mfu=40% time=1day");
  CHECK(devices.solved_for == "devices");
  CHECK(devices.values[0].note == "not a whole number: between 17 and 18");
  const RuleAnswer mfu = applied("training_time", base + "tokens=10B time=1500000s");
  CHECK(mfu.values[0].symbolic == "MFU = 6 · N · D / (t · G · P)");
  CHECK(mfu.values[0].text == "40 %");
  // A budget of $1,000 buys 12 · 10⁹ tokens: 500 h · 3600 s · 4·10¹³ FLOP/s / (6 · 10⁹)
  CHECK(to_digits(applied("cost", base + "mfu=40% usd_per_hour=2 usd=1000").values[0].value) == "12000000000");
}

TEST_CASE("the three forms of an answer") {
  const RuleAnswer answer = applied("training_time", "parameters=1B tokens=10B peak=100TFLOP/s mfu=40%");
  REQUIRE(answer.values.size() == 1);
  CHECK(answer.values[0].symbolic == "t = 6 · N · D / (G · P · MFU)");
  CHECK(answer.values[0].substituted == "6 · 10⁹ parameters · 10¹⁰ tokens / (1 · 100 TFLOP/s · 40 %)");
  CHECK(answer.values[0].text == "1,500,000 s = 17.36 days");
  CHECK(value(applied("tensor_bytes", "shape=8,1024,4096 dtype=bf16"), "bytes").text ==
        "67,108,864 B = 64 MiB = 67.11 MB");
  CHECK(rule_formulas(rule_named("cost")).front() == "cost = t · G · price");
  const Explanation explained =
      explain_rule("6nd", {{"parameters", Count{1'000'000'000}}, {"tokens", Count{10'000'000'000}}});
  CHECK(explained.symbolic == "C = 6 · N · D");
  CHECK(explained.substituted == "6 · 10⁹ parameters · 10¹⁰ tokens");
  CHECK(explained.result == "6·10¹⁹ FLOP");
  CHECK_THAT(explained.source, ContainsSubstring("Kaplan"));
  CHECK_THROWS_AS(explain_rule("6nd", {{"parameters", 1}}), FormulaError);
}

TEST_CASE("a value with the wrong unit is told which is due") {
  CHECK_THAT(problem("ridge", "peak=80GB bandwidth=1TB/s"),
             ContainsSubstring("peak: ") && ContainsSubstring("size in bytes") && ContainsSubstring("FLOP/s"));
  CHECK_THAT(problem("ridge", "peak=100TFLOP/s bandwidth=80GB"), ContainsSubstring("bandwidth takes a bandwidth (B/s"));
  CHECK_THAT(problem("ridge", "peak=1e14 bandwidth=1TB/s"), ContainsSubstring("no unit"));
  CHECK_THAT(problem("6nd", "parameters=1B tokens=10GB"), ContainsSubstring("tokens takes a number of tokens"));
  CHECK_THAT(problem("energy", "time=1day power=700"), ContainsSubstring("power takes a power"));
  CHECK_THAT(problem("energy", "time=700W power=700W"), ContainsSubstring("time takes a time"));
  CHECK_THAT(problem("tensor_bytes", "elements=5 dtype=bf61"), ContainsSubstring("bf16"));
  CHECK_THAT(problem("training_time", "flops=6e19 peak=1TFLOP/s mfu=140%"), ContainsSubstring("100 %"));
  CHECK_THAT(problem("6nd", "parameters=1B tokens=-5"), ContainsSubstring("negative"));
  CHECK_THAT(problem("6nd", "parameters=1.5 tokens=5"), ContainsSubstring("whole"));
  CHECK_THAT(problem("6nd", "parameters=0 tokens=5"), ContainsSubstring("at least 1"));
  CHECK_THAT(problem("6nd", "parameters= tokens=5"), ContainsSubstring("missing"));
}

TEST_CASE("unknown rules and symbols, missing and surplus values") {
  CHECK_THROWS_WITH(rule_named("training_tim"), ContainsSubstring("did you mean training_time"));
  CHECK_NOTHROW(rule_named("6ND"));
  CHECK_NOTHROW(rule_named("training-time"));
  CHECK_THAT(problem("6nd", "parameters=1B token=10B"), ContainsSubstring("did you mean tokens"));
  CHECK_THAT(problem("6nd", ""), ContainsSubstring("parameters: ") && ContainsSubstring("tokens: "));
  CHECK_THAT(problem("6nd", "parameters=1B"), ContainsSubstring("missing: tokens"));
  CHECK_THAT(problem("6nd", "flops=6e19"), ContainsSubstring("too many unknowns"));
  CHECK_THAT(problem("6nd", "parameters=1B tokens=?"), ContainsSubstring("a result has to be given: flops"));
  CHECK_THAT(problem("6nd", "parameters=1B tokens=10B flops=6e19"), ContainsSubstring("nothing is left"));
  CHECK_THAT(problem("6nd", "parameters=1B parameters=2B"), ContainsSubstring("twice"));
  CHECK_THAT(problem("16n", "parameters=1B recipe=adam-fp32"), ContainsSubstring("adamw-fp32"));
  CHECK_THAT(problem("linear_flops", "rows=1 in=2 forward=8 total=24"), ContainsSubstring("one result at a time"));
  CHECK_THAT(problem("micro_batch_weights", "sizes=? total=5"), ContainsSubstring("list"));
  // All problems in one go.
  CHECK_THAT(problem("ridge", "peak=1 bandwidth=2"), ContainsSubstring("peak") && ContainsSubstring("bandwidth"));
}

TEST_CASE("results that cannot be are errors, not numbers") {
  CHECK_THAT(problem("mfu", "achieved=140TFLOP/s peak=100TFLOP/s"),
             ContainsSubstring("140 %") && ContainsSubstring("sparse"));
  CHECK_THAT(problem("hfu", "mfu=90%"), ContainsSubstring("120 %"));
  CHECK_THAT(problem("training_time", "flops=6e19 peak=1TFLOP/s time=1s"), ContainsSubstring("above 100 %"));
  CHECK_THAT(problem("16n", "parameters=1B bytes=1GB moments=?"), ContainsSubstring("cannot be negative"));
  CHECK_THAT(problem("transformer_flops", "batch=1e13 seq=1e13 layers=1e13 hidden=1e13 vocab=1"),
             ContainsSubstring("too large"));
  CHECK_THAT(problem("roofline", "peak=100TFLOP/s bandwidth=1TB/s attainable=120TFLOP/s"),
             ContainsSubstring("never above P"));
  CHECK_THAT(problem("roofline", "peak=100TFLOP/s bandwidth=1TB/s attainable=100TFLOP/s"),
             ContainsSubstring("equal at 100 FLOP/B"));
  CHECK_THAT(problem("optimizer_steps", "tokens_per_step=10 steps=3"), ContainsSubstring("rounding"));
}

TEST_CASE("no text as a value does harm") {
  for (const std::string text : {"",
                                 "-",
                                 "?",
                                 "=",
                                 "1e999",
                                 "-1e999",
                                 "nan",
                                 "inf",
                                 "1e-400",
                                 "0x10",
                                 "1,2,,3",
                                 "()",
                                 "(",
                                 "\xff\xfe",
                                 "$",
                                 "%",
                                 "B",
                                 "/h",
                                 "FLOP",
                                 "1 FLOP FLOP",
                                 "99999999999999999999999999999999999999999",
                                 "-170141183460469231731687303715884105728"}) {
    for (const Rule& rule : rules()) {
      for (const RuleSymbol& symbol : rule.symbols) {
        Given values = given(rule.example);
        values.erase(std::remove_if(values.begin(), values.end(), [&](const auto& v) { return v.first == symbol.key; }),
                     values.end());
        values.emplace_back(symbol.key, text);
        CAPTURE(rule.name, symbol.key, text);
        try {
          apply_rule(rule, values);
        } catch (const Error& error) {
          CHECK(error.exit() == Exit::bad_input);
        }
      }
    }
  }
  std::string many = "1";
  for (int i = 0; i < 50'000; ++i) many += ",1";
  CHECK_THAT(problem("elements", "shape=" + many), ContainsSubstring("more than 1000 values"));
}

TEST_CASE("code gets the same numbers") {
  CHECK(to_string(rule_6nd(405'853'388'800, 15'600'000'000'000)) == "37987877191680000000000000");
  CHECK(to_string(rule_2nd(3, 5)) == "30");
  CHECK(to_string(rule_4nd(3, 5)) == "60");
  CHECK(to_string(rule_matmul(2, 4, 3)) == "48");
  CHECK(rule_16n(1'000'000'000).value() == 16'000'000'000);
  CHECK(rule_training_state(1'000'000'000, Bytes(18)).value() == 18'000'000'000);
  CHECK(rule_kv_cache_per_token(32, 8, 128, Bytes(2)).value() == 131'072);
  CHECK(rule_ridge(FlopsPerSecond(1e14), BytesPerSecond(1e12)).value() == Approx(100));
  CHECK(rule_roofline(FlopsPerSecond(1e14), BytesPerSecond(1e12), FlopsPerByte(20)).value() == Approx(2e13));
  CHECK(
      rule_roofline_time(Flops(2'000'000'000'000), Bytes(1'000'000'000'000), FlopsPerSecond(1e14), BytesPerSecond(1e12))
          .value() == Approx(1));
  CHECK(rule_mfu(FlopsPerSecond(4e13), 1, FlopsPerSecond(1e14)) == Approx(0.4));
  CHECK(rule_training_time(rule_6nd(1'000'000'000, 10'000'000'000), 1, FlopsPerSecond(1e14), 0.4).value() ==
        Approx(1.5e6));
  CHECK(rule_cost(Seconds(36'000), 8, DollarsPerHour(2.5)) == Approx(200));
  CHECK_THROWS_AS(rule_16n(Count{1} << 61), Overflow);
}

TEST_CASE("the reference page is the one these rules write") {
  std::ifstream file(LLMCALC_SOURCE_DIR "/docs/reference/rules.md");
  std::stringstream page;
  page << file.rdbuf();
  INFO("write it with: llmcalc rule --format markdown > docs/reference/rules.md");
  CHECK((page.str() == rules_as_markdown()));
}
