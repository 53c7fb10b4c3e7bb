#include "properties/encodings/heinsen/mutants/linear_trees.hpp"

namespace assay::properties::encodings::heinsen {

using namespace reference;  // the schemes below are written in its vocabulary

linear_tree::linear_tree(const_lane<R> a, const_lane<R> h, const R& s0, prefixes prefixes_of) : steps_(a.size() + 1) {
  nodes_.push_back({R(1.0), exp(s0)});
  for (std::size_t i = 0; i < a.size(); ++i) nodes_.push_back({exp(a[i]), exp(h[i])});
  std::vector<element> steps;
  for (std::size_t i = 0; i < steps_; ++i) steps.push_back({this, i});
  results_ = prefixes_of(steps);
}

linear_tree::element linear_tree::join(std::size_t first, std::size_t second) {
  const node &f = nodes_[first], &g = nodes_[second];
  const node product{f.p * g.p, g.p * f.x + g.x, first, second};
  nodes_.push_back(product);
  return {this, nodes_.size() - 1};
}

void linear_tree::pull_back(const_lane<R> grad_s, const R& grad_last, scan_gradients<R> grad) {
  const std::size_t n = grad_s.size();
  for (std::size_t i = 0; i <= n; ++i) {
    const R cotangent = i == 0 ? R(0.0) : R(grad_s[i - 1]);
    node& result = nodes_[results_[i].index];
    if (i > 0 || n == 0) result.grad_x = result.grad_x + (i == n ? cotangent + grad_last : cotangent) / result.x;
  }
  for (std::size_t k = nodes_.size(); k-- > steps_;) {
    const node product = nodes_[k];
    node &f = nodes_[product.first], &g = nodes_[product.second];
    g.grad_p = g.grad_p + (product.grad_p * f.p + product.grad_x * f.x);
    f.grad_p = f.grad_p + product.grad_p * g.p;
    f.grad_x = f.grad_x + product.grad_x * g.p;
    g.grad_x = g.grad_x + product.grad_x;
  }
  for (std::size_t i = 0; i < n; ++i) {
    grad.a[i] = nodes_[i + 1].grad_p * nodes_[i + 1].p;
    grad.h[i] = nodes_[i + 1].grad_x * nodes_[i + 1].x;
  }
  grad.s0 = nodes_[0].grad_x * nodes_[0].x;
}

std::vector<linear_tree::element> products_by_doubling(const std::vector<linear_tree::element>& steps) {
  return doubling_prefixes(steps);
}
std::vector<linear_tree::element> products_of_neighbours(const std::vector<linear_tree::element>& steps) {
  return balanced_prefixes(steps);
}
std::vector<linear_tree::element> products_from_the_first(const std::vector<linear_tree::element>& steps) {
  // The first element is kept apart: the products are those of the gates alone.
  std::vector<linear_tree::element> prefixes{steps.front()};
  for (std::size_t i = 1; i < steps.size(); ++i) {
    const linear_tree::element gates = i == 1 ? steps[1] : then(prefixes.back(), steps[i]);
    prefixes.push_back(gates);
  }
  for (std::size_t i = 1; i < prefixes.size(); ++i) prefixes[i] = then(steps.front(), prefixes[i]);
  return prefixes;
}

namespace {

// An element (p, x) with its derivative.
struct dual_element {
  R p, x, dp, dx;
  friend dual_element then(const dual_element& f, const dual_element& g) {
    return {f.p * g.p, g.p * f.x + g.x, f.dp * g.p + f.p * g.dp, g.dp * f.x + g.p * f.dx + g.dx};
  }
};

void tangent_of_doubling_tree(const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R>, scan_direction<R> d,
                              lane<R> ds) {
  std::vector<dual_element> steps{{R(1.0), exp(s0), R(0.0), exp(s0) * d.s0}};
  for (std::size_t i = 0; i < ds.size(); ++i) {
    const R p = exp(a[i]), x = exp(h[i]);
    steps.push_back({p, x, p * d.a[i], x * d.h[i]});
  }
  steps = doubling_prefixes(std::move(steps));
  for (std::size_t i = 0; i < ds.size(); ++i) ds[i] = steps[i + 1].dx / steps[i + 1].x;
}

}  // namespace

scheme_change<scan_scheme> in_linear_tree(linear_tree::prefixes prefixes_of) {
  return [prefixes_of](scan_scheme& scheme) {
    scheme.scan = [prefixes_of](const_lane<R> a, const_lane<R> h, const R& s0, lane<R> s) {
      const linear_tree tree(a, h, s0, prefixes_of);
      for (std::size_t i = 0; i < s.size(); ++i) s[i] = log(tree.x(i + 1));
    };
    scheme.adjoint = [prefixes_of](const_lane<R> a, const_lane<R> h, const R& s0, const_lane<R>, const_lane<R> grad_s,
                                   const R& grad_last, scan_gradients<R> grad) {
      linear_tree(a, h, s0, prefixes_of).pull_back(grad_s, grad_last, grad);
    };
    scheme.tangent = tangent_of_doubling_tree;
    scheme.state_kept = [](const R& s0) { return log(exp(s0)); };
    scheme.tangent_kept = [](const R& s0, const R& ds0) { return exp(s0) * ds0 / exp(s0); };
  };
}

std::vector<variant> linear_tree_mutants() {
  const auto losing = [](const char* id, const char* models, linear_tree::prefixes prefixes_of) {
    return changed_heinsen(
        id, models, "products of p underflow, and the state that they carry is lost",
        {.formula = in_linear_tree(prefixes_of), .declared = [](description& about) {
           // e^s itself stays in the range of f32; gradients, in which e^s meets e^-s, do not.
           std::erase_if(about.operations,
                         [](const auto& offered) { return offered.first.find(':') != std::string::npos; });
           const declared_domain within{-80, 80};
           declare_domain(about, {{"state", within}, {"h", within}, {"s0", within}, {"log_p", {}}, {"g", {}}});
         }});
  };
  return {
      losing("mutant/products_of_gates_underflow", "lucidrains/assoc-scan on (p, e^h)", products_by_doubling),
      losing("mutant/products_of_neighbours_underflow", "alxndrTL/mamba.py on (p, e^h)", products_of_neighbours),
      losing("mutant/product_of_all_gates_underflows", "s0 times a cumulative product of p", products_from_the_first)};
}

}  // namespace assay::properties::encodings::heinsen
