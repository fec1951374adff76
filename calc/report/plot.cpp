// Both axes are logarithmic. A roof is a line that climbs with the memory bandwidth to its peak; its name stands on it.
// An operation kind is one mark at the rate that is expected of it, a thin line leads up to what the roof allows;
// marks differ by letter and size, roofs by dash, so that it reads without colour.
#include "report/plot.hpp"

#include <algorithm>
#include <cmath>

#include "core/quantity.hpp"
#include "report/layout.hpp"

namespace llmcalc::report {

namespace {

constexpr double kSmallestMark = 2.0, kLargestMark = 5.5;
constexpr double kCrowded = 0.15;  // marks nearer than this (decades of intensity) get their letters beside them

struct Kind {
  std::string name;
  Flops flops;
  Bytes bytes;
  Seconds least, expected;
};

std::string kind_of(const RooflineOperation& o) {
  if (o.op == Op::attention_forward || o.op == Op::attention_backward) return "attention";
  if (is_matrix_product(o.op)) return "matrix products";
  switch (o.op) {
    case Op::softmax:
    case Op::log_softmax:
    case Op::nll_loss:
    case Op::fused_cross_entropy: return "softmax, loss";
    case Op::layer_norm:
    case Op::rms_norm: return "norms";
    default: break;
  }
  if (o.module.find("norm") != std::string::npos) return "norms";
  return o.module.find("mlp") != std::string::npos ? "activations" : "element-wise";
}

// Operations with arithmetic, by what they do; the longest first.
std::vector<Kind> kinds(const RooflineReport& report, double& without_arithmetic) {
  std::vector<Kind> all;
  without_arithmetic = 0;
  if (!report.step) return all;
  for (const RooflineOperation& o : report.step->operations) {
    if (o.flops == Flops(0)) {
      without_arithmetic += o.expected / report.step->expected;
      continue;
    }
    const std::string name = kind_of(o);
    auto found = std::find_if(all.begin(), all.end(), [&](const Kind& kind) { return kind.name == name; });
    if (found == all.end()) found = all.insert(all.end(), Kind{name, {}, {}, {}, {}});
    found->flops += o.flops;
    found->bytes += o.bytes;
    found->least += o.time;
    found->expected += o.expected;
  }
  std::stable_sort(all.begin(), all.end(), [](const Kind& a, const Kind& b) { return a.expected > b.expected; });
  return all;
}

struct Roof {
  std::string name;
  double peak;
  bool measured;
};

// The peaks to draw: with a job those it uses and the vector units' fp32, else all; equal ones share a line.
std::vector<Roof> roofs(const RooflineReport& report) {
  std::vector<Roof> all;
  for (const Ceiling& ceiling : report.ceilings) {
    if (!ceiling.compute) continue;
    const bool used = !report.step || ceiling.dtype == report.peak_key || ceiling.dtype == "fp32";
    if (!used) continue;
    const double rate = ceiling.compute->value();
    const std::string name = ceiling.measured ? ceiling.name : ceiling.dtype;
    const auto same = std::find_if(all.begin(), all.end(), [&](const Roof& roof) {
      return roof.measured == ceiling.measured && std::abs(roof.peak / rate - 1) < 1e-3;
    });
    if (same == all.end()) {
      all.push_back({name, rate, ceiling.measured});
    } else {
      same->name += ", " + name;
    }
  }
  return all;
}

std::string number(double value) { return format_scientific(value, 6); }

// Names come out of files. Between double quotes gnuplot reads backslashes, and runs what stands between backquotes.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : printable(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '`' ? '\'' : c;
  }
  return out + "\"";
}

std::string terminal(PlotForm form) {
  switch (form) {
    case PlotForm::svg: return "set terminal svg size 1100,700 font 'Helvetica,15' noenhanced background 'white'\n";
    case PlotForm::png: return "set terminal pngcairo size 1100,700 font 'Helvetica,12' noenhanced\n";
    case PlotForm::terminal: return "set terminal dumb size 100,32 noenhanced\n";
  }
  return {};
}

struct Range {
  double low, high;
  void include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

class Script {
 public:
  Script(const RooflineReport& report, PlotForm form)
      : report_(report), form_(form), kinds_(kinds(report, without_arithmetic_)), roofs_(roofs(report)) {}

  std::string text() {
    measure();
    out_ = terminal(form_);
    frame();
    data();
    draw();
    return out_;
  }

 private:
  bool in_terminal() const { return form_ == PlotForm::terminal; }
  double slope() const { return report_.bandwidth ? report_.bandwidth->value() : 0; }

