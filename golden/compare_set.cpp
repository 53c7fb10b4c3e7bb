#include "golden/compare_set.hpp"

#include <algorithm>
#include <cmath>

#include "golden/formats/json_file.hpp"

namespace assay::golden {
namespace {

namespace fs = std::filesystem;

comparison compare_output(const set_file& f, const std::string& name, const core::tensors& golden,
                          const core::tensor& came) {
  const auto& x = came.values.storage();
  const auto& y = golden.at(name).values.storage();
  const auto& low = golden.at(low_name(name)).values.storage();
  const auto& allow = golden.at(allow_name(name)).values.storage();
  comparison c{f.name(), name, false, 0, 0, x.size(), 0, 0, came.shape()};
  for (std::size_t i = 0; i < x.size(); ++i) {
    const distance d = measure(f.type, x[i], y[i], low[i], allow[i]);
    c.largest_ulp = std::max(c.largest_ulp, d.ulp);
    c.largest_ratio = std::max(c.largest_ratio, d.ratio);
    if (!d.right && c.wrong++ == 0) c.first_wrong = i;
  }
  return c;
}

core::result<core::tensors> outputs_of(const set_file& f, const fs::path& path) {
  auto all = formats::read_safetensors(path, set_limits);
  if (!all) return all;
  for (const auto& d : f.operation->inputs) all->erase(d.name);
  for (const auto& d : f.operation->outputs) {
    all->erase(low_name(d.name));
    all->erase(allow_name(d.name));
  }
  if (auto ok = core::check_outputs(*f.operation, f.type, f.axes, *all); !ok)
    return core::failure(path.string() + ": " + formats::shown(ok.error().message, 400));
  return all;
}

}  // namespace

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

core::result<set_comparison> compare_set(const fs::path& folder, const fs::path& user) {
  const auto m = read_manifest(folder);
  if (!m) return tl::make_unexpected(m.error());
  std::error_code failed;
  if (!fs::is_directory(user, failed)) return core::failure(user.string() + ": must be a folder");
  set_comparison all;
  for (const set_file& f : m->files) {
    const auto golden = formats::read_safetensors(folder / f.name(), set_limits);
    if (!golden) return tl::make_unexpected(golden.error());
    const fs::path path = user / f.name();
    if (!fs::exists(fs::symlink_status(path, failed))) {
      for (const auto& d : f.operation->outputs) all.rows.push_back({f.name(), d.name, true, 0, 0, 0, 0, 0, {}});
      continue;
    }
    const auto outputs = outputs_of(f, path);
    if (!outputs) {
      all.errors.push_back(outputs.error().message);
      continue;
    }
    for (const auto& d : f.operation->outputs)
      all.rows.push_back(compare_output(f, d.name, *golden, outputs->at(d.name)));
  }
  return all;
}

}  // namespace assay::golden
