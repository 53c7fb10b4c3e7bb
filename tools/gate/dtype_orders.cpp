#include "tools/gate/dtype_orders.hpp"

#include <algorithm>

#include "properties/laws/laws.hpp"
#include "tools/gate/stopwatch.hpp"

namespace assay::tools {
namespace {

using properties::status;
using properties::test_case;

// A few tokens, and more than the first size of small tables.
constexpr std::size_t tokens_tried[] = {3, 33};

class orders {
 public:
  orders(const properties::description& about, const properties::property& law, std::uint64_t seed,
         const properties::fresh_start& fresh)
      : about_(about), law_(law), seed_(seed), fresh_(fresh) {}

  void run(core::dtype first, std::vector<part_record>& records) {
    std::unique_ptr<properties::implementation> started;
    for (part_record& r : records) {
      if (!is_tried(r, first)) continue;
      if (!started) started = fresh_();
      if (!started) return;
      const stopwatch order_stopwatch;
      for (const std::size_t tokens : tokens_tried)
        if (const auto c = draw_case(r, first, tokens); c && fails(r, *c, *started)) break;
      if (r.checks.back().checked == &law_) r.seconds[law_.name] += order_stopwatch.seconds();
    }
  }

 private:
  [[nodiscard]] bool is_tried(const part_record& r, core::dtype first) const {
    return r.type != first && about_.offers(r.operation->name, first) && !r.adapter && !r.checks.empty() &&
           std::none_of(r.checks.begin(), r.checks.end(),
                        [](const properties::check_result& c) { return c.verdict() == status::failed; });
  }

  // A mild case inside the domain in both dtypes, if one of a few drawn cases is.
  [[nodiscard]] std::optional<test_case> draw_case(const part_record& r, core::dtype first, std::size_t tokens) const {
    constexpr std::uint64_t draws = 64;
    for (std::uint64_t k = 0; k < draws; ++k) {
      const test_case c = make_case(
          properties::mild_key_for(about_, *r.operation, r.type, seed_ + k, {properties::lengths::exactly, tokens}));
      if (within_domain(about_, c) && within_domain(about_, properties::in_dtype(c, first)))
        return properties::after_dtype(about_, c, first);
    }
    return std::nullopt;
  }

  // Whether a case fails; if so, the record shows it.
  bool fails(part_record& r, const test_case& c, properties::implementation& started) {
    properties::outcome o = law_.check(started, c);
    std::optional<core::dtype> kept;
    if (o.verdict == status::failed) {
      kept = properties::wrong_after_dtype(c, about_, fresh_);
      // A second program beside the first one may lack a device: this says nothing about dtypes.
      if (o.failure && !kept) o = {status::unsupported};
    }
    properties::check_result& check = check_of(r);
    ++check.planned;
    record_case(check, c, o);
    if (o.verdict != status::failed) return false;
    check.found = properties::counterexample{c, c, std::move(o)};
    if (kept)
      r.found.explained = properties::first_dtype_words(r.type, *kept);
    else if (properties::wrong_after_itself(c, about_, fresh_))
      r.found.explained = properties::after_itself_words();
    return true;
  }

  properties::check_result& check_of(part_record& r) const {
    if (r.checks.back().checked != &law_) {
      r.checks.emplace_back();
      r.checks.back().checked = &law_;
      r.checks.back().operation = r.operation;
      r.checks.back().type = r.type;
    }
    return r.checks.back();
  }

  const properties::description& about_;
  const properties::property& law_;
  std::uint64_t seed_;
  const properties::fresh_start& fresh_;
};

}  // namespace

void check_dtype_orders(const properties::description& about, const selection& s, std::uint64_t seed,
                        const properties::fresh_start& fresh, std::vector<part_record>& records) {
  const properties::property* law = properties::find_property(dtype_order);
  const bool is_selected = std::find(s.properties.begin(), s.properties.end(), law) != s.properties.end();
  if (!is_selected || !fresh || about.relayed || about.recorded || s.goes_on) return;
  orders all(about, *law, seed, fresh);
  for (const core::dtype first : s.dtypes) all.run(first, records);
}

}  // namespace assay::tools
