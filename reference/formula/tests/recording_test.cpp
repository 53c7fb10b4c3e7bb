// Templates over the reading, recorded: the program equals the template in every reading.
#include "reference/formula/recording.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "reference/core/counter_random.hpp"
#include "reference/formula/differentiate.hpp"
#include "reference/formula/interpreter.hpp"
#include "reference/formula/text.hpp"
#include "reference/oracle.hpp"
#include "reference/readings/all.hpp"

namespace assay::reference::formula::recorded_formulas {

// KERPLE's logarithm, and FIRE's network of a share, as a C++ author may write them.
template <class R>
R kernel(const R& r1, const R& r2, const R& distance) {
  const R x = in_stage<R>(
      0, [](const R& a, const R& b) { return a * b; }, r2, distance);
  return -(r1 * log1p(x));
}

template <class R>
R network(const std::vector<R>& w1, const std::vector<R>& w2, const R& x) {
  accumulator<R> sum;
  for (std::size_t k = 0; k < w1.size(); ++k) {
    const R y = w1[k] * x;
    sum.add_product(w2[k], either(less(R(0.0), y), y, R(0.0)));
  }
  sum.add(R(0.25));
  return sum.total() / (R(1.0) + pi<R>() * R(0.5));
}

template <class R>
typename interpreter<R>::arrays lifted(const std::map<std::string, std::vector<double>>& x) {
  typename interpreter<R>::arrays in;
  for (const auto& [name, values] : x) {
    reals<R> numbers;
    for (const double each : values) numbers.emplace_back(each);
    in.emplace(name, std::move(numbers));
  }
  return in;
}

std::vector<double> normals(std::size_t count, std::uint64_t seed) {
  core::counter_random random(seed);
  std::vector<double> x;
  for (std::size_t k = 0; k < count; ++k) x.push_back(core::round_to(core::dtype::f32, random.normal()));
  return x;
}

}  // namespace assay::reference::formula::recorded_formulas

TEST_CASE("formula/recording/a_template_is_the_program_that_it_records", "[unit]") {
  using namespace assay;
  using namespace assay::reference;
  using namespace assay::reference::formula;
  using namespace assay::reference::formula::recorded_formulas;
  const std::vector<std::string> stages{"distance"};
  const program p = [&] {
    recording recorder(stages);
    recorder.output("bias",
                    kernel(recorder.input("r1", {3, 1}), recorder.input("r2", {3, 1}), recorder.input("t", {1, 5})));
    return recorder.finish();
  }();
  CHECK(p.nodes().size() == 7);
  CHECK(to_text(*read_program(to_text(p))) == to_text(p));
  const std::map<std::string, std::vector<double>> x{
      {"r1", normals(3, 1)}, {"r2", {0.5, 2, 0.1f}}, {"t", {0, 1, 2, 3, 100}}};
  const auto check = [&]<class R>(auto equal) {
    const auto in = lifted<R>(x);
    const auto made = interpreter<R>(p, in, stages).run();
    const auto field = [&](const char* name) { return std::get<reals<R>>(in.at(name)); };
    for (std::size_t h = 0; h < 3; ++h)
      for (std::size_t t = 0; t < 5; ++t)
        CHECK(equal(std::get<reals<R>>(made.at("bias"))[5 * h + t],
                    kernel(field("r1")[h], field("r2")[h], field("t")[t])));
  };
  core::precisions formats(core::dtype::f32);
  const computing_in format(formats);
  check.operator()<rounded>([](const rounded& a, const rounded& b) { return a.number == b.number; });
  check.operator()<tracked>(
      [](const tracked& a, const tracked& b) { return a.number == b.number && a.error == b.error; });
  check.operator()<double_ball>(
      [](const double_ball& a, const double_ball& b) { return a.centre == b.centre && a.radius == b.radius; });
  check.operator()<enclosure>([](const enclosure& a, const enclosure& b) {
    return mpfr_equal_p(a.low(), b.low()) != 0 && mpfr_equal_p(a.high(), b.high()) != 0;
  });
}

