#include "reference/formula/owner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "reference/formula/interpreter.hpp"
#include "reference/readings/all.hpp"
#include "reference/readings/round_ball.hpp"
#include "reference/readings/round_enclosure.hpp"
#include "reference/routines.hpp"

namespace assay::reference::formula {
namespace {

std::vector<std::string> stage_names(const core::operation& op) {
  std::vector<std::string> names;
  for (const core::stage_declaration& s : op.stages) names.push_back(s.name);
  return names;
}

number_kind kind_of(const core::tensor_declaration& d) {
  return d.own_type && !core::is_floating(*d.own_type) ? number_kind::integer : number_kind::real;
}

// Inputs and outputs are those of the declaration, in any order.
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
    if (kind_of(*d) != number_kind::real) refuse(fmt::format("its output '{}' is no real", o.name));
    check(*d, o.of);
  }
}

// A call of a program in a reading: its inputs as arrays, its outputs as fields of the declared shapes.
template <class R>
class evaluation {
 public:
  using arrays = typename interpreter<R>::arrays;

  evaluation(const core::request& call, const recorded_call& made)
      : call_(call), forward_(*made.forward), program_(*made.formula), stages_(stage_names(forward_)) {}

  fields<R> operator()() const {
    if (call_.operation->is_forward()) return forward(lifted<R>([](const tensor_at& at) { return R(at.number); }));
    if constexpr (carries_derivatives<R>)
      throw core::contract_violation("no second derivative of " + call_.operation->name);
    else
      return vjp();
  }

  fields<R> along(const core::tensors& direction) const {
    return forward(lifted<R>([&](const tensor_at& at) {
      R x(at.number);
      if (const auto d = direction.find(at.name); d != direction.end())
        x.derivative = value(d->second.values.storage()[at.index]);
      return x;
    }));
  }

 private:
  struct tensor_at {
    const std::string& name;
    std::size_t index;
    double number;
    bool is_differentiable;
  };

  // The inputs are numbers of the storage dtype: no narrower format rounds them before it takes them.
  template <class N, class Make>
  typename interpreter<N>::arrays lifted(Make make) const {
    if constexpr (std::is_same_v<N, rounded>) {
      const computing_in storage(call_.type);
      return lifted_here<N>(make);
    }
    return lifted_here<N>(make);
  }
  template <class N, class Make>
  typename interpreter<N>::arrays lifted_here(Make make) const {
    typename interpreter<N>::arrays in;
    for (const node_id n : program_.inputs()) {
      const std::string& name = program_.nodes()[n].text;
      const auto& x = call_.inputs.at(name).values.storage();
      if (program_.type_of(n).kind == number_kind::integer) {
        in.emplace(name, integers(x.begin(), x.end()));
        continue;
      }
      reals<N> numbers;
      numbers.reserve(x.size());
      const bool differentiable = forward_.input(name)->differentiable;
      for (std::size_t i = 0; i < x.size(); ++i) numbers.push_back(make(tensor_at{name, i, x[i], differentiable}));
      in.emplace(name, std::move(numbers));
    }
    return in;
  }

  fields<R> forward(const arrays& in) const {
    fields<R> all;
    for (auto& [name, made] : interpreter<R>(program_, in, stages_).run())
      all.emplace(name, shaped(call_.operation->output(name), std::get<reals<R>>(std::move(made))));
    return all;
  }

  field<R> shaped(const core::tensor_declaration* d, reals<R> numbers) const {
    field<R> f = field<R>::from_shape(core::shape_of(*d, core::sizes_of(call_)));
    std::move(numbers.begin(), numbers.end(), f.storage().begin());
    return f;
  }

  fields<R> vjp() const {
    using number = adjoint<R>;
    tape<R> graph;
    std::map<std::string, std::vector<typename tape<R>::node>> variables;
    const auto in = lifted<number>([&](const tensor_at& at) {
      if (!at.is_differentiable) return number(R(at.number));
      number x = number::variable(R(at.number));
      variables[at.name].push_back(x.node);
      return x;
    });
    const auto last = graph.last();
    for (const auto& [name, made] : interpreter<number>(program_, in, stages_).run()) {
      const auto& y = std::get<reals<number>>(made);
      const auto& g = call_.inputs.at("grad_" + name).values.storage();
      for (std::size_t i = 0; i < y.size(); ++i) graph.put(y[i].node, cotangent<R>(R(g[i])));
    }
    graph.sweep(last);
    fields<R> all;
    for (const core::tensor_declaration& d : forward_.inputs) {
      if (!d.differentiable || d.own_type) continue;
      reals<R> gradient(elements_of(core::shape_of(d, core::sizes_of(call_))));
      if (const auto of = variables.find(d.name); of != variables.end())
        std::transform(of->second.begin(), of->second.end(), gradient.begin(),
                       [&](auto node) { return graph.gradient(node); });
      all.emplace("grad_" + d.name, shaped(call_.operation->output("grad_" + d.name), std::move(gradient)));
    }
    return all;
  }

  const core::request& call_;
  const core::operation& forward_;
  const program& program_;
  const std::vector<std::string> stages_;
};

