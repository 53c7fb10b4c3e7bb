// Sizes that a candidate declares: cases are drawn inside them, and laws ask for no other cases.
#include <catch2/catch.hpp>
#include <numeric>
#include <set>

#include "properties/tests/gating.hpp"

using namespace assay;
using namespace assay::properties;
using namespace assay::properties::testing;

namespace {

// The optimized kernels with declared sizes; a call with any other size is an error.
class declares_sizes final : public implementation {
 public:
  declares_sizes(const core::operation& op, const std::string& axis, declared_sizes sizes)
      : right_(make_builtin("optimized").value()), about_(right_->describe()) {
    about_.sizes[op.name][axis] = sizes;
  }
  [[nodiscard]] const description& describe() const override { return about_; }
  call_result evaluate(const request& call) override {
    ++calls;
    const core::axis_sizes sizes = core::check_request(call).value();
    for (const auto& [symbol, size] : sizes)
      if (!about_.sizes_of_axis(*call.operation, symbol).holds(size))
        return tl::make_unexpected(call_failure{fault::error_reply, fmt::format("{} = {}", symbol, size)});
    return right_->evaluate(call);
  }
  std::size_t calls = 0;

 private:
  std::unique_ptr<implementation> right_;
  description about_;
};

// The same answer everywhere: zeros, which have no right digit, or NaN, whose error is not a number.
class one_answer final : public implementation {
 public:
  explicit one_answer(double x) : right_(make_builtin("optimized").value()), x_(x) {}
  [[nodiscard]] const description& describe() const override { return right_->describe(); }
  call_result evaluate(const request& call) override {
    call_result outputs = right_->evaluate(call);
    if (outputs)
      for (auto& [name, t] : *outputs) std::fill(t.values.storage().begin(), t.values.storage().end(), x_);
    return outputs;
  }

 private:
  std::unique_ptr<implementation> right_;
  double x_;
};

// Attention whose logits omit the features from 64 on; it declares up to 4096 features and keys.
class reads_64_features final : public implementation {
 public:
  reads_64_features() : right_(make_builtin("optimized").value()), about_(right_->describe()) {
    about_.sizes["attention/output"]["d"] = {1, 4096, 1};
    about_.sizes["attention/output"]["m"] = {1, 4096, 1};
  }
  [[nodiscard]] const description& describe() const override { return about_; }
  call_result evaluate(const request& call) override {
    request cut = call;
    core::tensor& q = cut.inputs.at("q");
    const std::size_t d = q.shape().back();
    for (std::size_t i = 0; i < q.size(); ++i)
      if (i % d >= 64) q.values.storage()[i] = 0.0;
    return right_->evaluate(cut);
  }

 private:
  std::unique_ptr<implementation> right_;
  description about_;
};

// The optimized kernels with one axis declared from 1 to `end`. If the axis has size `end`, the last three slices of
// one input are read as the slice before them; if no input is named, the last slice of every output with the axis is
// wrong.
class forgets_the_end final : public implementation {
 public:
  forgets_the_end(const core::operation& op, std::string axis, std::size_t end, std::string input)
      : right_(make_builtin("optimized").value()),
        about_(right_->describe()),
        axis_(std::move(axis)),
        input_(std::move(input)),
        end_(end) {
    about_.sizes[op.name][axis_] = {1, end, 1};
  }
  [[nodiscard]] const description& describe() const override { return about_; }
  call_result evaluate(const request& call) override {
    if (core::check_request(call).value().at(axis_) != end_) return right_->evaluate(call);
    request changed = call;
    std::vector<std::size_t> kept(end_, end_ - 4);
    std::iota(kept.begin(), kept.end() - 3, std::size_t{0});
    if (!input_.empty())
      changed.inputs.at(input_) = core::restrict_axis(*call.operation, call.inputs, axis_, kept).at(input_);
    call_result outputs = right_->evaluate(changed);
    if (outputs && input_.empty()) spoil(*call.operation, *outputs);
    return outputs;
  }

 private:
  void spoil(const core::operation& op, core::tensors& outputs) const {
    for (const core::tensor_declaration& d : op.outputs) {
      const auto axis_index = core::axis_of(d, axis_);
      if (!axis_index) continue;
      core::tensor& t = outputs.at(d.name);
      const core::shape s = t.shape();
      for (std::size_t i = 0; i < t.size(); ++i)
        if (i / core::stride_of(s, *axis_index) % s[*axis_index] + 1 == s[*axis_index]) t.values.storage()[i] += 1.0;
    }
  }

