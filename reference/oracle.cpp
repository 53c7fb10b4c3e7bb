#include "reference/oracle.hpp"

#include <algorithm>
#include <cmath>

#include "reference/encodings/all.hpp"
#include "reference/routines.hpp"

namespace assay::reference {

namespace {

struct encoding_routines {
  std::string_view name;
  std::vector<core::operation> operations;
  std::vector<accuracy_class> algorithm_classes;
  rung_outputs (*enclose)(const core::request&, unsigned digits);
  law_outputs (*law)(const core::request&, accuracy_class, core::dtype compute);
  core::tensors (*algorithm)(const core::request&, accuracy_class);
  std::map<std::string, xt::xarray<double>> (*tangent)(const core::request&, const core::tensors&);
};

// An encoding that declares no `algorithms` has one.
template <class Encoding>
std::vector<accuracy_class> algorithm_classes_of() {
  if constexpr (requires { Encoding::algorithms; })
    return {std::begin(Encoding::algorithms), std::end(Encoding::algorithms)};
  else
    return {accuracy_class::sequential};
}

template <class Encoding>
encoding_routines routines_of() {
  encoding_routines r{Encoding::name,
                      {},
                      algorithm_classes_of<Encoding>(),
                      enclose<Encoding>,
                      law<Encoding>,
                      run_algorithm<Encoding>,
                      differentiate<Encoding>};
  for (const core::operation& forward : Encoding::operations()) {
    r.operations.push_back(forward);
    if (forward.has_gradient()) r.operations.push_back(core::vjp_of(forward));
    if (forward.has_jvp) r.operations.push_back(core::jvp_of(forward));
  }
  return r;
}

const std::vector<encoding_routines>& registry() {
  static const std::vector<encoding_routines> all{
#define ASSAY_ENCODING(name) routines_of<encodings::name>(),
#include "assay_encodings.inc"
#undef ASSAY_ENCODING
  };
  return all;
}

const encoding_routines& routines_for(const core::operation& op) {
  for (const encoding_routines& r : registry())
    if (op.name.starts_with(std::string(r.name) + "/")) return r;
  throw core::contract_violation("no encoding has the operation '" + op.name + "'");
}

double finite_or_zero(double x) { return std::isfinite(x) ? x : 0.0; }

}  // namespace

const std::vector<core::operation>& operations() {
  static const std::vector<core::operation> all = [] {
    std::vector<core::operation> flat;
    for (const encoding_routines& r : registry()) flat.insert(flat.end(), r.operations.begin(), r.operations.end());
    return flat;
  }();
  return all;
}

const std::vector<std::string>& encoding_names() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names;
    for (const encoding_routines& r : registry()) names.emplace_back(r.name);
    return names;
  }();
  return all;
}

const std::vector<accuracy_class>& algorithms_of(const core::operation& op) {
  return routines_for(op).algorithm_classes;
}

const core::operation* find_operation(std::string_view name) {
  const auto& all = operations();
  const auto it = std::find_if(all.begin(), all.end(), [&](const auto& op) { return op.name == name; });
  return it == all.end() ? nullptr : &*it;
}

const core::operation& forward_of(const core::operation& op) {
  const core::operation* forward = find_operation(op.forward_name());
  ASSAY_EXPECTS(forward != nullptr);
  return *forward;
}

double certified::truth(std::size_t i) const {
  const double value = rounded.values.storage()[i], rest = low.storage()[i];
  return std::isinf(value) && rest != 0.0 ? rest : value + rest;
}

double certified::error_of(double x, std::size_t i) const {
  const double value = rounded.values.storage()[i];
  if (std::isnan(value) && std::isnan(x)) return 0.0;
  if (std::isinf(value)) return x == value ? 0.0 : x - truth(i);
  return (x - value) - low.storage()[i];
}

certified_outputs certify(const core::request& call, std::size_t rungs, proof wanted) {
  const encoding_routines& routines = routines_for(*call.operation);
  certified_outputs out;
  std::size_t open = 1;
  for (std::size_t rung = 0; rung < std::min(rungs, precision_digits.size()) && open > 0; ++rung) {
    open = 0;
    for (auto& [name, proved] : routines.enclose(call, precision_digits[rung])) {
      const std::size_t size = proved.rounded.size();
      certified& c = out[name];
      if (rung == 0) c = {proved.rounded, proved.low, proved.radius, std::vector<std::uint8_t>(size, undecided)};
      for (std::size_t i = 0; i < size; ++i) {
        if (c.rung[i] != undecided) continue;
        c.rounded.values.storage()[i] = proved.rounded.values.storage()[i];
        c.low.storage()[i] = proved.low.storage()[i];
        c.radius.storage()[i] = proved.radius.storage()[i];
        if (wanted == proof::value ? proved.decided[i] : proved.low_decided[i])
          c.rung[i] = static_cast<std::uint8_t>(rung);
        else
          ++open;
      }
    }
  }
  return out;
}

std::size_t count_undecided(const certified_outputs& outputs) {
  std::size_t count = 0;
  for (const auto& [name, c] : outputs) count += std::count(c.rung.begin(), c.rung.end(), undecided);
  return count;
}

allowances allow(const core::request& call, core::dtype compute) {
  const core::operation& op = *call.operation;
  const auto law = routines_for(op).law;
  const std::vector<accuracy_class>& own = algorithms_of(op);
  allowances out;
  for (std::size_t c = 1; c < accuracy_classes.size(); ++c) {
    if (std::find(own.begin(), own.end(), accuracy_classes[c]) == own.end()) {
      for (auto& [name, a] : out) a.k[c] = a.k[c - 1];
      continue;
    }
    for (auto& [name, l] : law(call, accuracy_classes[c], compute)) {
      allowance& a = out[name];
      if (c == 1) {
        // uniform: 2 ulp (4u) of max(1, |s|); for a gradient 16u of its magnitude, which the law knows to k units of
        // double's u, or underflow.
        const double underflow = core::smallest_normal(compute) / core::unit_roundoff(compute);
        const bool exact = !core::is_floating(op.output(name)->type_in(compute));
        a.k[0] = l.magnitude;
        for (std::size_t i = 0; i < a.k[0].size(); ++i) {
          double& k = a.k[0].storage()[i];
          const double of_gradient = 16.0 * (k + 0x1p-53 * finite_or_zero(l.k.storage()[i])) + underflow;
          k = exact ? 0.0 : op.is_forward() ? 4.0 * std::max(1.0, k) : of_gradient;
        }
      }
      const auto& before = a.k[c - 1].storage();
      for (std::size_t i = 0; c > 1 && i < before.size(); ++i) l.k.storage()[i] = std::max(l.k.storage()[i], before[i]);
      a.k[c] = std::move(l.k);
    }
  }
  return out;
}

core::tensors evaluate(const core::request& call, accuracy_class c) {
  ASSAY_EXPECTS(c != accuracy_class::uniform);
  return routines_for(*call.operation).algorithm(call, c);
}

std::map<std::string, xt::xarray<double>> derivative_along(const core::request& call, const core::tensors& direction) {
  ASSAY_EXPECTS(call.operation->is_forward());
  return routines_for(*call.operation).tangent(call, direction);
}

}  // namespace assay::reference