  void measure() {
    const double top = roofs_.empty() ? 1e12 : roofs_.front().peak;
    const double ridge = slope() > 0 ? top / slope() : 1;
    x_ = {std::min(0.1, ridge / 100), ridge * 20};
    for (const Kind& kind : kinds_) x_.include((kind.flops / kind.bytes).value());
    for (const MeasuredPoint& point : report_.measured) x_.include(point.intensity.value());
    x_ = {x_.low / 2, x_.high * 2};
    y_ = {x_.low * slope(), top * 2};
    if (!(y_.low > 0)) y_.low = top / 1e4;
    for (const Kind& kind : kinds_) y_.include(0.7 * (kind.flops / kind.expected).value());
    for (const MeasuredPoint& point : report_.measured) y_.include(point.rate.value());
  }

  void frame() {
    std::string title = "Roofline of " + report_.device;
    if (report_.step) title += ": one step of " + report_.model;
    out_ += "set encoding utf8\nset title " + quoted(title) + "\nset logscale xy\n";
    out_ += "set xrange [" + number(x_.low) + ":" + number(x_.high) + "]\n";
    out_ += "set yrange [" + number(y_.low) + ":" + number(y_.high) + "]\n";
    out_ +=
        "set xlabel 'FLOP per byte moved'\nset ylabel 'FLOP/s'" + std::string(in_terminal() ? "" : " offset 1") + "\n";
    out_ += "set format y '%.0s %cFLOP/s'\nset format x '%g'\nset tics nomirror\nset border 3\n";
    if (in_terminal()) {
      out_ += "set key outside bottom center horizontal maxcols 3 left reverse\nset ylabel\n";
    } else {
      out_ += "set grid xtics ytics lc rgb '#dddddd' lt 1 lw 1\nset key bottom right\n";
      if (!kinds_.empty()) out_ += "set rmargin at screen 0.70\n";
    }
  }

  // Points of marks: intensity, expected rate, attainable rate, size, letter.
  void data() {
    double longest = 0;
    for (const Kind& kind : kinds_) longest = std::max(longest, kind.expected.value());
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
      const Kind& kind = kinds_[i];
      const double size = kSmallestMark + (kLargestMark - kSmallestMark) * std::sqrt(kind.expected.value() / longest);
      out_ += "$kind" + std::to_string(i) + " << EOD\n" + number((kind.flops / kind.bytes).value()) + " " +
              number((kind.flops / kind.expected).value()) + " " + number((kind.flops / kind.least).value()) + " " +
              format_fixed(size, 2) + " " + letter(i) + "\nEOD\n";
    }
    place_letters();
    if (report_.measured.empty()) return;
    out_ += "$measured << EOD\n";
    for (const MeasuredPoint& point : report_.measured) out_ += at(point);
    out_ += "EOD\n";
    if (!report_.measured.front().sweep) return;  // the sweep comes first
    out_ += "$sweep << EOD\n";
    for (const MeasuredPoint& point : report_.measured) out_ += point.sweep ? at(point) : "";
    out_ += "EOD\n";
  }

  static std::string at(const MeasuredPoint& point) {
    return number(point.intensity.value()) + " " + number(point.rate.value()) + "\n";
  }

