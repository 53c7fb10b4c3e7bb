#include "properties/harness/sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <set>
#include <tuple>

#include "properties/harness/one_sign.hpp"
#include "properties/harness/sizes_together.hpp"
#include "properties/harness/usual_sizes.hpp"
#include "reference/core/fnv1a.hpp"

namespace assay::properties {
namespace {

// The size of the largest tensor. Each axis that is not given has one element, or as many as go together with the given
// ones.
std::size_t largest_tensor(const core::operation& op, const core::axis_sizes& given) {
  core::axis_sizes sizes = given;
  for (const std::string& symbol : core::axis_symbols(op)) sizes.try_emplace(symbol, 1);
  sizes = sizes_together(op, {}, sizes, given);
  std::size_t most = 0;
  for (const auto* declared : {&op.inputs, &op.outputs})
    for (const core::tensor_declaration& d : *declared)
      most = std::max(most, core::element_count(core::shape_of(d, sizes)));
  return most;
}

core::counter_random random_for(const core::operation& op, core::dtype type, std::size_t number, std::uint64_t seed) {
  return core::counter_random(core::fnv1a(fmt::format("{} {} sizes {}", op.name, core::name_of(type), number), seed));
}

// Whether a size must be exact: blocks of kernels are full, or there is one element more or less.
bool stands_for_itself(std::size_t size) { return size % 8 == 0 || size % 32 == 1 || size % 32 == 31; }

std::vector<usual_size> usual_sizes(const core::operation& op, core::dtype type, const run_options& options) {
  std::vector<usual_size> all;
  const encoding_tests* tests = encoding_tests_of(op);
  if (tests == nullptr || options.sizes == run_options::usual::none) return all;
  const auto is_of_operation = [&](const usual_size& u) {
    return std::find(u.functions.begin(), u.functions.end(), op.forward_name()) != u.functions.end();
  };
  const bool are_declared = std::any_of(tests->sizes.begin(), tests->sizes.end(), is_of_operation);
  const std::vector<usual_size> sizes = are_declared ? tests->sizes : sizes_by_roles(op);
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    usual_size u = sizes[k];
    if ((!u.always && options.sizes != run_options::usual::all) || !is_of_operation(u)) continue;
    core::counter_random random = random_for(op, type, k, options.seed);
    for (auto& [symbol, size] : u.axes)
      if (const std::size_t more = random.below(size / 8 + 1); !stands_for_itself(size)) size += more;
    all.push_back(std::move(u));
  }
  return all;
}

std::size_t leave_out_large(std::vector<usual_size>& all, const core::operation& op, const run_options& options) {
  return std::erase_if(all, [&](const usual_size& u) { return largest_tensor(op, u.axes) > options.most_elements; });
}

std::size_t inside(const size_domains& declared, const std::string& symbol, std::size_t size) {
  const auto sizes = declared.find(symbol);
  return sizes == declared.end() ? size : std::max<std::size_t>(sizes->second.nearest(size), 1);
}

// The most elements that a tensor may have in a call with a long axis: such a call costs seconds in a full run, and
// less in a quick one.
std::size_t most_elements(const run_options& options) {
  const bool all = options.sizes == run_options::usual::all;
  return std::min(options.most_elements, std::size_t{all ? 1u << 22 : (1u << 18) + (1u << 13)});
}

long_calls calls_of(const core::operation& op, const encoding_tests& tests) {
  for (const long_calls& calls : tests.long_ones)
    if (std::find(calls.functions.begin(), calls.functions.end(), op.forward_name()) != calls.functions.end())
      return calls;
  return {};
}

constexpr std::size_t ends_of_16_bits = (std::size_t{1} << 16) + 2;

// The size of an axis when it is long; `others` has the sizes of the other axes.
std::size_t longest(const core::operation& op, const std::string& symbol, core::axis_sizes others,
                    const long_calls& calls, const run_options& options, core::counter_random& random) {
  const bool all = options.sizes == run_options::usual::all;
  std::size_t& size = others[symbol] = ends_of_16_bits + random.below(all ? ends_of_16_bits : 1000);
  if (const core::attribute_declaration* setting = core::attribute_of_axis(op, symbol))
    size = std::min(size, static_cast<std::size_t>(std::min(setting->high, 0x1p31)));
  if (const auto end = calls.affordable.find(symbol); end != calls.affordable.end()) size = std::min(size, end->second);
  while (size > 1 && largest_tensor(op, others) > most_elements(options)) size -= size / 16 + 1;
  return size;
}

// Draws a size log-uniformly. Two sizes in three lie at or beside a multiple of a block: programs use chunks that are
// round numbers in base two or ten.
std::size_t draw_size(std::size_t low, std::size_t high, core::counter_random& random) {
  constexpr std::array<std::size_t, 9> blocks{32, 64, 100, 128, 256, 500, 512, 1000, 1024};
  const double ratio = static_cast<double>(high) / static_cast<double>(low);
  const auto size = static_cast<std::size_t>(static_cast<double>(low) * std::pow(ratio, random.uniform()));
  if (random.one_in(3)) return size;
  const auto fitting = std::upper_bound(blocks.begin(), blocks.end(), size) - blocks.begin();
  const std::size_t block = blocks[random.below(static_cast<std::size_t>(fitting))];
  // One element less than a block, exactly a block, and one element more.
  constexpr std::array<std::size_t, 4> beside{0, 1, 2, 2};
  return std::min(size / block * block + beside[random.below(beside.size())], high + 1) - 1;
}

// Whether some output is a sum, or a recurrence, along the axis.
bool adds_up(const core::operation& op, const std::string& symbol) {
  return std::find(op.independent.begin(), op.independent.end(), symbol) == op.independent.end() ||
         std::any_of(op.outputs.begin(), op.outputs.end(),
                     [&](const auto& d) { return !core::axis_of(d, symbol).has_value(); });
}

// Widens narrow rows that hold means, if `axes` has their size: digits are reported from wide rows.
void widen_rows(const core::operation& op, const size_domains& declared, core::axis_sizes& axes) {
  if (core::integer_positions(op) != nullptr) return;
  for (const core::tensor_declaration& d : op.outputs)
    if (const auto row = row_axis_of(op, d))
      if (const auto size = axes.find(*row); size != axes.end() && size->second < wide_row)
        size->second = inside(declared, *row, wide_row);
}

}  // namespace