  std::unique_ptr<implementation> right_;
  description about_;
  std::string axis_, input_;
  std::size_t end_;
};

// The reference algorithm, only for rows of positions 0, 1, 2, ...
class counts_from_0 final : public implementation {
 public:
  [[nodiscard]] const description& describe() const override { return right_->describe(); }
  call_result evaluate(const request& call) override {
    const core::tensor& position = call.inputs.at("position");
    for (std::size_t i = 0; i < position.size(); ++i)
      if (position.values.storage()[i] != static_cast<double>(i % position.shape()[1]))
        return tl::make_unexpected(call_failure{fault::unsupported, "positions that are not counted from 0"});
    return right_->evaluate(call);
  }

 private:
  std::unique_ptr<implementation> right_ = make_builtin("sequential").value();
};

// Gradients do not depend on an input in which the function is linear.
bool matters(const core::operation& op, const std::string& input) {
  const std::set<std::pair<std::string, std::string>> without_effect{
      {"heinsen/embed_position:vjp", "b_R"}, {"fox/decay:vjp", "log_f"},    {"rope/rotate:vjp", "x"},
      {"alibi/bias:vjp", "slopes"},          {"t5_bias/bias:vjp", "table"},
  };
  return !without_effect.contains({op.name, input});
}

constexpr std::size_t any = std::numeric_limits<std::size_t>::max();
constexpr declared_sizes blocks{0, any, 4}, few{2, 3, 1}, one{1, 1, 1}, even{4, 64, 2};

}  // namespace

TEST_CASE("properties/declared_sizes/nearest", "[unit][gate]") {
  CHECK(blocks.holds(0));
  CHECK_FALSE(blocks.holds(6));
  CHECK(blocks.nearest(5) == 8);
  CHECK(even.nearest(1) == 4);
  CHECK(even.nearest(65) == 64);
  CHECK(declared_sizes{0, 10, 4}.nearest(9) == 8);
  CHECK(declared_sizes{}.holds(any));
}

TEST_CASE("properties/declared_sizes/an_axis_has_one_name", "[unit][gate]") {
  for (const core::operation& op : reference::operations())
    for (const std::string& axis : core::free_axes(op)) {
      INFO(op.name << " " << axis);
      CHECK(op.input(axis) == nullptr);
      CHECK(op.attribute(axis) == nullptr);
    }
}

TEST_CASE("properties/declared_sizes/every_family_draws_inside_them", "[unit][gate]") {
  for (const core::operation& op : reference::operations())
    for (const std::string& axis : core::free_axes(op))
      for (const declared_sizes& sizes : {blocks, few, one}) {
        const declares_sizes about(op, axis, sizes);
        for (const family& f : families_of(op))
          for (const lengths range : {lengths::short_ones, lengths::around_blocks}) {
            const case_key key = key_for(about.describe(), op, core::dtype::f32, f.name, 7, range);
            const test_case c = make_case(key, f);
            INFO(canonical_text(key) << ": " << summary(c));
            // No rotation fits into one feature.
            const std::map<std::string, core::size_bounds> bounds{
                {axis, {sizes.nearest(1), std::min<std::size_t>(sizes.high, 1 << 20)}}};
            if (!core::conflict_within(op, core::completed(op, c.call.attributes), bounds).empty()) continue;
            CHECK(sizes.holds(sizes_of(c).at(axis)));
          }
      }
}

TEST_CASE("properties/declared_sizes/so_are_settings_that_are_sizes", "[unit][gate]") {
  const auto drawn = [](const char* name, const char* axis, const declared_sizes& sizes) {
    const core::operation& op = *reference::find_operation(name);
    const declares_sizes about(op, axis, sizes);
    std::set<std::size_t> all;
    for (std::uint64_t k = 0; k < 40; ++k)
      all.insert(
          sizes_of(make_case(key_for(about.describe(), op, core::dtype::f32, families_of(op).front().name, k, {})))
              .at(axis));
    return all;
  };
  CHECK(drawn("sinusoidal/table", "d", {0, any, 2}) == std::set<std::size_t>{2, 4, 8, 16});
  CHECK(drawn("rope/frequencies", "r", few) == std::set<std::size_t>{2, 3});
  // No usual size lies inside: sizes from the smallest on are drawn.
  CHECK(drawn("sinusoidal/table", "d", {100, 104, 4}) == std::set<std::size_t>{100, 104});
}