TEST_CASE("formula/recording/sums_choices_and_constants", "[unit]") {
  using namespace assay;
  using namespace assay::reference;
  using namespace assay::reference::formula;
  using namespace assay::reference::formula::recorded_formulas;
  const std::vector<double> w1 = normals(4, 2), w2 = normals(4, 3), x = normals(6, 4);
  const program p = [&] {
    recording recorder;
    std::vector<traced> a, b;
    for (std::size_t k = 0; k < 4; ++k) {
      a.push_back(recorder.input("a" + std::to_string(k), {}));
      b.push_back(recorder.input("b" + std::to_string(k), {}));
    }
    recorder.output("y", network(a, b, recorder.input("x", {6})));
    return recorder.finish();
  }();
  std::map<std::string, std::vector<double>> in{{"x", x}};
  for (std::size_t k = 0; k < 4; ++k) {
    in["a" + std::to_string(k)] = {w1[k]};
    in["b" + std::to_string(k)] = {w2[k]};
  }
  const computing_in format(core::dtype::f32);
  const auto made = interpreter<tracked>(p, lifted<tracked>(in)).run();
  const auto numbers = [](const std::vector<double>& from) { return std::vector<tracked>(from.begin(), from.end()); };
  for (std::size_t i = 0; i < x.size(); ++i) {
    const tracked wanted = network(numbers(w1), numbers(w2), tracked(x[i]));
    const tracked& found = std::get<reals<tracked>>(made.at("y"))[i];
    CHECK(found.number == Approx(wanted.number));
    CHECK(found.error <= 1.01 * wanted.error);  // exact zeros are no terms in the sums of a program
    CHECK(found.error >= 0.3 * wanted.error);
  }
}

// h_t = a_t h_{t-1} + x_t for two lanes; each turn also gives twice the state that it leaves.
TEST_CASE("formula/recording/a_loop", "[unit]") {
  using namespace assay::reference;
  using namespace assay::reference::formula;
  using namespace assay::reference::formula::recorded_formulas;
  const computing_in format(assay::core::dtype::f64);
  const auto loop_of = [](std::size_t turns) {
    recording recorder;
    const traced h0 = recorder.input("h0", {2}), a = recorder.input("a", {turns, 1}),
                 x = recorder.input("x", {turns, 2});
    const loop_turn made =
        looped(turns, {h0}, {a, x}, [](const std::vector<traced>& carried, const std::vector<traced>& now) {
          const traced h = now[0] * carried[0] + now[1];
          return loop_turn{{h}, {h + h}};
        });
    recorder.output("last", made.left[0]);
    recorder.output("twice", made.given[0]);
    return recorder.finish();
  };
  const program p = loop_of(3);
  const auto in = lifted<rounded>({{"h0", {1, 2}}, {"a", {2, 3, 0}}, {"x", {5, 7, 11, 13, 17, 19}}});
  const auto made = interpreter<rounded>(p, in).run();
  CHECK(std::get<reals<rounded>>(made.at("last")).size() == 2);
  CHECK(to_double(std::get<reals<rounded>>(made.at("last"))[1]) == 19.0);
  const std::vector<double> twice{14, 22, 64, 92, 34, 38};
  for (std::size_t k = 0; k < twice.size(); ++k)
    CHECK(to_double(std::get<reals<rounded>>(made.at("twice"))[k]) == twice[k]);

  const auto none = loop_of(0);
  const auto as_it_was = interpreter<rounded>(none, lifted<rounded>({{"h0", {1, 2}}, {"a", {}}, {"x", {}}})).run();
  CHECK(to_double(std::get<reals<rounded>>(as_it_was.at("last"))[1]) == 2.0);
  CHECK(std::get<reals<rounded>>(as_it_was.at("twice")).empty());
}

