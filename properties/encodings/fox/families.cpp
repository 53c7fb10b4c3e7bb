// Families of inputs for the decay of forgetting attention: those of Heinsen's gates, as one lane of gates is filled
// alike in both.
#include <algorithm>
#include <string_view>

#include "properties/encodings/fox/laws/laws.hpp"
#include "properties/encodings/fox/mutants/mutants.hpp"
#include "properties/generators/lane_inputs.hpp"
#include "properties/harness/catalogue.hpp"

namespace assay::properties::encodings::fox {
namespace {

using core::counter_random;
using core::dtype;

struct extents {
  std::size_t batch, n, heads;
};

// The outputs grow with the square of the tokens.
extents draw_extents(counter_random& random, extent size) {
  if (size.is_given()) return {size.axis("B", 1), size.axis("n", 4), size.axis("h", 1)};
  extents s{1, size.tokens, 1};
  if (size.range == lengths::exactly) return s;
  if (size.range == lengths::long_ones) return {1, 200 + random.below(100), 1};
  if (size.range == lengths::around_blocks) {
    s.n = (std::size_t{1} << (3 + random.below(4))) - 1 + random.below(3);
    return s;
  }
  s.n = random.one_in(2) ? random.below(9) : random.below(34);
  if (s.n < 17) s.heads = 1 + random.below(3);
  if (s.n < 17 && random.one_in(3)) s.batch = 2;
  if (random.one_in(60)) s.heads = 0;
  return s;
}

// Queries and keys of order `scale`.
family filled_by(std::string name, std::string summary, lane_filler fill, double scale = 1.0) {
  family f{std::move(name), std::move(summary)};
  f.generate = [fill, scale](const core::operation& op, dtype type, const core::attributes&, counter_random& random,
                             extent size) -> core::tensors {
    extents s = draw_extents(random, size);
    // Attention forms an exponential for every pair: what long sequences show of the decay needs no more of it.
    if (op.input("q") != nullptr && size.range != lengths::exactly && !size.is_given())
      s.n = std::min<std::size_t>(s.n, 40);
    const bool gated = op.input("g") != nullptr;
    std::vector<double> gates(s.batch * s.n * s.heads);
    for (std::size_t b = 0; b < s.batch; ++b)
      for (std::size_t k = 0; k < s.heads; ++k) {
        lane_inputs lane{std::vector<double>(s.n), std::vector<double>(s.n)};
        fill(lane, gated, type, random);
        for (std::size_t i = 0; i < s.n; ++i) gates[(b * s.n + i) * s.heads + k] = lane.gate[i];
      }
    core::tensors inputs{{gated ? "g" : "log_f", core::make_tensor(type, {s.batch, s.n, s.heads}, gates)}};
    // Of attention besides: queries, keys and values.
    const std::size_t width = 1 + random.below(3);
    for (const char* input : {"q", "k", "v"}) {
      if (op.input(input) == nullptr) continue;
      core::tensor t = core::zeros(type, {s.batch, s.heads, s.n, size.axis(op.input(input)->axes.back(), width)});
      const double order = std::string_view(input) == "v" ? 1.0 : scale;
      for (double& x : t.values.storage()) x = core::round_to(type, order * random.normal());
      inputs.emplace(input, std::move(t));
    }
    return inputs;
  };
  return f;
}

// Decays are a square of tokens; attention sums over one of its sides, of which mild gates leave twenty tokens: what
// lies far behind weighs something where gates are near one.
std::vector<usual_size> usual_sizes() {
  const std::vector<std::string> decays{"fox/decay", "fox/gated_decay"}, attention{"fox/attention"};
  return {
      {decays, {{"B", 5}, {"n", 17}, {"h", 9}}, true},
      {decays, {{"B", 66}, {"n", 5}, {"h", 2}}, true},
      {decays, {{"B", 2}, {"n", 130}, {"h", 2}}, true},
      {decays, {{"B", 1}, {"n", 258}, {"h", 1}}, true},
      {decays, {{"B", 5}, {"n", 66}, {"h", 1}}, true},
      {decays, {{"B", 1}, {"n", 66}, {"h", 9}}, true},
      {decays, {{"B", 2}, {"n", 128}, {"h", 4}}, true},
      {decays, {{"B", 1}, {"n", 255}, {"h", 1}}, true},
      {decays, {{"B", 3}, {"n", 9}, {"h", 9}}, true},
      {decays, {{"B", 5}, {"n", 9}, {"h", 9}}, true, every_family},
      {decays, {{"B", 1}, {"n", 66}, {"h", 2}}, true, every_family},
      {decays, {{"B", 2}, {"n", 1025}, {"h", 2}}},
      {decays, {{"B", 2}, {"n", 129}, {"h", 33}}},
      {decays, {{"B", 1}, {"n", 513}, {"h", 3}}},
      {decays, {{"B", 65537}, {"n", 2}, {"h", 1}}},
      {decays, {{"B", 5}, {"n", 130}, {"h", 9}}, false, every_family},
      {attention, {{"B", 5}, {"h", 9}, {"n", 17}, {"d", 80}, {"e", 3}}, true},
      {attention, {{"B", 66}, {"h", 2}, {"n", 5}, {"d", 2}, {"e", 65}}, true},
      {attention, {{"B", 2}, {"h", 2}, {"n", 130}, {"d", 3}, {"e", 2}}, true},
      {attention, {{"B", 5}, {"h", 1}, {"n", 66}, {"d", 2}, {"e", 3}}, true},
      {attention, {{"B", 1}, {"h", 1}, {"n", 66}, {"d", 64}, {"e", 64}}, true},
      {attention, {{"B", 1}, {"h", 9}, {"n", 66}, {"d", 2}, {"e", 3}}, true},
      {attention, {{"B", 2}, {"h", 2}, {"n", 64}, {"d", 64}, {"e", 64}}, true},
      {attention, {{"B", 1}, {"h", 1}, {"n", 72}, {"d", 128}, {"e", 128}}, true},
      {attention, {{"B", 1}, {"h", 2}, {"n", 383}, {"d", 2}, {"e", 2}}, true, "gates_near_one"},
      {attention, {{"B", 3}, {"h", 9}, {"n", 9}, {"d", 3}, {"e", 2}}, true},
      {attention, {{"B", 5}, {"h", 9}, {"n", 5}, {"d", 66}, {"e", 66}}, true, every_family},
      {attention, {{"B", 1}, {"h", 2}, {"n", 66}, {"d", 3}, {"e", 2}}, true, every_family},
      {attention, {{"B", 1}, {"h", 2}, {"n", 9}, {"d", 96}, {"e", 96}}},
      {attention, {{"B", 1}, {"h", 2}, {"n", 9}, {"d", 256}, {"e", 256}}},
      {attention, {{"B", 1}, {"h", 2}, {"n", 258}, {"d", 65}, {"e", 33}}},
      {attention, {{"B", 2}, {"h", 2}, {"n", 1025}, {"d", 2}, {"e", 1}}},
      {attention, {{"B", 1}, {"h", 1}, {"n", 1300}, {"d", 2}, {"e", 1}}, false, "gates_near_one"},
      {attention, {{"B", 65537}, {"h", 1}, {"n", 2}, {"d", 1}, {"e", 1}}},
      {attention, {{"B", 5}, {"h", 9}, {"n", 130}, {"d", 66}, {"e", 66}}, false, every_family},
  };
}

}  // namespace

encoding_tests make_tests() {
  std::vector<family> families{
      filled_by("mild", "gates of order 1", mild),
      filled_by("gates_near_one", "log f from -2^-4 to -2^-29", gates_near_one),
      filled_by("gates_near_zero", "log f from -5 to -60", gates_near_zero),
      filled_by("constant_gate", "one gate for the whole lane, 2^-17 to 1: ALiBi", constant_gate),
      filled_by("block_half_life", "decay over a block is e^-0.3 to e^-3", block_half_life),
      filled_by("infinite_inside", "log f is -inf here and there: resets", infinite_inside),
      filled_by("no_decay", "log f = 0 or above -1e-6", no_decay),
      filled_by("powers_of_two", "all gates are powers of two", powers_of_two),
      filled_by("subnormal", "all gates are subnormal", subnormal),
      filled_by("wide", "log f from -69 to 0", wide),
      filled_by("extreme_gates", "decays beyond the exponent range", extreme_gates),
      filled_by("large_logits", "logits of order 100 to 1000: exp of them overflows", mild, 16.0),
      filled_by("special_values", "zeros, and numbers at the ends of the domain and of the formats", special_values),
      filled_by("nan_inside", "a NaN in some lanes", nan_inside),
  };
  families.back().holds_nan = true;
  // A logit is finite: only log f itself can be -inf.
  for (family& f : families)
    if (f.name == "infinite_inside") f.applies = [](const core::operation& op) { return op.input("log_f") != nullptr; };
  for (family& f : families)
    if (f.name == "large_logits") f.applies = [](const core::operation& op) { return op.input("q") != nullptr; };
  for (family& f : families) f.parts_classes = f.name == "mild" || f.name == "gates_near_one" || f.name == "wide";
  for (family& f : families)
    if (f.name == "gates_near_one") f.tells_along = "n";  // what lies far behind weighs something
  encoding_tests tests;
  tests.name = "fox";
  tests.families = std::move(families);
  tests.sizes = usual_sizes();
  tests.long_ones = {{{"fox/decay", "fox/gated_decay"}, {{"n", 2}}}, {{"fox/attention"}, {{"n", 2}}, {{"n", 1100}}}};
  tests.mutants = mutants();
  tests.controls = controls();
  tests.laws = laws();
  tests.not_modelled = {{"IX10 fla-org/flash-linear-attention#769, NVIDIA-NeMo/Automodel#3802",
                         "an index beyond 2^31 needs 46 341 tokens, whose pairs do not fit a gate run"}};
  tests.facts = {{"infinite_inside", "log f = -inf gives"},
                 {"extreme_gates", "decays beyond the exponent range give"},
                 {"no_decay", "gates at 1 (log f = 0, or nearly) give"},
                 {"gates_near_one", "gates near 1 give"},
                 {"gates_near_zero", "gates near 0 give"},
                 {"special_values", "special values (zeros, ends of the domain and of the formats) give"}};
  return tests;
}

}  // namespace assay::properties::encodings::fox