// Of a reading that cannot tell which integer a call has, nothing is known.
template <class R>
fields<R> evaluated(const core::request& call, const recorded_call& p, const R& unknown) {
  try {
    return evaluation<R>(call, p)();
  } catch (const undecided_integer&) {
    fields<R> all;
    for (const core::tensor_declaration& d : call.operation->outputs) {
      field<R> f = field<R>::from_shape(core::shape_of(d, core::sizes_of(call)));
      std::fill(f.storage().begin(), f.storage().end(), unknown);
      all.emplace(d.name, std::move(f));
    }
    return all;
  }
}

template <class R, class Round>
rung_outputs rounded_outputs(const core::request& call, const recorded_call& p, Round round) {
  undecided_branches::take();
  const fields<R> made = evaluated<R>(call, p, R::unknown());
  const bool unknown = undecided_branches::take();
  rung_outputs out;
  for (const auto& [name, f] : made) {
    const core::dtype storage = call.operation->output(name)->type_in(call.type);
    out.emplace(name,
                rung_output::of(storage, f, [&](const R& x) { return round(storage, unknown ? R::unknown() : x); }));
  }
  return out;
}

core::tensors plain(const core::request& call, const recorded_call& p, bool rounds_once) {
  core::tensors out;
  for (const auto& [name, f] : evaluated<rounded>(call, p, rounded(std::numeric_limits<double>::quiet_NaN()))) {
    core::tensor t{call.operation->output(name)->type_in(call.type),
                   numbers_of(f, [](const rounded& x) { return x.number; })};
    if (rounds_once)
      for (double& x : t.values.storage()) x = core::round_to(t.type, x);
    out.emplace(name, std::move(t));
  }
  return out;
}

}  // namespace

// The programs of the calls of late: the same sizes are asked by every rung, law and part.
struct program_owner::known_programs {
  struct entry {
    std::string of;
    core::attributes settings;
    core::axis_sizes sizes;
    std::shared_ptr<const program> made;
  };
  static constexpr std::size_t most = 64;
  std::mutex mutex;
  std::deque<entry> all;
};

program_owner::program_owner(std::string name, core::encoding_summary summary, std::vector<recorded_operation> all)
    : name_(std::move(name)),
      summary_(std::move(summary)),
      recorded_(std::move(all)),
      known_(std::make_unique<known_programs>()) {
  for (const recorded_operation& r : recorded_) {
    operations_.push_back({r.declaration, {accuracy_class::sequential}});
    if (r.declaration.has_gradient())
      operations_.push_back({core::vjp_of(r.declaration), {accuracy_class::sequential}});
  }
}
program_owner::~program_owner() = default;

recorded_call program_owner::recorded(const core::request& call) const {
  const core::operation_name name(call.operation->name);
  const auto it = std::find_if(recorded_.begin(), recorded_.end(),
                               [&](const recorded_operation& r) { return r.declaration.name == name.forward; });
  ASSAY_EXPECTS(it != recorded_.end());
  const core::axis_sizes sizes = core::sizes_of(call);
  const core::attributes settings = core::completed(it->declaration, call.attributes);
  {
    const std::lock_guard lock(known_->mutex);
    for (const auto& e : known_->all)
      if (e.of == name.forward && e.sizes == sizes && e.settings == settings) return {&it->declaration, e.made};
  }
  auto made = std::make_shared<const program>(it->record({settings, sizes}));
  check_program(*made, it->declaration, sizes);
  const std::lock_guard lock(known_->mutex);
  known_->all.push_front({std::string(name.forward), settings, sizes, made});
  if (known_->all.size() > known_programs::most) known_->all.pop_back();
  return {&it->declaration, std::move(made)};
}

rung_outputs program_owner::enclose_in_doubles(const core::request& call) const {
  return rounded_outputs<double_ball>(call, recorded(call), round_ball<double>);
}
rung_outputs program_owner::enclose_in_two_doubles(const core::request& call) const {
  return rounded_outputs<two_double_ball>(call, recorded(call), round_ball<two_double>);
}
rung_outputs program_owner::enclose(const core::request& call, unsigned digits) const {
  const computing_with_digits precision(digits);
  return rounded_outputs<enclosure>(call, recorded(call), round_enclosure);
}

std::vector<law_outputs> program_owner::laws(const core::request& call, const std::vector<accuracy_class>& classes,
                                             const core::precisions& compute) const {
  ASSAY_EXPECTS(classes == std::vector{accuracy_class::sequential});
  const computing_in format(compute);
  const double none = std::numeric_limits<double>::quiet_NaN();
  law_outputs out;
  for (const auto& [name, f] : evaluated<tracked>(call, recorded(call), tracked(0.0, none)))
    out.emplace(name, law_output{numbers_of(f, [](const tracked& x) { return x.allowance(); }),
                                 numbers_of(f, [](const tracked& x) { return finite_magnitude(x.number); })});
  return {std::move(out)};
}

core::tensors program_owner::algorithm(const core::request& call, accuracy_class) const {
  const computing_in format(call.type);
  return plain(call, recorded(call), false);
}

std::map<std::string, xt::xarray<double>> program_owner::tangent(const core::request& call,
                                                                 const core::tensors& direction) const {
  std::map<std::string, xt::xarray<double>> out;
  for (const auto& [name, f] : evaluation<reference::tangent>(call, recorded(call)).along(direction))
    out.emplace(name, numbers_of(f, [](const reference::tangent& x) { return x.derivative.to_double(); }));
  return out;
}

core::tensors program_owner::evaluate_in(const core::request& call, const core::precisions& formats) const {
  const computing_in scope(formats);
  return plain(call, recorded(call), true);
}

}  // namespace assay::reference::formula
