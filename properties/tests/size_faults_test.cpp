// Faults that begin at an arbitrary size, indices that wrap, and sums in a format with too few digits.
#include "properties/tests/size_faults.hpp"

#include <catch2/catch.hpp>
#include <cstdio>
#include <set>

#include "properties/harness/one_sign.hpp"
#include "properties/tests/changed.hpp"
#include "reference/evaluate_in.hpp"

using namespace assay;
using namespace assay::properties;
using namespace assay::properties::testing;
using usual = run_options::usual;

namespace {

constexpr std::size_t drawn_faults = 200, seeds = 10;

run_options options_of_effort(bool full, std::uint64_t with_seed) {
  run_options o;
  o.seed = with_seed;
  o.cases = full ? 64 : 8;
  o.sizes = full ? usual::all : usual::some;
  return o;
}

// The largest affordable size of the axis, with one position of every other axis. Pairs of tokens grow as a square; so
// does the cost of fox/attention, although no tensor holds the pairs.
std::size_t affordable(const core::operation& op, const std::string& axis) {
  constexpr std::size_t farthest = 70000, largest = std::size_t{1} << 22;
  const bool pairs = op.name.starts_with("fox/") && axis == "n";
  const auto fits = [&](std::size_t size) {
    core::axis_sizes sizes;
    for (const std::string& symbol : core::axis_symbols(op)) sizes[symbol] = symbol == axis ? size : 1;
    for (const core::tensor_declaration& d : op.outputs)
      if (core::element_count(core::shape_of(d, sizes)) > largest) return false;
    return !pairs || size * size <= largest;
  };
  std::size_t size = farthest;
  while (!fits(size)) size = size * 9 / 10;
  return size;
}

// An operation with one of its axes of rows, features, tokens, keys or heads.
std::vector<size_fault> places() {
  std::vector<size_fault> all;
  for (const core::operation& op : reference::operations())
    for (const char* axis : {"B", "d", "e", "n", "m", "h"})
      if (core::free_axes(op).contains(axis) && op.kind() != core::derivative::jvp) all.push_back({&op, axis});
  return all;
}

// The first wrong position is drawn log-uniformly, from 3 on.
size_fault draw_fault(core::counter_random& random) {
  static const std::vector<size_fault> from = places();
  size_fault f = from[random.below(from.size())];
  f.from = static_cast<std::size_t>(
      3.0 * std::pow(static_cast<double>(affordable(*f.operation, f.axis)) / 3.0, random.uniform()));
  const std::size_t kind = random.below(3);
  if (kind == 1) f.every = 2 + random.below(63);
  f.all_of_the_call = kind == 2;
  return f;
}

struct share {
  std::size_t all = 0, by_one_run = 0, by_ten = 0, by_full = 0;
  void add(bool one, bool ten, bool full) {
    ++all;
    by_one_run += one;
    by_ten += ten;
    by_full += full;
  }
};

const core::operation& operation_of(const char* name) { return *reference::find_operation(name); }

constexpr std::uint64_t few_seeds = 10;

// The first of a few seeds whose quick run detects the fault; 0 if none does.
template <class... Fault>
std::uint64_t first_seed(const Fault&... fault) {
  for (std::uint64_t s = 1; s <= few_seeds; ++s)
    if (is_seen(fault..., options_of_effort(false, s))) return s;
  return 0;
}

// The same for right code that is changed if the sizes of a call are such.
std::uint64_t first_seed_where(const char* name, const std::function<bool(const core::axis_sizes&)>& are_such) {
  const core::operation& op = operation_of(name);
  changed candidate(wrong_where(are_such));
  for (std::uint64_t s = 1; s <= 2 * few_seeds; ++s)
    if (is_seen(candidate, op, core::dtype::f32, options_of_effort(false, s), are_such)) return s;
  return 0;
}

// Attention that reads the bias of a key at an index that may wrap, like one of 16 bits.
class reads_bias_at final : public implementation {
 public:
  explicit reads_bias_at(std::size_t (*index)(std::size_t key, std::size_t keys)) : index_(index) {}
  [[nodiscard]] const description& describe() const override { return right_->describe(); }
  call_result evaluate(const request& call) override {
    const std::size_t keys = core::check_request(call).value().at("m");
    std::vector<std::size_t> columns(keys);
    for (std::size_t j = 0; j < keys; ++j) columns[j] = index_(j, keys);
    request wrapped = call;
    wrapped.inputs.at("bias") = core::restrict_axis(*call.operation, call.inputs, "m", columns).at("bias");
    return right_->evaluate(wrapped);
  }

