#include "reference/formula/sums.hpp"

namespace assay::reference::formula {
namespace {

// The places of all indices of a shape, in row-major order.
template <std::size_t N>
std::vector<std::array<std::size_t, N>> all_places(const core::shape& shape, const std::array<strides, N>& steps) {
  std::vector<std::array<std::size_t, N>> places;
  places.reserve(elements_of(shape));
  walk<N> at(shape, steps);
  for (std::size_t count = elements_of(shape); count > 0; --count, at.next()) places.push_back(at.at());
  return places;
}

std::vector<std::size_t> all_places(const core::shape& shape, const strides& steps) {
  std::vector<std::size_t> places;
  for (const auto& [at] : all_places<1>(shape, {steps})) places.push_back(at);
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
}

contracted_places::contracted_places(const contraction& letters, const core::shape& made, const core::shape& x,
                                     const core::shape& y) {
  const auto steps_of = [](const std::string& walked, const std::string& own, const core::shape& shape) {
    const strides all = row_major(shape);
    strides steps;
    for (const char letter : walked) {
      const std::size_t at = own.find(letter);
      steps.push_back(at == std::string::npos ? 0 : all[at]);
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
}

truths reduced(op what, const truths& x, const reduced_rows& rows) {
  truths made;
  for (const std::size_t first : rows.first) {
    boost::tribool r = what == op::all;
    for (const std::size_t at : rows.within) r = what == op::all ? r && x[first + at] : r || x[first + at];
    made.push_back(r);
  }
  return made;
}

integers cumulative_sums(integers x, const rows_along& rows) {
  for (std::size_t r = 0; r < rows.count; ++r)
    for (std::size_t i = 1; i < rows.size; ++i) {
      const std::size_t at = rows.first(r) + i * rows.step;
      x[at] = integer_result(op::add, x[at - rows.step], x[at]);
    }
  return x;
}

}  // namespace assay::reference::formula
