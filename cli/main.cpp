// Where everything ends: parses, runs the one command, writes its result, and turns every error into its exit code.
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/output.hpp"
#include "cli/parse.hpp"
#include "cli/version.hpp"
#include "core/units.hpp"

namespace llmcalc::cli {

namespace {

// With wrong usage, bad input, something missing or an internal error, nothing appears on stdout.
bool has_result(Exit exit) {
  return exit == Exit::done || exit == Exit::check_failed || exit == Exit::measurement_failed;
}

Exit run(const std::vector<std::string>& words, Output& output) {
  const Invocation invocation = parse(words);
  output.format = invocation.format;
  output.explain = invocation.explain;
  output.colour = output.format == Format::text && colour_wanted();
  output.width = columns();
  if (invocation.version) {
    output.out = version_line() + "\n";
    return Exit::done;
  }
  if (invocation.help || !invocation.command) {
    output.out = invocation.command ? command_help(*invocation.command, output.colour) : overview(output.colour);
    return Exit::done;
  }
  return invocation.command->run(invocation.arguments, output);
}

Exit report(Exit exit, std::string message, std::string hint = {}) {
  write_diagnostics({Diagnostic{Severity::error, {}, std::move(message), std::move(hint)}});
  return exit;
}

Exit internal_error(const std::string& what) {
  return report(
      Exit::internal, "internal error: " + what,
      "this is a fault in llmcalc, not in your input; please report it with the command line and the output of `" +
          std::string("llmcalc --version`"));
}

Exit run_and_write(const std::vector<std::string>& words) {
  Output output;
  try {
    const Exit exit = run(words, output);
    write_diagnostics(output.warnings);
    if (has_result(exit)) write_result(output.out);
    return exit;
  } catch (const Error& error) {
    write_diagnostics(output.warnings);
    write_diagnostics(error.diagnostics());
    return error.exit();
  } catch (const Overflow& overflow) {
    return report(Exit::bad_input, std::string(overflow.what()) + " to be counted",
                  "check the sizes of the model and of the run: some number is far outside what exists");
  } catch (const std::bad_alloc&) {
    return internal_error("out of memory");
  } catch (const std::exception& error) {
    return internal_error(error.what());
  } catch (...) {
    return internal_error("an exception of an unknown kind");
  }
}

}  // namespace

}  // namespace llmcalc::cli

int main(int argc, char** argv) {
  llmcalc::cli::prepare_streams();
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  return static_cast<int>(llmcalc::cli::run_and_write(words));
}
