#include "golden/expected_outputs.hpp"

#include <tbb/parallel_for.h>

#include <cmath>

#include "golden/proof.hpp"
#include "reference/core/parts.hpp"
#include "reference/core/special_values.hpp"
#include "reference/error_bound.hpp"
#include "reference/oracle.hpp"

namespace assay::golden {
namespace {

using reference::accuracy_class;

std::map<std::string, expected_output> expected_outputs_of_part(const core::request& call,
                                                                const core::precisions& compute,
                                                                std::optional<accuracy_class> within) {
  const accuracy_class law = within.value_or(reference::accuracy_classes.back());
  const reference::certified_outputs truths = reference::certify(call);
  const reference::allowances laws = reference::allow(call, compute, std::max(law, accuracy_class::sequential));
  std::map<std::string, expected_output> all;
  for (const auto& [name, truth] : truths) {
    const core::dtype storage = truth.rounded.type, unit = compute.unit();
    const xt::xarray<double>& k = laws.at(name).k[static_cast<std::size_t>(law)];
    expected_output out{truth.rounded, xt::zeros<double>(truth.rounded.shape())};
    for (std::size_t i = 0; i < truth.rounded.size(); ++i) {
      const double x = truth.truth(i), law_factor = k.storage()[i];
      const double bound = within ? reference::class_bound(law, storage, unit, law_factor, x)
                                  : reference::bug_bound(storage, unit, law_factor, x);
      const double radius = truth.radius.storage()[i];
      out.allowed.storage()[i] =
          largest_distance(storage, truth.rounded.values.storage()[i], truth.low.storage()[i], bound + radius);
      if (truth.rung[i] == reference::undecided && std::isinf(radius) && core::is_floating(storage)) {
        out.truth.values.storage()[i] = std::nan("");
        out.allowed.storage()[i] = core::infinity;
      }
    }
    all.emplace(name, std::move(out));
  }
  return all;
}

}  // namespace

std::map<std::string, expected_output> expected_outputs(const core::request& call, const core::precisions& compute,
                                                        std::optional<accuracy_class> within) {
  const std::vector<core::kept_positions> parts =
      core::split_call(call, core::usual_part_of(reference::forward_of(*call.operation)));
  if (parts.size() < 2) return expected_outputs_of_part(call, compute, within);
  const auto sizes = core::check_request(call);
  ASSAY_EXPECTS(sizes.has_value());
  std::map<std::string, expected_output> all;
  for (const core::tensor_declaration& d : call.operation->outputs) {
    const core::shape shape = core::shape_of(d, *sizes);
    all.emplace(d.name, expected_output{core::zeros(d.type_in(call.type), shape), xt::zeros<double>(shape)});
  }
  tbb::parallel_for(std::size_t{0}, parts.size(), [&](std::size_t p) {
    const core::part_of_call part = core::part_of(call, parts[p]);
    for (const auto& [name, found] : expected_outputs_of_part(part.call, compute, within)) {
      expected_output& whole = all.at(name);  // parts write to different elements
      const auto places = core::places_in_whole(*call.operation->output(name), part.kept, whole.truth.shape());
      for (std::size_t i = 0; i < places.size(); ++i) {
        whole.truth.values.storage()[places[i]] = found.truth.values.storage()[i];
        whole.allowed.storage()[places[i]] = found.allowed.storage()[i];
      }
    }
  });
  return all;
}

}  // namespace assay::golden
