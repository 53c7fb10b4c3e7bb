#include "tools/gate/selection.hpp"

#include <algorithm>

namespace assay::tools {
namespace {

const effort efforts[] = {{"quick", 8, 4096}, {"full", 64, 32768}};

bool belongs(const core::operation& op, const gate_options& o) {
  const auto is_named = [&](const std::string& name) { return op.name == name || op.forward_name() == name; };
  const auto is_of = [&](const std::string& encoding) { return op.name.starts_with(encoding + "/"); };
  return (o.operations.empty() || std::any_of(o.operations.begin(), o.operations.end(), is_named)) &&
         (o.encodings.empty() || std::any_of(o.encodings.begin(), o.encodings.end(), is_of));
}

}  // namespace

core::result<selection> select(const gate_options& o) {
  selection s;
  for (const std::string& name : o.operations)
    if (reference::find_operation(name) == nullptr)
      return core::failure("unknown operation '" + name + "' (see: assay list operations)");
  const auto& encodings = reference::encodings();
  for (const std::string& name : o.encodings)
    if (std::find(encodings.begin(), encodings.end(), name) == encodings.end())
      return core::failure("unknown encoding '" + name + "' (see: assay list encodings)");
  for (const core::operation& op : reference::operations())
    if (belongs(op, o)) s.operations.push_back(&op);
  for (const std::string& name : o.dtypes) {
    const auto t = core::dtype_named(name);
    if (!t || !core::is_floating(*t))
      return core::failure("unknown dtype '" + name + "' (there are: f64, f32, f16, bf16)");
    s.dtypes.push_back(*t);
  }
  s.dtypes_named = !s.dtypes.empty();
  if (!s.dtypes_named) s.dtypes.assign(std::begin(core::floating_dtypes), std::end(core::floating_dtypes));
  for (const std::string& name : o.require_class) {
    const auto c = reference::accuracy_class_named(name);
    if (!c)
      return core::failure("unknown accuracy class '" + name +
                           "' (there are: uniform, sequential, tree, linear, cumsum)");
    s.good_enough.insert(*c);
  }
  const auto level =
      std::find_if(std::begin(efforts), std::end(efforts), [&](const effort& e) { return e.name == o.effort; });
  if (level == std::end(efforts)) return core::failure("unknown effort '" + o.effort + "' (there are: quick, full)");
  s.level = level;
  return s;
}

}  // namespace assay::tools