TEST_CASE("formula/recording/what_is_no_program_is_refused", "[unit]") {
  using namespace assay;
  using namespace assay::reference::formula;
  CHECK_THROWS_AS(traced(1.0), core::contract_violation);  // no recording
  recording recorder;
  CHECK_THROWS_AS(recording{}, core::contract_violation);
  const traced x = recorder.input("x", {2}), y = recorder.input("y", {3});
  CHECK_THROWS_WITH(x + y, Catch::Contains("do not broadcast: 2 and 3"));
  CHECK_THROWS_AS(recorder.input("x", {3}), core::contract_violation);
  CHECK_THROWS_AS(recorder.finish(), core::contract_violation);
}

TEST_CASE("formula/recording/functions_of_integers_by_where_they_change", "[unit]") {
  using namespace assay::reference;
  using namespace assay::reference::formula;
  constexpr std::int64_t far = std::int64_t{1} << 31;
  struct function {
    std::int64_t low, high;
    std::int64_t (*value)(std::int64_t);
  };
  const std::vector<function> all{
      {-far, far, [](std::int64_t x) { return x < 0 ? -1 : std::int64_t{x > 0}; }},
      {-far, far, [](std::int64_t x) { return std::min<std::int64_t>(std::abs(x), 5); }},  // the same on both sides
      {-far, far, [](std::int64_t x) { return std::clamp<std::int64_t>(x, -7, 8); }},
      {3, 3, [](std::int64_t x) { return 2 * x; }},
      {0, 1000, [](std::int64_t x) { return static_cast<std::int64_t>(std::sqrt(static_cast<double>(x))); }}};
  for (const function& f : all) {
    std::vector<std::int64_t> arguments{f.low, f.high};
    for (std::int64_t x = std::max<std::int64_t>(f.low, -40); x <= std::min<std::int64_t>(f.high, 900); ++x)
      arguments.push_back(x);
    recording recorder;
    recorder.output("y", stepwise(recorder.integers("x", {arguments.size()}), f.low, f.high, f.value));
    const program p = recorder.finish();
    const interpreter<rounded>::arrays in{{"x", integers(arguments.begin(), arguments.end())}};
    const auto made = interpreter<rounded>(p, in).run();
    for (std::size_t k = 0; k < arguments.size(); ++k) {
      CAPTURE(f.low, f.high, arguments[k]);
      CHECK(std::get<integers>(made.at("y"))[k] == f.value(arguments[k]));
    }
  }
}

// The charge for terms that are scattered to a place is that of a sum. Nothing is charged where one term reaches the
// place, whatever zeros are added; where the places are a matrix, sums go axis by axis.
TEST_CASE("formula/recording/what_a_scatter_charges", "[unit]") {
  using namespace assay::reference;
  using namespace assay::reference::formula;
  const computing_in format(assay::core::dtype::f32);
  const auto errors = [](const assay::core::shape& places, const std::vector<std::int64_t>& indices,
                         const std::vector<double>& added) {
    recording recorder;
    const traced x = broadcast(traced(0.0), {2}), y = recorder.input("y", places);
    node n{.what = op::scatter_add, .in = {x.node(), known_integers(places, indices).node, y.node()}};
    n.integers[0] = {0};
    recorder.output("sums", traced::from_node(recorder.add(std::move(n))));
    const program p = recorder.finish();
    interpreter<tracked>::arrays in;
    in.emplace("y", reals<tracked>(added.begin(), added.end()));
    const auto made = interpreter<tracked>(p, in).run();
    std::vector<double> all;
    for (const tracked& s : std::get<reals<tracked>>(made.at("sums"))) all.push_back(s.error);
    return all;
  };
  CHECK(errors({4}, {0, 1, 1, 1}, {3, 5, 0, 0}) == std::vector<double>{0, 0});
  CHECK(errors({4}, {0, 1, 1, 1}, {3, 5, 1, 0}) == std::vector<double>{0, 6});
  CHECK(errors({4}, {1, 1, 1, 1}, {1, 1, 1, 1}) == std::vector<double>{0, 12});
  CHECK(errors({2, 3}, {1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1}) == std::vector<double>{0, 4 * 6});
  // A sum of ones in bf16 stops growing at 256.
  const computing_in short_format(assay::core::dtype::bf16);
  CHECK(errors({16, 16}, std::vector<std::int64_t>(256, 1), std::vector<double>(256, 1.0)) ==
        std::vector<double>{0, 255 * 256});
}

