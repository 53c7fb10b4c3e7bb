// Recurrences in log space: families of logarithms, gates and candidates, and sizes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "properties/kinds/attention.hpp"

namespace assay::properties::encodings::log_space {

std::vector<variant> mutants();  // variants.cpp
std::vector<variant> controls();

namespace {

using core::counter_random;
using core::dtype;
constexpr double nothing = -std::numeric_limits<double>::infinity();

/// Draws a number for a token at a place among `tokens`.
using source = double (*)(counter_random& random, std::size_t place, std::size_t tokens);

double usual(counter_random& random, std::size_t, std::size_t) { return random.normal(); }
double wide(counter_random& random, std::size_t, std::size_t) { return random.uniform(-300, 300); }
double alike(counter_random&, std::size_t, std::size_t) { return 0.75; }
// One number is far above all before it: smaller numbers before it must not be lost.
double late_spike(counter_random& random, std::size_t place, std::size_t tokens) {
  return random.normal() + (place == tokens * 3 / 4 ? 120.0 : 0.0);
}
double falling(counter_random& random, std::size_t place, std::size_t) {
  return random.normal() - 4.0 * static_cast<double>(place % 64);
}
double masked_prefix(counter_random& random, std::size_t place, std::size_t tokens) {
  return place + 1 < tokens && (place < 2 || place < tokens / 3) ? nothing : random.normal();
}
double masked_inside(counter_random& random, std::size_t, std::size_t) {
  return random.one_in(2) ? nothing : random.normal();
}
// The running sum is about 1, and its logarithm about 0.
double near_zero_sum(counter_random& random, std::size_t place, std::size_t tokens) {
  return -std::log(static_cast<double>(tokens) / (1.0 + static_cast<double>(place) / 8)) + random.normal() / 64;
}

double slow(counter_random& random, std::size_t, std::size_t) { return -random.uniform(3, 10); }
double fast(counter_random& random, std::size_t, std::size_t) { return random.uniform(3, 20); }
// Long memory behind gates that forget: small differences of large sums of logarithms.
double slow_behind_fast(counter_random& random, std::size_t place, std::size_t tokens) {
  return place <= tokens / 4 ? random.uniform(20, 60) : -random.uniform(2, 6);
}
double resets(counter_random& random, std::size_t place, std::size_t tokens) {
  return random.one_in(5) ? 80.0 : slow(random, place, tokens);
}
double far_below(counter_random& random, std::size_t, std::size_t) { return -random.uniform(5, 60); }
double far_above(counter_random& random, std::size_t, std::size_t) { return std::exp2(random.uniform(4, 12)); }

double nearly_alike(counter_random& random, std::size_t, std::size_t) { return random.normal() * 0x1p-12; }
double either_sign(counter_random& random) { return random.one_in(2) ? -1.0 : 1.0; }
double positive(counter_random&) { return 1.0; }
double all_below(counter_random& random, std::size_t, std::size_t) { return random.uniform(-220, -100); }
// Numbers of a row or of a column, near 0 or near -90 at random: where one is large, the other may be small.
double out_of_step(counter_random& random, std::size_t place, std::size_t) {
  return random.normal() - (random.one_in(2) ? 90.0 : 0.0) + static_cast<double>(place % 2);
}

/// The ranges of a family's inputs.
struct ranges {
  source x = usual, gate = usual, candidate = usual;  // logarithms, gate logits, candidates
  bool from_little = false;                           // whether h0 is small
  double closed = 0.0;                                // how far both gates of a pair are lowered
  double (*sign)(counter_random& random) = either_sign;
};

// Terms that cancel: the logarithm of the remainder has no digits, and no slope if the remainder is 0.
struct signed_sum {
  long double sum = 0, largest = 0;
  void add(double log, double sign) {
    const long double term = sign * std::exp(static_cast<long double>(log));
    sum += term, largest = std::max(largest, std::fabs(term));
  }
  [[nodiscard]] bool cancels() const { return std::fabs(sum) <= 0x1p-40L * largest; }
};
bool has_terms_that_cancel(const core::tensors& inputs) {
  const auto all = [&](const char* called) -> const auto& { return inputs.at(called).values.storage(); };
  const core::shape a = inputs.at("log_a").shape(), b = inputs.at("log_b").shape();
  const bool is_scan = inputs.contains("log_x0");
  const std::size_t rows = a[0], n = a[1], d = a[2], columns = is_scan ? d : b[2];
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t j = 0; j < columns; ++j) {
      signed_sum x;
      if (is_scan) x.add(all("log_x0")[row * d + j], all("sign_x0")[row * d + j]);
      for (std::size_t i = 0; i < n; ++i) {
        if (is_scan) {
          const std::size_t k = (row * n + i) * d + j;
          const long double past = x.sum * all("sign_a")[k] * std::exp(static_cast<long double>(all("log_a")[k]));
          x = {past, std::fabs(past)};
          x.add(all("log_b")[k], all("sign_b")[k]);
        } else {
          x = {};
          for (std::size_t k = 0; k < d; ++k) {
            const std::size_t a_index = (row * n + i) * d + k, b_index = (row * d + k) * columns + j;
            x.add(all("log_a")[a_index] + all("log_b")[b_index], all("sign_a")[a_index] * all("sign_b")[b_index]);
          }
        }
        if (x.cancels()) return true;
      }
    }
  return false;
}
// Terms may cancel, above all if logarithms have few digits: in such a case all signs become 1.
family without_nothing(family f) {
  f.generate = [drawn = std::move(f.generate)](const core::operation& op, dtype type, const core::attributes& settings,
                                               counter_random& random, extent size) {
    core::tensors inputs = drawn(op, type, settings, random, std::move(size));
    if (!inputs.contains("sign_a") || !has_terms_that_cancel(inputs)) return inputs;
    for (auto& [called, t] : inputs)
      if (called.starts_with("sign")) std::fill(t.values.storage().begin(), t.values.storage().end(), 1.0);
    return inputs;
  };
  return f;
}

// Whether number k is needed: the term that keeps a sum of products from 0, whose logarithm has no slope; a gate, since
// cumulative sums cannot express a gate of 0; or the state before all tokens.
bool is_first_term(const core::operation& op, const std::string& called, const core::axis_sizes& sizes, std::size_t k) {
  if (op.input("log_x0")) return called == "log_a" || called == "log_x0";
  const std::size_t d = sizes.at("d"), m = sizes.at("m");
  return called == "log_a" ? k % d == 0 : called == "log_b" && k / m % d == 0;
}

family of(std::string name, std::string summary, ranges r) {
  return without_nothing(attention_family(
      std::move(name), std::move(summary),
      [r](drawn_inputs& in, const core::operation& op, dtype type, counter_random& random) {
        // In f16 the sigmoid of -20 is 0 and has no logarithm.
        const double closed = type == dtype::f16 ? std::min(r.closed, 6.0) : r.closed;
        const std::size_t n = std::max<std::size_t>(in.sizes.at("n"), 1),
                          d = std::max<std::size_t>(in.sizes.at("d"), 1);
        for (auto& [called, numbers] : in.numbers) {
          if (called == "h0") {
            for (double& h : numbers)
              h = r.from_little ? std::exp2(-random.uniform(10, 14)) : std::exp(random.normal());
            continue;
          }
          if (called.starts_with("sign")) {
            for (double& sign : numbers) sign = r.sign(random);
            continue;
          }
          const source drawn = called == "x" || called.starts_with("log") ? r.x : called == "v" ? r.candidate : r.gate;
          for (std::size_t k = 0; k < numbers.size(); ++k) {
            const double x = drawn(random, k / d % n, n);
            numbers[k] = called == "f" ? -x - closed : called == "i" ? x - closed : x;
            if (called == "v" && numbers[k] == 0.0) numbers[k] = 0.5;
            if (called == "v" && type == dtype::f16) numbers[k] = std::max(numbers[k], -9.0);
            if (std::isinf(x) && is_first_term(op, called, in.sizes, k)) numbers[k] = 0.25;
          }
        }
      }));
}
// One number of twelve is NaN. For signed operations the sign of NaN is a matter of convention: code compares, or keeps
// it.
family with_nan(family f) {
  const auto generate = f.generate;
  f.generate = [generate](const core::operation& op, dtype type, const core::attributes& settings,
                          counter_random& random, extent size) {
    core::tensors all = generate(op, type, settings, random, size);
    for (auto& [called, t] : all)
      for (std::size_t k = 0; k < t.size(); ++k)
        if (called != "h0" && random.one_in(12)) t.values.storage()[k] = std::nan("");
    return all;
  };
  return holding_nan(only_for([](const core::operation& op) { return op.input("sign_a") == nullptr; }, std::move(f)));
}

bool is_product(const core::operation& op) { return op.input("log_a") && !op.input("log_x0"); }

std::vector<family> families() {
  return {
      parting_classes(of("mild", "logarithms, gates and candidates of order 1", {})),
      of_input("x", of("late_spike", "one x of 120 late in the lane", {.x = late_spike})),
      of_input("x", of("falling", "x falls by 4 from token to token", {.x = falling})),
      parting_classes(of_input("x", of("wide", "x from -300 to 300", {.x = wide}))),
      of_input("x", of("masked_prefix", "x is -inf in the first tokens", {.x = masked_prefix})),
      of_input("x", of("masked_inside", "x is -inf here and there", {.x = masked_inside})),
      of_input("x", of("near_zero_sum", "sums that pass through 1", {.x = near_zero_sum})),
      long_along("n", of_input("x", of("alike", "all x are the same", {.x = alike}))),
      of_input("sign_a", of("positive", "all signs are 1", {.sign = positive})),
      of_input("sign_a", of("wide_signs", "logarithms from -300 to 300, of either sign", {.x = wide})),
      of_input("sign_a", of("all_below", "logarithms from -100 to -220", {.x = all_below})),
      only_for(is_product, of("out_of_step", "half of the logarithms are less by 90", {.x = out_of_step})),
      of_input("sign_a", of("some_zeros", "logarithms that are -inf here and there", {.x = masked_inside})),
      of_input("sign_a", of("cancelling", "logarithms that differ by 2^-12, of either sign", {.x = nearly_alike})),
      long_along("n", of_input("h0", of("slow_gates", "z from 2^-4 to 2^-14: a long memory", {.gate = slow}))),
      of_input("h0", of("fast_gates", "1 - z from 2^-4 to 2^-29", {.gate = fast})),
      parting_classes(
          of_input("h0", of("slow_behind_fast", "gates that forget, then a long memory: large sums, small differences",
                            {.gate = slow_behind_fast}))),
      of_input("h0", of("resets", "one gate in five forgets", {.gate = resets})),
      of_input("h0", of("from_little", "h0 from 2^-10 to 2^-14", {.from_little = true})),
      of_input("h0", of("small_candidates", "v from -5 to -60", {.gate = slow, .candidate = far_below})),
      of_input("h0", of("large_candidates", "v from 2^4 to 2^12", {.candidate = far_above})),
      of_input("i", of("closed_gates", "logits of both gates about -20, of f16 -6", {.closed = 20.0})),
      with_nan(of("nan_inside", "a NaN here and there", {})),
  };
}

bool has_zero(const request& call, std::string_view input) {
  const auto found = call.inputs.find(std::string(input));
  if (found == call.inputs.end()) return false;
  const auto& x = found->second.values.storage();
  return std::find(x.begin(), x.end(), 0.0) != x.end();
}
// Whether a sign is 0 (complex logarithms have no such sign), or a gradient rests on a slope at 0: that of g, which
// changes there from a sigmoid to v + 1/2, or that of log h0, for which programs that compute it give NaN.
bool has_sign_or_slope_of_zero(const request& call) {
  if (call.inputs.contains("log_a") && has_terms_that_cancel(call.inputs)) return true;
  for (const core::tensor_declaration& d : call.operation->inputs)
    if (d.name.starts_with("sign_") && has_zero(call, d.name)) return true;
  return !call.operation->is_forward() && (has_zero(call, "v") || has_zero(call, "h0"));
}

std::vector<usual_size> sizes(const std::vector<std::string>& operations) {
  const std::string axes = "B n d";
  std::vector<usual_size> all;
  add_sizes(all, operations, axes, "5 66 9, 66 9 5, 5 9 66, 1 66 66, 66 2 66, 2 130 3, 2 127 3, 66 66 1");
  add_sizes(all, operations, axes, "1 65 128, 2 64 64", true, "mild");
  add_sizes(all, operations, axes, "5 2 66, 1 66 2", true, every_family);
  add_sizes(all, operations, axes, "1 16385 2, 2 1025 2, 2 513 257, 65537 2 1, 2 9 4097, 10 258 66", false);
  return all;
}

}  // namespace

