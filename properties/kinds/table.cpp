#include "properties/kinds/table.hpp"

#include <algorithm>
#include <cmath>

#include "reference/oracle.hpp"

namespace assay::properties {
namespace {

double furthest_position(const core::operation& op, core::dtype type) {
  if (type == core::dtype::f16) return op.has_gradient() ? 500.0 : 60000.0;
  return 0x1p31 - 3;
}

double picked(const std::vector<double>& all, const drawing& from) {
  for (;;)
    if (const double x = all[from.random.below(all.size())]; std::fabs(x) <= from.furthest) return x;
}

std::size_t drawn_rows(core::counter_random& random, const extent& size, std::size_t columns) {
  const std::size_t most = std::max<std::size_t>(320 / std::max<std::size_t>(columns, 1), 2);
  if (size.is_given()) return 3;
  if (size.range == lengths::exactly) return size.tokens;
  if (size.range == lengths::long_ones) return 100 + random.below(60);
  if (size.range == lengths::around_blocks)
    return std::min(most, (std::size_t{1} << (3 + random.below(4))) - 1 + random.below(3));
  return random.one_in(2) ? random.below(6) : std::min(most, random.below(18));
}

core::axis_sizes drawn_axes(const core::operation& op, const core::attributes& settings, core::counter_random& random,
                            const extent& size) {
  const std::string& rows = op.inputs.front().axes.front();
  core::axis_sizes sizes{{rows, 1}};
  for (const std::string& symbol : core::axis_symbols(op)) {
    if (symbol == rows) continue;
    const core::attribute_declaration* a = core::attribute_of_axis(op, symbol);
    const std::size_t drawn = random.below(5);
    const bool counts = size.is_given() || size.range == lengths::exactly;  // here one case must test everything
    sizes[symbol] = a != nullptr ? static_cast<std::size_t>(core::setting<std::int64_t>(settings, a->name))
                                 : size.axis(symbol, counts ? 3 : drawn);
  }
  std::size_t columns = 1;
  for (const std::size_t x : core::shape_of(op.outputs.front(), sizes)) columns *= x;
  sizes[rows] = size.axis(rows, drawn_rows(random, size, columns));
  return sizes;
}

}  // namespace

number_filler each(double (*number)(const drawing&)) {
  return [number](std::vector<double>& all, const drawing& from) {
    for (double& x : all) x = number(from);
  };
}
number_filler one_of(std::vector<double> positions) {
  return [positions](std::vector<double>& all, const drawing& from) {
    for (double& m : all) m = picked(positions, from);
  };
}
number_filler with_nan(number_filler usual) {
  return [usual](std::vector<double>& all, const drawing& from) {
    usual(all, from);
    for (double& x : all)
      if (from.random.one_in(4)) x = std::nan("");
  };
}
void in_a_row(std::vector<double>& positions, const drawing& from) {
  const double first = from.random.one_in(2) ? 0.0 : static_cast<double>(from.random.below(40));
  for (std::size_t i = 0; i < positions.size(); ++i) positions[i] = first + static_cast<double>(i);
}
number_filler in_a_row_from(std::vector<double> firsts) {
  return [firsts](std::vector<double>& positions, const drawing& from) {
    const double first = std::min(picked(firsts, from), from.furthest - static_cast<double>(positions.size()));
    for (std::size_t i = 0; i < positions.size(); ++i) positions[i] = first + static_cast<double>(i);
  };
}
const std::vector<double> hard_positions{0,     1,     255,  256,   257,   258,          2047,    2048,        2049,
                                         2050,  4097,  8191, 65535, 65536, 65537,        1048576, 10000,       50000,
                                         16385, 32767, 1001, 4001,  16003, 0x1p24 + 1.0, 1048577, 0x1p31 - 3.0};

family table_family(std::string name, std::string summary, std::map<std::string, number_filler> inputs) {
  family f{std::move(name), std::move(summary)};
  f.applies = [inputs](const core::operation& op) {
    return std::all_of(op.inputs.begin(), op.inputs.end(), [&](const auto& d) { return inputs.contains(d.name); });
  };
  f.generate = [inputs](const core::operation& op, core::dtype type, const core::attributes& settings,
                        core::counter_random& random, extent size) {
    const core::axis_sizes sizes = drawn_axes(op, settings, random, size);
    core::tensors all;
    for (const core::tensor_declaration& d : op.inputs) {
      const core::shape shape = core::shape_of(d, sizes);
      std::vector<double> x(core::zeros(type, shape).size());
      inputs.at(d.name)(x, {type, settings, furthest_position(op, type), random});
      for (double& number : x) number = core::round_to(d.type_in(type), number);
      all.emplace(d.name, core::make_tensor(d.type_in(type), shape, x));
    }
    return all;
  };
  return f;
}
family of_real_numbers(family f) {
  f.applies = [applies = f.applies](const core::operation& op) { return applies(op) && !op.inputs.front().own_type; };
  return f;
}

std::vector<usual_size> table_sizes(const std::string& operation, const std::string& columns, std::size_t each) {
  std::vector<usual_size> all;
  const auto add = [&](std::size_t n, std::size_t d, bool always, const char* family = "") {
    all.push_back({{operation}, {{"n", n}, {columns, d / each}}, always, family});
  };
  for (const auto& [n, d] : {std::pair{66, 64}, {1025, 8}, {5, 130}, {191, 66}, {128, 128}, {5, 515}}) add(n, d, true);
  add(66, 130, true, every_family);
  for (const auto& [n, d] : {std::pair{4097, 128}, {65537, 4}, {3, 4096}}) add(n, d, false);
  return all;
}

std::vector<double> table_by_hand(const char* operation, const std::map<std::string, std::vector<double>>& inputs,
                                  core::attributes settings) {
  const core::operation& op = *reference::find_operation(operation);
  core::request call{&op, core::dtype::f64, {}, std::move(settings)};
  for (const auto& [name, x] : inputs)
    call.inputs.emplace(name, core::make_tensor(op.input(name)->type_in(call.type), {x.size()}, x));
  const core::tensor all = reference::certify(call).begin()->second.rounded;
  return {all.values.begin(), all.values.end()};
}

}  // namespace assay::properties