// x, with an allowance for one more rounding; its derivative is 1.
TEST_CASE("formula/recording/an_operand_that_is_rounded_once_more", "[unit]") {
  using namespace assay::reference;
  using namespace assay::reference::formula;
  const computing_in format(assay::core::dtype::f32);
  recording recorder;
  recorder.output("y", rounded_once(recorder.input("x", {2})));
  const program p = recorder.finish();
  interpreter<tracked>::arrays in;
  in.emplace("x", reals<tracked>{tracked(3.0), tracked(-0.1)});
  const auto made = interpreter<tracked>(p, in).run();
  const auto& y = std::get<reals<tracked>>(made.at("y"));
  CHECK((y[0].number == 3.0 && y[0].error == 3.0));
  CHECK((y[1].number == -0.1 && y[1].error == 0.1));
}

// An index is not rounded to a format: 100,000 is no number of f16.
TEST_CASE("formula/recording/an_index_is_not_rounded", "[unit]") {
  using namespace assay::reference;
  using namespace assay::reference::formula;
  const computing_in format(assay::core::dtype::f16);
  recording recorder;
  const traced_integer i = recorder.integers("i", {1});
  recorder.output("index", log(index_number(i)));
  recorder.output("number", log(to_real(i)));
  const program p = recorder.finish();
  interpreter<rounded>::arrays in;
  in.emplace("i", std::vector<std::int64_t>{100000});
  const auto made = interpreter<rounded>(p, in).run();
  CHECK(std::get<reals<rounded>>(made.at("index"))[0].number == Approx(std::log(1e5)).epsilon(1e-3));
  CHECK(std::isinf(std::get<reals<rounded>>(made.at("number"))[0].number));
}

// The distance of each number from the weighted mean stays the same.
TEST_CASE("formula/rows/numbers_less_the_heaviest", "[unit]") {
  using namespace assay::reference;
  using namespace assay::reference::formula;
  const rows_along rows({2, 3}, 1);
  const auto numbers = [](const std::vector<double>& all) {
    std::vector<double_ball> made;
    for (const double x : all) made.emplace_back(x);
    return made;
  };
  const auto less = less_heaviest(numbers({3, 5, 7, 1, HUGE_VAL, 2}), numbers({.1, .8, .1, .2, .6, .2}), rows);
  CHECK((to_double(less[0]) == -2.0 && less[1].is_exact_zero() && to_double(less[2]) == 2.0));
  CHECK((to_double(less[3]) == 1.0 && to_double(less[5]) == 2.0));  // an infinity says nothing
}

TEST_CASE("formula/recording/a_number_that_is_off_by_more", "[unit]") {
  using namespace assay::reference;
  using namespace assay::reference::formula;
  const computing_in format(assay::core::dtype::f32);
  recording recorder;
  const traced x = recorder.input("x", {2});
  recorder.output("y", off_by(x, traced(-3.0) * x));
  const program p = recorder.finish();
  interpreter<tracked>::arrays in;
  in.emplace("x", reals<tracked>{tracked(3.0), tracked(-0.5)});
  const auto made = interpreter<tracked>(p, in).run();
  const auto& y = std::get<reals<tracked>>(made.at("y"));
  CHECK((y[0].number == 3.0 && y[0].error == 9.0));
  CHECK((y[1].number == -0.5 && y[1].error == 1.5));
}

