// A call with given numbers, with its truth and the error allowed to each element.
#pragma once

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "reference/error_bound.hpp"
#include "reference/oracle.hpp"

namespace assay::properties {

class call_by_hand {
 public:
  call_by_hand(const std::string& operation, core::dtype type, core::tensors inputs, core::attributes settings = {})
      : type_(type) {
    const core::request call{reference::find_operation(operation), type, std::move(inputs), std::move(settings)};
    for (const auto& [name, y] : reference::certify(call)) truth_[name] = flat(y.rounded.values);
    for (const auto& [name, a] : reference::allow(call, type))
      for (const xt::xarray<double>& k : a.k) k_[name].push_back(flat(k));
  }
  [[nodiscard]] double truth(const std::string& name, std::size_t i = 0) const { return truth_.at(name)[i]; }
  /// The error above which an element is a bug, and the error above which it is in no class up to c.
  [[nodiscard]] double bug(const std::string& name, std::size_t i = 0) const {
    return reference::bug_bound(type_, type_, k_.at(name).back()[i], truth(name, i));
  }
  [[nodiscard]] double of_class(reference::accuracy_class c, const std::string& name, std::size_t i = 0) const {
    return reference::class_bound(c, type_, type_, k_.at(name)[static_cast<std::size_t>(c)][i], truth(name, i));
  }
  [[nodiscard]] bool allows(double x, const std::string& name, std::size_t i = 0) const {
    return std::fabs(x - truth(name, i)) <= bug(name, i);
  }

 private:
  static std::vector<double> flat(const xt::xarray<double>& x) { return {x.storage().begin(), x.storage().end()}; }

  core::dtype type_;
  std::map<std::string, std::vector<double>> truth_{};
  std::map<std::string, std::vector<std::vector<double>>> k_{};
};

}  // namespace assay::properties
