// Parsing with CLI11, which is included here and nowhere else: it costs seconds of compile time.
//
// CLI11 takes the options out; what is left are positionals and unknown options, which are judged here so that all
// problems are reported together and each with what was probably meant.
#include "cli/parse.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <utility>

#include "cli/words.hpp"
#include "core/suggest.hpp"

namespace llmcalc::cli {

namespace {

using Words = std::vector<std::string>;

// Problems of usage found so far.
struct Problems {
  std::vector<Diagnostic> all;

  void usage(std::string message, std::string hint = {}) {
    all.push_back({Severity::error, {}, std::move(message), std::move(hint)});
  }
  void throw_if_any() const {
    if (!all.empty()) throw Error(Exit::usage, all);
  }
};

std::string help_hint(const std::string& command) {
  return command.empty() ? "see `llmcalc --help`" : "see `llmcalc " + command + " --help`";
}

// "-" is a file name and "-1" a number; everything else with a dash in front was meant as an option.
bool looks_like_option(const std::string& word) {
  return word.size() > 1 && word[0] == '-' && std::isdigit(static_cast<unsigned char>(word[1])) == 0 && word[1] != '.';
}

// Options without their value and flags with one, said plainly before CLI11 takes the next word for the value.
void check_shape(const Words& words, const std::vector<const Option*>& options, const std::string& command) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    const std::string name = words[i].substr(0, equals);
    const auto named = [&](const Option* option) { return name == "--" + option->name; };
    const auto found = std::find_if(options.begin(), options.end(), named);
    if (found == options.end()) continue;
    if ((*found)->value.empty()) {
      if (equals != std::string::npos) throw Error(Exit::usage, name + " takes no value", help_hint(command));
      continue;
    }
    const std::string needs = name + " needs a value: " + name + " " + (*found)->value;
    if (equals != std::string::npos) {
      if (equals + 1 == words[i].size()) throw Error(Exit::usage, needs, help_hint(command));
      continue;
    }
    if (i + 1 == words.size()) throw Error(Exit::usage, needs, help_hint(command));
    ++i;  // the value
    if (words[i].compare(0, 2, "--") == 0)
      throw Error(Exit::usage, needs + "; " + in_quotes(words[i]) + " follows", help_hint(command));
  }
}

// What CLI11 found: the options' values, and the words that belong to none.
struct Split {
  std::map<std::string, Words> values;
  Words rest;
};

// With `prefix_only`, everything from the first word on that is no option stays in `rest`.
Split split_options(const Words& words, const std::vector<const Option*>& options, bool prefix_only,
                    const std::string& command) {
  check_shape(words, options, command);
  CLI::App app;
  app.set_help_flag();  // --help is an option like the others
  app.allow_extras();
  app.prefix_command(prefix_only);
  std::vector<std::pair<const Option*, CLI::Option*>> added;
  for (const Option* option : options) {
    const std::string name = "--" + option->name + (option->name == "help" ? ",-h" : "");
    CLI::Option* entry = nullptr;
    if (option->value.empty()) {
      entry = app.add_flag(name);
    } else {
      entry = app.add_option(name, option->help);  // the help text stands in for a variable: results() is read below
      entry->expected(1)->allow_extra_args(false);
    }
    entry->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    added.emplace_back(option, entry);
  }
  Split split;
  try {
    Words reversed(words.rbegin(), words.rend());
    app.parse(std::move(reversed));
  } catch (const CLI::ParseError& error) {
    throw Error(Exit::usage, error.what(), help_hint(command));  // what check_shape lets through
  }
  for (const auto& [option, entry] : added) {
    if (entry->count() > 0) split.values[option->name] = entry->results();
  }
  split.rest = app.remaining();
  return split;
}

// The words before a bare "--" may hold options; those behind it never do.
std::pair<Words, Words> at_double_dash(const Words& words) {
  const auto mark = std::find(words.begin(), words.end(), "--");
  if (mark == words.end()) return {words, {}};
  return {Words(words.begin(), mark), Words(mark + 1, words.end())};
}

void report_unknown_option(const std::string& word, const std::vector<const Option*>& options,
                           const std::string& command, Problems& problems) {
  const std::string given = word.substr(0, word.find('='));
  Words known;
  for (const Option* option : options) known.push_back("--" + option->name);
  const std::string where = command.empty() ? "" : " for `llmcalc " + command + "`";
  std::string near = did_you_mean(given, known);
  // The formats of --format, as other programs call them.
  const auto is_format = [&](const Option* option) {
    return option->name == "format" && given.size() > 2 &&
           std::count(option->choices.begin(), option->choices.end(), given.substr(2)) > 0;
  };
  if (std::any_of(options.begin(), options.end(), is_format)) near = "did you mean --format " + given.substr(2) + "?";
  problems.usage("unknown option " + in_quotes(given) + where, near.empty() ? help_hint(command) : near);
}

// A command that does not exist, with the nearest one, or the whole line when it was forgotten.
[[noreturn]] void unknown_command(const std::string& word) {
  if (word.find_first_of("./") != std::string::npos) {
    throw Error(Exit::usage, in_quotes(word) + " is not a command", "did you mean `llmcalc estimate " + word + "`?");
  }
  const std::string near = did_you_mean(word, command_names());
  throw Error(Exit::usage, "unknown command " + in_quotes(word), near.empty() ? help_hint("") : near);
}

