#include "reference/formula/arrays.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace assay::reference::formula {
namespace {

std::vector<place> strided(const core::shape& made, const strides& steps, std::size_t first = 0) {
  std::vector<std::size_t> offsets(elements_of(made));
  walk_by_rows(made, steps).next(offsets.data(), offsets.size());
  std::vector<place> all;
  all.reserve(offsets.size());
  for (const std::size_t from : offsets) all.push_back({0, first + from});
  return all;
}

// A negative step is stored modulo 2^64.
std::vector<place> sliced(const node& n, const core::shape& made, const core::shape& x) {
  strides steps = row_major(x);
  std::size_t first = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    first += static_cast<std::size_t>(n.integers[0][k]) * steps[k];
    steps[k] *= static_cast<std::size_t>(n.integers[2][k]);
  }
  return strided(made, steps, first);
}

std::vector<place> concatenated(std::size_t axis, const core::shape& made, const std::vector<const core::shape*>& in) {
  std::vector<place> all;
  all.reserve(elements_of(made));
  const std::size_t behind = row_major(made)[axis];
  std::size_t before = 1;
  for (std::size_t k = 0; k < axis; ++k) before *= made[k];
  for (std::size_t b = 0; b < before; ++b)
    for (std::size_t input = 0; input < in.size(); ++input) {
      const std::size_t together = (*in[input])[axis] * behind;
      for (std::size_t k = 0; k < together; ++k) all.push_back({input, b * together + k});
    }
  return all;
}

std::size_t within(std::int64_t index, std::size_t size) {
  if (index < 0 || static_cast<std::uint64_t>(index) >= size)
    throw evaluation_error(fmt::format("index {} of an axis of {}", index, size));
  return static_cast<std::size_t>(index);
}

// x[:axis] + indices + x[axis + 1:]
std::vector<place> gathered(std::size_t axis, const core::shape& x, const integers& indices) {
  const std::size_t behind = row_major(x)[axis], size = x[axis];
  std::size_t before = 1;
  for (std::size_t k = 0; k < axis; ++k) before *= x[k];
  std::vector<place> all;
  all.reserve(before * indices.size() * behind);
  for (std::size_t b = 0; b < before; ++b)
    for (const std::int64_t index : indices) {
      const std::size_t first = (b * size + within(index, size)) * behind;
      for (std::size_t k = 0; k < behind; ++k) all.push_back({0, first + k});
    }
  return all;
}

std::vector<place> taken_along(std::size_t axis, const core::shape& made, const core::shape& x,
                               const integers& indices) {
  strides steps = row_major(x);
  const std::size_t step = steps[axis];
  steps[axis] = 0;
  std::vector<place> all = strided(made, steps);
  for (std::size_t k = 0; k < all.size(); ++k) all[k].element += within(indices[k], x[axis]) * step;
  return all;
}

std::vector<place> updated(const node& n, const core::shape& x, const core::shape& part) {
  std::vector<place> all = strided(x, row_major(x));
  const strides own = row_major(x);
  walk<1> walker(part, {own});
  std::size_t first = 0;
  for (std::size_t k = 0; k < x.size(); ++k) first += static_cast<std::size_t>(n.integers[0][k]) * own[k];
  for (std::size_t k = 0; k < elements_of(part); ++k, walker.next()) all[first + walker.offsets()[0]] = {1, k};
  return all;
}

// The places of all indices of a shape, in row-major order.
template <std::size_t N>
std::vector<std::array<std::size_t, N>> all_places(const core::shape& shape, const std::array<strides, N>& steps) {
  std::vector<std::array<std::size_t, N>> places;
  places.reserve(elements_of(shape));
  walk<N> walker(shape, steps);
  for (std::size_t count = elements_of(shape); count > 0; --count, walker.next()) places.push_back(walker.offsets());
  return places;
}

std::vector<std::size_t> all_places(const core::shape& shape, const strides& steps) {
  std::vector<std::size_t> places;
  for (const auto& [index] : all_places<1>(shape, {steps})) places.push_back(index);
  return places;
}

}  // namespace