 private:
  std::unique_ptr<implementation> right_ = make_builtin("optimized").value();
  std::size_t (*index_)(std::size_t key, std::size_t keys);
};

// An operation in bf16 as declared by default, but with its sums in bf16 too; if it has no such stage, everything is in
// bf16.
class sums_in_bf16 final : public implementation {
 public:
  explicit sums_in_bf16(const core::operation& op) : formats_(formats_of(op)) {
    about_.name = "sums in bf16";
    about_.operations[op.name] = {core::dtype::bf16};
    about_.deterministic = true;
  }
  [[nodiscard]] const description& describe() const override { return about_; }
  call_result evaluate(const request& call) override { return reference::evaluate_in(call, formats_); }

 private:
  static core::precisions formats_of(const core::operation& op) {
    description narrow;
    if (op.stages.empty())
      narrow.compute[core::dtype::bf16] = core::dtype::bf16;
    else
      narrow.compute[core::dtype::bf16].stages = {{std::string(core::accumulation), core::dtype::bf16}};
    return narrow.precisions_of(op, core::dtype::bf16);
  }

  description about_;
  core::precisions formats_;
};

}  // namespace

TEST_CASE("properties/sizes/faults_behind_usual_sizes_are_seen", "[property]") {
  constexpr core::dtype type = core::dtype::f32;
  std::string missed;
  const auto sees = [&](const char* op, const char* axis, std::size_t from, double relative = 1e-2) {
    if (first_seed(size_fault{&operation_of(op), axis, from, 1, false, relative}, type) != 1)
      missed += fmt::format("{} from {} = {}; ", op, axis, from);
  };
  // Every run goes beyond 2^16 along one axis.
  for (const char* op : {"heinsen/scan", "heinsen/scan:vjp", "rope/rotate", "attention/output", "fox/decay:vjp"})
    for (const std::size_t from : {130, 300, 40000}) sees(op, "B", from);
  for (const char* op : {"heinsen/scan", "heinsen/gated_scan:vjp", "rope/rotate", "rope/rotate_by:vjp",
                         "sinusoidal/table", "attention/output"})
    for (const std::size_t from : {4098, 9000, 65000}) sees(op, "n", from);
  for (const char* op : {"heinsen/scan", "heinsen/gated_scan", "sinusoidal/table_at"}) sees(op, "n", 2048, 1e-3);
  for (const char* op : {"alibi/bias", "t5_bias/bias", "attention/output:vjp"}) sees(op, "m", 65000);
  CHECK(missed == "");
}

// A fault at some sizes, but not at all larger ones, is detected by one of a few seeds.
TEST_CASE("properties/sizes/faults_at_some_sizes_are_seen_by_some_seed", "[property]") {
  const auto where = [](const char* op, const std::function<bool(const core::axis_sizes&)>& are_such) {
    const std::uint64_t seen_by = first_seed_where(op, are_such);
    INFO(op << ": seed " << seen_by);
    CHECK(seen_by > 0);
  };
  for (const char* op : {"heinsen/scan", "heinsen/scan:vjp", "rope/rotate", "attention/output", "sinusoidal/table"})
    where(op, [](const core::axis_sizes& sizes) { return sizes.at("n") > 1 && sizes.at("n") % 500 == 1; });
  for (const char* op : {"heinsen/scan", "rope/rotate:vjp", "attention/output", "fox/decay"})
    where(op, [](const core::axis_sizes& sizes) {
      std::size_t elements = 1;
      for (const auto& [symbol, size] : sizes) elements *= size;
      return elements > std::size_t{1} << 17;
    });
}

// Equal seeds give equal plans, and other seeds give other sizes; sizes that must be exact stay.
TEST_CASE("properties/sizes/are_drawn_from_the_seed", "[property]") {
  const core::operation& op = operation_of("heinsen/scan");
  const auto sizes = [&](std::uint64_t with_seed) {
    std::set<std::string> all;
    for (const case_key& key :
         plan_of(truth_property(op), description{}, op, core::dtype::f32, options_of_effort(false, with_seed))) {
      std::string axes;
      for (const auto& [symbol, size] : key.size.axes) axes += fmt::format("{}={} ", symbol, size);
      all.insert(axes);
    }
    return all;
  };
  CHECK(sizes(1) == sizes(1));
  CHECK(sizes(1) != sizes(2));
  for (const std::uint64_t s : {1, 2, 3}) CHECK(sizes(s).contains("B=2 d=64 n=128 "));
}

TEST_CASE("attention/sizes/indices_of_16_bits_are_seen", "[property]") {
  const auto is_seen_of = [](std::size_t (*index)(std::size_t, std::size_t), std::size_t from, const char* op) {
    reads_bias_at candidate(index);
    return is_seen(candidate, operation_of(op), core::dtype::f32, options_of_effort(false, 1),
                   [from](const core::axis_sizes& sizes) { return sizes.at("m") > from; });
  };
  for (const char* op : {"attention/output", "attention/output:vjp"}) {
    CHECK(is_seen_of(
        [](std::size_t key, std::size_t keys) {
          const auto j = static_cast<std::int64_t>(static_cast<std::int16_t>(key));
          return static_cast<std::size_t>(j < 0 ? j + static_cast<std::int64_t>(keys) : j) % keys;
        },
        std::size_t{1} << 15, op));
    CHECK(is_seen_of([](std::size_t key, std::size_t) { return key % (std::size_t{1} << 16); }, std::size_t{1} << 16,
                     op));
  }
}

