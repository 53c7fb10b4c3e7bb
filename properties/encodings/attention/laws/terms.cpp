#include "properties/encodings/attention/laws/terms.hpp"

#include <cmath>

namespace assay::properties::encodings::attention {
namespace {

constexpr std::size_t model_width = 2;

// A matrix of -1, 0 and 1.
struct small_matrix {
  std::size_t rows, columns;
  std::vector<double> x;
  small_matrix(std::size_t r, std::size_t s) : rows(r), columns(s), x(r * s) {}
  small_matrix(std::size_t r, std::size_t s, core::counter_random& random) : small_matrix(r, s) {
    for (double& e : x) e = static_cast<double>(random.below(3)) - 1.0;
  }
  [[nodiscard]] double at(std::size_t i, std::size_t j) const { return x[i * columns + j]; }
};

small_matrix operator*(const small_matrix& a, const small_matrix& b) {
  small_matrix product(a.rows, b.columns);
  for (std::size_t i = 0; i < a.rows; ++i)
    for (std::size_t j = 0; j < b.columns; ++j)
      for (std::size_t k = 0; k < a.columns; ++k) product.x[i * b.columns + j] += a.at(i, k) * b.at(k, j);
  return product;
}

double dot(const small_matrix& a, std::size_t i, const small_matrix& b, std::size_t j) {
  double sum = 0;
  for (std::size_t k = 0; k < a.columns; ++k) sum += a.at(i, k) * b.at(j, k);
  return sum;
}

void append(std::vector<double>& to, const small_matrix& content, const small_matrix* position) {
  for (std::size_t i = 0; i < content.x.size(); ++i) to.push_back(content.x[i] + (position ? position->x[i] : 0.0));
}

// Queries, keys and bias of one batch row, all heads.
struct both_forms {
  std::vector<double> q, k, bias;                      // content and position together; the mask alone
  std::vector<double> content_q, content_k, position;  // content alone; what the positions add to the logits
};

// One head; `mask` holds the bias of the case, of which -inf is kept.
void add_head(both_forms& all, std::size_t queries, std::size_t keys, std::size_t width, double scale,
              const double* mask, core::counter_random& random) {
  const small_matrix to_query(model_width, width, random), to_key(model_width, width, random);
  const auto draw = [&](std::size_t tokens, const small_matrix& w) {
    return small_matrix(tokens, model_width, random) * w;
  };
  const small_matrix xq = draw(queries, to_query), pq = draw(queries, to_query), xk = draw(keys, to_key),
                     pk = draw(keys, to_key);
  append(all.q, xq, &pq), append(all.k, xk, &pk);
  append(all.content_q, xq, nullptr), append(all.content_k, xk, nullptr);
  for (std::size_t i = 0; i < queries; ++i)
    for (std::size_t j = 0; j < keys; ++j) {
      const double hidden = std::isinf(mask[i * keys + j]) ? mask[i * keys + j] : 0.0;
      all.bias.push_back(hidden);
      all.position.push_back(hidden + scale * (dot(xq, i, pk, j) + dot(pq, i, xk, j) + dot(pq, i, pk, j)));
    }
}

}  // namespace

void check_four_terms(experiment& e) {
  const test_case& c = e.c;
  const core::axis_sizes sizes = sizes_of(c);
  const std::size_t heads = sizes.at("h"), n = sizes.at("n"), m = sizes.at("m"), width = c.seed % 3 == 0 ? 1 : 4;
  e.needs(sizes.at("B") * heads * n * m > 0);
  const bool scaled =
      core::setting<std::string>(core::completed(*c.call.operation, c.call.attributes), "scale") != "one";
  core::counter_random random(c.seed);
  both_forms all;
  for (std::size_t h = 0; h < heads; ++h)
    add_head(all, n, m, width, scaled && width == 4 ? 0.5 : 1.0,
             c.call.inputs.at("bias").values.storage().data() + h * n * m, random);
  core::tensors apart = core::restrict_axis(*c.call.operation, c.call.inputs, "B", {0});
  const auto make = [&](std::size_t tokens, const std::vector<double>& x) {
    return core::make_tensor(c.call.type, {1, heads, tokens, width}, x);
  };
  core::tensors together = apart;
  together.at("q") = make(n, all.q), together.at("k") = make(m, all.k);
  together.at("bias") = core::make_tensor(c.call.type, {heads, n, m}, all.bias);
  apart.at("q") = make(n, all.content_q), apart.at("k") = make(m, all.content_k);
  apart.at("bias") = core::make_tensor(c.call.type, {heads, n, m}, all.position);
  const measured_call& absolute = e.call(with_inputs(c, std::move(together)));
  const measured_call& biased = e.call(with_inputs(c, std::move(apart)));
  for (const char* name : {"o", "grad_v", "grad_bias"})
    if (const auto t = absolute.outputs.find(name); t != absolute.outputs.end())
      e.equal(name, absolute, every(t->second.size()), biased, every(t->second.size()),
              "terms of positions in the bias");
}

}  // namespace assay::properties::encodings::attention