// The number is that of its steps, and the gradient is the given one.
TEST_CASE("formula/recording/a_slope_of_its_own", "[unit]") {
  using namespace assay::reference;
  using namespace assay::reference::formula;
  const program p = [] {
    recording recorder;
    const traced x = recorder.input("x", {2});
    recorder.output("y", with_slope(exp(x), x, off_by(traced(3.0) * x, traced(5.0))));
    return recorder.finish();
  }();
  const auto gradient = differentiate(p);
  REQUIRE(gradient);
  const computing_in format(assay::core::dtype::f32);
  interpreter<tracked>::arrays in{{"x", reals<tracked>{tracked(0.0), tracked(2.0)}}};
  const auto y = std::get<reals<tracked>>(interpreter<tracked>(p, in).run().at("y"));
  CHECK((y[0].number == 1.0 && y[1].number == std::exp(2.0)));
  in.emplace("grad_y", reals<tracked>{tracked(4.0), tracked(-1.0)});
  const auto grad = std::get<reals<tracked>>(interpreter<tracked>(*gradient, in).run().at("grad_x"));
  CHECK((grad[0].number == 0.0 && grad[1].number == -6.0));
  CHECK((grad[0].error >= 20.0 && grad[1].error >= 5.0 && grad[1].error < 20.0));
}

// Elements that a mask hides reach nothing, not even NaN and infinity, and not in the gradient either.
TEST_CASE("formula/recording/a_masked_contraction", "[unit]") {
  using namespace assay::reference;
  using namespace assay::reference::formula;
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinite = std::numeric_limits<double>::infinity();
  const program p = [] {
    recording recorder;
    recorder.output("o", contracted_where(known_truths({2, 3}, {true, false, true, true, true, false}),
                                          recorder.input("p", {2, 3}), recorder.input("v", {3, 1}), "ij,jc->ic"));
    return recorder.finish();
  }();
  const auto gradient = differentiate(p, std::vector<std::string>{"p", "v"});
  REQUIRE(gradient);
  const auto numbers = [](std::vector<double> x) { return reals<rounded>(x.begin(), x.end()); };
  interpreter<rounded>::arrays in{{"p", numbers({2, nan, 3, 5, 7, infinite})}, {"v", numbers({1, nan, 10})}};
  const auto is = [](const array<rounded>& made, const std::vector<double>& wanted) {
    const auto& x = std::get<reals<rounded>>(made);
    REQUIRE(x.size() == wanted.size());
    for (std::size_t k = 0; k < x.size(); ++k)
      CHECK((x[k].number == wanted[k] || (std::isnan(x[k].number) && std::isnan(wanted[k]))));
  };
  is(interpreter<rounded>(p, in).run().at("o"), {32, nan});
  in.emplace("grad_o", numbers({1, 100}));
  const auto made = interpreter<rounded>(*gradient, in).run();
  is(made.at("grad_p"), {1, 0, 10, 100, nan, 0});
  is(made.at("grad_v"), {502, 700, 3});
}

TEST_CASE("formula/recording/a_reciprocal_root", "[unit]") {
  using namespace assay::reference;
  using namespace assay::reference::formula;
  const program p = [] {
    recording recorder;
    recorder.output("y", reciprocal_root(recorder.input("x", {2}), 4));
    return recorder.finish();
  }();
  const auto gradient = differentiate(p);
  REQUIRE(gradient);
  const computing_in format(assay::core::dtype::f16);
  interpreter<rounded>::arrays numbers{{"x", reals<rounded>{rounded(4.0), rounded(0.25)}}};
  const auto y = std::get<reals<rounded>>(interpreter<rounded>(p, numbers).run().at("y"));
  CHECK((y[0].number == 0.5 && y[1].number == 2.0));
  numbers.emplace("grad_y", reals<rounded>{rounded(16.0), rounded(1.0)});
  const auto grad = std::get<reals<rounded>>(interpreter<rounded>(*gradient, numbers).run().at("grad_x"));
  CHECK((grad[0].number == -1.0 && grad[1].number == -4.0));
  // Four squares whose mean is 2^15 add up to more than the largest number.
  const interpreter<tracked>::arrays bounded{{"x", reals<tracked>{tracked(0.25), tracked(32768.0)}}};
  const auto error = std::get<reals<tracked>>(interpreter<tracked>(p, bounded).run().at("y"));
  CHECK((error[0].error >= 8.0 && error[0].error < 8.25));
  CHECK(std::isinf(error[1].error));
}

