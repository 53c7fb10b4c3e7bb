// FoPE: coefficients as they are initialised and after training, faults of public reports, and right code.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <string>

#include "properties/faults/call_changes.hpp"
#include "properties/faults/declared_faults.hpp"
#include "properties/harness/usual_sizes.hpp"
#include "properties/kinds/rotation.hpp"
#include "properties/kinds/rotation_faults.hpp"
#include "properties/kinds/table.hpp"
#include "reference/encodings/fope.hpp"

namespace assay::properties::encodings::fope {
namespace {

using core::counter_random;
using core::dtype;
using reference::encodings::kept_rule;
using encoding = reference::encodings::fope;
inline constexpr auto& changed = make_variant<encoding>;

// Families.

double turns_at(double length, const kept_rule& by, std::size_t t) {
  return length / (2.0 * std::numbers::pi) * std::pow(by.base, -static_cast<double>(t) / static_cast<double>(by.pairs));
}
// No frequency is so near to one turn that f32 could decide otherwise.
double decided(double length, const drawing& from) {
  const kept_rule by(from.settings);
  for (std::size_t t = 0; t < by.pairs; ++t)
    if (std::fabs(turns_at(length, by, t) - 1.0) < 0x1p-16) return decided(length + 1.0, from);
  return length;
}
double usual_length(const drawing& from) {
  return decided(std::floor(std::exp2(from.random.uniform(0.0, 18.0))), from);
}
// The first length at which one frequency more makes a turn, or the one before.
double length_of_turn(const drawing& from) {
  const kept_rule by(from.settings);
  const double length = std::ceil(1.0 / turns_at(1.0, by, from.random.below(by.pairs)));
  return length > 0x1p16 ? usual_length(from) : decided(length - static_cast<double>(from.random.below(2)), from);
}

/// How coefficients are drawn: the step identity of the authors' code, with its noise or alone; all of order 1; or
/// terms of equal frequencies that cancel but for a little.
enum class series { initial, bare, dense, cancelling };

std::vector<double> drawn_coefficients(series kind, bool normalized, std::size_t groups, std::size_t frequencies,
                                       std::size_t columns, counter_random& random) {
  std::vector<double> all(groups * frequencies * columns);
  const double noise = random.uniform(0.3, 0.6) * std::sqrt(2.0 / static_cast<double>(frequencies + columns + 1));
  const std::size_t step = columns == 0 ? 1 : (frequencies + columns - 1) / columns;
  for (std::size_t column = 0; column < groups * columns; ++column) {
    const std::size_t o = column % columns;
    const auto at = [&](std::size_t k) -> double& { return all[(column / columns * frequencies + k) * columns + o]; };
    double sum = 0.0, size = 0.0;
    for (std::size_t k = 0; k < frequencies; ++k) {
      at(k) = kind == series::initial ? noise * random.normal() : kind == series::bare ? 0.0 : random.normal();
      if ((kind == series::initial || kind == series::bare) && k == o * step) at(k) += 1.0;
      if (kind == series::cancelling && k % 2 == 1) at(k) = -at(k - 1) * (1.0 + std::ldexp(random.normal(), -6));
      sum += at(k), size += std::fabs(at(k));
    }
    // What is divided by its sum has one.
    if (normalized && frequencies > 0 && std::fabs(sum) < 0.25 * size + 0x1p-4)
      for (std::size_t k = 0; k < frequencies; ++k) at(k) = std::fabs(at(k)) + (k == 0 ? 0.5 : 0.0);
  }
  return all;
}

/// x and positions of a rotation, with frequencies and coefficients.
family with_series(family f, series kind) {
  f.generate = [make = f.generate, kind, finite = f.name != "infinite_x" && !f.holds_nan, holds_nan = f.holds_nan](
                   const core::operation& op, dtype type, const core::attributes& settings, counter_random& random,
                   extent size) {
    const bool given = size.is_given(), drawn = size.range == lengths::short_ones;
    // Sizes that do not go together are moved: heads to a multiple, widths to an even number that holds the columns.
    const std::size_t given_groups = std::max<std::size_t>(size.axis("g", 1), 1), given_columns = size.axis("O", 0);
    if (given) {
      size.axes["h"] = (size.axis("h", given_groups) + given_groups - 1) / given_groups * given_groups;
      size.axes["d"] = std::max((size.axis("d", 2 * given_columns + 4) + 1) / 2, given_columns) * 2;
    }
    core::tensors inputs = make(op, type, settings, random, size);
    core::tensor &x = inputs.at("x"), &position = inputs.at("position");
    std::vector<std::size_t> even(x.shape()[3] / 2 * 2);
    std::iota(even.begin(), even.end(), 0U);
    x = core::take(x, 3, even);
    const std::size_t heads = x.shape()[2], pairs = even.size() / 2;
    const std::size_t groups = size.axis("g", !given && heads > 0 && random.one_in(2) ? heads : 1);
    if (drawn && random.one_in(3)) {  // two heads with the same coefficients
      std::vector<std::size_t> twice(2 * heads);
      for (std::size_t h = 0; h < twice.size(); ++h) twice[h] = h / 2;
      x = core::take(x, 2, twice);
    }
    const std::size_t frequencies = size.axis("D", drawn ? 1 + random.below(6) : 3);
    const std::size_t columns = size.axis("O", drawn ? random.below(pairs + 1) : std::min<std::size_t>(pairs, 3));
    std::vector<double> omega(frequencies);
    for (std::size_t k = 0; k < frequencies; ++k) {
      omega[k] = random.uniform(0.5, 1) * std::pow(10000.0, -static_cast<double>(k) / static_cast<double>(frequencies));
      if (random.one_in(12) && finite) omega[k] = 0.0;
      if (kind == series::cancelling && k % 2 == 1) omega[k] = omega[k - 1];
    }
    const bool normalized = core::setting<bool>(settings, "normalized");
    inputs.emplace("omega", core::make_tensor(type, {frequencies}, omega));
    for (const char* name : {"c_cos", "c_sin"})
      inputs.emplace(name,
                     core::make_tensor(type, {groups, frequencies, columns},
                                       drawn_coefficients(kind, normalized, groups, frequencies, columns, random)));
    if (holds_nan && random.one_in(2)) {
      constexpr const char* holders[] = {"omega", "c_cos", "c_sin"};
      auto& values = inputs.at(holders[random.below(3)]).values.storage();
      if (!values.empty()) values[random.below(values.size())] = std::nan("");
    }
    // Code may leave padded pairs alone: whether a number that is not finite reaches its partner there is a convention.
    if (core::setting<std::string>(settings, "padding") == "identity")
      for (std::size_t i = 0; i < x.size(); ++i)
        if (i % pairs >= columns && !std::isfinite(x.values.storage()[i])) x.values.storage()[i] = 0.5;
    // The gradient of a frequency adds up positions times torques, which f16 itself cannot hold at large positions.
    if (type == dtype::f16)
      for (double& m : position.values.storage())
        if (m > 8.0) m = std::fmod(m, 8.0) + 1.0;
    return inputs;
  };
  return f;
}

family renamed(family f, const char* name, const char* summary, series kind, setting_values settings = {}) {
  f.name = name, f.summary = summary, f.settings = std::move(settings);
  f.is_mild = f.parts_classes = false;
  return with_series(std::move(f), kind);
}
std::vector<family> families() {
  std::vector<family> all;
  for (family& f : rotation_families())
    for (const char* kept : {"mild", "large_positions", "left_padding", "decode", "one_hot", "wide", "large_x",
                             "infinite_x", "nan_inside"})
      if (f.name == kept) {
        // At position 0 normalized coefficients have the gradient 0, which 35 digits leave open beside the largest x.
        if (f.name == "wide") f.settings = {{"normalized", {false}}};
        all.push_back(with_series(f, f.name == "infinite_x" ? series::bare : series::initial));
      }
  const family plain = rotation_families().front();
  all.push_back(renamed(plain, "dense", "coefficients of order 1, as after training", series::dense));
  all.push_back(
      renamed(plain, "cancelling", "series whose terms cancel", series::cancelling, {{"normalized", {false}}}));
  all.push_back(renamed(plain, "no_noise", "coefficients of the identity: some columns are 0", series::bare,
                        {{"normalized", {false}}}));
  // Both operations have mild inputs.
  family& mild = all.front();
  const family lengths = table_family("", "", {{"length", each(usual_length)}});
  mild.generate = [of_rotations = mild.generate, of_lengths = lengths.generate](const core::operation& op, dtype type,
                                                                                const core::attributes& settings,
                                                                                counter_random& random, extent size) {
    return (op.input("x") != nullptr ? of_rotations : of_lengths)(op, type, settings, random, size);
  };
  mild.applies = [](const core::operation&) { return true; };
  all.push_back(table_family("ends_of_turns", "lengths at which one frequency more makes a turn, and those before",
                             {{"length", each(length_of_turn)}}));
  return all;
}

// Whether a number that is not finite may stand where code may leave a pair alone, or a column is divided by 0.
bool is_convention(const request& call) {
  if (call.operation->input("c_cos") == nullptr) return false;
  const core::axis_sizes s = core::sizes_of(call);
  const bool identity = setting_of<std::string>(call, "padding") == "identity";
  const auto& x = call.inputs.at("x").values.storage();
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!std::isfinite(x[i]) && ((identity && i % (s.at("d") / 2) >= s.at("O")) ||
                                 call.inputs.at("position").values.storage()[i / s.at("d") / s.at("h")] == 0.0))
      return true;
  if (!setting_of<bool>(call, "normalized")) return false;
  for (const char* name : {"c_cos", "c_sin"})
    for (std::size_t column = 0; s.at("D") > 0 && column < s.at("g") * s.at("O"); ++column) {
      double sum = 0.0;
      for (std::size_t k = 0; k < s.at("D"); ++k)
        sum += call.inputs.at(name).values(column / s.at("O"), k, column % s.at("O"));
      if (sum == 0.0) return true;
    }
  return false;
}

// Laws.

/// Visits (pair, its first element, its second one) of all vectors.
template <class Visit>
void for_pairs(const core::axis_sizes& s, Visit visit) {
  const std::size_t pairs = s.at("d") / 2;
  for (std::size_t v = 0; v < s.at("B") * s.at("n") * s.at("h"); ++v)
    for (std::size_t o = 0; o < pairs; ++o) visit(o, 2 * v * pairs + o, (2 * v + 1) * pairs + o);
}

// sin 0 = 0 and cos 0 = 1.
void check_position_0(experiment& e) {
  test_case still = e.c;
  for (double& m : still.call.inputs.at("position").values.storage()) m = 0.0;
  const core::axis_sizes s = sizes_of(e.c);
  e.needs(s.at("D") > 0);
  const numbers y(e.call(still), "y");
  const given_numbers x(e.c, "x"), c(e.c, "c_cos");
  const bool normalized = setting_of<bool>(e.c.call, "normalized");
  for_pairs(s, [&](std::size_t o, std::size_t first, std::size_t second) {
    if (o >= s.at("O")) return;
    const std::size_t group = first / s.at("d") % s.at("h") * s.at("g") / s.at("h");
    cancelling_sum sum;
    for (std::size_t k = 0; k < s.at("D"); ++k) sum.add(summand(c[(group * s.at("D") + k) * s.at("O") + o]));
    const approximate factor = normalized ? exactly(1.0) : sum.value;
    for (const std::size_t i : {first, second})
      e.equal(x[i] * factor, y[i], "element {} at position 0, and x times the sum of its column", i);
  });
}
void check_padding(experiment& e) {
  const core::axis_sizes s = sizes_of(e.c);
  const numbers y(e.call(with_setting(e.c, "padding", std::string("ones"))), "y"),
      z(e.call(with_setting(e.c, "padding", std::string("identity"))), "y");
  const given_numbers x(e.c, "x");
  for_pairs(s, [&](std::size_t o, std::size_t first, std::size_t second) {
    const bool padded = o >= s.at("O");
    e.equal(padded ? x[first] - x[second] : z[first], y[first], "element {} of padding by ones", first);
    e.equal(padded ? x[first] + x[second] : z[second], y[second], "element {} of padding by ones", second);
    for (const std::size_t i : {first, second})
      if (padded) e.equal(x[i], z[i], "element {} of padding by the identity", i);
  });
}
double factor_of_column(std::size_t o) { return std::ldexp(1.0, static_cast<int>(o % 3)); }
void check_columns(experiment& e) {
  const core::axis_sizes s = sizes_of(e.c);
  test_case scaled = e.c;
  for (const char* name : {"c_cos", "c_sin"}) {
    auto& c = scaled.call.inputs.at(name).values.storage();
    for (std::size_t i = 0; i < c.size(); ++i) c[i] *= factor_of_column(i % s.at("O"));
  }
  const numbers y(e.call(), "y"), z(e.call(scaled), "y");
  const bool normalized = setting_of<bool>(e.c.call, "normalized");
  for_pairs(s, [&](std::size_t o, std::size_t first, std::size_t second) {
    for (const std::size_t i : {first, second})
      e.equal(normalized || o >= s.at("O") ? y[i] : exactly(factor_of_column(o)) * y[i], z[i],
              "element {} where columns are multiplied by powers of two", i);
  });
}

// Frequencies in another order, and the rows of coefficients with them; gradients back.
void reverse_frequencies(core::tensors& all) {
  for (const char* name : {"omega", "c_cos", "c_sin", "grad_omega", "grad_c_cos", "grad_c_sin"}) {
    const auto t = all.find(name);
    if (t == all.end()) continue;
    const std::size_t axis = t->second.shape().size() == 1 ? 0 : 1, count = t->second.shape()[axis];
    std::vector<std::size_t> order(count);
    for (std::size_t k = 0; k < count; ++k) order[k] = count - 1 - k;
    t->second = core::take(t->second, axis, order);
  }
}
std::optional<test_case> with_reversed_frequencies(const test_case& c) {
  test_case reversed = c;
  reverse_frequencies(reversed.call.inputs);
  return reversed;
}

// Faults.

void exchange_coefficients(core::tensors& all) {
  for (const auto& [one, other] : {std::pair{"c_cos", "c_sin"}, {"grad_c_cos", "grad_c_sin"}})
    if (all.contains(one)) std::swap(all.at(one), all.at(other));
}
void share_coefficients(request& call) {
  if (call.inputs.contains("c_sin")) call.inputs.at("c_sin") = call.inputs.at("c_cos");
}
void transpose_coefficients(core::tensors& all) {
  for (const char* name : {"c_cos", "c_sin", "grad_c_cos", "grad_c_sin"}) {
    const auto t = all.find(name);
    if (t == all.end() || t->second.shape()[1] != t->second.shape()[2]) continue;
    const core::tensor old = t->second;
    for (std::size_t g = 0; g < old.shape()[0]; ++g)
      for (std::size_t k = 0; k < old.shape()[1]; ++k)
        for (std::size_t o = 0; o < old.shape()[2]; ++o) t->second.values(g, k, o) = old.values(g, o, k);
  }
}
// Neighbours in the place of halves, and back.
void reorder_coordinates(core::tensors& all, bool back) {
  for (const char* name : {"x", "y", "grad_x", "grad_y"}) {
    const auto t = all.find(name);
    if (t == all.end()) continue;
    const std::size_t d = t->second.shape()[3];
    std::vector<std::size_t> order(d);
    for (std::size_t c = 0; c < d; ++c) {
      const std::size_t from = c < d / 2 ? 2 * c : 2 * (c - d / 2) + 1;
      order[back ? from : c] = back ? c : from;
    }
    t->second = core::take(t->second, 3, order);
  }
}
void clear_padded(core::tensors& outputs, const request& call) {
  const auto y = outputs.find(call.operation->is_vjp() ? "grad_x" : "y");
  if (y == outputs.end()) return;
  const core::axis_sizes s = core::sizes_of(call);
  for (std::size_t i = 0; i < y->second.size(); ++i)
    if (i % (s.at("d") / 2) >= s.at("O")) y->second.values.storage()[i] = 0.0;
}
constexpr auto over_row_sums = [](const auto& coefficients) {
  auto quotients = coefficients;
  const std::size_t columns = coefficients.shape(2);
  for (std::size_t first = 0; first < coefficients.size(); first += columns) {
    auto sum = coefficients.data()[first];
    for (std::size_t o = 1; o < columns; ++o) sum = sum + coefficients.data()[first + o];
    for (std::size_t o = 0; o < columns; ++o) quotients.data()[first + o] = coefficients.data()[first + o] / sum;
  }
  return quotients;
};
// At the length times this, and so many more.
variation<encoding> kept_at(double times, double more) {
  return {.formula = [=](auto& how) {
    how.kept = [=](const kept_rule& by, double length) {
      if (by.counts) return by.at(length);
      return std::clamp(by.at(length * times) + more, 0.0, static_cast<double>(by.pairs));
    };
  }};
}

std::vector<variant> mutants() {
  std::vector<variant> all = reported_faults({
      {"mutant/fope_sine_padding",
       "vllm-project/vllm#55204, TsinghuaC3I/Fourier-Position-Embedding#6: sines padded with 1, or with 0",
       "fope/rotate/padding/ones_and_identity_exchanged"},
      {"mutant/fope_not_normalized", "vllm-project/vllm, fope.py: there is no fourier_norm",
       "fope/rotate/normalized/ignored"},
      {"mutant/fope_count_ignored", "a configuration whose num_inv_freq is not read", "fope/kept/count/ignored"},
  });
  for (variant& v : faults_of_rotation<encoding>("fope"))
    if (v.id != "mutant/fope_rest_is_zero" && v.id != "mutant/fope_positions_of_heads") all.push_back(std::move(v));
  const auto reordered = [](void (*reorder)(core::tensors&)) -> variation<encoding> {
    return {.inputs = [reorder](request& call) { reorder(call.inputs); },
            .outputs = [reorder](core::tensors& outputs) { reorder(outputs); }};
  };
  for (variant& v : std::vector<variant>{
           changed("mutant/fope_coefficients_exchanged", "two parameters loaded under each other's names",
                   "cosines have the coefficients of sines, and sines those of cosines",
                   reordered(exchange_coefficients)),
           changed("mutant/fope_coefficients_shared", "TsinghuaC3I/Fourier-Position-Embedding, fourier_separate_basis",
                   "sines have the coefficients of cosines", {.inputs = share_coefficients}),
           changed("mutant/fope_coefficients_transposed", "nn.Linear multiplies by the transposed matrix",
                   "square matrices of coefficients are transposed", reordered(transpose_coefficients)),
           changed("mutant/fope_neighbours", "rotate_gptj for rotate_neox of vllm-project/vllm",
                   "neighbours are paired in place of halves",
                   {.inputs = [](request& call) { reorder_coordinates(call.inputs, false); },
                   .outputs = [](core::tensors& outputs) { reorder_coordinates(outputs, true); }}),
           changed("mutant/fope_padded_with_0", "the standard value of torch.nn.functional.pad",
                   "padded pairs are multiplied by 0", {.outputs = clear_padded}),
           changed("mutant/fope_normalized_by_rows", "dim=-1 for dim=-2",
                   "coefficients are divided by the sums of their rows",
                   {.formula = [](auto& how) { how.normalize = over_row_sums; }, .telling = true}),
           changed("mutant/fope_heads_by_turns", "repeat for repeat_interleave, with key-value heads",
                   "heads have the coefficients by turns",
                   {.formula =
                        [](auto& how) {
                          how.group = [](std::size_t head, std::size_t, std::size_t groups) { return head % groups; };
                        }}),
           changed("mutant/fope_count_uncapped", "num_inv_freq for the length of the slice",
                   "by the rule count there are as many as asked for, though there are fewer pairs",
                   {.formula =
                        [](auto& how) {
                          how.kept = [](const kept_rule& by, double length) {
                            return by.counts ? by.count : by.at(length);
                          };
                        }}),
           changed("mutant/fope_half_a_turn", "pi / N for 2 pi / N", "frequencies of half a turn are kept",
                   kept_at(2.0, 0.0)),
           changed("mutant/fope_last_one_dropped", "the index of the last one for their number",
                   "the last frequency of those to be kept is dropped", kept_at(1.0, -1.0)),
           changed("mutant/fope_rounded_up", "ceil of an index for floor and one",
                   "frequencies are kept down to the first one that makes no turn", kept_at(1.0, 1.0)),
       })
    all.push_back(std::move(v));
  return all;
}

std::vector<variant> controls() {
  std::vector<variant> all;
  for (variant& v : controls_of_rotation<encoding>("fope"))
    if (v.id != "control/fope_complex_products") all.push_back(std::move(v));  // its torque is that of one angle
  using R = reference::rounded;
  all.push_back(changed("control/fope_complex_products", "torch.view_as_complex", "pairs as complex numbers",
                        {.formula = [](encoding::recipe<R>& how) { how.turn = turned_as_complex; }}));
  all.push_back(
      changed("control/fope_in_f64", "all in f64, rounded once", "another precision", {.arithmetic = in_f64}));
  all.push_back(changed("control/fope_other_order", "a matrix product that adds up from the other end",
                        "frequencies are added up from the last one on",
                        {.inputs = [](request& call) { reverse_frequencies(call.inputs); },
                         .outputs = [](core::tensors& outputs) { reverse_frequencies(outputs); }}));
  return all;
}

std::vector<usual_size> sizes() {
  std::vector<usual_size> all = sizes_by_roles(*reference::find_operation("fope/rotate"));
  const auto of = [&](std::size_t tokens, std::size_t heads, std::size_t groups, std::size_t d, std::size_t frequencies,
                      std::size_t columns, bool always) {
    all.push_back({{"fope/rotate"},
                   {{"B", 1}, {"n", tokens}, {"h", heads}, {"g", groups}, {"d", d}, {"D", frequencies}, {"O", columns}},
                   always});
  };
  of(65, 2, 2, 64, 16, 16, true);   // 512 tokens, 60M
  of(17, 2, 2, 128, 46, 32, true);  // 4096 tokens
  of(9, 4, 1, 128, 48, 48, true);   // square, of key-value heads
  of(1025, 1, 1, 8, 3, 2, true);
  of(4097, 2, 1, 64, 16, 16, false);
  of(5, 64, 4, 128, 48, 48, false);
  return all;
}

}  // namespace

