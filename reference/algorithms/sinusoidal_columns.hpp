// The columns of a sinusoidal table: the function and the frequency of each column.
//
// The paper's columns alternate between sine and cosine of one frequency; tensor2tensor has all sines, then all
// cosines; Su (2021) has the cosine first. The geometric sequence of frequencies ends at base^(-(d-2)/d) in the paper
// and at 1/base in tensor2tensor, whose code divides by a number that is one less.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "reference/core/attributes.hpp"
#include "reference/formula/recording.hpp"

namespace assay::reference {

enum class waveform { zero, sine, cosine };

struct column {
  waveform function = waveform::zero;
  std::size_t pair = 0;  ///< the index of its frequency
};

/// `leading` columns of one function and `trailing` columns of the other; `trailing` is `leading`, or one less.
/// Settings: "layout" is "interleaved" or "half_split", "first" is "sine" or "cosine".
inline std::vector<column> arrange_pairs(const core::attributes& settings, std::size_t leading, std::size_t trailing) {
  const bool sine_first = core::chosen<bool>(settings, "first", {{"sine", true}, {"cosine", false}});
  const waveform one = sine_first ? waveform::sine : waveform::cosine;
  const waveform other = sine_first ? waveform::cosine : waveform::sine;
  const bool interleaved = core::chosen<bool>(settings, "layout", {{"interleaved", true}, {"half_split", false}});
  std::vector<column> all;
  for (std::size_t i = 0; i < leading; ++i) {
    all.push_back({one, i});
    if (interleaved && i < trailing) all.push_back({other, i});
  }
  for (std::size_t i = 0; !interleaved && i < trailing; ++i) all.push_back({other, i});
  return all;
}

/// The scale of frequencies: theta of pair i is base^-t, or t^alpha where it is a power; t = stride i / steps.
struct frequency_scale {
  std::size_t stride = 1, steps = 1;
  bool is_power = false;
};

/// The scale for `count` frequencies and `width` columns: "paper" b^(-2i/width), "tensor2tensor" b^(-i/max(count - 1,
/// 1)), "power" (2i/width)^alpha.
inline frequency_scale scale_of(const std::string& rule, std::size_t width, std::size_t count) {
  return core::chosen<frequency_scale>(rule, {{"paper", {2, width}},
                                              {"tensor2tensor", {1, std::max<std::size_t>(count, 2) - 1}},
                                              {"power", {2, width, true}}});
}

/// base^-t for the first `count` exponents t = stride i / steps, along an axis after those of the base.
inline formula::traced frequencies_of_scale(const formula::traced& base, std::size_t count, const frequency_scale& by) {
  const std::size_t steps = std::max<std::size_t>(by.steps, 1);  // 0 where no column has a frequency
  if (steps % by.stride == 0) return formula::geometric_frequencies(base, 0, count, steps / by.stride);
  const formula::traced all = formula::geometric_frequencies(base, 0, by.stride * count, steps);
  const auto stride = formula::traced_integer::constant(static_cast<std::int64_t>(by.stride));
  return gathered(all, formula::counted(count) * stride, shape_of(base).size());
}

struct table_plan {
  frequency_scale scale;
  std::vector<column> columns;
};

/// All columns of a table. For an odd width d: "odd" = "zero" fills floor(d/2) pairs and leaves the last column 0;
/// "padded" puts a column of 0 after the table of width d - 1, whose exponents are i / floor(d/2); "extra" gives the
/// first function ceil(d/2) columns and the other one floor(d/2). Width 1 is one zero, or the first function of m.
inline table_plan plan_of_table(const core::attributes& settings) {
  const auto width = static_cast<std::size_t>(core::setting<std::int64_t>(settings, "width"));
  enum class last_column { zero, padded, extra };
  const auto last = core::chosen<last_column>(
      settings, "odd", {{"zero", last_column::zero}, {"extra", last_column::extra}, {"padded", last_column::padded}});
  const std::size_t pairs = width / 2, leading = last == last_column::extra ? width - pairs : pairs;
  const std::size_t without_padding = last == last_column::padded ? 2 * pairs : width;
  table_plan plan{scale_of(core::setting<std::string>(settings, "rule"), without_padding, leading),
                  arrange_pairs(settings, leading, pairs)};
  plan.columns.resize(width);
  return plan;
}

}  // namespace assay::reference