TEST_CASE("formula/recording/a_modulus", "[unit]") {
  using namespace assay::reference;
  using namespace assay::reference::formula;
  const program p = [] {
    recording recorder;
    const traced x = recorder.input("x", {3}), y = recorder.input("y", {3});
    recorder.output("z", modulus_of(x, y));
    return recorder.finish();
  }();
  const auto gradient = differentiate(p);
  REQUIRE(gradient);
  const computing_in format(assay::core::dtype::f32);
  const auto made_by = [&]<class R>(const program& run, const char* output, const std::vector<R>& x,
                                    const std::vector<R>& y) {
    typename interpreter<R>::arrays in{{"x", reals<R>(x)}, {"y", reals<R>(y)}};
    if (&run != &p) in.emplace("grad_z", reals<R>(3, R(10.0)));
    const auto made = interpreter<R>(run, in).run();
    return std::get<reals<R>>(made.at(output));
  };
  const auto is = [](const reals<rounded>& made, const std::vector<double>& wanted) {
    for (std::size_t k = 0; k < wanted.size(); ++k)
      CHECK((made[k].number == wanted[k] || (std::isnan(made[k].number) && std::isnan(wanted[k]))));
  };
  // Where the modulus is 0, so is its slope.
  const double nan = std::nan("");
  const std::vector<rounded> re{rounded(-8.0), rounded(0.0), rounded(nan)},
      im{rounded(6.0), rounded(0.0), rounded(1.0)};
  is(made_by(p, "z", re, im), {10, 0, nan});
  is(made_by(*gradient, "grad_x", re, im), {-8, 0, nan});
  is(made_by(*gradient, "grad_y", re, im), {6, 0, nan});

  // The bounds are those of algorithms/modulus.hpp. A part that may be anything but 0 may have any direction.
  const std::vector<tracked> x{tracked(3.0), tracked(0.0), tracked(0.0, 1.0)},
      y{tracked(4.0), tracked(0.0), tracked(0.0)};
  const auto z = made_by(p, "z", x, y), slope = made_by(*gradient, "grad_x", x, y);
  CHECK((z[0].error >= 3.25 * 5.0 && z[0].error < 3.26 * 5.0 && z[1].error == 0.0 && z[2].error >= 1.0));
  CHECK((slope[0].error >= 10.0 * 5.25 * 0.6 && slope[1].error == 0.0 && slope[2].error * tracked::u() >= 10.0 * 2.0));
}

