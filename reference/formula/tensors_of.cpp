#include "reference/formula/tensors_of.hpp"

namespace assay::reference::formula {

core::result<void> check_inputs(const program& p, const core::tensors& inputs) {
  for (const node_id k : p.inputs()) {
    const std::string& name = p.nodes()[k].text;
    const number_kind kind = p.type_of(k).kind;
    const core::shape& shape = p.type_of(k).shape;
    const auto it = inputs.find(name);
    if (it == inputs.end()) return core::failure(fmt::format("the input '{}' is missing", name));
    const core::tensor& t = it->second;
    if (t.shape() != shape)
      return core::failure(
          fmt::format("'{}' has the shape {}, not {}", name, core::to_string(t.shape()), core::to_string(shape)));
    const auto holds = [&](double x) {
      if (kind == number_kind::real) return true;
      return kind == number_kind::boolean ? x == 0.0 || x == 1.0 : std::fabs(x) <= 0x1p53 && x == std::trunc(x);
    };
    if (!std::all_of(t.values.begin(), t.values.end(), holds))
      return core::failure(fmt::format("'{}' has an element that is no {}", name, name_of(kind)));
  }
  if (inputs.size() > p.inputs().size())
    for (const auto& given : inputs)
      if (std::none_of(p.inputs().begin(), p.inputs().end(),
                       [&](node_id k) { return p.nodes()[k].text == given.first; }))
        return core::failure(fmt::format("there is no input '{}'", given.first));
  return {};
}

core::dtype type_of_output(number_kind kind, core::dtype storage) {
  return kind == number_kind::real ? storage : kind == number_kind::integer ? core::dtype::i64 : core::dtype::boolean;
}

double number_of(std::int64_t x) {
  if (x > std::int64_t{1} << 53 || x < -(std::int64_t{1} << 53))
    throw evaluation_error(fmt::format("an output has the integer {}, beyond 2^53", x));
  return static_cast<double>(x);
}

}  // namespace assay::reference::formula
