#include "reference/core/tensor.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "reference/core/result.hpp"

namespace assay::core {

std::size_t element_count(const shape& s) {
  return std::accumulate(s.begin(), s.end(), std::size_t{1}, std::multiplies<>{});
}

std::string to_string(const shape& s) {
  std::string text = "[";
  for (std::size_t i = 0; i < s.size(); ++i) text += (i ? ", " : "") + std::to_string(s[i]);
  return text + "]";
}

std::string index_text(const shape& s, std::size_t flat) {
  shape index(s.size());
  for (std::size_t i = s.size(); i-- > 0; flat /= s[i]) index[i] = flat % s[i];
  return to_string(index);
}

std::size_t stride_of(const shape& s, std::size_t axis) {
  return element_count({s.begin() + static_cast<std::ptrdiff_t>(axis) + 1, s.end()});
}

tensor unwritten(dtype type, const shape& s) { return {type, xt::xarray<double>::from_shape(s)}; }

tensor zeros(dtype type, const shape& s) {
  tensor t = unwritten(type, s);
  std::fill(t.values.storage().begin(), t.values.storage().end(), 0.0);
  return t;
}

tensor make_tensor(dtype type, const shape& s, const std::vector<double>& values) {
  ASSAY_EXPECTS(values.size() == element_count(s));
  tensor t = zeros(type, s);
  std::transform(values.begin(), values.end(), t.values.storage().begin(),
                 [type](double x) { return is_floating(type) ? round_to(type, x) : x; });
  return t;
}

tensor cast(dtype type, const tensor& t) {
  tensor out{type, t.values};
  for (double& x : out.values.storage()) x = round_to(type, x);
  return out;
}

tensor take(const tensor& t, std::size_t axis, const std::vector<std::size_t>& positions) {
  const shape from = t.shape();
  ASSAY_EXPECTS(axis < from.size());
  shape to = from;
  to[axis] = positions.size();
  const auto split = from.begin() + static_cast<std::ptrdiff_t>(axis);
  const std::size_t outer = element_count({from.begin(), split}), inner = element_count({split + 1, from.end()});
  tensor out = zeros(t.type, to);
  for (std::size_t o = 0; o < outer; ++o)
    for (std::size_t k = 0; k < positions.size(); ++k) {
      ASSAY_EXPECTS(positions[k] < from[axis]);
      std::copy_n(t.values.data() + (o * from[axis] + positions[k]) * inner, inner,
                  out.values.data() + (o * positions.size() + k) * inner);
    }
  return out;
}

tensor slice(const tensor& t, std::size_t axis, std::size_t first, std::size_t last) {
  ASSAY_EXPECTS(first <= last);
  std::vector<std::size_t> positions(last - first);
  std::iota(positions.begin(), positions.end(), first);
  return take(t, axis, positions);
}

bool same_value(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

bool identical(const tensor& a, const tensor& b) {
  return a.type == b.type && a.shape() == b.shape() &&
         std::equal(a.values.storage().begin(), a.values.storage().end(), b.values.storage().begin(), same_value);
}

}  // namespace assay::core
