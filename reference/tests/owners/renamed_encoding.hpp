// An encoding under another name: an owner that a program adds, whose results are all known.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "reference/encoding_owner.hpp"

namespace assay::reference::testing {

template <class Encoding>
class renamed_encoding final : public formula_owner {
 public:
  renamed_encoding(const std::string& encoding, std::string name)
      : inner_(make_encoding_owner<Encoding>()), name_(std::move(name)) {
    for (const declared_operation& d : inner_->operations()) {
      declared_operation own = d;
      own.declaration.name = name_ + d.declaration.name.substr(encoding.size());
      own.declaration.named_only = true;
      operations_.push_back(std::move(own));
    }
  }

  [[nodiscard]] std::string_view name() const override { return name_; }
  [[nodiscard]] const core::encoding_summary& summary() const override { return inner_->summary(); }
  [[nodiscard]] const std::vector<declared_operation>& operations() const override { return operations_; }

  [[nodiscard]] rung_outputs enclose_in_doubles(const core::request& call) const override {
    return inner_->enclose_in_doubles(inside(call));
  }
  [[nodiscard]] rung_outputs enclose_in_two_doubles(const core::request& call) const override {
    return inner_->enclose_in_two_doubles(inside(call));
  }
  [[nodiscard]] rung_outputs enclose(const core::request& call, unsigned digits) const override {
    return inner_->enclose(inside(call), digits);
  }
  [[nodiscard]] std::vector<law_outputs> laws(const core::request& call, const std::vector<accuracy_class>& classes,
                                              const core::precisions& compute) const override {
    return inner_->laws(inside(call), classes, compute);
  }
  [[nodiscard]] std::map<std::string, xt::xarray<double>> tangent(const core::request& call,
                                                                  const core::tensors& direction) const override {
    return inner_->tangent(inside(call), direction);
  }
  [[nodiscard]] core::tensors evaluate_in(const core::request& call, const core::precisions& formats,
                                          accuracy_class c) const override {
    return inner_->evaluate_in(inside(call), formats, c);
  }

  /// The operations before the owner is added, for tests that change them.
  std::vector<declared_operation>& change() { return operations_; }

 private:
  // The call to the encoding itself.
  [[nodiscard]] core::request inside(const core::request& call) const {
    core::request same = call;
    for (std::size_t i = 0; i < operations_.size(); ++i)
      if (operations_[i].declaration.name == call.operation->name)
        same.operation = &inner_->operations()[i].declaration;
    return same;
  }

  std::unique_ptr<const formula_owner> inner_;
  std::string name_;
  std::vector<declared_operation> operations_{};
};

}  // namespace assay::reference::testing
