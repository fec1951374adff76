// How a command describes itself: parsing, --help, completions, the man page and docs/reference all come from this.
// CLI11 is included by cli/parse.cpp alone.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/diagnostics.hpp"
#include "report/terminal.hpp"

namespace llmcalc::cli {

struct Option {
  std::string name = {};   // "batch" for --batch
  std::string value = {};  // what stands for the value in help ("B"); empty: a flag
  std::string help = {};
  std::string shown_default = {};                 // shown in help; empty: none
  std::vector<std::string> choices = {};          // closed set; a wrong one gets a did-you-mean (exit 2)
  std::string group = {};                         // heading in --help
  std::vector<std::string> (*names)() = nullptr;  // the rows of a table (optimizers, ...), for completions
  bool read_later = false;  // its value is judged with the job's others, so that all problems are told at once (exit 3)
};

struct Positional {
  std::string name = {};  // "MODEL"
  std::string help = {};
  bool required = true;
  bool repeated = false;
  std::vector<std::string> choices = {};  // as for options
};

// What was given on the command line.
class Arguments {
 public:
  std::map<std::string, std::vector<std::string>> values;  // by option or positional name

  bool has(const std::string& name) const { return values.count(name) != 0; }
  std::optional<std::string> get(const std::string& name) const;       // the last one given
  const std::vector<std::string>& all(const std::string& name) const;  // empty when there is none
};

enum class Format { text, json, csv, markdown };

// Where a command writes. Results go to `out` in one piece when the command is done.
struct Output {
  Format format = Format::text;
  bool colour = false;
  std::size_t width = report::kReportWidth;  // columns of text
  bool explain = false;
  std::string out = {};  // the result; main writes it to stdout when the command succeeds or exits 1 or 5
  std::vector<Diagnostic> warnings = {};  // written to stderr by main

  report::Style style() const { return {colour, width}; }
};

struct Command {
  std::string name = {};
  std::string summary = {};                // one line, for the list
  std::string description = {};            // short paragraphs for its own --help, parted by an empty line
  std::vector<std::string> examples = {};  // "llmcalc estimate llama-3-8b h100-sxm"
  std::vector<Positional> positionals = {};
  std::vector<Option> options = {};
  // Options of a job that have no effect on what this command says: refused, with `why_refused` as the hint.
  std::vector<Option> refused = {};
  std::string why_refused = {};
  bool explains = false;  // --explain adds something
  Exit (*run)(const Arguments&, Output&) = nullptr;
  std::vector<std::string> positionals_not_needed_with =
      {};               // options that stand in for the positionals (roofline --peak)
  bool hidden = false;  // left out of the overview and completions
};

// Every command, in the order of --help (cli/commands.cpp).
const std::vector<Command>& commands();

// Only the one of this name is built; nothing when there is none.
std::optional<Command> find_command(const std::string& name);
std::vector<std::string> command_names();  // without the hidden ones

// The options every command takes, before or after its name (cli/parse.cpp reads them).
const std::vector<Option>& global_options();

}  // namespace llmcalc::cli
