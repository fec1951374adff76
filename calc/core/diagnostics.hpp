// What went wrong, where, and what would help. One error type; caught once, in main.
#pragma once

#include <exception>
#include <string>
#include <vector>

namespace llmcalc {

// The exit codes of the command line (docs/reference/exit-codes.md).
enum class Exit {
  done = 0,
  check_failed = 1,
  usage = 2,
  bad_input = 3,
  not_available = 4,
  measurement_failed = 5,
  internal = 70,
};

enum class Severity { warning, error };

// Where a value was read. `line` and `column` count from 1; 0 means not known. `key` is a path like
// `memory.capacity`, for formats and errors that have no line.
struct Place {
  std::string file;
  int line = 0;
  int column = 0;
  std::string key;
};

struct Diagnostic {
  Severity severity = Severity::error;
  Place place;
  std::string message;
  std::string hint;  // empty: none
};

// "file:line:column: error: message" and, on a second line, "hint: ...".
std::string to_string(const Diagnostic& diagnostic);

// All problems of one input, reported together.
class Error : public std::exception {
 public:
  Error(Exit exit, std::vector<Diagnostic> diagnostics);
  Error(Exit exit, std::string message, std::string hint = {});

  Exit exit() const { return exit_; }
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  Exit exit_;
  std::vector<Diagnostic> diagnostics_;
  std::string text_;
};

// Collects diagnostics while a file is read; `throw_if_errors` ends the reading when there was an error.
class Diagnostics {
 public:
  void error(Place place, std::string message, std::string hint = {});
  void warning(Place place, std::string message, std::string hint = {});
  bool has_errors() const;
  void throw_if_errors() const;  // throws Error(Exit::bad_input) with everything collected
  const std::vector<Diagnostic>& all() const { return all_; }

 private:
  std::vector<Diagnostic> all_;
};

}  // namespace llmcalc
