#include "properties/diagnosis/consequences.hpp"

#include "properties/harness/certified_implementation.hpp"

namespace assay::properties {
namespace {

// An implementation that answers as another one does, and gives the truth where the other one's outputs are wrong. With
// `fresh`, it keeps wrong outputs that a fresh implementation does not give to this call alone: the earlier calls have
// made them wrong.
class corrected final : public implementation {
 public:
  corrected(implementation& inner, const fresh_start* fresh) : inner_(inner), fresh_(fresh) {}
  [[nodiscard]] const description& describe() const override { return inner_.describe(); }
  call_result evaluate(const request& call) override {
    call_result given = inner_.evaluate(call);
    if (!given || judge(call, describe().precisions_of(call), *given).passed) return given;
    if (fresh_ != nullptr && !is_given_alone(call, *given)) return given;
    return truth_.evaluate(call);
  }

 private:
  // Whether a fresh implementation gives the same outputs to this call alone.
  [[nodiscard]] bool is_given_alone(const request& call, const core::tensors& given) const {
    const auto other = *fresh_ ? (*fresh_)() : nullptr;
    if (!other) return false;
    const call_result alone = other->evaluate(call);
    if (!alone) return false;
    for (const auto& [name, t] : given)
      if (!core::identical(t, alone->at(name))) return false;
    return true;
  }

  implementation& inner_;
  const fresh_start* fresh_;
  certified_implementation truth_;
};

}  // namespace

bool fails_by_wrong_values_alone(const property& failed, const test_case& shown, implementation& under_test,
                                 const fresh_start& fresh) {
  corrected with_right_values(under_test, failed.about_state ? &fresh : nullptr);
  const status again = failed.check(with_right_values, shown).verdict;
  return again == status::passed || again == status::uninformative;
}

}  // namespace assay::properties