TEST_CASE("properties/declared_sizes/settings_that_go_together_are_drawn", "[unit][gate]") {
  const core::operation& op = *reference::find_operation("t5_bias/bucket");
  for (std::uint64_t k = 0; k < 40; ++k) {
    case_key key{&op, core::dtype::f32, "mild", k};
    key.settings = {{"buckets", {std::int64_t{32}, std::int64_t{8}}}, {"max_distance", {std::int64_t{5}}}};
    CHECK(make_case(key).call.attributes.at("buckets") == core::attribute{std::int64_t{8}});
  }
}

TEST_CASE("properties/declared_sizes/no_law_leaves_them", "[gate]") {
  const auto runs_inside = [](const char* name, const char* axis, const declared_sizes& sizes) {
    const core::operation& op = *reference::find_operation(name);
    declares_sizes under_test(op, axis, sizes);
    std::size_t compared = 0;
    for (const check_result& r : run_properties(under_test, op, core::dtype::f32, options(2))) {
      INFO(reproduction("optimized", r));
      CHECK(r.verdict() != status::failed);
      if (r.checked->decides_class) compared += r.count(status::passed);
    }
    CHECK(compared > 0);
    CHECK(under_test.calls > 0);
  };
  runs_inside("heinsen/scan", "n", blocks);
  runs_inside("heinsen/scan:vjp", "n", blocks);
  runs_inside("heinsen/scan", "n", one);
  runs_inside("heinsen/scan", "d", even);
  runs_inside("fox/attention", "n", blocks);
  runs_inside("attention/output", "m", few);
  runs_inside("rope/rotate", "n", blocks);
  runs_inside("alibi/bias", "m", blocks);
  runs_inside("sinusoidal/table", "d", even);
}

TEST_CASE("properties/declared_sizes/both_ends_are_planned", "[unit][gate]") {
  const core::operation& op = *reference::find_operation("heinsen/scan");
  const declares_sizes under_test(op, "d", {8, 256, 8});
  std::set<std::size_t> widths;
  for (const case_key& key : plan_of(*find_property("value"), under_test.describe(), op, core::dtype::f32, options(1)))
    widths.insert(sizes_of(make_case(key)).at("d"));
  CHECK(widths.contains(8));
  CHECK(widths.contains(256));
  CHECK(*widths.rbegin() == 256);
  CHECK(std::all_of(widths.begin(), widths.end(), [](std::size_t d) { return d % 8 == 0; }));
}

TEST_CASE("properties/digits/none_are_told_of_what_is_wrong", "[unit][gate]") {
  for (const double x : {0.0, std::numeric_limits<double>::quiet_NaN()}) {
    one_answer under_test(x);
    run_options o = options(4);
    o.shrink_calls = 0;
    const core::operation& op = *reference::find_operation("heinsen/scan");
    const check_result r = run_property(*find_property("value"), under_test, op, core::dtype::f32, o);
    REQUIRE(r.verdict() == status::failed);
    CHECK(r.digits().empty());
  }
}

TEST_CASE("properties/digits/are_told_along_what_errors_grow_with", "[unit][gate]") {
  check_result r;
  r.operation = reference::find_operation("rope/rotate");
  r.type = core::dtype::f32;
  const auto with = [&](std::uint64_t from, double farthest, double ulp) {
    r.by_growth[from].digits_farthest = farthest;
    r.by_growth[from].digits_ulp = ulp;
  };
  CHECK(r.digits().empty());
  with(1, 1, 0.5);
  with(8, 15, 3);
  with(1024, 2047, 300);
  with(65536, 131071, 20000);
  // An ulp is 1.2e-7: 0.5 ulp keep 7 digits, 3 keep 6, 300 keep 4, 20000 keep 2. The error beyond half an ulp is
  // doubled.
  CHECK(r.digits() == std::vector<digits_up_to>{{7, 1}, {6, 15}, {4, 2047}, {2, 131071}});
  r.by_growth[1024].digits_ulp = 450;
  CHECK(r.digits() == std::vector<digits_up_to>{{7, 1}, {6, 15}, {3, 2047}, {2, 131071}});
  r.by_growth[512].digits_ulp = 9000;  // rows too narrow for a report, but worse all the same
  CHECK(r.digits() == std::vector<digits_up_to>{{7, 1}, {6, 15}, {2, 131071}});
  with(1 << 20, 2e6, std::numeric_limits<double>::infinity());
  CHECK(r.digits().back() == digits_up_to{2, 131071});
}