// Partial sums from either end, whichever are more: for the third term 3 + 6, or 5 + 6.
TEST_CASE("formula/recording/cumulative_sums", "[unit]") {
  using namespace assay::reference;
  using namespace assay::reference::formula;
  const auto made_by = [](traced (*sums)(const traced&, std::size_t)) {
    recording recorder;
    recorder.output("y", sums(recorder.input("x", {3}), 0));
    return recorder.finish();
  };
  const computing_in format(assay::core::dtype::f32);
  const auto evaluated = [&]<class R>(const program& p, const char* output,
                                      std::map<std::string, std::vector<R>> given) {
    typename interpreter<R>::arrays in;
    for (auto& [name, x] : given) in.emplace(name, reals<R>(x.begin(), x.end()));
    return std::get<reals<R>>(interpreter<R>(p, in).run().at(output));
  };
  const std::vector<tracked> exact{tracked(1.0), tracked(2.0), tracked(3.0)};
  const auto forwards =
      evaluated(made_by(cumulative_sum), "y", std::map<std::string, std::vector<tracked>>{{"x", exact}});
  CHECK((forwards[0].number == 1.0 && forwards[1].number == 3.0 && forwards[2].number == 6.0));
  CHECK((forwards[0].error == 0.0 && forwards[1].error == 3.0 && forwards[2].error == 11.0));

  const program backwards = made_by(sums_from_each_on), by_total = made_by(sums_from_each_on_by_total);
  const std::map<std::string, std::vector<tracked>> in{{"x", exact}};
  const auto usual = evaluated(backwards, "y", in), less_rest = evaluated(by_total, "y", in);
  for (std::size_t k = 0; k < 3; ++k) {
    CHECK((usual[k].number == less_rest[k].number));
    CHECK(usual[k].error < less_rest[k].error);
  }
  const std::map<std::string, std::vector<rounded>> beside_infinity{
      {"x", {rounded(1.0), rounded(HUGE_VAL), rounded(2.0)}}};
  CHECK(evaluated(backwards, "y", beside_infinity)[2].number == 2.0);
  CHECK(std::isnan(evaluated(by_total, "y", beside_infinity)[2].number));

  const auto gradient = differentiate(by_total);
  REQUIRE(gradient);
  const std::vector<rounded> g{rounded(1.0), rounded(10.0), rounded(100.0)};
  const auto grad =
      evaluated(*gradient, "grad_x", std::map<std::string, std::vector<rounded>>{{"x", g}, {"grad_y", g}});
  CHECK((grad[0].number == 1.0 && grad[1].number == 11.0 && grad[2].number == 111.0));
}

TEST_CASE("formula/recording/interpolated", "[unit]") {
  using namespace assay::reference;
  using namespace assay::reference::formula;
  const program p = [] {
    recording recorder;
    const traced z = recorder.input("z", {1, 3}), places = recorder.input("p", {1, 5});
    recorder.output("y", interpolated(z, places));
    return recorder.finish();
  }();
  const auto gradient = differentiate(p);
  REQUIRE(gradient);
  const computing_in format(assay::core::dtype::f32);
  const auto made_by = [&]<class R>(const program& run, std::map<std::string, std::vector<R>> in, const char* output) {
    typename interpreter<R>::arrays arrays;
    for (auto& [name, x] : in) arrays.emplace(name, reals<R>(x.begin(), x.end()));
    return std::get<reals<R>>(interpreter<R>(run, arrays).run().at(output));
  };
  const auto numbers = [](const std::vector<double>& x) {
    std::vector<rounded> all;
    for (const double each : x) all.emplace_back(each);
    return all;
  };
  const auto is = [](const reals<rounded>& made, const std::vector<double>& expected) {
    REQUIRE(made.size() == expected.size());
    for (std::size_t k = 0; k < made.size(); ++k) CHECK(made[k].number == expected[k]);
  };
  std::map<std::string, std::vector<rounded>> in{{"z", numbers({4, 8, 32})}, {"p", numbers({0, 0.25, 2, 1.5, 7})}};
  is(made_by(p, in, "y"), {4, 5, 32, 20, 32});
  in.emplace("grad_y", numbers({1, 1, 1, 1, 1}));
  is(made_by(*gradient, in, "grad_p"), {0, 4, 0, 24, 0});
  is(made_by(*gradient, in, "grad_z"), {1.75, 0.75, 2.5});

  // At an integer, and near it within the error of the place, either slope is right.
  const tracked one(1.0), middle(1.0, 4.0), beside(1.5, 4.0);
  std::map<std::string, std::vector<tracked>> bounded{{"z", {tracked(4.0), tracked(8.0), tracked(32.0)}},
                                                      {"p", {one, middle, beside, tracked(1.5), tracked(9.0)}}};
  const auto y = made_by(p, bounded, "y");
  CHECK((y[0].error < y[1].error && y[1].error >= 4.0 * 24.0 && y[3].error < y[2].error && y[4].error == 0.0));
  bounded.emplace("grad_y", std::vector<tracked>(5, one));
  const auto slope = made_by(*gradient, bounded, "grad_p");
  for (const std::size_t k : {0U, 1U}) {
    CHECK(slope[k].number == 0.0);
    CHECK(slope[k].error * tracked::u() * class_slack >= (k == 0 ? 24.0 : 24.0 - 1e-3));
  }
  for (const std::size_t k : {2U, 3U}) CHECK((slope[k].number == 24.0 && slope[k].error < 200.0));
  CHECK((slope[4].number == 0.0 && slope[4].error == 0.0));
}