encoding_tests make_tests() {
  const std::vector<std::string> rotate{"fope/rotate"};
  encoding_tests tests;
  tests.name = "fope";
  tests.families = families();
  tests.rests_on_convention = is_convention;
  tests.sizes = sizes();
  tests.long_ones = {{rotate,
                      {{"d", 0}, {"h", 0}, {"g", 0}, {"D", 2}, {"O", 0}},
                      {{"d", 16390}, {"g", 2049}, {"D", 4097}, {"O", 2049}, {"h", 4097}}}};
  tests.mutants = mutants();
  tests.controls = controls();
  const law_scope usual{rotate, {"mild", "left_padding", "decode", "dense"}};
  tests.laws = {
      law("fope_position_0", "at position 0 pairs are multiplied by the sums of columns", usual, {1, check_position_0}),
      law("fope_padding", "padding by ones multiplies by 1 + i, and that by the identity by 1", usual,
          {2, check_padding}),
      law("fope_columns", "a column times a power of two: its pair as well, or nothing where it is normalized", usual,
          {2, check_columns}),
      law("fope_order", "frequencies in another order, with their coefficients: the same", usual,
          agree_after(with_reversed_frequencies, "frequencies in another order")),
  };
  return tests;
}

}  // namespace assay::properties::encodings::fope
