#include "report/checkpoint.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "core/checkpoint_names.hpp"
#include "core/quantity.hpp"
#include "core/suggest.hpp"
#include "report/layout.hpp"
#include "report/terminal.hpp"

namespace llmcalc::report {

namespace {

struct Words {
  const char* short_one;  // for a table
  const char* sentence;   // for below it
};

Words words_for(Finding finding) {
  switch (finding) {
    case Finding::missing: return {"missing", "missing: counted, and in none of the files."};
    case Finding::unexpected:
      return {"unexpected", "unexpected: in the files, and nothing the configuration describes."};
    case Finding::shape: return {"other shape", "other shape: the name is there, its size is not the one counted."};
    case Finding::type:
      return {"other type", "other type: than the one the count in bytes assumes. With scales beside it: quantised."};
    case Finding::packed:
      return {"packed",
              "packed: quantised (GPTQ, AWQ, MXFP4, bitsandbytes ...), several values in one element; their number is "
              "taken from the count."};
    case Finding::tied_head:
      return {"tied head", "tied head: a copy of the embedding table, which is loaded once and counted once."};
    case Finding::buffer: return {"buffer", "buffer: stored with the parameters, but none."};
    case Finding::scales: return {"scales", "scales: of quantised weights; no parameters."};
    case Finding::other_part: return {"other part", "other part: of the model around the language model."};
    case Finding::prediction:
      return {"extra layers", "extra layers: for the prediction of further tokens; not in the count."};
  }
  return {"", ""};
}

std::string shape_of(const std::optional<Dims>& shape) { return shape ? to_string(*shape) : std::string(); }

Cell bytes_cell(Bytes bytes) { return {format_gib(bytes), bytes}; }

// On a page, all that is rightly not counted is a row for each kind; JSON has every name.
std::vector<FoundTensors> summed(const std::vector<FoundTensors>& all) {
  constexpr Count listed = 3;  // names of a kind that are shown as they are
  std::map<Finding, Count> names;
  for (const FoundTensors& found : all) ++names[found.finding];
  std::vector<FoundTensors> rows;
  for (const FoundTensors& found : all) {
    const bool sums = found.finding > Finding::packed && names[found.finding] > listed;
    if (!sums || rows.empty() || rows.back().finding != found.finding) {
      rows.push_back(found);
      if (!sums) continue;
      rows.back().name += " and " + std::to_string(names[found.finding] - 1) + " more";
      rows.back().stored.reset();
      rows.back().type = {};
      continue;
    }
    rows.back().tensors += found.tensors;
    rows.back().bytes += found.bytes;
  }
  return rows;
}

Table found_table(const CheckpointMatch& match) {
  Table table{{{"what"},
               {"tensor"},
               {"tensors", Align::right},
               {"counted"},
               {"in the files"},
               {"type"},
               {"bytes", Align::right}},
              {}};
  for (const FoundTensors& found : summed(match.found)) {
    table.rows.push_back({words_for(found.finding).short_one,
                          found.name,
                          {format_count(found.tensors), found.tensors},
                          shape_of(found.counted),
                          shape_of(found.stored),
                          std::string(found.type),
                          found.finding == Finding::missing ? Cell("") : bytes_cell(found.bytes)});
  }
  return table;
}

Table types_table(const CheckpointMatch& match) {
  Table table{{{"type"}, {"tensors", Align::right}, {"bytes", Align::right}, {"share", Align::right}}, {}};
  for (const TypeTotal& total : match.types) {
    const double share = match.stored_bytes == Bytes(0) ? 0 : total.bytes.as_double() / match.stored_bytes.as_double();
    table.rows.push_back({std::string(total.type),
                          {format_count(total.tensors), total.tensors},
                          {format_both(total.bytes), total.bytes},
                          {format_percent(share), share}});
  }
  return table;
}

// What the file says of itself: keys and values.
Table metadata_table(const Checkpoint& checkpoint) {
  Table table{{{"key"}, {"value"}}, {}};
  for (const auto& [key, value] : checkpoint.metadata) table.rows.push_back({key, value});
  return table;
}

void line(std::string& out, const std::string& label, const std::string& number, const std::string& meaning) {
  constexpr std::size_t kLabel = 12, kNumber = 20;
  out += pad_right(label, kLabel) + pad_left(number, kNumber) + (meaning.empty() ? "" : "  " + meaning) + "\n";
}

std::string difference(Count stored, Count counted) {
  if (stored == counted) return "as counted";
  const Count by = stored > counted ? stored - counted : counted - stored;
  return format_count(by) + (stored > counted ? " more than counted" : " fewer than counted");
}

void size_lines(std::string& out, const Checkpoint& checkpoint, const CheckpointMatch& match, bool compared) {
  const std::string files =
      checkpoint.files.size() == 1 ? "1 file" : std::to_string(checkpoint.files.size()) + " files";
  line(out, "on disk", format_count(checkpoint.on_disk.value()),
       checkpoint.format + ", " + files + ": " + format_both(checkpoint.on_disk));
  line(out, "tensors", format_count(static_cast<Count>(checkpoint.tensors.size())),
       !compared       ? ""
       : match.by_name ? format_count(match.matched_tensors) + " of the " + format_count(match.counted_tensors) +
                             " counted ones are there with their shape"
                       : "under names of their own");
  line(out, "parameters", format_count(match.stored_parameters),
       compared ? difference(match.stored_parameters, match.counted_parameters) : "elements in all of them");
  const bool one_type = compared && match.dtype && checkpoint.format != "GGUF";
  line(out, "bytes", format_count(match.stored_bytes.value()),
       one_type ? format_count(match.counted_bytes.value()) + " if every parameter were " +
                      std::string(llmcalc::name_of(*match.dtype))
                : "");
}

std::string verdict(const Checkpoint& checkpoint, const CheckpointMatch& match) {
  if (!match.by_name) {
    return std::string("The names are not those of the library, so only totals were compared: they ") +
           (match.agrees() ? "agree." : "differ.");
  }
  if (!match.agrees()) return "The files do not hold what the configuration describes.";
  return checkpoint.complete ? "The files hold what the configuration describes, tensor by tensor."
                             : "What is in this file is what the configuration describes.";
}

std::string paragraph(const std::string& text) {
  std::string out;
  for (const std::string& piece : wrap(text, kReportWidth)) out += piece + "\n";
  return out;
}

}  // namespace

Table stored_table(const Checkpoint& checkpoint) {
  struct Total {
    std::size_t first;
    Count tensors = 0, elements = 0;
    Bytes bytes;
  };
  using Key = std::tuple<std::string, std::vector<Count>, std::string_view>;
  std::map<Key, Total> totals;
  std::vector<std::pair<std::size_t, Key>> order;
  for (std::size_t i = 0; i < checkpoint.tensors.size(); ++i) {
    const StoredTensor& tensor = checkpoint.tensors[i];
    Key key{without_numbers(tensor.name), {tensor.shape.begin(), tensor.shape.end()}, tensor.type->name};
    const auto [found, made] = totals.try_emplace(key, Total{i, 0, 0, Bytes(0)});
    if (made) order.emplace_back(i, std::move(key));
    ++found->second.tensors;
    found->second.elements = checked::add(found->second.elements, elements(tensor.shape));
    found->second.bytes += tensor.bytes;
  }
  Table table{{{"tensor"},
               {"shape"},
               {"type"},
               {"how many", Align::right, "count"},
               {"elements", Align::right},
               {"bytes", Align::right}},
              {}};
  for (const auto& [i, key] : order) {
    const Total& total = totals.at(key);
    table.rows.push_back({std::get<0>(key),
                          to_string(checkpoint.tensors[i].shape),
                          std::string(std::get<2>(key)),
                          {format_count(total.tensors), total.tensors},
                          {format_count(total.elements), total.elements},
                          {format_gib(total.bytes), total.bytes}});
  }
  return table;
}

Json checkpoint_json(const Checkpoint& checkpoint, const CheckpointMatch& match, bool compared) {
  Json json = Json::object()
                  .set("format", checkpoint.format)
                  .set("files", checkpoint.files)
                  .set("bytes_on_disk", checkpoint.on_disk)
                  .set("tensors", checkpoint.tensors.size())
                  .set("parameters", match.stored_parameters)
                  .set("tensor_bytes", match.stored_bytes);
  if (match.dtype) json.set("dtype", llmcalc::name_of(*match.dtype));
  Json types = Json::array();
  for (const TypeTotal& total : match.types)
    types.push(Json::object().set("type", total.type).set("tensors", total.tensors).set("bytes", total.bytes));
  json.set("types", std::move(types));
  if (compared) {
    json.set("compared", match.by_name ? "names" : "totals").set("agrees", match.agrees());
    Json counted = Json::object()
                       .set("tensors", match.counted_tensors)
                       .set("matched_tensors", match.matched_tensors)
                       .set("parameters", match.counted_parameters);
    if (match.dtype) counted.set("bytes", match.counted_bytes);
    json.set("counted", std::move(counted));
    Json found = Json::array();
    for (const FoundTensors& f : match.found) {
      Json one = Json::object().set("finding", name_of(f.finding)).set("name", f.name).set("count", f.tensors);
      if (f.counted) one.set("counted_shape", std::vector<Count>(f.counted->begin(), f.counted->end()));
      if (f.stored) {
        one.set("stored_shape", std::vector<Count>(f.stored->begin(), f.stored->end()));
        one.set("type", f.type).set("bytes", f.bytes);
      }
      found.push(std::move(one));
    }
    json.set("found", std::move(found));
  }
  Json metadata = Json::object();
  for (const auto& [key, value] : checkpoint.metadata) metadata.set(key, value);
  if (!metadata.is_empty()) json.set("metadata", std::move(metadata));
  if (!checkpoint.notes.empty()) json.set("notes", checkpoint.notes);
  return json;
}

std::string checkpoint_text(const Checkpoint& checkpoint, const CheckpointMatch& match, bool compared, bool markdown,
                            Style style) {
  const auto table = [&](const Table& t) {
    return markdown ? markdown_table(t) : text_table(t, style.colour, style.width);
  };
  const std::string title = checkpoint.files.size() == 1 ? checkpoint.files.front()
                                                         : checkpoint.files.front() + " to " + checkpoint.files.back();
  std::string out = markdown ? "## " + printable(title) + "\n\n```\n" : bold(printable(title), style.colour) + "\n";
  size_lines(out, checkpoint, match, compared);
  if (markdown) out += "```\n";
  out += "\n" + table(types_table(match));
  if (!checkpoint.metadata.empty() && checkpoint.format == "GGUF") out += "\n" + table(metadata_table(checkpoint));
  if (!match.found.empty()) out += "\n" + table(found_table(match));
  std::string notes;
  const char* last = nullptr;
  for (const FoundTensors& found : match.found) {
    const char* sentence = words_for(found.finding).sentence;
    if (sentence != last) notes += paragraph(sentence);
    last = sentence;
  }
  if (compared) notes += paragraph(verdict(checkpoint, match));
  for (const std::string& note : checkpoint.notes) notes += paragraph("note: " + note + ".");
  return notes.empty() ? out : out + "\n" + notes;
}

}  // namespace llmcalc::report