TEST_CASE("formula/recording/cumulative_sum_twice", "[unit]") {
  using namespace assay::reference;
  using namespace assay::reference::formula;
  const program p = [] {
    recording recorder;
    const traced sums = cumulative_sum_twice(recorder.input("x", {1, 3}));
    recorder.output("y", between(sums, 0, 0, 1) - between(sums, 0, 1, 2));
    return recorder.finish();
  }();
  const auto gradient = differentiate(p);
  REQUIRE(gradient);
  const auto law = magnitudes_of_terms(*gradient, p);
  REQUIRE(law);
  const computing_in format(assay::core::dtype::f32);
  const auto evaluated = [](const program& made, const std::vector<tracked>& x) {
    const interpreter<tracked>::arrays in{{"x", reals<tracked>(x)}, {"grad_y", reals<tracked>(x)}};
    return std::get<reals<tracked>>(interpreter<tracked>(made, in).run().begin()->second);
  };
  const std::vector<tracked> x{tracked(1.0), tracked(10.0), tracked(100.0)};
  const auto y = evaluated(p, x);
  for (const std::size_t k : {0U, 1U, 2U}) CHECK((y[k].number == 0.0 && (y[k].error > 0.0) == (k > 0)));
  // Terms that cancel leave their roundings, and no magnitude.
  double before = 0.0;
  const auto grad = evaluated(*law, x);
  for (const std::size_t k : {2U, 1U, 0U}) {
    CHECK((grad[k].number == 0.0 && grad[k].error >= before + 2 * x[k].number));
    before = grad[k].error;
  }
}

TEST_CASE("formula/recording/contracted_at", "[unit]") {
  using namespace assay::reference;
  using namespace assay::reference::formula;
  // The second query does not see the first key, whatever that is.
  const program p = [] {
    recording recorder;
    const traced_truth seen = known_truths({2, 2}, {true, true, false, true});
    recorder.output("s", contracted_at(seen, recorder.input("q", {2, 1}), recorder.input("k", {2, 1}), "id,jd->ij"));
    return recorder.finish();
  }();
  const auto gradient = differentiate(p);
  REQUIRE(gradient);
  const computing_in format(assay::core::dtype::f32);
  const rounded nan(std::nan("")), two(2.0), three(3.0);
  const interpreter<rounded>::arrays in{{"q", reals<rounded>{two, three}},
                                        {"k", reals<rounded>{nan, two}},
                                        {"grad_s", reals<rounded>{three, two, nan, two}}};
  const auto numbers = [&](const program& run, const char* output) {
    const auto made = interpreter<rounded>(run, in).run();
    std::vector<double> all;
    for (const rounded& x : std::get<reals<rounded>>(made.at(output))) all.push_back(x.number);
    return all;
  };
  const auto s = numbers(p, "s"), grad_q = numbers(*gradient, "grad_q"), grad_k = numbers(*gradient, "grad_k");
  CHECK((std::isnan(s[0]) && s[1] == 4.0 && s[2] == 0.0 && s[3] == 6.0));
  CHECK((std::isnan(grad_q[0]) && grad_q[1] == 4.0));
  CHECK(grad_k == std::vector<double>{6.0, 10.0});
}
