#include "reference/formula/given_program.hpp"

#include <utility>

#include "reference/formula/text.hpp"
#include "reference/formula/work.hpp"

namespace assay::reference::formula {
namespace {

std::vector<std::string> axes_of(const core::shape& s) {
  std::vector<std::string> axes;
  for (const std::size_t size : s) axes.push_back(std::to_string(size));
  return axes;
}

core::operation declared_by(const std::string& name, const program& p) {
  core::operation op{.name = "formula/" + name, .source = "a formula of one's own"};
  for (const node_id k : p.inputs()) {
    const array_type& type = p.type_of(k);
    const std::string& called = p.nodes()[k].text;
    if (type.kind == number_kind::integer)
      op.inputs.push_back(
          core::integers(called, axes_of(type.shape), "", {-0x1p53, 0x1p53}, core::input_role::parameter));
    else if (type.kind == number_kind::real)
      op.inputs.push_back(core::parameter(called, axes_of(type.shape), ""));
    else
      op.inputs.push_back(core::truths(called, axes_of(type.shape), "", core::input_role::parameter));
  }
  for (const program::output& o : p.outputs())
    op.outputs.push_back({.name = o.name, .axes = axes_of(p.type_of(o.node).shape)});
  return op;
}

}  // namespace

core::result<program> read_given_program(const std::string& text) {
  constexpr std::uint64_t most_work = std::uint64_t{1} << 36;
  auto p = read_program(text);
  if (!p) return p;
  if (const auto ok = check_work(*p, most_work); !ok) return tl::make_unexpected(ok.error());
  return p;
}

std::unique_ptr<const program_owner> owner_of_program(const std::string& name, std::vector<program> ways) {
  core::operation op = declared_by(name, ways.front());
  const std::size_t others = ways.size() - 1;
  const core::encoding_summary summary{
      .what = "a formula of one's own", .formula = "as its program has it", .sources = {}};
  return std::make_unique<const program_owner>(
      "formula", summary,
      std::vector<recorded_operation>{
          {.declaration = std::move(op),
           .record = [ways = std::move(ways)](const program_sizes& call) { return ways.at(call.form); },
           .is_of_any_steps = true,
           .other_ways = others}});
}

}  // namespace assay::reference::formula
