// Profiles of nodes: what is wrong is named with its place.
#include "read/node.hpp"

#include <string>
#include <utility>

#include "read/yaml.hpp"
#include "tests/catch.hpp"
#include "tests/support/refusal.hpp"

using namespace llmcalc;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string refusal(const std::string& text) {
  return test::refusal([&] {
    Diagnostics diagnostics;
    check_node(read_yaml(text, "n.yaml"), diagnostics);
    diagnostics.throw_if_errors();
  });
}

const std::string start = "schema: llmcalc.node/1\nname: x\n", device = "device: h100-sxm\ncount: 8\n",
                  links = "links: {nvlink: {per_direction: 450 GB/s}}\n", sources = "sources: {links: test}\n";

}  // namespace

TEST_CASE("node profile: what is wrong is named with its place") {
  CHECK(refusal(start + device + links + sources) == "accepted");
  CHECK(refusal(start + device + "per_tray: 4\nnetwork: x\ntopology: y\nnotes: z\n" +
                "links: {network: {per_direction: 50 GB/s}}\n" + sources) == "accepted");
  const std::pair<std::string, const char*> rows[] = {
      {"- a\n", "must be a map of keys and values"},
      {"name: x\n" + device + links + sources, "schema: is required and missing"},
      {"schema: llmcalc.device/1\nname: x\n" + device + links + sources, "this is a device; a node is needed here"},
      {"schema: llmcalc.node/1\n" + device + links + sources, "name: is required and missing"},
      {start + "count: 8\n" + links + sources, "device: is required and missing\nhint: the id of a device"},
      {start + "device: h100-sxn\ncount: 8\n" + links + sources,
       "n.yaml:3:9: error: device: unknown device 'h100-sxn': no file, built-in id or driver's name\n"
       "hint: did you mean h100-sxm"},
      {start + "device: [h100-sxm]\ncount: 8\n" + links + sources, "device: must be text, not a list"},
      {start + "device: h100-sxm\n" + links + sources, "count: is required and missing"},
      {start + device + "per_tray: 0\n" + links + sources, "per_tray: must be at least 1, not 0"},
      {start + device + sources, "links: is required and missing"},
      {start + device + "links: 450 GB/s\n" + sources, "links: must be a map of keys and values"},
      {start + device + "links: {nvlink: 450 GB/s}\n" + sources, "links.nvlink: must be a map of keys and values"},
      {start + device + "links: {nvlink: {}}\n" + sources, "links.nvlink.per_direction: is required and missing"},
      {start + device + "links: {nvlink: {per_direction: 450 GB}}\n" + sources, "a transfer rate is needed"},
      {start + device + "links: {nvlnk: {per_direction: 450 GB/s}}\n" + sources,
       "links.nvlnk: unknown key\nhint: did you mean nvlink?"},
      {start + device + links, "sources: nothing says where the figures come from"},
      {start + device + links + "sources: {links: [a]}\n", "sources.links: must be text"},
      {start + device + links + "sources: {links: {a: b}}\n", "sources.links: must be text"},
      {start + device + links + "sources: {links: }\n", "sources.links: must be text"},
      {start + device + links + sources + "topolgy: y\n", "topolgy: unknown key\nhint: did you mean topology?"},
  };
  for (const auto& [text, message] : rows) {
    INFO(text);
    CHECK_THAT(refusal(text), ContainsSubstring(message));
  }
}
