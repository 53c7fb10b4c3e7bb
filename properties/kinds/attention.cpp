#include "properties/kinds/attention.hpp"

#include <cmath>
#include <limits>
#include <span>
#include <sstream>

#include "properties/faults/call_changes.hpp"
#include "reference/core/special_values.hpp"
#include "reference/kinds/attention_of_places.hpp"
#include "reference/oracle.hpp"

namespace assay::properties {
namespace {

using core::infinity;

// Draws the sizes of a case. There are mostly several keys and features: with one key attention gives its value,
// whatever the logits are, and a query without features has equal logits. If each token is a query and a key, there are
// few tokens, because outputs or exponentials are as many as pairs of tokens.
core::axis_sizes attention_sizes(const core::operation& op, const core::attributes& settings,
                                 core::counter_random& random, extent size) {
  const std::size_t block = (std::size_t{1} << (3 + random.below(4))) - 1 + random.below(3);
  core::axis_sizes s{{"B", 1}, {"h", 1}, {"d", 1 + random.below(4)}, {"e", 1 + random.below(3)}};
  std::size_t &n = s["n"], &m = s["m"];
  if (core::axis_with(op, core::axis_role::key).empty()) {
    n = size.is_given()                        ? 4
        : size.range == lengths::exactly       ? size.tokens
        : size.range == lengths::long_ones     ? 200 + random.below(100)
        : size.range == lengths::around_blocks ? block
                                               : random.below(random.one_in(2) ? 9 : 34);
    if (size.range == lengths::short_ones && n < 17) {
      s["h"] = random.one_in(60) ? 0 : 1 + random.below(3);
      if (random.one_in(3)) s["B"] = 2;
    }
    if (op.input("q") != nullptr && size.range != lengths::exactly) n = std::min<std::size_t>(n, 40);
  } else if (size.is_given()) {
    const std::size_t few = op.attribute("window_left") != nullptr ? 2 : 5;
    s = {{"B", 1}, {"h", 1}, {"n", 2}, {"m", few}, {"d", 2}, {"e", 2}};
  } else if (size.range == lengths::exactly) {
    s = {{"B", 1}, {"h", 1}, {"n", size.tokens}, {"m", size.tokens}, {"d", 2}, {"e", 2}};
  } else if (size.range == lengths::around_blocks) {
    n = 1 + random.below(3), m = block;
  } else if (size.range == lengths::long_ones) {
    s = {{"B", 1}, {"h", 1}, {"n", 2}, {"m", 200 + random.below(100)}, {"d", 4}, {"e", 2}};
  } else {
    n = random.one_in(30) ? 0 : 1 + random.below(5), m = random.one_in(30) ? 0 : 1 + random.below(5);
    for (const char* axis : {"B", "h"}) s[axis] = random.one_in(3) ? 2 : 1;
  }
  const std::string keys = core::axis_with(op, core::axis_role::key);
  if (!keys.empty()) s.emplace(keys, s.at("m"));
  for (const std::string& symbol : core::axis_symbols(op))
    if (core::role_of(op, symbol) == core::axis_role::parameter)
      s[symbol] = size.is_given() ? 5 : 1 + random.below(6);
    else if (!s.contains(symbol))  // features of inputs other than queries and values
      s[symbol] = size.is_given() ? 2 : 1 + random.below(4);
  const bool has_places = op.attribute("alignment") != nullptr;
  // With three heads the order of the last two can change.
  if (has_places && size.range == lengths::short_ones && random.one_in(3)) s["h"] = 3;
  for (auto& [axis, drawn] : s) drawn = size.axis(axis, drawn);
  for (const core::attribute_declaration& a : op.attributes)
    if (!a.axis.empty()) s[a.axis] = static_cast<std::size_t>(core::setting<std::int64_t>(settings, a.name));
  const auto in_conflict = [&] { return op.conflict != nullptr && !op.conflict(settings, s).empty(); };
  for (int more = 0; more < 16 && in_conflict(); ++more)  // tables may be too short for a setting, or for the tokens
    for (auto& [symbol, drawn] : s)
      if (core::role_of(op, symbol) == core::axis_role::parameter && core::attribute_of_axis(op, symbol) == nullptr)
        ++drawn;
  // Queries are the last of the keys: the size that was not requested gives way. A query before the first key would
  // have nothing to weigh.
  const bool among_keys = op.attribute("window_left") != nullptr
                              ? has_query_without_keys(op, settings, s.at("n"), s.at("m"))
                              : has_places || op.input("first_key") != nullptr ||
                                    (op.input("q") != nullptr && op.attribute("causal") != nullptr &&
                                     core::setting<bool>(core::completed(op, settings), "causal"));
  if ((among_keys || in_conflict()) && s.at("n") > s.at("m")) {
    if (!size.axes.contains("m"))
      s["m"] = s.at("n");
    else if (core::attribute_of_axis(op, "n") == nullptr && !size.axes.contains("n"))
      s["n"] = s.at("m");
  }
  for (int more = 0; more < 4 && in_conflict(); ++more)  // there may be too few features for a setting
    for (auto& [symbol, drawn] : s)
      if (core::role_of(op, symbol) == core::axis_role::width && !size.axes.contains(symbol)) ++drawn;
  return s;
}

// Some of the queries, at the end from which they are counted, but not all.
std::vector<std::size_t> counted_queries(const test_case& c, std::size_t n) {
  if (n < 2) return {};
  const std::size_t kept = 1 + core::counter_random(c.seed).below(n - 1);
  return core::setting<std::string>(c.call.attributes, "alignment") == "last" ? span_of(n - kept, n) : span_of(0, kept);
}

void scale_normal(std::vector<double>& x, double by) {
  for (double& y : x) y *= by;
}

// Calls visit(query i, its bias [m]), head by head.
template <class Visit>
void for_queries(drawn_inputs& in, Visit visit) {
  std::vector<double>& bias = in.numbers.at("bias");
  const std::size_t n = in.sizes.at("n"), m = in.sizes.at("m");
  for (std::size_t row = 0; row * m < bias.size(); ++row) visit(row % n, std::span(bias).subspan(row * m, m));
}

void mask(std::span<double> row, std::size_t j) {
  const auto left = row.size() - static_cast<std::size_t>(std::count(row.begin(), row.end(), -infinity));
  if (left > 1) row[j] = -infinity;
}

}  // namespace

void make_unit_rows(std::vector<double>& rows, std::size_t d) {
  for (std::size_t first = 0; d > 0 && first < rows.size(); first += d) {
    const std::span<double> row(rows.data() + first, d);
    double squares = 0.0;
    for (const double x : row) squares += x * x;
    for (double& x : row)
      if (squares > 0.0) x /= std::sqrt(squares);
  }
}

family attention_family(std::string name, std::string summary, input_filler fill) {
  family f{std::move(name), std::move(summary)};
  f.generate = [fill](const core::operation& op, core::dtype type, const core::attributes& settings,
                      core::counter_random& random, extent size) -> core::tensors {
    drawn_inputs in{attention_sizes(op, settings, random, size)};
    for (const core::tensor_declaration& d : op.inputs) {
      std::size_t count = 1;
      for (const std::size_t s : core::shape_of(d, in.sizes)) count *= s;
      auto& x = in.numbers.emplace(d.name, count).first->second;
      const double integers = d.domain.high - d.domain.low + 1;
      for (double& y : x) {
        y = random.normal();
        if (d.own_type) y = d.domain.low + std::fmod(std::floor(std::fabs(1e3 * y)), integers);
      }
    }
    fill(in, op, type, random);
    core::tensors inputs;
    for (const core::tensor_declaration& d : op.inputs)
      inputs.emplace(d.name, core::make_tensor(d.type_in(type), core::shape_of(d, in.sizes), in.numbers.at(d.name)));
    return inputs;
  };
  return f;
}

family of_input(const char* input, family f) {
  f.applies = [input](const core::operation& op) { return op.input(input) != nullptr; };
  return f;
}
family by_input(const char* input, const family& with, family without) {
  without.generate = [input, there = with.generate, other = without.generate](
                         const core::operation& op, core::dtype type, const core::attributes& settings,
                         core::counter_random& random, extent size) {
    return (op.input(input) != nullptr ? there : other)(op, type, settings, random, std::move(size));
  };
  return without;
}

void as_drawn(drawn_inputs&, const core::operation&, core::dtype, core::counter_random&) {}

void draw_logits(drawn_inputs& in, double (*logit)(core::counter_random& random), core::counter_random& random) {
  std::fill(in.numbers.at("q").begin(), in.numbers.at("q").end(), 1.0);
  const double width = std::pow(static_cast<double>(in.sizes.at("d")), 0.75);
  for (double& x : in.numbers.at("k")) x = logit(random) / width;
}

void large_logits(drawn_inputs& in, const core::operation&, core::dtype, core::counter_random&) {
  for (const char* input : {"q", "k"}) scale_normal(in.numbers.at(input), 16);
}

void equal_values(drawn_inputs& in, const core::operation&, core::dtype, core::counter_random& random) {
  const std::size_t keys = in.sizes.at("m"), width = in.sizes.at("e");
  const double all = random.normal();
  std::vector<double>& v = in.numbers.at("v");
  for (std::size_t i = 0; i < v.size(); ++i)
    if (i / width % keys + 1 < keys) v[i] = all;
}

void small_values(drawn_inputs& in, const core::operation&, core::dtype type, core::counter_random&) {
  scale_normal(in.numbers.at("v"), 16 * core::smallest_normal(type));
}

void large_values(drawn_inputs& in, const core::operation&, core::dtype type, core::counter_random& random) {
  for (double& x : in.numbers.at("v")) x = random.uniform(-1, 1) * core::largest_finite(type) / 64;
}

void nan_in_queries_or_values(drawn_inputs& in, const core::operation&, core::dtype, core::counter_random& random) {
  std::vector<double>& x = in.numbers.at(random.one_in(2) ? "q" : "v");
  if (!x.empty()) x[random.below(x.size())] = std::numeric_limits<double>::quiet_NaN();
}

void no_bias(drawn_inputs& in, const core::operation&, core::dtype, core::counter_random&) {
  scale_normal(in.numbers.at("bias"), 0);
}

// The last query sees every key.
void causal(drawn_inputs& in, const core::operation&, core::dtype, core::counter_random&) {
  for_queries(in, [&](std::size_t i, std::span<double> row) {
    for (std::size_t j = 0; j < row.size(); ++j)
      if (j + in.sizes.at("n") > i + row.size()) mask(row, j);
  });
}

void masked_inside(drawn_inputs& in, const core::operation&, core::dtype, core::counter_random& random) {
  for_queries(in, [&](std::size_t, std::span<double> row) {
    for (std::size_t j = 0; j < row.size(); ++j)
      if (random.one_in(2)) mask(row, j);
  });
}

// Up to three keys for every query: one of the last four, and two anywhere. With all keys, a single one has almost no
// weight.
void few_keys(drawn_inputs& in, const core::operation&, core::dtype, core::counter_random& random) {
  for_queries(in, [&](std::size_t, std::span<double> row) {
    std::fill(row.begin(), row.end(), -infinity);
    row[row.size() - 1 - random.below(std::min<std::size_t>(row.size(), 4))] = random.normal();
    for (int k = 0; k < 2; ++k) row[random.below(row.size())] = random.normal();
  });
}

void equal_logits(drawn_inputs& in, const core::operation&, core::dtype, core::counter_random& random) {
  scale_normal(in.numbers.at("q"), 0);
  std::vector<double>& bias = in.numbers.at("bias");
  std::fill(bias.begin(), bias.end(), random.normal());
}

// The bias of ALiBi with slope 1/2 for queries behind all keys.
void linear_bias(drawn_inputs& in, const core::operation&, core::dtype, core::counter_random&) {
  for_queries(in, [](std::size_t i, std::span<double> row) {
    for (std::size_t j = 0; j < row.size(); ++j) row[j] = -0.5 * static_cast<double>(row.size() + i - j);
  });
}

// All keys are so far away that a mask value outweighs them: a mask of -10000, of -65504, or near the largest number of
// the format. If keys are so far that their logits round to one number, every finite answer is right, and no other.
void far_keys(drawn_inputs& in, const core::operation& op, core::dtype type, core::counter_random& random) {
  const double largest = core::largest_finite(type) - 8,
               farthest = std::min(std::exp2(random.uniform(15, 100)), largest),
               level = random.one_in(2)   ? 30000
                       : random.one_in(3) ? std::min(1e5, largest)
                                          : farthest;
  for (double& x : in.numbers.at("bias")) x = random.uniform(-8, 8) - level;
  masked_inside(in, op, type, random);
}

// Rows whose logits differ by more than the exponent range: each row needs its own shift.
void rows_apart(drawn_inputs& in, const core::operation&, core::dtype, core::counter_random&) {
  for_queries(in, [](std::size_t i, std::span<double> row) {
    for (double& x : row) x += i % 2 == 0 ? 1500.0 : -1500.0;
  });
}

void one_key_wins(drawn_inputs& in, const core::operation&, core::dtype, core::counter_random& random) {
  for_queries(in, [&](std::size_t, std::span<double> row) { row[random.below(row.size())] += 50.0; });
}

void add_sizes(std::vector<usual_size>& to, const std::vector<std::string>& operations, const std::string& axes,
               const std::string& sizes, bool always, const std::string& family) {
  std::istringstream rows(sizes);
  for (std::string row; std::getline(rows, row, ',');) {
    std::istringstream symbols(axes), numbers(row);
    usual_size usual{operations, {}, always, family};
    std::size_t size = 0;
    for (std::string symbol; symbols >> symbol && numbers >> size;) usual.axes[symbol] = size;
    ASSAY_EXPECTS(!symbols && !(numbers >> size));  // there are as many numbers as axes
    to.push_back(std::move(usual));
  }
}

void add_sizes_of_places(std::vector<usual_size>& to, const std::vector<std::string>& operations) {
  const std::string axes = "B h n m d e";
  add_sizes(to, operations, axes,
            "5 9 3 130 1 2, 66 2 2 5 3 3, 2 2 129 130 2 1, 1 1 63 127 1 1, 5 1 65 66 1 2, 1 9 65 66 1 2,"
            "1 1 65 66 66 66, 1 1 3 130 64 64, 2 2 64 64 64 64, 1 1 3 130 128 128, 3 9 8 9 3 2, 1 2 3 1300 3 2");
  add_sizes(to, operations, axes, "5 9 3 5 66 66, 1 2 65 66 2 2, 1 2 3 258 3 2", true, every_family);
  add_sizes(to, operations, axes,
            "1 2 9 17 256 256, 1 2 65 130 128 128, 2 2 2 4097 3 2, 2 65 3 17 4 3, 2 2 258 513 2 3, 65537 1 1 2 2 1,"
            "2 2 1025 1025 2 1",
            false);
}
long_calls long_calls_of_places(const std::vector<std::string>& operations) {
  return {operations, {{"m", 0}}, {{"n", 200}}};
}

bool has_query_before_keys(const request& call) {
  if (call.operation->attribute("alignment") == nullptr) return false;
  const std::size_t queries = call.inputs.at("q").shape()[2], keys = call.inputs.at("k").shape()[2];
  if (keys == 0) return queries > 0;
  return queries > keys && setting_of<bool>(call, "causal") && setting_of<std::string>(call, "alignment") == "last";
}

bool has_query_without_keys(const core::operation& op, const core::attributes& settings, std::size_t queries,
                            std::size_t keys) {
  const core::operation& forward = reference::forward_of(op);
  if (forward.output("o") == nullptr || forward.input("sink") != nullptr) return false;
  const reference::query_places places(core::completed(op, settings), queries, keys);
  for (std::size_t i = 0; i < queries; ++i)
    if (!places.sees_any(i, keys)) return true;
  return false;
}

property law_of_cached_queries(const std::string& name, const std::string& operation,
                               const std::vector<std::string>& families) {
  return law((name + "_cached_queries").c_str(), "some queries alone, with all keys, give what they give among others",
             {{operation}, families}, agree_alone("n", counted_queries, "queries alone, then among others"));
}

}  // namespace assay::properties