std::optional<std::string> row_axis_of(const core::operation& op, const core::tensor_declaration& output) {
  if (output.scale != core::error_scale::by_row || output.axes.empty()) return std::nullopt;
  const std::string& row = output.axes.back();
  const bool is_size = std::all_of(row.begin(), row.end(), [](unsigned char c) { return std::isalpha(c) != 0; });
  return is_size && core::role_of(op, row) == core::axis_role::width ? std::optional(row) : std::nullopt;
}

bool is_cheap(const core::operation& op, const core::axis_sizes& axes) {
  return largest_tensor(op, axes) <= std::size_t{1} << 15;
}

std::string conflict_of_shape(const core::operation& op, const core::axis_sizes& shape) {
  std::map<std::string, core::size_bounds> bounds;
  core::attributes settings;
  for (const auto& [symbol, size] : shape)
    if (const core::attribute_declaration* setting = core::attribute_of_axis(op, symbol))
      settings[setting->name] = static_cast<std::int64_t>(size);
    else
      bounds[symbol] = {size, size};
  return core::conflict_within(op, core::completed(op, settings), bounds);
}

std::vector<core::axis_sizes> declared_ends(const core::operation& op, const size_domains& declared) {
  constexpr std::size_t longest_end = std::size_t{1} << 20, largest = std::size_t{1} << 22;
  core::axis_sizes least;
  for (const std::string& symbol : core::axis_symbols(op)) least[symbol] = inside(declared, symbol, 1);
  std::vector<core::axis_sizes> all;
  for (const auto& [symbol, sizes] : declared) {
    if (sizes.nearest(1) > 0 && sizes.nearest(1) <= longest_end) all.push_back({{symbol, sizes.nearest(1)}});
    if (sizes.high == std::numeric_limits<std::size_t>::max()) continue;
    core::axis_sizes ends = least;
    std::size_t& end = ends[symbol] = std::min(sizes.high, longest_end);
    while (end > least.at(symbol) && largest_tensor(op, ends) > largest) end /= 2;
    end -= end % sizes.multiple_of;
    if (sizes.holds(end) && end > 0) all.push_back({{symbol, end}});
  }
  return all;
}

std::vector<usual_size> planned_sizes(const core::operation& op, core::dtype type, const size_domains& declared,
                                      const run_options& options) {
  std::vector<usual_size> all = usual_sizes(op, type, options);
  leave_out_large(all, op, options);
  for (usual_size& u : all)
    for (auto& [symbol, size] : u.axes)
      if (const auto sizes = declared.find(symbol); sizes != declared.end()) size = sizes->second.nearest(size);
  std::set<std::tuple<core::axis_sizes, std::string, core::attributes>> seen;
  std::erase_if(all, [&](const usual_size& u) { return !seen.insert({u.axes, u.family, u.settings}).second; });
  const std::set<std::string> symbols = core::axis_symbols(op);
  for (const core::axis_sizes& shape : options.shapes)
    if (std::all_of(shape.begin(), shape.end(), [&](const auto& axis) { return symbols.contains(axis.first); }) &&
        conflict_of_shape(op, shape).empty())
      all.push_back({{op.forward_name()}, shape});
  return all;
}

