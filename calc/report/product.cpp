#include "report/product.hpp"

#include <algorithm>

#include "core/quantity.hpp"
#include "report/page.hpp"
#include "report/tensor.hpp"

namespace llmcalc::report {

namespace {

std::string digits(Int128 n) { return format_count(n); }
std::string digits(Flops n) { return format_count(n.value()); }

// One line of the table: the figure, and with --explain how it comes about.
class Lines {
 public:
  explicit Lines(bool explain) : explain_(explain) {
    table_.columns = {{""}, {"", Align::right}};
    if (explain) table_.columns.push_back({""});
  }
  void add(const std::string& what, const std::string& value, const std::string& how) {
    std::vector<Cell> row{what, value};
    if (explain_) row.emplace_back(how);
    table_.rows.push_back(std::move(row));
  }
  Table take() { return std::move(table_); }

 private:
  bool explain_;
  Table table_;
};

void add_flops(const ProductReport& r, Lines& lines) {
  const einsum::Contraction& c = *r.contraction;
  const bool one = c.best.pairings.size() == 1;
  const std::string by_path = "sum over the products below";
  lines.add("forward", digits(c.best.flops) + " FLOP",
            c.best.flops == Flops(0) ? "no axis is summed in a product"
            : one                    ? "2 FLOP · multiply-adds = 2 · " + r.multiply_adds
                                     : by_path);
  if (!one && c.left_to_right.flops != c.best.flops)
    lines.add("left to right", digits(c.left_to_right.flops) + " FLOP", "the same products in the order written");
  lines.add("backward", digits(c.backward()) + " FLOP", "two gradients, each with as many multiply-adds = 2 · forward");
  lines.add("exact", digits(c.best.exact) + " FLOP",
            one && r.terms > 0
                ? "each result sums " + digits(r.terms) + " products: results · (2 · " + digits(r.terms) +
                      " - 1) = " + digits(r.elements_out) + " · " + digits(2 * r.terms - 1)
                : "multiplications and additions that are needed");
  if (c.best.elementwise > Flops(0))
    lines.add("elementwise", digits(c.best.elementwise) + " FLOP",
              "products without a summed axis, and sums without a product; not in forward");
}

std::string bound_text(const ProductReport& r) {
  const DeviceSide& d = *r.device;
  const FlopsPerByte intensity = *r.intensity();
  const bool compute = intensity >= d.ridge();
  const double reachable = std::min(d.peak.value(), intensity.value() * d.bandwidth.value());
  return d.name + ": ridge " + format_intensity(d.ridge()) + " (" + d.peak_key + " " + format_rate(d.peak) + " / " +
         format_rate(d.bandwidth) + "). " + format_intensity(intensity) +
         (compute ? " is above it: compute-bound" : " is below it: memory-bound") + ", at most " +
         format_rate(FlopsPerSecond(reachable)) + ", at least " + format_time(r.flops() / FlopsPerSecond(reachable)) +
         ".";
}

}  // namespace

Flops ProductReport::flops() const {
  Flops all = elementwise.value_or(Flops(0));
  if (contraction) all += contraction->best.flops + contraction->best.elementwise;
  return all;
}

std::optional<FlopsPerByte> ProductReport::intensity() const {
  const Int128 bytes = bytes_in() + bytes_out();
  if (bytes == 0 || flops() == Flops(0)) return std::nullopt;
  return FlopsPerByte(flops().as_double() / static_cast<double>(bytes));
}

Json product_json(const ProductReport& r) {
  Json json = Json::object();
  json.set("schema", "llmcalc.einsum/1").set("shape", dims_json(r.shape)).set("dtype", name_of(r.dtype));
  Json flops = Json::object();
  if (r.contraction) {
    const einsum::Contraction& c = *r.contraction;
    flops.set("forward", c.best.flops).set("backward", c.backward()).set("exact", c.best.exact);
    if (c.best.pairings.size() > 1) flops.set("left_to_right", c.left_to_right.flops);
    if (c.best.elementwise > Flops(0)) flops.set("elementwise", c.best.elementwise);
  } else if (r.elementwise) {
    flops.set("elementwise", *r.elementwise);
  }
  if (!flops.is_empty()) json.set("flops", std::move(flops));
  if (r.contraction && r.contraction->best.pairings.size() > 1) {
    Json order = Json::array();
    for (const einsum::Pairing& pairing : r.contraction->best.pairings) order.push(pairing.equation);
    json.set("order", std::move(order));
  }
  json.set("bytes", r.bytes_in() + r.bytes_out()).set("bytes_in", r.bytes_in()).set("bytes_out", r.bytes_out());
  json.set("intensity", r.intensity());
  if (r.stride) json.set("stride", dims_json(*r.stride));
  if (r.copies) json.set("copies", *r.copies);
  if (r.weight_shape) json.set("weight_shape", dims_json(*r.weight_shape));
  if (r.device) {
    json.set("device", r.device->name).set("ridge", r.device->ridge());
    if (r.intensity()) json.set("bound", *r.intensity() >= r.device->ridge() ? "compute" : "memory");
  }
  return json;
}

std::string product_text(const ProductReport& r, bool explain, bool markdown, Style style) {
  Page page;
  page.title(r.title);
  for (const std::string& note : r.notes) page.line(note);
  Lines lines(explain);
  lines.add("shape", to_string(r.shape), r.stride ? "strides " + to_string(*r.stride) : "");
  if (r.contraction) {
    add_flops(r, lines);
  } else if (r.elementwise) {
    lines.add("elementwise", digits(*r.elementwise) + " FLOP", r.elementwise_how);
  }
  const std::string width = std::to_string(size_of(r.dtype).value());
  if (r.moves()) {
    const auto product = [&](Int128 n) { return digits(n) + (n == 1 ? " element · " : " elements · ") + width + " B"; };
    lines.add("bytes in", digits(r.bytes_in()) + " B", product(r.elements_in));
    lines.add("bytes out", digits(r.bytes_out()) + " B", product(r.elements_out));
  } else {
    lines.add("bytes", "0 B", "a view: the same storage with other strides");
  }
  if (r.intensity())
    lines.add("intensity", format_intensity(*r.intensity()),
              "FLOP / bytes = " + digits(r.flops()) + " / " + digits(r.bytes_in() + r.bytes_out()));
  page.table(lines.take());
  if (r.contraction && r.contraction->best.pairings.size() > 1) {
    page.heading(r.contraction->exhaustive ? "Best order" : "Order (the cheapest product each time)");
    Table order{{{"product"}, {"FLOP", Align::right}, {"elementwise", Align::right}}, {}};
    for (const einsum::Pairing& p : r.contraction->best.pairings)
      order.rows.push_back({p.equation, digits(p.flops), digits(p.elementwise)});
    page.table(order);
  }
  if (r.moves()) {
    page.heading("Counted");
    page.line("Numbers of " + std::string(name_of(r.dtype)) + ", each read or written once" +
              (r.contraction ? "; a multiply-add is 2 FLOP." : "."));
  }
  if (r.device) page.line(r.intensity() ? bound_text(r) : r.device->name + ": nothing to compute.");
  return markdown ? page.as_markdown() : page.as_text(style);
}

}  // namespace llmcalc::report
