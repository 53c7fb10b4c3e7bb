#include "golden/compare_set.hpp"

#include <algorithm>
#include <cmath>

#include "golden/formats/json_file.hpp"

namespace assay::golden {

namespace fs = std::filesystem;

distance measure(core::dtype type, double x, double y, double low, double allow) {
  if (std::isnan(x) || std::isnan(y)) return {0, 0, std::isnan(x) && std::isnan(y)};
  if (x == y) return {std::isinf(y) ? 0.0 : std::fabs(low) / (2.0 * core::half_ulp(type, y)), 0, true};
  if (std::isinf(x) || std::isinf(y)) {
    const double large = core::largest_finite(type) / 2.0;
    const bool either = std::isinf(allow) && std::fabs(x) > large && std::fabs(y) > large;
    return {0, 0, either && std::signbit(x) == std::signbit(y)};
  }
  const double apart = std::fabs(x - y);
  return {std::fabs((x - y) - low) / (2.0 * core::half_ulp(type, y)), allow > 0.0 ? apart / allow : 0.0,
          apart <= allow};
}

comparison compare_output(const golden_file& golden, const std::string& name, const core::tensor& given, question kind,
                          core::dtype arithmetic) {
  const core::tensor& right = golden.tensors.at(name);
  const auto& x = given.values.storage();
  const auto& y = right.values.storage();
  const auto& low = golden.tensors.at(low_name(name)).values.storage();
  const core::dtype storage = golden.about.type;
  const std::string beside = right.type == storage ? allowance_name(name, kind, storage, arithmetic)
                                                   : allowance_name(name, kind, right.type, right.type);
  const auto& allow = golden.tensors.at(beside).values.storage();
  comparison c{golden.about.name(), name, false, 0, 0, x.size(), 0, 0, given.shape()};
  for (std::size_t i = 0; i < x.size(); ++i) {
    const distance d = measure(right.type, x[i], y[i], low[i], allow[i]);
    c.largest_ulp = std::max(c.largest_ulp, d.ulp);
    c.largest_ratio = std::max(c.largest_ratio, d.ratio);
    if (!d.right && c.wrong++ == 0) c.first_wrong = i;
  }
  return c;
}

bool agrees(const golden_file& golden, const core::tensors& outputs, question kind, core::dtype arithmetic) {
  const auto& declared = golden.about.operation->outputs;
  return std::all_of(declared.begin(), declared.end(), [&](const auto& d) {
    return compare_output(golden, d.name, outputs.at(d.name), kind, arithmetic).passed();
  });
}

core::result<core::tensors> outputs_of(const set_file& f, const fs::path& path) {
  auto all = formats::read_safetensors(path, set_limits);
  if (!all) return core::failure(all.error().message);
  for (const auto& d : f.operation->inputs) all->erase(d.name);
  for (const auto& d : f.operation->outputs)
    for (const std::string& name : names_beside(d.name, d.type_in(f.type))) all->erase(name);
  if (auto ok = core::check_outputs(*f.operation, f.type, f.axes, *all); !ok)
    return core::failure(path.string() + ": " + formats::shown(ok.error().message, 400));
  return std::move(*all);
}

}  // namespace assay::golden
