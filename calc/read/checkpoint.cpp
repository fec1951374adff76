#include "read/checkpoint.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/suggest.hpp"
#include "read/gguf.hpp"
#include "read/json.hpp"
#include "read/load.hpp"
#include "read/safetensors.hpp"
#include "read/tree.hpp"

namespace llmcalc {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t largest_index = 100'000'000;  // bytes, as for a header
constexpr std::size_t most_reported = 5;

std::string lower_name(const fs::path& path) {
  std::string name = path.filename().string();
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
  return name;
}

// "x-00002-of-00005.gguf": a piece of "x" in five; 0 where the name says nothing of the kind.
struct Piece {
  std::string of;
  int number = 0, pieces = 0;
};

Piece piece_of(const std::string& name) {
  constexpr std::size_t digits = 5;
  const std::string stem = fs::path(name).stem().string();
  const std::size_t middle = stem.rfind("-of-");
  if (middle == std::string::npos || middle < digits + 1 || stem.size() != middle + 4 + digits) return {};
  const std::string number = stem.substr(middle - digits, digits), pieces = stem.substr(middle + 4);
  const auto is_number = [](const std::string& text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  };
  if (stem[middle - digits - 1] != '-' || !is_number(number) || !is_number(pieces)) return {};
  return {stem.substr(0, middle - digits - 1), std::stoi(number), std::stoi(pieces)};
}

void read_one(const fs::path& path, Checkpoint& into) {
  const std::string shown = path.string();
  std::error_code problem;
  const std::uint64_t size = fs::file_size(path, problem);
  if (problem || !fs::is_regular_file(path)) syntax_error(shown, 0, 0, "is not a file that can be read");
  std::ifstream in(path, std::ios::binary);
  if (!in) syntax_error(shown, 0, 0, "cannot be opened for reading");
  into.format = lower_name(path).ends_with(".gguf") ? "GGUF" : "safetensors";
  (into.format == "GGUF" ? read_gguf : read_safetensors)(in, size, shown, into);
  into.files.push_back(path.filename().string());
  into.on_disk += Bytes(static_cast<Count>(size));
}

// {"metadata": {...}, "weight_map": {tensor: file, ...}}
class Index : public JsonEvents {
 public:
  explicit Index(const std::string& file) : file_(file) {}

  void start_map() override { enter(key_ == "weight_map"); }
  void end_map() override { --depth_; }
  void start_list() override { enter(false); }
  void end_list() override { --depth_; }
  void key(const std::string& text) override { key_ = text; }
  void text(const std::string& text) override {
    if (!maps()) return;
    const bool in_this_folder = !text.empty() && text.find('/') == std::string::npos && text != "." && text != "..";
    if (!in_this_folder) syntax_error(file_, 0, 0, in_quotes(text) + " is no name of a file in this folder");
    said.emplace(key_, Said{text});
  }
  void whole(std::uint64_t) override { misplaced(); }
  void other() override { misplaced(); }

  struct Said {
    std::string file;
    bool holds = false;
  };
  std::unordered_map<std::string, Said> said;  // by tensor

 private:
  bool maps() const { return depth_ == 2 && in_map_; }
  void enter(bool the_map) {
    misplaced();
    if (++depth_ == 2) in_map_ = the_map;
  }
  void misplaced() const {
    if (maps()) syntax_error(file_, 0, 0, in_quotes(key_) + " is mapped to something else than a file");
  }

