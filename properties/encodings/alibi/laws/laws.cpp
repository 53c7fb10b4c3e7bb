#include "properties/encodings/alibi/laws/laws.hpp"

#include <cmath>

#include "properties/encodings/alibi/laws/cases.hpp"

namespace assay::properties::encodings::alibi {
namespace {

const std::vector<std::string> positions{"query_position", "key_position"};

bool is_form(const test_case& c, const char* form) { return setting<std::string>(c, "form") == form; }

double later(const test_case& c, double p) { return p + static_cast<double>(1 + c.seed % 1000); }
double twice(const test_case&, double x) { return 2 * x; }

// Nothing changes in forms of the distance, a row constant in forms of the key.
void compare_by_form(experiment& e, const measured_call& expected, const measured_call& actual,
                     const std::string& what) {
  if (is_form(e.c, "distance") || is_form(e.c, "absolute"))
    e.equal(expected, actual, what);
  else
    e.equal_but_row_constants("bias", expected, actual, what);
}

// `distance`, the key forms and, under the causal mask, `absolute` differ by row constants.
bool is_like_distance(const test_case& c) {
  return has_elements(c) && !is_form(c, "distance") && (!is_form(c, "absolute") || setting<bool>(c, "causal"));
}

// Position interpolation: every second position with the slopes m is every position with the slopes 2 m.
bool scales(const test_case& c) { return has_elements(c) && !is_form(c, "key_from_last"); }

void check_mask(experiment& e) {
  e.needs(has_elements(e.c));
  const numbers bias(e.call(), "bias");
  const auto &queries = query_positions(e.c), &keys = key_positions(e.c);
  for (std::size_t k = 0; k < bias.size(); ++k) {
    const double query = queries[k / keys.size() % queries.size()], key = keys[k % keys.size()];
    const bool masked = setting<bool>(e.c, "causal") && key > query;
    e.equal(exactly(masked), exactly(std::isinf(bias.x[k]) && bias.x[k] < 0),
            "query at {}, key at {}, bias {}: whether it should be masked, and is", query, key, bias.x[k]);
  }
}

}  // namespace

std::vector<property> bias_laws() {
  const law_scope bias = of("alibi/bias");
  std::vector<property> all{
      law("alibi_shift", "all tokens later: the same biases, or the same after softmax", bias,
          agree_after(where(has_elements, each_of(positions, later)), "all tokens later", compare_by_form)),
      law("alibi_forms", "distance and key forms are the same after softmax", bias,
          agree_between(where(is_like_distance, with({{"form", std::string("distance")}})), unchanged_case(),
                        "the form distance, and this one", but_row_constants("bias"))),
      law("alibi_mask", "-inf exactly for keys after a causal query", bias, {1, check_mask}),
      law("alibi_stride", "slopes m at stride 2 are slopes 2m at stride 1", bias,
          agree_between(where(scales, each_of(positions, twice)), each_of({"slopes"}, twice),
                        "at stride 2, and with slopes 2 m")),
  };
  for (auto* others : {square_laws, key_laws, gradient_laws, attention_laws})
    for (property& p : others()) all.push_back(std::move(p));
  return all;
}

}  // namespace assay::properties::encodings::alibi
