#include "reference/formula/owner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/container_hash/hash.hpp>
#include <boost/math/statistics/univariate_statistics.hpp>
#include <boost/multi_index/hashed_index.hpp>
#include <boost/multi_index/member.hpp>
#include <boost/multi_index/sequenced_index.hpp>
#include <boost/multi_index_container.hpp>
#include <cmath>

#include "reference/error_bound.hpp"
#include "reference/formula/blocks.hpp"
#include "reference/formula/differentiate.hpp"
#include "reference/formula/passes.hpp"
#include "reference/formula/rungs.hpp"
#include "reference/formula/sketch.hpp"
#include "reference/formula/tensors_of.hpp"
#include "reference/formula/work.hpp"

namespace assay::reference::formula {
namespace {

number_kind kind_of(const core::tensor_declaration& d) {
  if (!d.own_type || core::is_floating(*d.own_type)) return number_kind::real;
  return *d.own_type == core::dtype::boolean ? number_kind::boolean : number_kind::integer;
}

// Checks that the inputs and outputs are those of the declaration, in any order.
void check_program(const program& p, const core::operation& op, const core::axis_sizes& sizes) {
  const auto refuse = [&](const std::string& why) { throw core::contract_violation(op.name + ": " + why); };
  const auto check = [&](const core::tensor_declaration& d, node_id n) {
    const array_type& type = p.type_of(n);
    if (type.kind != kind_of(d))
      refuse(fmt::format("'{}' is {}, and in the program {}", d.name, name_of(kind_of(d)), name_of(type.kind)));
    const core::shape wanted = core::shape_of(d, sizes);
    if (elements_of(wanted) != elements_of(type.shape))
      refuse(fmt::format("'{}' has {} elements, and in the program {}", d.name, elements_of(wanted),
                         elements_of(type.shape)));
  };
  for (const node_id n : p.inputs()) {
    const core::tensor_declaration* d = op.input(p.nodes()[n].text);
    if (d == nullptr) refuse(fmt::format("the program has an input '{}'", p.nodes()[n].text));
    check(*d, n);
  }
  if (p.outputs().size() != op.outputs.size()) refuse("the program has other outputs");
  for (const program::output& o : p.outputs()) {
    const core::tensor_declaration* d = op.output(o.name);
    if (d == nullptr) refuse(fmt::format("the program has an output '{}'", o.name));
    check(*d, o.node);
  }
  for (const core::tensor_declaration& d : op.inputs)
    if (std::ranges::none_of(p.inputs(), [&](node_id n) { return p.nodes()[n].text == d.name; }))
      refuse(fmt::format("the program has no input '{}'", d.name));
}

storage_of storage_in(const core::request& call) {
  return [&call](const std::string& name) { return call.operation->output(name)->type_in(call.type); };
}

// The outputs in the shapes that the operation declares.
rung_outputs as_declared(rung_outputs all, const core::request& call) {
  const core::axis_sizes sizes = core::sizes_of(call);
  for (auto& [name, o] : all) {
    const core::shape shape = core::shape_of(*call.operation->output(name), sizes);
    o.rounded.values.reshape(shape);
    o.low.reshape(shape);
    o.radius.reshape(shape);
  }
  return all;
}
core::tensors as_declared(core::tensors all, const core::request& call) {
  const core::axis_sizes sizes = core::sizes_of(call);
  for (auto& [name, t] : all) t.values.reshape(core::shape_of(*call.operation->output(name), sizes));
  return all;
}

std::vector<std::string> differentiable_inputs(const core::operation& op) {
  std::vector<std::string> names;
  for (const core::tensor_declaration& d : op.inputs)
    if (d.differentiable && !d.own_type) names.push_back(d.name);
  return names;
}

program or_violation(core::result<program> made) {
  if (!made) throw core::contract_violation(made.error().message);
  return std::move(*made);
}

program checked(const recorded_operation& r, const program_sizes& sizes) {
  program forward = r.record(sizes);
  try {
    check_program(forward, r.declaration, sizes.axes);
  } catch (const core::contract_violation& wrong) {
    if (r.is_of_any_steps) throw no_answer(wrong.what());  // at these sizes it is not the function that it declares
    throw;
  }
  return forward;
}
// Where an operation has class linear, slopes of sigmoids that lose digits belong to this class.
program gradient_of(const recorded_operation& r, const program& forward, const program_sizes& sizes) {
  const bool has_linear = std::ranges::find(r.algorithms, accuracy_class::linear) != r.algorithms.end();
  return or_violation(
      differentiate(forward, differentiable_inputs(r.declaration),
                    {.is_for_proofs = sizes.for_what == purpose::truth,
                     .keeps_digits_of_sigmoids = has_linear && sizes.algorithm == accuracy_class::sequential}));
}

// The program of any formula where no output has an element: then no step need be recorded. The formula of another
// owner is recorded nevertheless, as it may refuse such sizes.
std::optional<program> without_elements(const recorded_operation& r, const core::operation& op,
                                        const core::axis_sizes& sizes) {
  program made;
  for (const core::tensor_declaration& d : op.outputs) {
    const core::shape shape = core::shape_of(d, sizes);
    if (r.is_of_any_steps || elements_of(shape) != 0) return std::nullopt;
    const node_id none = *made.append(
        {.what = op::data, .integers = {{{static_cast<std::int64_t>(kind_of(d))}, {shape.begin(), shape.end()}, {}}}});
    (void)made.name_output(d.name, none);
  }
  return made;
}

program made_for(const recorded_operation& r, const core::request& call, const program_sizes& sizes) {
  if (auto none = without_elements(r, *call.operation, sizes.axes)) return std::move(*none);
  program forward = checked(r, sizes);
  if (sizes.for_what == purpose::law_of_blocks || sizes.for_what == purpose::any_way_of_blocks) {
    auto blocks = with_blocks(forward);
    if (!blocks) return {};
    forward = std::move(*blocks);
  } else if ((sizes.for_what == purpose::law || sizes.for_what == purpose::any_way) && r.is_of_any_steps) {
    if (auto shorter = with_softmax(forward)) forward = std::move(*shorter);
  }
  const bool is_forward = call.operation->is_forward(), is_law = sizes.for_what >= purpose::law;
  program made = is_forward ? std::move(forward) : gradient_of(r, forward, sizes);
  if (sizes.for_what == purpose::any_way || sizes.for_what == purpose::any_way_of_blocks) return made;
  if (!is_law) return or_violation(without_alternatives(std::move(made)));
  return is_forward ? made : or_violation(magnitudes_of_terms(made, forward));
}

double median_of_finite(const xt::xarray<double>& all) {
  std::vector<double> x;
  for (const double one : all)
    if (std::isfinite(one)) x.push_back(std::fabs(one));
  return x.empty() ? 0.0 : boost::math::statistics::median(x);
}

// Takes the larger one where both are numbers: blocks narrow nothing, and they excuse nothing where the steps have no
// allowance.
void widen(xt::xarray<double>& k, const xt::xarray<double>& other) {
  for (std::size_t i = 0; i < k.size(); ++i) {
    double& own = k.storage()[i];
    if (const double x = other.storage()[i]; std::isfinite(own) && std::isfinite(x)) own = std::max(own, x);
  }
}

}  // namespace

std::vector<std::string> stage_names(const core::operation& op) {
  std::vector<std::string> names;
  for (const core::stage_declaration& s : op.stages) names.push_back(s.name);
  return names;
}

// The programs of recent calls: every rung, law and part asks for the same sizes.
class program_owner::known_programs {
 public:
  struct key {
    std::string operation;
    purpose for_what;
    accuracy_class algorithm;
    std::size_t form;
    core::attributes settings;
    core::axis_sizes sizes;
    friend bool operator==(const key&, const key&) = default;
  };

