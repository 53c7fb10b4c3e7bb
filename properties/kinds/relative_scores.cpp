#include "properties/kinds/relative_scores.hpp"

#include "properties/faults/call_changes.hpp"
#include "properties/harness/usual_sizes.hpp"
#include "properties/kinds/attention.hpp"
#include "reference/oracle.hpp"

namespace assay::properties {

std::vector<usual_size> sizes_of_scores(const std::string& operation) {
  std::vector<usual_size> all = sizes_by_roles(*reference::find_operation(operation));
  std::erase_if(all, [](const usual_size& u) { return u.axes.at("n") > 64 && u.axes.at("m") > 64; });
  add_sizes(all, {operation}, "B h n m d", "1 1 9 130 64, 1 1 9 130 128, 1 1 66 9 66, 1 2 66 130 2, 2 2 127 191 1");
  return all;
}

std::vector<usual_size> sizes_of_square_scores(const std::string& operation) {
  std::vector<usual_size> all;
  add_sizes(all, {operation}, "B h n d",
            "66 2 5 2, 2 2 130 3, 5 1 66 2, 1 1 66 64, 1 9 66 2, 2 2 64 64, 1 1 66 128, 2 2 127 1");
  add_sizes(all, {operation}, "B h n d", "5 9 5 66, 1 2 66 3", true, every_family);
  add_sizes(all, {operation}, "B h n d", "1 2 9 96, 1 2 9 256, 1 2 258 65, 2 2 1025 2, 65537 1 2 1", false);
  return all;
}

input_filler far_larger(std::vector<std::string> inputs) {
  return [inputs = std::move(inputs)](drawn_inputs& in, const core::operation&, core::dtype,
                                      core::counter_random& random) {
    for (const std::string& input : inputs)
      if (in.numbers.contains(input))
        for (double& x : in.numbers.at(input)) x *= random.one_in(2) ? 16 : 0;
  };
}

input_filler nan_in(std::vector<std::string> inputs) {
  return [inputs = std::move(inputs)](drawn_inputs& in, const core::operation& op, core::dtype,
                                      core::counter_random& random) {
    std::vector<std::string> there;
    for (const std::string& input : inputs)
      if (in.numbers.contains(input)) there.push_back(input);
    const std::string& chosen = there.size() == 1 ? there.front() : there[random.below(there.size())];
    std::vector<double>& x = in.numbers.at(chosen);
    // For values, the NaN is among those of the first key: each query sees it, and only in some programs 0 times NaN is
    // NaN.
    if (!x.empty()) x[random.below(op.input(chosen)->axes.back() == "e" ? in.sizes.at("e") : x.size())] = std::nan("");
  };
}

bool has_query_without_any_key(const request& call) {
  if (!call.inputs.contains("v")) return false;
  const std::size_t n = call.inputs.at("q").shape()[2], m = call.inputs.at("k").shape()[2];
  return setting_of<bool>(call, "causal") ? n > m : n > 0 && m == 0;
}

}  // namespace assay::properties
