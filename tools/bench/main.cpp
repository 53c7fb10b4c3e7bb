// assay bench: how fast scans are, beside the memory floor of the same run and beside peers, and embed_position beside
// its products of matrices.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "optimized/dispatch.hpp"
#include "tools/bench/measure.hpp"

namespace assay::bench {
namespace {

constexpr int disagreement = 1, wrong_input = 2, own_fault = 4;

// "B=8,n=1000,d=1024", with ",e=512" for embed_position, into sizes[0 .. 3]; the last is 0 where it is not there.
std::optional<std::array<std::size_t, 4>> parse_shape(const std::string& text) {
  std::array<std::size_t, 4> sizes{};
  std::size_t begin = 0, limit = 1u << 30;
  for (std::size_t axis = 0; axis < 4 && begin <= text.size(); ++axis) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    if (!part.starts_with(std::string("Bnde").substr(axis, 1) + "=")) return std::nullopt;
    const auto [stop, error] = std::from_chars(part.data() + 2, part.data() + part.size(), sizes[axis]);
    if (error != std::errc() || stop != part.data() + part.size() || sizes[axis] == 0) return std::nullopt;
    if (sizes[axis] >= limit) return std::nullopt;
    if (axis < 2) limit /= sizes[axis];
    begin = end + 1;
  }
  return begin > text.size() && sizes[2] != 0 ? std::optional(sizes) : std::nullopt;
}

std::string name_of(const measurement& m) {
  return fmt::format("({}, {}, {}){}{}", m.shape.batch, m.shape.tokens, m.shape.features,
                     m.embedding == 0 ? "" : fmt::format(", e = {}", m.embedding), m.long_memory ? " long memory" : "");
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
      "| operation | (B, n, d) | ns an element | share of the floor | peers: time over ours "
      "|\n|---|---|---|---|---|\n");
  for (const measurement& m : all) {
    std::string peers;
    for (const peer_result& p : m.peers)
      peers += fmt::format("{}{} {}", peers.empty() ? "" : "; ", p.name, text_of(p.times, 0));
    fmt::print("| `{}` | {} | {:.2f} | {} | {} |\n", m.operation, name_of(m), m.ns, text_of(m.share, 2), peers);
  }
}

nlohmann::json json_of(const spread& s) { return {{"median", s.median}, {"least", s.least}, {"most", s.most}}; }

void print_json(const options& how, const std::vector<measurement>& all) {
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
                    {"shape", {m.shape.batch, m.shape.tokens, m.shape.features}},
                    {"embedding", m.embedding},
                    {"long_memory", m.long_memory},
                    {"ns", m.ns},
                    {"floor_ns", m.floor_ns},
                    {"share", json_of(m.share)},
                    {"peers", peers}});
  }
  const nlohmann::json report = {{"target", *optimized::active_target()},
                                 {"threads", how.threads},
                                 {"rounds", how.rounds},
                                 {"dtype", "f32"},
                                 {"measurements", rows}};
  fmt::print("{}\n", report.dump(2));
}

// The first Python that has torch.
std::string find_python() {
  for (const char* python : {"python3", "/usr/bin/python3"}) {
    const float number = 0;
    if (torch_peer::start(python, {1, 1, 1}, {&number, 1}, {&number, 1}, 1)) return python;
  }
  return "";
}

int run(int argc, char** argv) {
  CLI::App app{
      "Scans and their derivatives in f32, beside the time in which memory gives and takes the same arrays, and beside "
      "peers; embed_position beside the time of its products of matrices alone"};
  app.name("assay bench");
  options how;
  std::vector<std::string> shapes;
  std::string target;
  bool as_json = false, as_markdown = false, without_torch = false;
  app.add_option("--shape", shapes,
                 "such as B=8,n=1000,d=1024 for scans, or B=1,n=4096,d=512,e=512 for embed_position on tokens of e "
                 "numbers; may be "
                 "repeated");
  app.add_option("--rounds", how.rounds, "of which medians and extremes are given")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--threads", how.threads, "of ours, of the floor and of PyTorch")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--target", target, "instruction set of ours (also: ASSAY_TARGET)");
  app.add_option("--python", how.python, "a Python that has torch (default: looked for)");
  app.add_flag("--no-torch", without_torch, "PyTorch is no peer");
  app.add_flag("--json", as_json, "for a program to read");
  app.add_flag("--markdown", as_markdown, "as a table for a document")->excludes("--json");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : wrong_input;
  }
  if (shapes.empty())
    shapes = {"B=8,n=1000,d=1024", "B=1,n=10000000,d=1", "B=1,n=1000000,d=8", "B=1,n=1000,d=1",
              "B=1,n=4096,d=512,e=512"};
  for (const std::string& text : shapes) {
    const auto sizes = parse_shape(text);
    if (!sizes) {
      fmt::print(stderr,
                 "assay bench: --shape {}: expected B=8,n=1000,d=1024 or B=1,n=4096,d=512,e=512 with fewer than 2^30 "
                 "elements\n",
                 text);
      return wrong_input;
    }
    const auto [batch, tokens, features, embedding] = *sizes;
    if (embedding == 0)
      how.shapes.push_back({batch, tokens, features});
    else
      how.embeddings.push_back({{batch, tokens, features}, embedding});
  }
  if (!target.empty() && !optimized::force_target(target)) {
    fmt::print(stderr, "assay bench: unknown or unsupported instruction set '{}'\n", target);
    return wrong_input;
  }
  if (how.python.empty() && !without_torch) how.python = find_python();
  if (without_torch) how.python.clear();
  const std::vector<measurement> all = measure(how);
  as_json ? print_json(how, all) : as_markdown ? print_markdown(all) : print_text(all);
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