// The last key is alone in its block, or its block lacks one key.
TEST_CASE("attention/sizes/tails_of_blocks_are_seen", "[property]") {
  const auto is_seen_of = []<std::size_t block, std::size_t left>() {
    reads_bias_at candidate([](std::size_t key, std::size_t keys) {
      return keys > block && keys % block == left && key + 1 == keys ? std::size_t{0} : key;
    });
    return is_seen(
        candidate, operation_of("attention/output"), core::dtype::f32, options_of_effort(false, 1),
        [](const core::axis_sizes& sizes) { return sizes.at("m") > block && sizes.at("m") % block == left; });
  };
  CHECK(is_seen_of.operator()<32, 1>());
  CHECK(is_seen_of.operator()<64, 1>());
  CHECK(is_seen_of.operator()<128, 1>());
  CHECK(is_seen_of.operator()<256, 1>());
  CHECK(is_seen_of.operator()<64, 63>());
}

TEST_CASE("properties/sizes/sums_in_bf16_are_seen", "[property]") {
  for (const char* name : {"attention/output", "attention/output:vjp", "fox/attention", "fox/attention:vjp",
                           "heinsen/embed_position", "heinsen/embed_position:vjp", "rope/rotate_by:vjp",
                           "sinusoidal/table_at:vjp", "alibi/bias:vjp", "t5_bias/bias:vjp", "fox/decay:vjp"}) {
    const core::operation& op = operation_of(name);
    sums_in_bf16 candidate(op);
    INFO(name);
    // Only inputs of one sign: these inputs detect it, and not chance.
    run_options options = options_of_effort(false, 1);
    options.families = {properties::one_sign};
    // A diagnosis needs a smaller case; for all operations it would take minutes.
    const bool diagnosed =
        std::string_view(name) == "attention/output" || std::string_view(name) == "rope/rotate_by:vjp";
    if (!diagnosed) options.shrink_calls = 0;
    const check_result r = run_property(truth_property(op), candidate, op, core::dtype::bf16, options);
    REQUIRE(r.verdict() == status::failed);
    if (!diagnosed) continue;
    const diagnosis d = diagnose(candidate, op, core::dtype::bf16, {{{r.checked, r.found->minimal}}, seed});
    INFO(summary(r.found->minimal) << ": " << d.explained.value_or("") << " facts: " << d.facts.value_or(""));
    CHECK_THAT(d.explained.value_or(""), Catch::Contains("explained if ") && Catch::Contains("accumulation ("));
  }
}

// properties_test "properties/sizes/shares_seen*"
TEST_CASE("properties/sizes/shares_seen_of_faults_that_begin_at_a_drawn_size", "[.soak]") {
  core::counter_random random(seed);
  std::map<std::string, share> shares;
  for (std::size_t k = 0; k < scaled(drawn_faults); ++k) {
    const size_fault f = draw_fault(random);
    const core::dtype type = core::dtype::f32;
    const bool one = is_seen(f, type, options_of_effort(false, 1));
    bool ten = one;
    for (std::uint64_t s = 2; s <= seeds && !ten; ++s) ten = is_seen(f, type, options_of_effort(false, s));
    const bool full = one || is_seen(f, type, options_of_effort(true, 1));
    for (const std::string& name : {std::string("all"), "axis " + f.axis}) shares[name].add(one, ten, full);
    fmt::print("{} from {} = {}, every {}{}: {}\n", f.operation->name, f.axis, f.from, f.every,
               f.all_of_the_call ? ", the whole call" : "",
               one    ? "one quick run"
               : ten  ? "ten quick runs"
               : full ? "a full run"
                      : "not seen");
    std::fflush(stdout);
  }
  const auto percent = [](std::size_t n, std::size_t total) { return 100.0 * static_cast<double>(n) / double(total); };
  for (const auto& [name, s] : shares)
    fmt::print("{}: {} faults; seen by one quick run {:.0f} %, ten seeds {:.0f} %, a full run {:.0f} %\n", name, s.all,
               percent(s.by_one_run, s.all), percent(s.by_ten, s.all), percent(s.by_full, s.all));
  CHECK(percent(shares["all"].by_one_run, shares["all"].all) >= 60);
  CHECK(percent(shares["all"].by_ten, shares["all"].all) >= 90);
  CHECK(percent(shares["all"].by_full, shares["all"].all) >= 95);
}
