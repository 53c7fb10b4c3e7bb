// Stick-breaking attention: families and laws.
#include <algorithm>

#include "properties/harness/usual_sizes.hpp"
#include "properties/kinds/attention.hpp"
#include "reference/core/special_values.hpp"
#include "reference/oracle.hpp"

namespace assay::properties::encodings::sba {

std::vector<variant> mutants();  // variants.cpp
std::vector<variant> controls();

namespace {

using core::infinity;

// Families.

using logit_source = double (*)(core::counter_random& random);
// Logits of weights, or of attention.
input_filler with_logits(logit_source logit) {
  return [logit](drawn_inputs& in, const core::operation&, core::dtype, core::counter_random& random) {
    if (!in.numbers.contains("z")) return draw_logits(in, logit, random);
    for (double& x : in.numbers.at("z")) x = logit(random);
  };
}
family of_logits(std::string name, std::string summary, logit_source logit) {
  return attention_family(std::move(name), std::move(summary), with_logits(logit));
}
double usual(core::counter_random& random) { return 1.5 * random.normal(); }
void mild(drawn_inputs& in, const core::operation& op, core::dtype type, core::counter_random& random) {
  if (in.numbers.contains("z")) with_logits(usual)(in, op, type, random);
}
double sharp(core::counter_random& random) { return random.one_in(3) ? random.uniform(9, 16) : usual(random); }
double faint(core::counter_random& random) { return random.uniform(-20, -15); }
double large(core::counter_random& random) { return 30 * random.normal(); }
double with_transparent(core::counter_random& random) { return random.one_in(3) ? -infinity : usual(random); }
double with_infinite(core::counter_random& random) { return random.one_in(4) ? infinity : usual(random); }
double with_nan(core::counter_random& random) { return random.one_in(6) ? std::nan("") : usual(random); }
// Only queries get a NaN: a sum over all values gives NaN for a value of NaN even if its weight is 0, which is no
// fault.
void nan_in_a_query(drawn_inputs& in, const core::operation&, core::dtype, core::counter_random& random) {
  std::vector<double>& q = in.numbers.at("q");
  if (!q.empty()) q[random.below(q.size())] = std::nan("");
}
void one_for_all(drawn_inputs& in, const core::operation&, core::dtype, core::counter_random& random) {
  for (const char* name : {"z", "q", "k"})
    if (const auto x = in.numbers.find(name); x != in.numbers.end())
      std::fill(x->second.begin(), x->second.end(), random.uniform(*name == 'z' ? -8 : -2, *name == 'z' ? 4 : 2));
}

// Laws.

// Broken parts and remainder add up to the whole stick if softplus is exact.
void check_whole_stick(experiment& e) {
  e.needs(core::setting<std::string>(core::completed(*e.c.call.operation, e.c.call.attributes), "softplus") == "exact");
  const numbers a(e.call(), "a"), r(e.call(), "r");
  const std::size_t m = r.size() == 0 ? 0 : a.size() / r.size();
  for (std::size_t row = 0; row < r.size(); ++row)
    e.equal(exactly(1.0), sum_of(a, row * m, row * m + m) + r[row], "row {}: its weights and the remainder", row);
}

// The usual sizes by roles without expensive ones: heads as wide as in models have few queries.
std::vector<usual_size> sizes() {
  const std::string attention = "sba/attention";
  std::vector<usual_size> all = sizes_by_roles(*reference::find_operation(attention));
  std::erase_if(all, [](const usual_size& u) { return u.axes.at("n") > 64 && u.axes.at("m") > 64; });
  add_sizes(all, {attention}, "B h n m d e",
            "1 1 9 130 64 64, 1 1 9 130 128 128, 1 1 66 9 66 2, 1 2 66 130 2 2, 2 2 127 191 1 1");
  return all;
}

}  // namespace

encoding_tests make_tests() {
  encoding_tests tests;
  tests.name = "sba";
  tests.families = {
      parting_classes(attention_family("mild", "logits of order 1", mild)),
      of_logits("sharp", "logits about 10.4 and 15, where approximations of softplus switch", sharp),
      parting_classes(
          long_along("m", of_logits("faint", "logits of -15 to -20: many keys break off next to nothing", faint))),
      parting_classes(attention_family("one_logit", "one logit for all keys: geometric weights", one_for_all)),
      of_logits("large", "logits of order 30: one key takes nearly all", large),
      of_input("z", of_logits("transparent", "every third logit is -inf", with_transparent)),
      holding_nan(of_input("z", of_logits("infinite_logits", "every fourth logit is +inf", with_infinite))),
      holding_nan(of_input("z", of_logits("nan_logits", "a NaN among the logits", with_nan))),
      holding_nan(of_input("q", attention_family("nan_inside", "a NaN in a query", nan_in_a_query))),
  };
  tests.sizes = sizes();
  tests.long_ones = {{{"sba/weights"}, {{"m", 2}}}, {{"sba/attention"}, {{"m", 2}}, {{"m", 33000}}}};
  tests.mutants = mutants();
  tests.controls = controls();
  const std::vector<std::string> finite{"mild", "sharp", "faint", "one_logit", "transparent"};
  tests.laws = {law("sba_whole_stick", "the weights of a query and what it leaves add up to 1",
                    {{"sba/weights"}, finite}, {1, check_whole_stick})};
  return tests;
}

}  // namespace assay::properties::encodings::sba
