// assay bench: the speed of operations, compared with the memory floor or the matrix products of the same run, and with
// peers.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "optimized/dispatch.hpp"
#include "tools/bench/measure.hpp"

namespace assay::bench {
namespace {

constexpr int disagreement = 1, wrong_input = 2, own_fault = 4;

constexpr std::size_t most_elements = std::size_t{1} << 30;  // of an array

// Parses "B=8,n=1000,d=1024" with the names of the axes in this order; empty if it has another form.
std::vector<std::size_t> parse_shape(const std::string& text, const std::string& names) {
  std::vector<std::size_t> sizes;
  std::size_t begin = 0, tokens = 1;
  for (const char name : names) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(std::min(begin, text.size()), end - std::min(begin, end));
    if (!part.starts_with(std::string(1, name) + "=")) return {};
    std::size_t size = 0;
    const auto [stop, error] = std::from_chars(part.data() + 2, part.data() + part.size(), size);
    if (error != std::errc() || stop != part.data() + part.size() || size == 0) return {};
    if (size >= most_elements / tokens) return {};
    if (sizes.size() < 2) tokens *= size;  // B and n count as tokens; arrays have one or two other axes
    sizes.push_back(size);
    begin = end + 1;
  }
  return begin > text.size() ? sizes : std::vector<std::size_t>{};
}

// Adds a shape of scans, of embed_position or of the other encodings. Returns false if the text is no such shape.
bool add_shape(const std::string& text, options& settings) {
  if (const auto s = parse_shape(text, "Bnd"); !s.empty())
    settings.shapes.push_back({s[0], s[1], s[2]});
  else if (const auto e = parse_shape(text, "Bnde"); !e.empty() && e[2] < most_elements / (2 * e[3]))
    settings.embeddings.push_back({{e[0], e[1], e[2]}, e[3]});
  else if (const auto h = parse_shape(text, "Bnhd");
           !h.empty() && std::max(h[1], h[3]) < most_elements / (h[0] * h[1] * h[2]))
    settings.heads.push_back({h[0], h[1], h[2], h[3]});
  else
    return false;
  return true;
}

std::string name_of(const measurement& m) {
  return fmt::format("({}){}{}{}", fmt::join(m.shape, ", "),
                     m.embedding == 0 ? "" : fmt::format(", e = {}", m.embedding),
                     m.dtype == "f32" ? "" : " " + m.dtype, m.long_memory ? " long memory" : "");
}
std::string text_of(const spread& s, int digits) {
  return fmt::format("{:.{}f} [{:.{}f}, {:.{}f}]", s.median, digits, s.least, digits, s.most, digits);
}

void print_text(const std::vector<measurement>& all) {
  for (const measurement& m : all) {
    fmt::print("{:<27} {:<32} {:>8.3f} ns   floor {:>6.3f} ns   share {}\n", m.operation, name_of(m), m.ns, m.floor_ns,
               text_of(m.share, 3));
    for (const peer_result& p : m.peers)
      fmt::print("  {:<25} {:<32} {:>8.3f} ns   {} times as long{}\n", p.name, "", p.ns, text_of(p.times, 1),
                 p.agrees ? "" : "   AND DISAGREES");
  }
}

void print_markdown(const std::vector<measurement>& all) {
  fmt::print(
      "| operation | shape | ns an element | share of the floor | peers: time over ours "
      "|\n|---|---|---|---|---|\n");
  for (const measurement& m : all) {
    std::string peers;
    for (const peer_result& p : m.peers)
      peers += fmt::format("{}{} {}", peers.empty() ? "" : "; ", p.name, text_of(p.times, p.times.median < 10 ? 1 : 0));
    fmt::print("| `{}` | {} | {:.2f} | {} | {} |\n", m.operation, name_of(m), m.ns, text_of(m.share, 2), peers);
  }
}

nlohmann::json json_of(const spread& s) { return {{"median", s.median}, {"least", s.least}, {"most", s.most}}; }

void print_json(const options& settings, const std::vector<measurement>& all) {
  nlohmann::json rows = nlohmann::json::array();
  for (const measurement& m : all) {
    nlohmann::json peers = nlohmann::json::array();
    for (const peer_result& p : m.peers)
      peers.push_back({{"name", p.name},
                       {"ns", p.ns},
                       {"times", json_of(p.times)},
                       {"sum", p.sum},
                       {"our_sum", p.ours},
                       {"agrees", p.agrees}});
    rows.push_back({{"operation", m.operation},
                    {"shape", m.shape},
                    {"embedding", m.embedding},
                    {"dtype", m.dtype},
                    {"long_memory", m.long_memory},
                    {"ns", m.ns},
                    {"floor_ns", m.floor_ns},
                    {"share", json_of(m.share)},
                    {"peers", peers}});
  }
  const nlohmann::json report = {{"target", *optimized::active_target()},
                                 {"threads", settings.threads},
                                 {"rounds", settings.rounds},
                                 {"measurements", rows}};
  fmt::print("{}\n", report.dump(2));
}

// The first Python with torch.
std::string find_python() {
  for (const char* python : {"python3", "/usr/bin/python3"}) {
    const float number = 0;
    const std::span<const float> one(&number, 1);
    if (torch_peer::start(python, {1, 1, 1}, {one, one, one}, 1)) return python;
  }
  return "";
}

int run(int argc, char** argv) {
  CLI::App app{
      "All operations in f32, scans in bf16 and f16 too, beside the time in which memory gives and takes the same "
      "arrays, "
      "scans beside peers, "
      "embed_position and attention beside the time of their products of matrices alone"};
  app.name("assay bench");
  options settings;
  std::vector<std::string> shapes;
  std::string target;
  bool as_json = false, as_markdown = false, without_torch = false;
  app.add_option("--shape", shapes,
                 "B=8,n=1000,d=1024 for scans, B=1,n=4096,d=512,e=512 for embed_position on tokens of e numbers, "
                 "B=1,n=1024,h=8,d=64 for the other encodings; may be repeated");
  app.add_option("--rounds", settings.rounds, "rounds of measurement; medians and extremes are over the rounds")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option(
         "--threads", settings.threads,
         "threads of Assay's code, of the floor and of PyTorch; with several, scans are also measured on one thread")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--target", target, "instruction set of Assay's code (also: ASSAY_TARGET)");
  app.add_option("--python", settings.python,
                 "a Python that has torch (default: python3 or /usr/bin/python3, if it has torch)");
  app.add_flag("--no-torch", without_torch, "leave PyTorch out");
  app.add_flag("--json", as_json, "for a program to read");
  app.add_flag("--markdown", as_markdown, "as a table for a document")->excludes("--json");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : wrong_input;
  }
  if (shapes.empty())
    shapes = {"B=8,n=1000,d=1024", "B=1,n=10000000,d=1",     "B=1,n=1000000,d=8",
              "B=1,n=1000,d=1",    "B=1,n=4096,d=512,e=512", "B=1,n=1024,h=8,d=64"};
  for (const std::string& text : shapes)
    if (!add_shape(text, settings)) {
      fmt::print(
          stderr,
          "assay bench: --shape {}: expected B=8,n=1000,d=1024 or B=1,n=4096,d=512,e=512 or B=1,n=1024,h=8,d=64, "
          "with arrays of fewer than 2^30 elements\n",
          text);
      return wrong_input;
    }
  if (!target.empty() && !optimized::force_target(target)) {
    fmt::print(stderr, "assay bench: unknown or unsupported instruction set '{}'\n", target);
    return wrong_input;
  }
  if (settings.python.empty() && !without_torch) settings.python = find_python();
  if (without_torch) settings.python.clear();
  const std::vector<measurement> all = measure(settings);
  as_json ? print_json(settings, all) : as_markdown ? print_markdown(all) : print_text(all);
  for (const measurement& m : all)
    for (const peer_result& p : m.peers)
      if (!p.agrees) {
        fmt::print(stderr, "assay bench: {} and ours disagree at {}: the sums are {} and {}\n", p.name, name_of(m),
                   p.sum, p.ours);
        return disagreement;
      }
  return 0;
}

}  // namespace
}  // namespace assay::bench

int main(int argc, char** argv) {
  try {
    return assay::bench::run(argc, argv);
  } catch (const std::exception& e) {
    fmt::print(stderr, "assay bench: {}\n", e.what());
    return assay::bench::own_fault;
  }
}