void check_choice(const std::string& what, const std::string& value, const Words& choices, Problems& problems) {
  if (choices.empty() || std::find(choices.begin(), choices.end(), value) != choices.end()) return;
  const std::string near = did_you_mean(value, choices);
  const std::string all = "one of: " + joined(choices, ", ");
  problems.usage(what + ": unknown choice " + in_quotes(value), near.empty() ? all : near + " (" + all + ")");
}

void check_values(const std::vector<const Option*>& options, const std::map<std::string, Words>& values,
                  Problems& problems) {
  for (const Option* option : options) {
    const auto given = values.find(option->name);
    if (given == values.end()) continue;
    if (option->read_later) continue;
    for (const std::string& value : given->second) check_choice("--" + option->name, value, option->choices, problems);
  }
}

// Hands the words to the positionals from left to right; an optional one gets a word only when enough are there for
// every required one (`roofline [MODEL] DEVICE` with one word: the device).
void assign_positionals(const Command& command, const Words& words, bool all_optional, Arguments& arguments,
                        Problems& problems) {
  std::size_t required_left = 0;
  for (const Positional& positional : command.positionals)
    required_left += positional.required && !all_optional ? 1 : 0;
  std::size_t next = 0;
  for (const Positional& positional : command.positionals) {
    const bool required = positional.required && !all_optional;
    if (required) --required_left;
    const std::size_t left = words.size() - next;
    if (left == 0 || (!required && left <= required_left)) {
      if (required) {
        problems.usage(
            "`llmcalc " + command.name + "` needs " + positional.name + ": " + positional.help,
            positional.choices.empty() ? help_hint(command.name) : "one of: " + joined(positional.choices, ", "));
      }
      continue;
    }
    const std::size_t take = positional.repeated ? left - std::min(left, required_left) : 1;
    for (std::size_t i = 0; i < take; ++i, ++next) {
      check_choice(positional.name, words[next], positional.choices, problems);
      arguments.values[positional.name].push_back(words[next]);
    }
  }
  if (next < words.size()) {
    problems.usage("`llmcalc " + command.name + "` has no use for " + in_quotes(words[next]), help_hint(command.name));
  }
}

// An option that changes nothing would be taken for one that did.
void refuse_without_effect(const Command& command, const Invocation& invocation,
                           const std::map<std::string, Words>& values, Problems& problems) {
  for (const Option& option : command.refused)
    if (values.count(option.name) != 0)
      problems.usage("--" + option.name + " has no effect on `llmcalc " + command.name + "`", command.why_refused);
  if (!invocation.explain) return;
  if (!command.explains)
    problems.usage("`llmcalc " + command.name + "` has no formulas for --explain to show", help_hint(command.name));
  else if (invocation.format == Format::json || invocation.format == Format::csv)
    problems.usage("--explain writes sentences: --format text or markdown",
                   "JSON and CSV hold every number without it");
}

Format format_named(const std::string& name) {
  if (name == "json") return Format::json;
  if (name == "csv") return Format::csv;
  if (name == "markdown") return Format::markdown;
  return Format::text;
}

void take_globals(const std::map<std::string, Words>& values, Invocation& invocation) {
  const auto format = values.find("format");
  if (format != values.end() && !format->second.empty()) invocation.format = format_named(format->second.back());
  invocation.explain |= values.count("explain") != 0;
  invocation.help |= values.count("help") != 0;
  invocation.version |= values.count("version") != 0;
}

}  // namespace

Invocation parse(const std::vector<std::string>& words) {
  std::vector<const Option*> known;
  for (const Option& option : global_options()) known.push_back(&option);

  auto [before, behind] = at_double_dash(words);
  const Split front = split_options(before, known, true, "");
  Invocation invocation;
  Problems problems;
  take_globals(front.values, invocation);
  check_values(known, front.values, problems);

  std::size_t first = 0;
  for (; first < front.rest.size() && looks_like_option(front.rest[first]); ++first) {
    const std::string& word = front.rest[first];
    report_unknown_option(word, known, "", problems);
    problems.all.back().hint = problems.all.back().hint.empty()
                                   ? ""
                                   : problems.all.back().hint + "; the options of a command stand behind its name";
  }
  problems.throw_if_any();
  if (first == front.rest.size()) return invocation;

  const std::string& name = front.rest[first];
  invocation.command = find_command(name);
  if (!invocation.command) unknown_command(name);
  const Command& command = *invocation.command;
  for (const Option& option : command.options) known.push_back(&option);
  std::vector<const Option*> taken = known;
  for (const Option& option : command.refused) taken.push_back(&option);

  const Words own(front.rest.begin() + static_cast<std::ptrdiff_t>(first) + 1, front.rest.end());
  Split split = split_options(own, taken, false, command.name);
  take_globals(split.values, invocation);
  if (invocation.help || invocation.version) return invocation;  // asked for help: no use complaining

  check_values(known, split.values, problems);
  refuse_without_effect(command, invocation, split.values, problems);
  Words positionals;
  for (const std::string& word : split.rest) {
    if (looks_like_option(word)) {
      report_unknown_option(word, known, command.name, problems);
    } else {
      positionals.push_back(word);
    }
  }
  positionals.insert(positionals.end(), behind.begin(), behind.end());
  for (const Option& option : global_options()) split.values.erase(option.name);
  invocation.arguments.values = std::move(split.values);
  const bool all_optional =
      std::any_of(command.positionals_not_needed_with.begin(), command.positionals_not_needed_with.end(),
                  [&](const std::string& option) { return invocation.arguments.has(option); });
  assign_positionals(command, positionals, all_optional, invocation.arguments, problems);
  problems.throw_if_any();
  return invocation;
}

}  // namespace llmcalc::cli