TEST_CASE("properties/digits/hold_at_every_position_and_in_rows_as_wide_as_heads", "[property][gate]") {
  const core::operation& op = *reference::find_operation("rope/rotate");
  auto code = make_builtin("sequential").value();
  const double ulp = std::ldexp(1.0, 1 - core::format_of(core::dtype::f32).precision);
  const auto hold = [&](const std::vector<digits_up_to>& reported) {
    constexpr double rows = 512;  // all positions of short claims
    for (const auto& [digits, farthest] : reported)
      for (const double share : {1.0, 0.9, 0.6})
        for (const std::size_t d : {64, 128, 256}) {
          const double last = std::max(std::floor(share * farthest), 1.0), before = std::min(last, rows - 1);
          case_key key{&op,
                       core::dtype::f32,
                       "mild",
                       seed,
                       extent({{"B", 1}, {"h", 1}, {"n", static_cast<std::size_t>(before) + 1}, {"d", d}}),
                       {}};
          for (const core::attribute_declaration& a : op.attributes) key.settings[a.name] = {a.standard};
          key.domain["position"] = {last - before, last};
          request call = make_case(key).call;
          auto& position = call.inputs.at("position").values.storage();
          std::iota(position.begin(), position.end(), last - before);
          const value_report wide = judge(call, core::dtype::f32, code->evaluate(call).value());
          INFO(digits << " digits up to " << farthest << ", d = " << d << ", positions to " << last);
          CHECK(wide.largest_ulp * ulp <= std::pow(10.0, -digits));
        }
  };
  run_options o = options(2);
  o.sizes = run_options::usual::some;
  o.long_lengths = false;
  const check_result r = run_property(*find_property("value"), *code, op, core::dtype::f32, o);
  CHECK(r.digits().size() > 3);
  CHECK(r.digits().back().farthest > 5e5);
  hold(r.digits());
  counts_from_0 declining;
  const check_result few_result = run_property(*find_property("value"), declining, op, core::dtype::f32, o);
  CHECK(few_result.digits().back().farthest == 1024);
  hold(few_result.digits());
}

TEST_CASE("properties/sizes/a_case_that_tells_nothing_is_no_size_tried", "[unit][gate]") {
  const core::operation& op = *reference::find_operation("heinsen/scan");
  const test_case c = make_case({&op, core::dtype::f32, "mild", seed, extent({{"B", 2}, {"n", 3}, {"d", 5}}), {}});
  check_result r;
  r.operation = &op;
  outcome o;
  o.verdict = status::uninformative;
  o.value = value_report{};
  o.value->informative = false;
  record_case(r, c, o);
  CHECK(r.largest_sizes.empty());
  o.verdict = status::passed;
  o.value->informative = true;
  record_case(r, c, o);
  CHECK(r.largest_sizes == sizes_of(c));
}

TEST_CASE("properties/declared_sizes/the_end_of_one_axis_tells", "[property][gate]") {
  const core::operation& op = *reference::find_operation("attention/output");
  run_options o = options(1);
  o.sizes = run_options::usual::none;
  reads_64_features wrong;
  CHECK(run_property(truth_property(op), wrong, op, core::dtype::f32, o).verdict() == status::failed);
}

TEST_CASE("properties/declared_sizes/the_end_of_every_axis_tells", "[property][gate]") {
  run_options o = options(1);
  o.shrink_calls = 0;
  o.sizes = run_options::usual::none;
  constexpr std::size_t end = 70;
  std::string missed;
  for (const core::operation& op : reference::operations())
    for (const std::string& axis : core::free_axes(op)) {
      const auto has_axis = [&](const auto& d) { return core::axis_of(d, axis).has_value(); };
      std::vector<std::string> inputs;
      if (std::any_of(op.outputs.begin(), op.outputs.end(), has_axis)) inputs.push_back("");
      for (const core::tensor_declaration& d : op.inputs)
        if (has_axis(d) && matters(op, d.name)) inputs.push_back(d.name);
      for (const std::string& input : inputs) {
        forgets_the_end wrong(op, axis, end, input);
        if (run_property(truth_property(op), wrong, op, core::dtype::f32, o).verdict() != status::failed)
          missed += fmt::format("{} {} {}\n", op.name, axis, input.empty() ? "outputs" : input);
      }
    }
  CHECK(missed == "");
}