  // Inside the mark, or by turns left and right of it where marks are crowded.
  void place_letters() {
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t i = 0; i < kinds_.size(); ++i)
      order.emplace_back(std::log10((kinds_[i].flops / kinds_[i].bytes).value()), i);
    std::sort(order.begin(), order.end());
    offsets_.assign(kinds_.size(), "0,0");
    int turn = 0;
    for (std::size_t j = 0; j < order.size(); ++j) {
      const bool crowded = (j > 0 && order[j].first - order[j - 1].first < kCrowded) ||
                           (j + 1 < order.size() && order[j + 1].first - order[j].first < kCrowded);
      if (!crowded) continue;
      static const char* const places[] = {"-2,0.4", "2.2,-0.4", "-2,1.2", "2.2,-1.2", "-4,0.4", "4.2,-0.4"};
      offsets_[order[j].second] = places[turn++ % 6];
    }
  }

  static std::string letter(std::size_t i) { return std::string(1, static_cast<char>('A' + i)); }

  void draw() {
    std::vector<std::string> curves;
    for (std::size_t i = 0; i < roofs_.size(); ++i) {
      const Roof& roof = roofs_[i];
      const std::string rate = number(roof.peak);
      const std::string curve =
          slope() > 0 ? "(x * " + number(slope()) + " < " + rate + " ? x * " + number(slope()) + " : " + rate + ")"
                      : rate;
      const int dash = static_cast<int>(i % 5) + 1;
      const std::string look = in_terminal() ? " with lines"
                                             : " with lines lc rgb 'black' lw " + std::string(i == 0 ? "2.5" : "1.5") +
                                                   " dt " + std::to_string(dash);
      curves.push_back(curve + " notitle" + look);
      // On the flat part, at its right end; left of its ridge for a measured one, which lies close to the stated peak.
      const std::string label =
          "set label " + quoted(roof.name + "  " + format_rate(FlopsPerSecond(roof.peak))) + " at ";
      if (roof.measured && slope() > 0) {
        out_ += label + number(0.8 * roof.peak / slope()) + "," + rate + " right\n";
      } else {
        out_ += label + number(x_.high * 0.9) + "," + rate + " right offset 0,0.6\n";
      }
    }
    if (slope() > 0) memory_label();
    for (std::size_t i = 0; i < kinds_.size(); ++i) kind_curves(i, curves);
    if (!report_.measured.empty())
      curves.push_back("$measured using 1:2 with points " +
                       std::string(in_terminal() ? "pt '+'" : "pt 1 ps 1.6 lw 2 lc rgb 'black'") +
                       (in_terminal() ? " title 'measured'" : " notitle"));
    if (!report_.measured.empty() && report_.measured.front().sweep)
      curves.push_back("$sweep using 1:2 with lines" + std::string(in_terminal() ? "" : " lc rgb '#555555' lw 1.5") +
                       " notitle");
    legend();
    out_ += "set samples 2000\nplot ";
    for (std::size_t i = 0; i < curves.size(); ++i) out_ += (i == 0 ? "" : ", \\\n  ") + curves[i];
    out_ += "\n";
  }

  // Beside the plot: what the letters stand for, and what is not on it.
  void legend() {
    if (kinds_.empty()) return;
    if (in_terminal()) {
      if (without_arithmetic_ > 0)
        out_ += "set label " +
                quoted("without arithmetic, not shown: " + format_percent(without_arithmetic_) + " of the time") +
                " at graph 0.02,0.98 left\n";
      return;
    }
    double y = 0.90;
    const auto line = [&](const std::string& text) {
      out_ += "set label " + quoted(text) + " at screen 0.715," + format_fixed(y, 3) + " left\n";
      y -= 0.038;
    };
    line("expected time of a step: " + format_time(report_.step->expected));
    for (std::size_t i = 0; i < kinds_.size(); ++i)
      line(letter(i) + "  " + kinds_[i].name + ", " + format_time(kinds_[i].expected) + ", " +
           format_percent(kinds_[i].expected / report_.step->expected));
    y -= 0.02;
    line("not shown, for they compute");
    line("nothing: " + format_percent(without_arithmetic_) + " (optimizer, casts,");
    line("copies)");
    y -= 0.02;
    line("mark: rate expected, area: time");
    line("line above it: up to the roof");
    if (!report_.measured.empty()) line("+  measured");
  }

  // Along the slope.
  void memory_label() {
    const double ridge = (roofs_.empty() ? 1e12 : roofs_.front().peak) / slope();
    const double x = std::sqrt(ridge * x_.low) * 2;
    out_ += "set label " + quoted("memory  " + format_rate(*report_.bandwidth)) + " at " + number(x) + "," +
            number(x * slope()) + (in_terminal() ? " left offset 2,-1\n" : " left offset 1.2,-0.6\n");
  }

  void kind_curves(std::size_t i, std::vector<std::string>& curves) const {
    const std::string data = "$kind" + std::to_string(i);
    if (in_terminal()) {
      curves.push_back(data + " using 1:2 with points pt '" + letter(i) + "' title " +
                       quoted(kinds_[i].name + " " + format_time(kinds_[i].expected)));
      return;
    }
    curves.push_back(data + " using 1:2:(0):($3-$2) with vectors nohead lc rgb '#777777' lw 1 notitle");
    curves.push_back(data + " using 1:2:4 with points pt 7 ps variable lc rgb '#d0d0d0' notitle");
    curves.push_back(data + " using 1:2:4 with points pt 6 ps variable lc rgb 'black' lw 1 notitle");
    curves.push_back(data + " using 1:2:5 with labels offset " + offsets_[i] + " notitle");
  }

  const RooflineReport& report_;
  PlotForm form_;
  double without_arithmetic_ = 0;
  std::vector<Kind> kinds_;
  std::vector<Roof> roofs_;
  std::vector<std::string> offsets_;
  Range x_{1, 1}, y_{1, 1};
  std::string out_;
};

}  // namespace

std::string roofline_plot(const RooflineReport& report, PlotForm form) { return Script(report, form).text(); }

}  // namespace llmcalc::report