encoding_tests make_tests() {
  encoding_tests tests;
  tests.name = "log_space";
  tests.families = families();
  tests.mutants = mutants();
  tests.controls = controls();
  const std::vector<std::string> all{"log_space/logcumsumexp", "log_space/min_gru", "log_space/min_lstm"};
  tests.sizes = sizes(all);
  add_sizes(tests.sizes, {"log_space/signed_scan"}, "B n d",
            "5 66 9, 66 9 5, 5 9 66, 1 66 66, 66 2 66, 2 130 3, 2 127 3, 66 66 1, 1 65 128, 2 64 64");
  add_sizes(tests.sizes, {"log_space/signed_scan"}, "B n d", "5 2 66, 1 66 2", true, every_family);
  add_sizes(
      tests.sizes, {"log_space/log_matmul_exp"}, "B n d m",
      "5 66 3 2, 5 3 66 2, 1 66 66 2, 2 130 3 2, 2 127 2 3, 66 2 3 2, 66 2 66 1, 66 66 2 1, 1 2 66 66, 1 66 2 66, 2 64 "
      "64 2");
  add_sizes(tests.sizes, {"log_space/log_matmul_exp"}, "B n d m", "5 2 66 9, 1 66 2 2", true, every_family);
  tests.long_ones = {{{"log_space/logcumsumexp", "log_space/min_gru"}, {{"n", 2}}},
                     {{"log_space/min_lstm"}, {{"n", 2}}, {{"n", 16000}}},
                     {{"log_space/signed_scan"}, {{"n", 2}}, {{"n", 4000}}},
                     {{"log_space/log_matmul_exp"}, {{"n", 2}, {"m", 2}}, {{"n", 8000}, {"m", 8000}}}};
  tests.rests_on_convention = has_sign_or_slope_of_zero;
  return tests;
}

}  // namespace assay::properties::encodings::log_space