std::vector<core::axis_sizes> block_sizes(const core::operation& op, core::dtype type, const size_domains& declared,
                                          const run_options& options) {
  // The most elements with a few positions of the other axes; beyond it the other axes have one position each.
  constexpr std::size_t affordable = std::size_t{1} << 14;
  std::vector<core::axis_sizes> all;
  if (encoding_tests_of(op) == nullptr || options.sizes == run_options::usual::none) return all;
  const core::axis_sizes few = few_of_each(op);
  for (const std::string& symbol : core::axis_symbols(op)) {
    core::counter_random random = random_for(op, type, core::fnv1a(symbol), options.seed);
    const core::attribute_declaration* setting = core::attribute_of_axis(op, symbol);
    for (const std::size_t block : {16, 64, 128, 256}) {
      const bool above = random.one_in(2);
      for (const std::size_t size : {block, above ? block + 1 : block - 1, above ? block - 1 : block + 1}) {
        const bool is_other_side = size != block && (size > block) != above;
        if (is_other_side && options.sizes != run_options::usual::all) continue;
        if (setting != nullptr && static_cast<double>(size) > setting->high) continue;
        core::axis_sizes axes = few;
        axes[symbol] = size;
        if (largest_tensor(op, axes) > affordable)
          for (auto& [other, count] : axes)
            if (other != symbol) count = 1;
        if (largest_tensor(op, axes) > std::min(options.most_elements, 8 * affordable)) continue;
        for (auto& [other, count] : axes) count = inside(declared, other, count);
        if (std::find(all.begin(), all.end(), axes) == all.end()) all.push_back(std::move(axes));
      }
    }
  }
  return all;
}

std::vector<sized_call> long_axes(const core::operation& op, core::dtype type, const std::vector<family>& families,
                                  const size_domains& declared, const run_options& options) {
  constexpr std::size_t shortest = 33, longest_of_quick = 4096;
  const std::size_t drawn = options.sizes == run_options::usual::all ? 12 : 10;
  const encoding_tests* tests = encoding_tests_of(op);
  std::vector<sized_call> all;
  if (tests == nullptr || families.empty() || options.sizes == run_options::usual::none) return all;
  std::vector<std::string> names, by_turns;
  for (const family& f : families) names.push_back(f.name);
  for (const family& f : families)
    if (f.parts_classes || f.name == names.front()) by_turns.push_back(f.name);
  const bool has_one_sign = std::find(names.begin(), names.end(), one_sign) != names.end();
  // In f16, sums of more terms with one sign are infinite.
  const auto longest_sum = static_cast<std::size_t>(std::min(core::largest_finite(type) / 16, 0x1p31));
  const long_calls calls = calls_of(op, *tests);
  core::axis_sizes beside = calls.beside;
  for (const std::string& symbol : core::free_axes(op)) beside.try_emplace(symbol, 1);
  std::erase_if(beside, [](const auto& axis) { return axis.second == 0; });
  for (auto& [symbol, size] : beside) size = inside(declared, symbol, size);
  std::size_t number = tests->sizes.size();
  for (const std::string& symbol : core::axis_symbols(op)) {
    core::counter_random random = random_for(op, type, number++, options.seed);
    const std::size_t end = longest(op, symbol, beside, calls, options, random);
    if (end <= shortest) continue;
    const auto add = [&](std::size_t size, const std::string& name) {
      all.push_back({beside, name});
      all.back().axes[symbol] = inside(declared, symbol, size);
    };
    const std::size_t most = options.sizes == run_options::usual::all ? end : std::min(end, longest_of_quick);
    // Cases of an axis with a low limit are expensive: pairs of tokens grow as a square.
    std::vector<std::size_t> sizes(most < longest_of_quick ? drawn / 4 : drawn);
    for (std::size_t& size : sizes) size = draw_size(shortest, most, random);
    std::sort(sizes.rbegin(), sizes.rend());
    for (std::size_t k = 0; k < sizes.size(); ++k)
      if (has_one_sign && k % 2 == 0 && adds_up(op, symbol))
        add(std::min(sizes[k], longest_sum), one_sign);
      else
        add(sizes[k], by_turns[random.below(by_turns.size())]);
    const auto add_largest = [&](const std::string& name) {
      add(end, name);
      widen_rows(op, declared, all.back().axes);
    };
    bool added = false;
    for (const family& f : families)
      if (f.long_axis == symbol) add_largest(f.name), added = true;
    if (!added) add_largest(names.front());
  }
  if (!options.families.empty())
    std::erase_if(all, [&](const sized_call& c) { return !options.families.contains(c.family); });
  return all;
}

bool leaves_out_usual_sizes(const core::operation& op, const run_options& options) {
  std::vector<usual_size> all = usual_sizes(op, core::dtype::f64, options);
  return leave_out_large(all, op, options) > 0 ||
         (options.sizes != run_options::usual::none && options.most_elements < ends_of_16_bits);
}

}  // namespace assay::properties