reduced_rows::reduced_rows(const core::shape& shape, const std::vector<std::int64_t>& axes) {
  const strides own = row_major(shape);
  core::shape kept, gone;
  strides kept_steps, gone_steps;
  for (std::size_t a = 0; a < shape.size(); ++a) {
    const bool goes = std::binary_search(axes.begin(), axes.end(), static_cast<std::int64_t>(a));
    (goes ? gone : kept).push_back(shape[a]);
    (goes ? gone_steps : kept_steps).push_back(own[a]);
  }
  first = all_places(kept, kept_steps);
  within = all_places(gone, gone_steps);
  for (const std::size_t size : gone) additions += static_cast<double>(size) - 1.0;
}

contracted_places::contracted_places(const contraction& letters, const core::shape& made, const core::shape& x,
                                     const core::shape& y) {
  const auto steps_of = [](const std::string& walked, const std::string& own, const core::shape& shape) {
    const strides all = row_major(shape);
    strides steps;
    for (const char letter : walked) {
      const std::size_t axis_found = own.find(letter);
      steps.push_back(axis_found == std::string::npos ? 0 : all[axis_found]);
    }
    return steps;
  };
  const auto steps = [&](const std::string& walked) {
    return std::array<strides, 2>{steps_of(walked, letters.x, x), steps_of(walked, letters.y, y)};
  };
  std::string summed;
  core::shape lengths;
  for (std::size_t a = 0; a < letters.x.size(); ++a)
    if (letters.result.find(letters.x[a]) == std::string::npos) {
      summed += letters.x[a];
      lengths.push_back(x[a]);
    }
  first = all_places<2>(made, steps(letters.result));
  within = all_places<2>(lengths, steps(summed));
  for (const std::size_t size : lengths) additions += static_cast<double>(size) - 1.0;
}

std::vector<place> places_of(const node& n, const core::shape& made, const std::vector<const core::shape*>& in,
                             const integers* indices) {
  const auto axis = [&] { return static_cast<std::size_t>(n.integer(0)); };
  switch (n.what) {
    case op::broadcast:
      return strided(made, broadcast_strides(*in[0], made));
    case op::transpose: {
      const strides own = row_major(*in[0]);
      strides steps;
      for (const std::int64_t from : n.integers[0]) steps.push_back(own[static_cast<std::size_t>(from)]);
      return strided(made, steps);
    }
    case op::slice:
      return sliced(n, made, *in[0]);
    case op::concatenate:
      return concatenated(axis(), made, in);
    case op::gather:
      return gathered(axis(), *in[0], *indices);
    case op::scatter_add:
      return gathered(axis(), *in[0], *indices);
    case op::scatter_add_along:
      return taken_along(axis(), *in[2], *in[0], *indices);
    case op::take_along:
      return taken_along(axis(), made, *in[0], *indices);
    default:
      ASSAY_EXPECTS(n.what == op::update);
      return updated(n, *in[0], *in[1]);
  }
}

std::int64_t integer_result(op what, std::int64_t x, std::int64_t y) {
  std::int64_t r = 0;
  bool overflows = false;
  switch (what) {
    case op::add:
      overflows = __builtin_add_overflow(x, y, &r);
      break;
    case op::subtract:
    case op::negative:
      overflows = __builtin_sub_overflow(x, y, &r);
      break;
    case op::multiply:
      overflows = __builtin_mul_overflow(x, y, &r);
      break;
    case op::maximum:
      return std::max(x, y);
    case op::minimum:
      return std::min(x, y);
    default: {
      ASSAY_EXPECTS(what == op::floor_divide || what == op::remainder);
      if (y == 0) throw evaluation_error(fmt::format("{} {} by 0", row_of(what).name, x));
      if (y == -1) {
        if (what == op::remainder) return 0;
        overflows = __builtin_sub_overflow(std::int64_t{0}, x, &r);
        break;
      }
      const std::int64_t quotient = x / y, rest = x % y;
      const bool rounds_up = rest != 0 && (rest < 0) != (y < 0);
      return what == op::remainder ? (rounds_up ? rest + y : rest) : (rounds_up ? quotient - 1 : quotient);
    }
  }
  if (overflows) throw evaluation_error(fmt::format("{} of {} and {} exceeds 64 bits", row_of(what).name, x, y));
  return r;
}

}  // namespace assay::reference::formula
