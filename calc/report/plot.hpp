// A roofline as a script for gnuplot, which writes the picture to its standard output.
#pragma once

#include <string>

#include "core/roofline.hpp"

namespace llmcalc::report {

enum class PlotForm { svg, png, terminal };

std::string roofline_plot(const RooflineReport& report, PlotForm form);

}  // namespace llmcalc::report
