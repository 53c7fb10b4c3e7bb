#include "properties/kinds/pair_bias.hpp"

#include "reference/oracle.hpp"

namespace assay::properties {
namespace {

core::axis_sizes drawn_sizes(const core::operation& op, const core::attributes& settings, core::counter_random& random,
                             extent size) {
  using core::axis_role;
  core::axis_sizes sizes;
  for (const std::string& symbol : core::axis_symbols(op)) {
    const axis_role role = core::role_of(op, symbol);
    if (role == axis_role::token || role == axis_role::key) continue;
    if (const core::attribute_declaration* a = core::attribute_of_axis(op, symbol)) {
      sizes[symbol] = static_cast<std::size_t>(core::setting<std::int64_t>(settings, a->name));
      continue;
    }
    const bool few = role == axis_role::parameter;
    const std::size_t drawn = random.one_in(40) ? 0 : 1 + random.below(few ? 6 : 3);
    sizes[symbol] = size.axis(symbol, size.is_given() ? (few ? 5 : 2) : drawn);
  }
  return sizes;
}

// A run of keys, not all: the keys before and after it act as a masked memory, or as padding.
std::vector<std::size_t> run_of_keys(const test_case& c, std::size_t keys) {
  if (!has_elements(c) || keys < 2) return {};
  core::counter_random random(c.seed);
  const std::size_t first = random.below(keys), last = first + 1 + random.below(keys - first);
  return last - first == keys ? std::vector<std::size_t>{} : span_of(first, last);
}

double later(const test_case& c, double p) { return p + static_cast<double>(1 + c.seed % 1000); }

void count_queries_from(request& call, double first) {
  const auto [query, key] = core::places_of(*call.operation);
  if (query == nullptr || key == nullptr) return;
  auto &queries = call.inputs.at(query->name).values.storage(), &keys = call.inputs.at(key->name).values.storage();
  for (std::size_t j = 0; j < keys.size(); ++j) keys[j] = static_cast<double>(j);
  for (std::size_t i = 0; i < queries.size(); ++i) queries[i] = first + static_cast<double>(i);
}

}  // namespace

family pair_bias_family(std::string name, std::string summary, parameter_source number, position_source positions_of) {
  family f{std::move(name), std::move(summary)};
  f.generate = [number, positions_of](const core::operation& op, core::dtype type, const core::attributes& settings,
                                      core::counter_random& random, extent size) -> core::tensors {
    if (op.inputs.empty()) return {};
    const pair_positions positions = positions_of(op, type, settings, random, size);
    core::axis_sizes sizes = drawn_sizes(op, settings, random, size);
    sizes["n"] = positions.query.size();
    sizes["m"] = positions.key.size();
    core::tensors inputs;
    for (const core::tensor_declaration& d : op.inputs) {
      if (d.role == core::input_role::position) continue;
      core::tensor t = core::zeros(type, core::shape_of(d, sizes));
      for (double& x : t.values.storage()) x = core::round_to(type, number(d.name, type, random));
      inputs.emplace(d.name, std::move(t));
    }
    if (core::places_of(op).key != nullptr) add_positions(op, inputs, positions);
    return inputs;
  };
  return f;
}

family pair_bias_family(std::string name, std::string summary, parameter_source number, position_filler fill) {
  return pair_bias_family(std::move(name), std::move(summary), number,
                          [fill](const core::operation& op, core::dtype type, const core::attributes&,
                                 core::counter_random& random, extent size) {
                            pair_positions positions = draw_pairs(op, random, size);
                            // A power tells nothing at distances 0 and 1.
                            if (size.range == lengths::short_ones && positions.key.size() < 3 && !random.one_in(3))
                              positions.key.resize(3 + random.below(4));
                            fill(positions, type, random);
                            return positions;
                          });
}

std::vector<usual_size> pair_bias_sizes(const std::vector<std::string>& operations) {
  return {
      {operations, {{"h", 9}, {"n", 5}, {"m", 258}}, true},
      {operations, {{"h", 66}, {"n", 3}, {"m", 9}}, true},
      {operations, {{"h", 9}, {"n", 66}, {"m", 130}}, true},
      {operations, {{"h", 8}, {"n", 64}, {"m", 64}}, true},
      {operations, {{"h", 2}, {"n", 191}, {"m", 63}}, true},
      {operations, {{"h", 2}, {"n", 63}, {"m", 191}}, true},
      {operations, {{"h", 9}, {"n", 3}, {"m", 130}}, true, every_family},
      {operations, {{"h", 2}, {"n", 66}, {"m", 9}}, true, every_family},
      {operations, {{"h", 2}, {"n", 3}, {"m", 4097}}},
      {operations, {{"h", 2}, {"n", 4097}, {"m", 3}}},
      {operations, {{"h", 3}, {"n", 257}, {"m", 257}}},
  };
}

std::vector<property> laws_of_distance(const std::string& name, const std::vector<std::string>& operations,
                                       const std::vector<std::string>& families,
                                       std::function<bool(const test_case&)> depends_on_distances) {
  const law_scope bias{operations, families};
  return {law((name + "_shift").c_str(), "all tokens later: the same bias", bias,
              agree_after(where(depends_on_distances, each_of({"query_position", "key_position"}, later)),
                          "all tokens later")),
          law((name + "_neutral_keys").c_str(), "other keys, before or after, change no key's bias", bias,
              agree_alone("m", run_of_keys, "some keys alone, then with others"))};
}

void count_as_last(request& call) {
  const auto [query, key] = core::places_of(*call.operation);
  if (query == nullptr || key == nullptr) return;
  count_queries_from(call, static_cast<double>(call.inputs.at(key->name).size()) -
                               static_cast<double>(call.inputs.at(query->name).size()));
}
void count_from_first_key(request& call) { count_queries_from(call, 0.0); }

core::tensor bias_by_hand(const char* operation, const std::map<std::string, std::vector<double>>& parameters,
                          const std::vector<double>& queries, const std::vector<double>& keys,
                          core::attributes settings) {
  const core::operation& op = *reference::find_operation(operation);
  core::request call{&op, core::dtype::f64, {}, std::move(settings)};
  core::axis_sizes sizes{{"h", 1}, {"n", queries.size()}, {"m", keys.size()}};
  for (const auto& [name, numbers] : parameters) sizes.try_emplace(op.input(name)->axes.back(), numbers.size());
  for (const auto& [name, numbers] : parameters)
    call.inputs.emplace(name, core::make_tensor(call.type, core::shape_of(*op.input(name), sizes), numbers));
  add_positions(op, call.inputs, {queries, keys});
  return reference::certify(call).begin()->second.rounded;
}

}  // namespace assay::properties
