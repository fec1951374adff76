// The roofline's tables and plots of a device that was measured, on a report made by hand.
#include "report/roofline.hpp"

#include <nlohmann/json.hpp>

#include "report/plot.hpp"
#include "tests/catch.hpp"
#include "tests/support/runs.hpp"

using namespace llmcalc;
using Catch::Matchers::ContainsSubstring;
using report::PlotForm;
using test::flat;

namespace {

constexpr auto npos = std::string::npos;

RooflineReport measured_device() {
  RooflineReport r;
  r.device = "Card";
  r.bandwidth = BytesPerSecond(1e12);
  r.ceilings = {{"bf16 peak", "bf16", FlopsPerSecond(1e14), {}, false},
                {"fp16 peak", "fp16", FlopsPerSecond(1e14), {}, false},
                {"fp32 peak", "fp32", FlopsPerSecond(1e13), {}, false},
                {"memory bandwidth", "", {}, BytesPerSecond(1e12), false},
                {"fp32 measured", "fp32", FlopsPerSecond(8e12), {}, true}};
  r.measured = {{"1 multiply-add", FlopsPerByte(0.25), FlopsPerSecond(2e11), true},
                {"many", FlopsPerByte(64), FlopsPerSecond(8e12), true},
                {"matmul", FlopsPerByte(500), FlopsPerSecond(7e13), false}};
  return r;
}

RooflineOperation operation(const char* module, Op op, Count flops, double expected) {
  RooflineOperation o;
  o.module = module;
  o.op = op;
  o.flops = Flops(flops);
  o.bytes = Bytes(1000);
  o.time = Seconds(expected / 2);
  o.expected = Seconds(expected);
  return o;
}

RooflineReport with_step() {
  RooflineReport r = measured_device();
  r.model = "Tiny";
  r.peak_key = "bf16";
  r.step = RooflineSteps{
      {operation("layers.mlp.up", Op::mm, 400000, 4), operation("", Op::attention_forward, 300000, 3),
       operation("layers.norm", Op::mul, 1000, 2), operation("layers.mlp.act", Op::mul, 1100, 1),
       operation("layers", Op::add, 900, 0.5), operation("loss", Op::log_softmax, 5000, 0.25),
       operation("ln", Op::layer_norm, 6000, 0.125), operation("", Op::softmax, 5000, 0.05),
       operation("loss", Op::nll_loss, 5000, 0.05), operation("loss", Op::fused_cross_entropy, 5000, 0.05),
       operation("ln", Op::rms_norm, 6000, 0.05), operation("", Op::copy, 0, 0.125)},
      Seconds(5),
      Seconds(11)};
  return r;
}

}  // namespace

TEST_CASE("roofline of a measured device: the sweep beside what the roof allows") {
  const RooflineReport r = measured_device();
  const std::string text = flat(report::roofline_page(r).as_text(false));
  // min(10 TFLOP/s, I · 1 TB/s) is 0.25 TFLOP/s at 0.25 FLOP/B and 10 TFLOP/s at 64.
  CHECK_THAT(text, ContainsSubstring("0.250 200 GFLOP/s 80.0 %"));
  CHECK_THAT(text, ContainsSubstring("64.0 8 TFLOP/s 80.0 %"));
  CHECK(text.find("7e13") == npos);
  const auto json = nlohmann::json::parse(report::roofline_json(r).dump());
  CHECK(json["measured"].size() == 3);
  CHECK(json["ceilings"][4]["measured"] == true);
  RooflineReport without = r;  // no fp32 peak: nothing to compare with
  without.ceilings.erase(without.ceilings.begin() + 2);
  CHECK_THAT(flat(report::roofline_page(without).as_text(false)), ContainsSubstring("0.250 200 GFLOP/s 64.0"));
  without.ceilings = r.ceilings;
  without.bandwidth.reset();
  CHECK_THAT(flat(report::roofline_page(without).as_text(false)), ContainsSubstring("0.250 200 GFLOP/s 64.0"));
  CHECK(report::operations_table(r, 0).rows.empty());
}