  const std::string& file_;
  int depth_ = 0;
  bool in_map_ = false;
  std::string key_;
};

[[noreturn]] void refuse_all(const std::string& file, const std::vector<std::string>& problems) {
  std::vector<Diagnostic> diagnostics;
  for (const std::string& problem : problems) {
    if (diagnostics.size() == most_reported) break;
    diagnostics.push_back({Severity::error, {file, 0, 0, {}}, problem, {}});
  }
  if (problems.size() > most_reported)
    diagnostics.back().hint = "and " + std::to_string(problems.size() - most_reported) + " more of the kind";
  throw Error(Exit::bad_input, std::move(diagnostics));
}

void refuse_doubles(const std::string& place, const Checkpoint& found) {
  std::vector<std::string_view> names;
  for (const StoredTensor& tensor : found.tensors) names.push_back(tensor.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end())
    syntax_error(place, 0, 0, "the tensor " + in_quotes(*twice) + " is in two files", "name the file to be read");
}

Checkpoint read_indexed(const fs::path& folder, const fs::path& index_path) {
  const std::string shown = index_path.string();
  Index index(shown);
  walk_json(read_file(shown, largest_index), shown, "the index", index);
  if (index.said.empty()) syntax_error(shown, 0, 0, "has no weight_map that says which tensor is in which file");
  std::set<std::string> files;
  for (const auto& [tensor, said] : index.said) files.insert(said.file);
  std::vector<std::string> problems;
  for (const std::string& file : files)
    if (!fs::exists(folder / file)) problems.push_back("names " + in_quotes(file) + ", which is not in this folder");
  if (!problems.empty()) refuse_all(shown, problems);
  Checkpoint found;
  Count beside = 0;
  for (const std::string& file : files) {
    const std::size_t first = found.tensors.size();
    read_one(folder / file, found);
    for (std::size_t i = first; i < found.tensors.size(); ++i) {
      const auto said = index.said.find(found.tensors[i].name);
      if (said == index.said.end()) {
        ++beside;
      } else if (said->second.file == file) {
        said->second.holds = true;
      }
    }
  }
  for (const auto& [tensor, said] : index.said)
    if (!said.holds)
      problems.push_back("says that " + in_quotes(tensor) + " is in " + in_quotes(said.file) + ", where it is not");
  std::sort(problems.begin(), problems.end());
  if (!problems.empty()) refuse_all(shown, problems);
  refuse_doubles(shown, found);
  if (beside > 0) found.notes.push_back(std::to_string(beside) + " tensors are in the files and not in the index");
  return found;
}

// Of GGUF files those of one checkpoint: the only one, or the pieces of one.
void choose_gguf(const std::string& folder, const std::vector<std::string>& files) {
  if (files.size() < 2) return;
  const Piece first = piece_of(files.front());
  for (const std::string& file : files) {
    const Piece piece = piece_of(file);
    if (piece.pieces == 0 || piece.of != first.of || piece.pieces != first.pieces)
      syntax_error(folder, 0, 0, "holds several GGUF files: " + join({files.front(), file}) + " among them",
                   "name the file to be read");
  }
}

std::vector<std::string> files_ending(const fs::path& folder, std::string_view ending) {
  std::vector<std::string> names;
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(folder, problem)) {
    if (lower_name(entry.path()).ends_with(ending)) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// A piece of several is no whole: what is not in it may be in the others.
void note_pieces(Checkpoint& found) {
  const Piece piece = piece_of(found.files.front());
  if (piece.pieces <= static_cast<int>(found.files.size())) return;
  found.complete = false;
  found.notes.push_back("only " + std::to_string(found.files.size()) + " of the " + std::to_string(piece.pieces) +
                        " files this checkpoint is in was read: what is missing may be in the others");
}

std::optional<Checkpoint> read_folder(const fs::path& folder) {
  std::vector<std::string> files = files_ending(folder, ".safetensors");
  const std::vector<std::string> ggufs = files_ending(folder, ".gguf");
  std::vector<std::string> left_aside;
  Checkpoint found;
  const fs::path index = folder / "model.safetensors.index.json";
  if (fs::exists(index)) {
    found = read_indexed(folder, index);
    for (const std::string& file : files)
      if (std::find(found.files.begin(), found.files.end(), file) == found.files.end()) left_aside.push_back(file);
  } else {
    const auto whole = std::find(files.begin(), files.end(), "model.safetensors");
    if (files.empty()) {
      choose_gguf(folder.string(), ggufs);
      files = ggufs;
    } else if (whole != files.end()) {
      left_aside = files;
      left_aside.erase(left_aside.begin() + (whole - files.begin()));
      files = {"model.safetensors"};
    }
    if (files.empty()) return std::nullopt;
    for (const std::string& file : files) read_one(folder / file, found);
    refuse_doubles(folder.string(), found);
    note_pieces(found);
  }
  if (found.format == "safetensors") left_aside.insert(left_aside.end(), ggufs.begin(), ggufs.end());
  if (!left_aside.empty()) found.notes.push_back("not read, as it is no part of this checkpoint: " + join(left_aside));
  return found;
}

}  // namespace

bool is_checkpoint_file(const std::string& path) {
  const std::string name = lower_name(path);
  return name.ends_with(".safetensors") || name.ends_with(".gguf");
}

std::optional<Checkpoint> load_checkpoint(const std::string& path) {
  std::error_code problem;
  if (fs::is_directory(path, problem)) return read_folder(path);
  Checkpoint found;
  read_one(path, found);
  note_pieces(found);
  return found;
}

}  // namespace llmcalc
