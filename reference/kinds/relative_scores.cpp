#include "reference/kinds/relative_scores.hpp"

namespace assay::reference {

using formula::traced;
using formula::traced_integer;

traced product_of(const score_term& term) {
  const traced products = covering(contracted(term.x, term.y, term.letters),
                                   [&] { return contracted(rounded_once(term.x), term.y, term.letters); });
  return term.pick_pairs ? term.pick_pairs(products) : products;
}

traced scaled_sum(const traced& factor, const std::vector<traced>& products) {
  traced sum = products.front();
  for (std::size_t k = 1; k < products.size(); ++k) sum = sum + products[k];
  return factor * sum;
}

traced factor_of_logits(const std::string& setting, std::size_t width) {
  const rational exponent = factor_exponent(setting, width);
  return exponent.p == 0 ? traced(1.0) : power(formula::setting(static_cast<double>(width)), exponent);
}

traced score_scheme::scaled_scores(const traced& scale, const std::vector<score_term>& terms) const {
  std::vector<traced> products;
  for (const score_term& t : terms) products.push_back(product(t));
  return score(scale, products);
}

traced_integer integers_of_pairs(std::size_t n, std::size_t m,
                                 const std::function<std::int64_t(std::size_t i, std::size_t j)>& row) {
  std::vector<std::int64_t> rows;
  rows.reserve(n * m);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < m; ++j) rows.push_back(row(i, j));
  return formula::known_integers({n, m}, rows);
}

traced products_by_query(const traced& products, const traced_integer& rows) {
  core::shape shape = shape_of(products);
  shape.back() = shape_of(rows).back();
  return taken_along(products, broadcast(rows, shape), shape.size() - 1);
}

traced products_by_key(const traced& products, const traced_integer& rows) {
  std::vector<std::int64_t> axes;
  for (std::size_t k = 0; k < shape_of(products).size(); ++k) axes.push_back(static_cast<std::int64_t>(k));
  std::swap(axes[axes.size() - 2], axes.back());
  return transposed(products_by_query(products, rows), axes);
}

traced plus_vector_of_head(const traced& x, const traced& vectors) {
  const core::shape shape = shape_of(vectors);
  return x + reshaped(vectors, {shape[0], 1, shape[1]});
}

}  // namespace assay::reference