TEST_CASE("of a step's operations as many as asked for, the rest in one row, which is never one operation") {
  const RooflineReport r = with_step();
  CHECK(report::operations_table(r, 0).rows.size() == 12);
  CHECK(report::operations_table(r, 11).rows.size() == 12);
  const report::Table most = report::operations_table(r, 5);
  REQUIRE(most.rows.size() == 6);
  CHECK(most.rows[5][0].text == "7 more");
  CHECK(most.rows[1][0].text == "attention");  // of no module
  report::Page page;
  report::explain_roofline(r, page);
  CHECK_THAT(flat(page.as_text(false)), ContainsSubstring("ridge of the bf16 peak"));
  CHECK_THAT(flat(page.as_text(false)), ContainsSubstring("= 100 FLOP/B"));
  RooflineReport other = r;  // the ridge of the peak that the job uses
  other.peak_key = "fp32";
  report::Page its;
  report::explain_roofline(other, its);
  CHECK_THAT(flat(its.as_text(false)),
             ContainsSubstring("ridge of the fp32 peak: I_ridge = P / β = 10 TFLOP/s / 1 TB/s"));
}

TEST_CASE("plots of measurements") {
  for (const PlotForm form : {PlotForm::svg, PlotForm::png, PlotForm::terminal}) {
    const std::string device = report::roofline_plot(measured_device(), form);
    CHECK_THAT(device, ContainsSubstring("$measured << EOD\n2.50000e-1 2.00000e11\n"));
    CHECK_THAT(device, ContainsSubstring("$sweep using 1:2 with lines"));
    CHECK_THAT(device, ContainsSubstring("\"bf16, fp16  100 TFLOP/s\""));  // equal peaks share a line
    CHECK_THAT(device, ContainsSubstring("\"fp32 measured  8 TFLOP/s\""));
    const std::string step = report::roofline_plot(with_step(), form);
    CHECK(step.find("fp16") == npos);  // a job draws the peaks it uses
    for (const char* kind : {"matrix products", "attention", "norms", "activations", "element-wise", "softmax, loss"}) {
      INFO(kind);
      CHECK(step.find(kind) != npos);
    }
    CHECK(step.find("$kind5 <<") != npos);
    CHECK(step.find("$kind6 <<") == npos);  // six kinds: layer_norm is one of the norms, the copy none
    RooflineReport points = with_step();    // products alone, no sweep
    points.measured = {points.measured.back()};
    const std::string dots = report::roofline_plot(points, form);
    CHECK(dots.find("$sweep") == npos);
    CHECK(dots.find("$measured") != npos);
  }
}

TEST_CASE("a plot needs neither bandwidth nor peaks, and no name in it is a command of gnuplot's") {
  RooflineReport r;
  r.device = "a \"b\" \\ `touch x`\n$c";
  for (const PlotForm form : {PlotForm::svg, PlotForm::terminal}) {
    const std::string script = report::roofline_plot(r, form);
    CHECK_THAT(script, ContainsSubstring("set title \"Roofline of a \\\"b\\\" \\\\ 'touch x' $c\"\n"));
    CHECK(script.find('`') == npos);
    CHECK(script.find("memory ") == npos);
  }
  r.ceilings = {{"bf16 peak", "bf16", FlopsPerSecond(1e14), {}, false}};
  r.measured = {{"matmul", FlopsPerByte(500), FlopsPerSecond(7e13), true}};
  CHECK_THAT(report::roofline_plot(r, PlotForm::svg), ContainsSubstring("\"bf16  100 TFLOP/s\""));
  r.ceilings.front().measured = true;
  CHECK_THAT(report::roofline_plot(r, PlotForm::svg), ContainsSubstring("\"bf16 peak  100 TFLOP/s\""));
  r.ceilings.clear();
  r.bandwidth = BytesPerSecond(1e12);
  CHECK_THAT(report::roofline_plot(r, PlotForm::terminal), ContainsSubstring("\"memory  1 TB/s\""));
  RooflineReport computing = with_step();  // nothing is left out
  computing.step->operations.pop_back();
  CHECK(report::roofline_plot(computing, PlotForm::terminal).find("without arithmetic") == npos);
  CHECK(report::roofline_plot(with_step(), PlotForm::terminal).find("without arithmetic") != npos);
}
