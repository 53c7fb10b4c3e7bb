// An encoding that is compiled with the program, as an owner of formulas. Its routines are instantiated in
// instantiate/: who includes this compiles none of them.
#pragma once

#include <string>
#include <utility>

#include "reference/evaluate_in.hpp"
#include "reference/formula_owner.hpp"
#include "reference/routines.hpp"

namespace assay::reference {

template <class Encoding>
class compiled_encoding final : public formula_owner {
 public:
  explicit compiled_encoding(std::string name) : name_(std::move(name)) {}

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] const core::encoding_summary& summary() const override { return summary_; }
  [[nodiscard]] const std::vector<declared_operation>& operations() const override { return operations_; }

  [[nodiscard]] rung_outputs enclose_in_doubles(const core::request& call) const override {
    return enclose_in_balls<Encoding, double>(call);
  }
  [[nodiscard]] rung_outputs enclose_in_two_doubles(const core::request& call) const override {
    return enclose_in_balls<Encoding, two_double>(call);
  }
  [[nodiscard]] rung_outputs enclose(const core::request& call, unsigned digits) const override {
    return reference::enclose<Encoding>(call, digits);
  }
  [[nodiscard]] std::vector<law_outputs> laws(const core::request& call, const std::vector<accuracy_class>& classes,
                                              const core::precisions& compute) const override {
    return reference::laws<Encoding>(call, classes, compute);
  }
  [[nodiscard]] std::map<std::string, xt::xarray<double>> tangent(const core::request& call,
                                                                  const core::tensors& direction) const override {
    return differentiate<Encoding>(call, direction);
  }
  [[nodiscard]] core::tensors evaluate_in(const core::request& call, const core::precisions& formats,
                                          accuracy_class c) const override {
    return run_algorithm<Encoding>(call, formats, c);
  }

 private:
  std::string name_;
  core::encoding_summary summary_ = summary_of<Encoding>();
  std::vector<declared_operation> operations_ = declare<Encoding>();
};

}  // namespace assay::reference
