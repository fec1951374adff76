// gnuplot, which draws the plots: a program of its own, found at run time.
#pragma once

#include <string>

#include "report/plot.hpp"

namespace llmcalc::cli {

// By the name of the file: "-" is the terminal. Throws Error(Exit::usage) for an ending that is none of .svg, .png.
report::PlotForm plot_form(const std::string& file);

// What gnuplot writes for the script. Throws Error(Exit::not_available), with how to install it, when there is no
// gnuplot or it fails.
std::string run_gnuplot(const std::string& script);

// The same into `file`, which appears only when it is complete. Throws Error(Exit::bad_input) too, when it cannot be
// written.
void run_gnuplot_into(const std::string& script, const std::string& file);

}  // namespace llmcalc::cli