  std::shared_ptr<const program> find(const key& id) {
    const std::lock_guard lock(mutex_);
    auto& by_key = all_.get<1>();
    const auto known = by_key.find(id);
    if (known == by_key.end()) return nullptr;
    all_.relocate(all_.begin(), all_.project<0>(known));
    return known->made;
  }
  void keep(key id, std::shared_ptr<const program> made) {
    const std::lock_guard lock(mutex_);
    nodes_ += made->nodes_in_all();
    if (!all_.push_front({std::move(id), made}).second) nodes_ -= made->nodes_in_all();
    for (; nodes_ > most_nodes_kept && all_.size() > 1; all_.pop_back()) nodes_ -= all_.back().made->nodes_in_all();
  }

 private:
  static constexpr std::size_t most_nodes_kept = std::size_t{1} << 14;
  struct entry {
    key id;
    std::shared_ptr<const program> made;
  };
  struct hash_of_key {
    std::size_t operator()(const key& k) const {
      std::size_t hash = 0;
      boost::hash_combine(hash, k.operation);
      boost::hash_combine(hash, static_cast<int>(k.for_what));
      boost::hash_combine(hash, static_cast<int>(k.algorithm));
      boost::hash_combine(hash, k.form);
      boost::hash_combine(hash, k.sizes);
      for (const auto& [name, value] : k.settings) boost::hash_combine(hash, std::hash<core::attribute>{}(value));
      return hash;
    }
  };
  // The most recent one comes first.
  boost::multi_index_container<
      entry, boost::multi_index::indexed_by<
                 boost::multi_index::sequenced<>,
                 boost::multi_index::hashed_unique<boost::multi_index::member<entry, key, &entry::id>, hash_of_key>>>
      all_;
  std::mutex mutex_;
  std::size_t nodes_ = 0;
};

program_owner::program_owner(std::string name, core::encoding_summary summary, std::vector<recorded_operation> all)
    : name_(std::move(name)),
      summary_(std::move(summary)),
      recorded_(std::move(all)),
      known_(std::make_unique<known_programs>()) {
  for (const recorded_operation& r : recorded_) {
    operations_.push_back({r.declaration, r.algorithms});
    if (r.declaration.has_gradient()) operations_.push_back({core::vjp_of(r.declaration), r.algorithms});
  }
}
program_owner::~program_owner() = default;

const recorded_operation& program_owner::recorded_of(const core::request& call) const {
  const core::operation_name name(call.operation->name);
  const auto it = std::find_if(recorded_.begin(), recorded_.end(),
                               [&](const recorded_operation& r) { return r.declaration.name == name.forward; });
  ASSAY_EXPECTS(it != recorded_.end());
  return *it;
}

std::shared_ptr<const program> program_owner::program_of(const core::request& call, purpose for_what,
                                                         accuracy_class algorithm, std::size_t form) const {
  known_programs::key key{
      call.operation->name, for_what, algorithm, form, core::completed(*call.operation, call.attributes),
      core::sizes_of(call)};
  if (auto known = known_->find(key)) return known;
  const recorded_operation& r = recorded_of(call);
  auto made = std::make_shared<const program>(made_for(
      r, call, {r.declaration, key.settings, key.sizes, for_what, algorithm, form, !call.operation->is_forward()}));
  known_->keep(std::move(key), made);
  return made;
}

double program_owner::work_of(const core::request& call) const {
  return static_cast<double>(formula::work_of(*program_of(call)));
}
rung_outputs program_owner::enclose_in_doubles(const core::request& call) const {
  return as_declared(formula::enclose(*program_of(call), call.inputs, storage_in(call), doubles::one), call);
}
rung_outputs program_owner::enclose_in_two_doubles(const core::request& call) const {
  return as_declared(formula::enclose(*program_of(call), call.inputs, storage_in(call), doubles::two), call);
}
rung_outputs program_owner::enclose(const core::request& call, unsigned digits) const {
  return as_declared(formula::enclose(*program_of(call), call.inputs, storage_in(call), digits), call);
}

std::vector<law_outputs> program_owner::laws(const core::request& call, const std::vector<accuracy_class>& classes,
                                             const core::precisions& compute) const {
  const recorded_operation& r = recorded_of(call);
  std::vector<law_outputs> laws;
  for (const accuracy_class c : classes) {
    laws.push_back(law(call, c, compute, purpose::law, 0));
    const auto is_right_as_well = [&](purpose for_what, std::size_t form) {
      for (const auto& [name, other] : law(call, c, compute, for_what, form)) widen(laws.back().at(name).k, other.k);
    };
    for (std::size_t form = 0; form <= r.other_ways_of(call); ++form) {
      if (form > 0) is_right_as_well(purpose::law, form);
      if (r.is_of_any_steps) is_right_as_well(purpose::law_of_blocks, form);
    }
    if (r.is_of_any_steps) narrow(laws.back(), call, c, compute);
  }
  return laws;
}

// Errors that are carried on number by number may grow where slopes of different signs let them shrink. Random
// experiments show this: a few show whether it happens, many show by how much. They hold to first order alone.
void program_owner::narrow(law_outputs& law, const core::request& call, accuracy_class c,
                           const core::precisions& compute) const {
  constexpr double too_wide = 100, not_first_order = 0.25, safely = 1.5;
  constexpr std::size_t few = 16, many = 256;
  const double u = core::unit_roundoff(compute.unit()), wide = std::min(4096.0, 0.125 / u);
  std::map<std::string, double> scales;
  for (const auto& [name, y] : evaluate_in(call, core::dtype::f64, c)) {
    const double scale = median_of_finite(y.values);
    if (median_of_finite(law.at(name).k) > wide * scale) scales.emplace(name, scale);
  }
  if (scales.empty()) return;
  const auto sketches = [&](std::size_t experiments) {
    std::map<std::string, xt::xarray<double>> widest;
    for (const purpose ways : {purpose::any_way, purpose::any_way_of_blocks})
      for (std::size_t form = 0; form <= recorded_of(call).other_ways_of(call); ++form) {
        const auto made = program_of(call, ways, c, form);
        if (made->outputs().empty()) continue;  // without blocks
        auto found = sketch_of(*made, call.inputs, compute, stage_names(*call.operation), experiments);
        if (!found) return std::map<std::string, xt::xarray<double>>{};
        for (auto& [name, k] : *found)
          if (const auto [it, is_new] = widest.try_emplace(name, k); !is_new) it->second = xt::maximum(it->second, k);
      }
    return widest;
  };
  const auto is_too_wide = [&](const auto& sketch) {
    const auto scale = scales.find(sketch.first);
    return scale != scales.end() &&
           median_of_finite(law.at(sketch.first).k) > too_wide * median_of_finite(sketch.second);
  };
  if (std::ranges::none_of(sketches(few), is_too_wide)) return;
  for (const auto& sketch : sketches(many)) {
    if (!is_too_wide(sketch)) continue;
    auto& k = law.at(sketch.first).k.storage();
    for (std::size_t i = 0; i < k.size(); ++i)
      if (const double narrower = safely * sketch.second.storage()[i];
          std::isfinite(k[i]) && narrower < k[i] && u * narrower < not_first_order * scales.at(sketch.first))
        k[i] = narrower;
  }
}

law_outputs program_owner::law(const core::request& call, accuracy_class c, const core::precisions& compute,
                               purpose for_what, std::size_t form) const {
  const auto made = program_of(call, for_what, c, form);
  if (made->outputs().empty()) return {};
  // Where another algorithm than the formula as written gives no number, it is wrong, and adds nothing.
  const bool is_as_written = c == accuracy_class::sequential && for_what == purpose::law && form == 0;
  const no_number without = is_as_written ? no_number::has_no_allowance : no_number::adds_nothing;
  law_outputs all = law_of(*made, call.inputs, compute, stage_names(*call.operation), without);
  const core::axis_sizes sizes = core::sizes_of(call);
  for (auto& [name, law] : all) {
    // Terms that overflow without their signs say nothing about their sum.
    if (!call.operation->is_forward())
      for (double& k : law.k.storage())
        if (k == right_where_the_truth_overflows) k = std::numeric_limits<double>::quiet_NaN();
    const core::shape shape = core::shape_of(*call.operation->output(name), sizes);
    law.k.reshape(shape);
    law.magnitude.reshape(shape);
  }
  return all;
}

core::tensors evaluate_recorded(const recorded_operation& r, const core::request& call,
                                const core::precisions& formats) {
  const core::attributes settings = core::completed(*call.operation, call.attributes);
  const program made = made_for(r, call,
                                {.function = r.declaration,
                                 .settings = settings,
                                 .axes = core::sizes_of(call),
                                 .for_what = purpose::arithmetic,
                                 .is_of_gradient = !call.operation->is_forward()});
  return as_declared(plain_arithmetic(made, call.inputs, storage_in(call), formats, stage_names(*call.operation)),
                     call);
}

core::tensors program_owner::evaluate_in(const core::request& call, const core::precisions& formats,
                                         accuracy_class c) const {
  // Runs with random roundings compute the forms in turn. A run with an odd seed also takes the other ways within its
  // form (rounded::takes_other_ways).
  const recorded_operation& r = recorded_of(call);
  const auto seed = formats.seed();
  const std::size_t form = seed ? *seed / 2 % (r.other_ways_of(call) + 1) : 0;
  const bool takes_other_ways = seed && (r.is_of_any_steps || *seed % 2 == 1);
  const auto made = program_of(call, takes_other_ways ? purpose::any_way : purpose::arithmetic, c, form);
  return as_declared(plain_arithmetic(*made, call.inputs, storage_in(call), formats, stage_names(*call.operation)),
                     call);
}

std::map<std::string, xt::xarray<double>> program_owner::tangent(const core::request& call,
                                                                 const core::tensors& direction) const {
  ASSAY_EXPECTS(call.operation->is_forward());
  const std::shared_ptr<const program> made = program_of(call);
  auto along = lifted<reference::tangent>(*made, call.inputs);
  for (auto& [name, numbers] : along)
    if (const auto d = direction.find(name); d != direction.end())
      for (std::size_t i = 0; i < d->second.size(); ++i)
        std::get<reals<reference::tangent>>(numbers)[i].derivative = value(d->second.values.storage()[i]);
  std::map<std::string, xt::xarray<double>> out;
  const core::axis_sizes sizes = core::sizes_of(call);
  for (const auto& [name, numbers] : interpreter<reference::tangent>(*made, along).run()) {
    xt::xarray<double> slope = xt::xarray<double>::from_shape(core::shape_of(*call.operation->output(name), sizes));
    std::ranges::transform(std::get<reals<reference::tangent>>(numbers), slope.storage().begin(),
                           [](const reference::tangent& x) { return x.derivative.to_double(); });
    out.emplace(name, std::move(slope));
  }
  return out;
}

}  // namespace assay::reference::formula
