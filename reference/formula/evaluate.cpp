#include "reference/formula/evaluate.hpp"

#include "reference/formula/rungs.hpp"
#include "reference/formula/tensors_of.hpp"
#include "reference/rung_proof.hpp"

namespace assay::reference::formula {
namespace {

rung_outputs enclose_on(std::size_t rung, const program& p, const core::tensors& inputs, const storage_of& storage) {
  if (rung < first_interval_rung)
    return enclose(p, inputs, storage, rung == first_ball_rung ? doubles::one : doubles::two);
  return enclose(p, inputs, storage, precision_digits[rung - first_interval_rung]);
}

// Takes what a rung has proved about the undecided elements. Returns the number of elements that are still undecided.
std::size_t take(certified_outputs& out, rung_outputs&& found, std::size_t rung, proof wanted) {
  std::size_t open = 0;
  for (auto& [name, proved] : found) {
    certified& c = out[name];
    const std::size_t size = proved.rounded.size();
    if (c.rung.empty()) c = {proved.rounded, proved.low, proved.radius, std::vector<std::uint8_t>(size, undecided)};
    for (std::size_t i = 0; i < size; ++i) {
      if (c.rung[i] != undecided) continue;
      c.rounded.values.storage()[i] = proved.rounded.values.storage()[i];
      c.low.storage()[i] = proved.low.storage()[i];
      c.radius.storage()[i] = proved.radius.storage()[i];
      if (is_proved(proved, i, wanted))
        c.rung[i] = static_cast<std::uint8_t>(rung);
      else
        ++open;
    }
  }
  return open;
}

storage_of all_in(core::dtype storage) {
  return [storage](const std::string&) { return storage; };
}

// The result of evaluate(), or the reason why there is none.
template <class Evaluate>
auto or_error(const program& p, const core::tensors& inputs, Evaluate evaluate) -> core::result<decltype(evaluate())> {
  if (auto ok = check_inputs(p, inputs); !ok) return tl::make_unexpected(ok.error());
  try {
    return evaluate();
  } catch (const evaluation_error& e) {
    return core::failure(e.what());
  }
}

}  // namespace

core::result<certified_outputs> certify(const program& p, const core::tensors& inputs, core::dtype storage,
                                        std::size_t precisions, proof wanted) {
  ASSAY_EXPECTS(core::is_floating(storage));
  return or_error(p, inputs, [&] {
    const std::size_t last = first_interval_rung + std::min(precisions, precision_digits.size());
    certified_outputs out;
    for (std::size_t rung = first_ball_rung; rung < last; ++rung) {
      // Balls prove no remainder, and one double decides no rounding to f64 except of exact numbers.
      if (rung < first_interval_rung && wanted == proof::value_and_low) continue;
      if (rung == first_ball_rung && storage == core::dtype::f64) continue;
      if (take(out, enclose_on(rung, p, inputs, all_in(storage)), rung, wanted) == 0) break;
    }
    return out;
  });
}

core::result<std::map<std::string, xt::xarray<double>>> allow(const program& p, const core::tensors& inputs,
                                                              const core::precisions& compute,
                                                              const std::vector<std::string>& stages) {
  return or_error(p, inputs, [&] {
    std::map<std::string, xt::xarray<double>> out;
    for (auto& [name, law] : law_of(p, inputs, compute, stages)) out.emplace(name, std::move(law.k));
    return out;
  });
}

core::result<core::tensors> evaluate_in(const program& p, const core::tensors& inputs, core::dtype storage,
                                        const core::precisions& formats, const std::vector<std::string>& stages) {
  ASSAY_EXPECTS(core::is_floating(storage));
  return or_error(p, inputs, [&] { return plain_arithmetic(p, inputs, all_in(storage), formats, stages); });
}

}  // namespace assay::reference::formula
