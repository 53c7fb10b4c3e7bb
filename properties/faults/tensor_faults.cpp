#include "properties/faults/tensor_faults.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <utility>

#include "reference/oracle.hpp"

namespace assay::properties {
namespace {

using core::tensor;
using core::tensor_declaration;

/// Changes a tensor of a dtype; `axis` is that of the fault.
struct fault_kind {
  std::string name;
  const char* symbol = "";  ///< the axis that it needs
  bool inputs = true;       ///< whether it makes sense for inputs
  std::function<void(tensor& t, std::size_t axis)> apply{};
};

void map_values(tensor& t, const std::function<double(double)>& f) {
  for (double& x : t.values.storage()) x = core::round_to(t.type, f(x));
}

using positions = std::vector<std::size_t>;

// The tensor with the positions of one axis rearranged; `order` gets their number.
fault_kind rearranged(const char* name, const char* symbol, positions (*order)(std::size_t)) {
  return {name, symbol, true, [order](tensor& t, std::size_t axis) {
            if (t.shape()[axis] > 0) t = core::take(t, axis, order(t.shape()[axis]));
          }};
}

positions counted(std::size_t n) {
  positions p(n);
  std::iota(p.begin(), p.end(), std::size_t{0});
  return p;
}
positions backwards(std::size_t n) {
  positions p = counted(n);
  return {p.rbegin(), p.rend()};
}
positions one_late(std::size_t n) {
  positions p = counted(n);
  for (std::size_t i = n; i-- > 1;) p[i] = i - 1;
  return p;
}
positions one_early(std::size_t n) {
  positions p = counted(n);
  for (std::size_t i = 0; i + 1 < n; ++i) p[i] = i + 1;
  return p;
}
positions only_first(std::size_t n) { return positions(n, 0); }

// One token's values become 0.
fault_kind token_lost(const char* name, bool last) {
  return {name, "n", true, [last](tensor& t, std::size_t axis) {
            const std::size_t n = t.shape()[axis], inner = core::stride_of(t.shape(), axis);
            for (std::size_t i = 0; i < t.size(); ++i)
              if ((i / inner) % n == (last ? n - 1 : 0)) t.values.storage()[i] = 0;
          }};
}

// All elements, or the last one alone, off by 2^k u.
fault_kind error_of(int k, bool relative, bool all) {
  return {fmt::format("{}_error_2^{}u_{}", relative ? "relative" : "absolute", k, all ? "everywhere" : "in_one"), "",
          false, [=](tensor& t, std::size_t) {
            const double e = std::ldexp(core::unit_roundoff(t.type), k);
            const std::size_t first = all || t.size() == 0 ? 0 : t.size() - 1;
            for (std::size_t i = first; i < t.size(); ++i) {
              double& x = t.values.storage()[i];
              if (std::isfinite(x)) x = core::round_to(t.type, relative ? x * (1 + e) : x + std::copysign(e, x));
            }
          }};
}

std::vector<fault_kind> fault_kinds() {
  std::vector<fault_kind> all{
      {"zeroed", "", true, [](tensor& t, std::size_t) { map_values(t, [](double) { return 0.0; }); }},
      {"negated", "", true, [](tensor& t, std::size_t) { map_values(t, [](double x) { return -x; }); }},
      {"doubled", "", true, [](tensor& t, std::size_t) { map_values(t, [](double x) { return 2 * x; }); }},
      {"in_f16", "", true,
       [](tensor& t, std::size_t) { map_values(t, [](double x) { return core::round_to(core::dtype::f16, x); }); }},
      {"in_bf16", "", true,
       [](tensor& t, std::size_t) { map_values(t, [](double x) { return core::round_to(core::dtype::bf16, x); }); }},
      rearranged("one_token_late", "n", one_late),
      rearranged("one_token_early", "n", one_early),
      rearranged("backwards_in_time", "n", backwards),
      rearranged("first_token_for_all", "n", only_first),
      rearranged("features_reversed", "d", backwards),
      rearranged("first_feature_for_all", "d", only_first),
      rearranged("rows_reversed", "B", backwards),
      rearranged("first_row_for_all", "B", only_first),
      token_lost("first_token_lost", false),
      token_lost("last_token_lost", true),
  };
  for (const bool relative : {true, false})
    for (const bool everywhere : {true, false})
      for (const int k : {3, 6, 9, 12}) all.push_back(error_of(k, relative, everywhere));
  return all;
}

/// A right implementation, one tensor of whose calls is changed.
class with_fault final : public implementation {
 public:
  with_fault(std::string name, std::unique_ptr<implementation> right, const core::operation& op,
             const tensor_declaration& where, const fault_kind& fault)
      : right_(std::move(right)),
        about_(right_->describe()),
        op_(&op),
        where_(&where),
        fault_(fault),
        axis_(core::axis_of(where, fault.symbol).value_or(0)) {
    about_.name = std::move(name);
    // Other operations are those of the right implementation: nothing to be found there.
    std::erase_if(about_.operations, [&](const auto& offered) { return offered.first != op.name; });
  }
  [[nodiscard]] const description& describe() const override { return about_; }
  call_result evaluate(const request& call) override {
    const bool of_input = op_->input(where_->name) == where_;
    request edited = call;
    if (of_input) fault_.apply(edited.inputs.at(where_->name), axis_);
    call_result out = right_->evaluate(edited);
    if (out && !of_input) fault_.apply(out->at(where_->name), axis_);
    return out;
  }

 private:
  std::unique_ptr<implementation> right_;
  description about_;
  const core::operation* op_;
  const tensor_declaration* where_;
  fault_kind fault_;
  std::size_t axis_;
};

}  // namespace

std::vector<variant> tensor_faults(const std::string& encoding,
                                   const std::function<std::unique_ptr<implementation>()>& right) {
  std::vector<variant> all;
  for (const core::operation& op : reference::operations()) {
    if (!op.name.starts_with(encoding + "/")) continue;
    for (const auto* tensors : {&op.inputs, &op.outputs})
      for (const tensor_declaration& where : *tensors)
        for (const fault_kind& fault : fault_kinds()) {
          if (tensors == &op.inputs && !fault.inputs) continue;
          if (*fault.symbol != '\0' && !core::axis_of(where, fault.symbol)) continue;
          const std::string id = fmt::format("generated/{}/{}/{}", op.name, where.name, fault.name);
          all.push_back({id, "generated", fmt::format("{} of {} {}", where.name, op.name, fault.name),
                         [id, right, &op, &where, fault] {
                           return std::make_unique<with_fault>(id, right(), op, where, fault);
                         }});
        }
  }
  return all;
}

}  // namespace assay::properties
