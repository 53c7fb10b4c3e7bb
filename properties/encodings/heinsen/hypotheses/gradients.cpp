// Wrong models of the derivatives of right states.
#include <fmt/format.h>

#include <algorithm>

#include "properties/encodings/heinsen/hypotheses/hypotheses.hpp"
#include "properties/encodings/heinsen/hypotheses/scan_problem.hpp"
#include "reference/oracle.hpp"

namespace assay::properties::encodings::heinsen {
namespace {

using lanes_model = std::function<void(std::vector<adjoint_lane>&, std::size_t features)>;

bool is_scan_vjp(const core::operation& op) { return op.is_vjp() && op.input("h") != nullptr; }
bool is_vjp(const core::operation& op) { return op.is_vjp(); }
bool is_jvp(const core::operation& op) { return op.kind() == core::derivative::jvp; }

hypothesis lanes_hypothesis(std::string sentence, lanes_model model) {
  return {std::move(sentence), is_scan_vjp,
          [model = std::move(model)](const request& call) { return vjp_outputs(call, model); }};
}
hypothesis lane_hypothesis(std::string sentence, const std::function<void(adjoint_lane&)>& model) {
  return lanes_hypothesis(std::move(sentence), [model](std::vector<adjoint_lane>& lanes, std::size_t) {
    std::for_each(lanes.begin(), lanes.end(), model);
  });
}
// The gradient that token i passes to the token before it is multiplied by a factor.
hypothesis carry_hypothesis(std::string sentence, double (*factor)(const adjoint_lane&, std::size_t i)) {
  return lane_hypothesis(std::move(sentence),
                         [factor](adjoint_lane& l) { adjoint_by(l, [&](std::size_t i) { return factor(l, i); }); });
}
// The outputs are computed correctly, then changed.
hypothesis result_hypothesis(std::string sentence, const std::function<void(adjoint_lane&)>& change) {
  return lane_hypothesis(std::move(sentence), [change](adjoint_lane& l) {
    right_adjoint(l);
    change(l);
  });
}

// The operation itself, in double, with one input set to 0.
hypothesis without_input(std::string sentence, const std::vector<std::string>& names,
                         bool (*applies)(const core::operation&)) {
  return {
      std::move(sentence),
      [names, applies](const core::operation& op) {
        return applies(op) &&
               std::any_of(names.begin(), names.end(), [&](const auto& name) { return op.input(name) != nullptr; });
      },
      [names](const request& call) {
        core::tensors inputs;
        for (const auto& [name, t] : call.inputs) {
          const bool dropped = std::find(names.begin(), names.end(), name) != names.end();
          inputs.emplace(name, dropped ? core::zeros(core::dtype::f64, t.shape()) : core::cast(core::dtype::f64, t));
        }
        return reference::evaluate({call.operation, core::dtype::f64, inputs}, reference::accuracy_class::sequential);
      }};
}

void add_hypotheses_of_blocks(std::vector<hypothesis>& all) {
  for (const std::size_t block : {4, 8, 16, 32, 64, 128, 256}) {
    all.push_back(lane_hypothesis(fmt::format("the gradient stops at blocks of {}", block), [block](adjoint_lane& l) {
      adjoint_by(l, [&](std::size_t i) { return i > 0 && i % block == 0 ? 0.0 : 1.0; });
    }));
    all.push_back(lane_hypothesis(fmt::format("at blocks of {} the gradient carried back scales the wrong term", block),
                                  [block](adjoint_lane& l) {
                                    double carry = l.grad_s_n;
                                    for (std::size_t i = l.w.size(); i-- > 0;) {
                                      const bool edge = i % block == block - 1 && i + 1 < l.w.size();
                                      const double lambda = edge ? l.grad_s[i] * l.w[i] + carry : l.grad_s[i] + carry;
                                      l.grad_a[i] = carry = l.w[i] * lambda;
                                      l.grad_h[i] = l.v[i] * lambda;
                                    }
                                    l.grad_s0 = carry;
                                  }));
    all.push_back(result_hypothesis(
        fmt::format("behind the last whole block of {} the decay's gradient is added to another one", block),
        [block](adjoint_lane& l) {
          const std::size_t tail = l.w.size() - l.w.size() % block;
          if (tail > 0 && tail < l.w.size()) l.grad_a[tail] += l.grad_a[tail - 1];
        }));
  }
}

void add_hypotheses_of_cotangents(std::vector<hypothesis>& all) {
  all.push_back(without_input("the gradient of the last state is dropped", {"grad_s_n"}, is_vjp));
  all.push_back(without_input("the gradients of all states but the last are dropped", {"grad_s"}, is_vjp));
  all.push_back(lane_hypothesis("cotangents are read from the token before", [](adjoint_lane& l) {
    if (!l.grad_s.empty()) l.grad_s.insert(l.grad_s.begin(), l.grad_s.front()), l.grad_s.pop_back();
    right_adjoint(l);
  }));
  for (const char* input : {"tangent_s0", "tangent_h"})
    all.push_back(without_input(fmt::format("the directional derivative ignores {}", input), {input}, is_jvp));
  all.push_back(without_input("the directional derivative ignores the decay's direction",
                              {"tangent_log_p", "tangent_g"}, is_jvp));
}

void add_hypotheses_of_outputs(std::vector<hypothesis>& all) {
  all.push_back(result_hypothesis("the gradient of s0 is 0", [](adjoint_lane& l) { l.grad_s0 = 0.0; }));
  all.push_back(result_hypothesis("the gradient of the decay is 0",
                                  [](adjoint_lane& l) { std::fill(l.grad_a.begin(), l.grad_a.end(), 0.0); }));
  all.push_back(result_hypothesis("the gradient of the decay has the wrong sign", [](adjoint_lane& l) {
    for (double& x : l.grad_a) x = -x;
  }));
  all.push_back(carry_hypothesis("no gradient is carried from later states back",
                                 [](const adjoint_lane&, std::size_t) { return 0.0; }));
  all.push_back(carry_hypothesis("where s0 = 0, no gradient is carried from later states back",
                                 [](const adjoint_lane& l, std::size_t) { return l.s0 == 0.0 ? 0.0 : 1.0; }));
  all.push_back(lane_hypothesis(
      "where s0 = 0, no gradient is carried from later states back, but to s0",
      [](adjoint_lane& l) { adjoint_by(l, [&](std::size_t i) { return l.s0 == 0.0 && i > 0 ? 0.0 : 1.0; }); }));
  all.push_back(lanes_hypothesis("all batch rows get the first row's gradient of the decay",
                                 [](std::vector<adjoint_lane>& lanes, std::size_t features) {
                                   std::for_each(lanes.begin(), lanes.end(), right_adjoint);
                                   for (std::size_t k = 0; k < lanes.size(); ++k)
                                     lanes[k].grad_a = lanes[k % features].grad_a;
                                 }));
}

// The gradient of a shared parameter.
hypothesis parameter_hypothesis(std::string sentence, std::vector<std::string> names,
                                double (*factor)(std::size_t rows)) {
  return {std::move(sentence),
          [names](const core::operation& op) { return op.is_vjp() && op.output(names.front()) != nullptr; },
          [names, factor](const request& call) {
            core::tensors inputs;
            for (const auto& [name, t] : call.inputs) inputs.emplace(name, core::cast(core::dtype::f64, t));
            core::tensors out =
                reference::evaluate({call.operation, core::dtype::f64, inputs}, reference::accuracy_class::sequential);
            for (const std::string& name : names)
              for (double& x : out.at(name).values.storage()) x *= factor(call.inputs.at("s0").shape()[0]);
            return out;
          }};
}

void add_hypotheses_of_parameters(std::vector<hypothesis>& all) {
  const auto by_rows = [](std::size_t rows) { return static_cast<double>(rows); };
  const auto averaged = [](std::size_t rows) { return rows == 0 ? 1.0 : 1.0 / static_cast<double>(rows); };
  const std::vector<std::vector<std::string>> sets{
      {"grad_b_H"}, {"grad_b_R"}, {"grad_W_H"}, {"grad_W_R"}, {"grad_W_H", "grad_b_H", "grad_W_R", "grad_b_R"}};
  for (const auto& names : sets) {
    const std::string what = names.size() > 1 ? "the gradient of every shared parameter" : names.front();
    all.push_back(parameter_hypothesis(what + " is multiplied by the batch size", names, by_rows));
    all.push_back(parameter_hypothesis(what + " is averaged over the batch instead of summed", names, averaged));
  }
}

}  // namespace

std::vector<hypothesis> gradient_hypotheses() {
  std::vector<hypothesis> all;
  add_hypotheses_of_cotangents(all);
  add_hypotheses_of_outputs(all);
  add_hypotheses_of_blocks(all);
  add_hypotheses_of_parameters(all);
  return all;
}

}  // namespace assay::properties::encodings::heinsen
