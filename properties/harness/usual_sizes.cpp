#include "properties/harness/usual_sizes.hpp"

#include <map>
#include <utility>

namespace assay::properties {
namespace {

using core::axis_role;
using size_by_role = std::map<axis_role, std::size_t>;

// Sizes of axes that do not matter: more than one, or a wrong index of rows or heads would not show.
const size_by_role few{{axis_role::batch, 2}, {axis_role::head, 2},  {axis_role::token, 3},    {axis_role::key, 5},
                       {axis_role::width, 3}, {axis_role::pairs, 2}, {axis_role::parameter, 2}};
// More than a block of a kernel takes, or one thread takes of rows and heads.
const size_by_role many{{axis_role::batch, 5},  {axis_role::head, 9},   {axis_role::token, 66},   {axis_role::key, 130},
                        {axis_role::width, 66}, {axis_role::pairs, 33}, {axis_role::parameter, 3}};
const size_by_role more{{axis_role::batch, 66},   {axis_role::head, 66},   {axis_role::token, 258},
                        {axis_role::key, 514},    {axis_role::width, 514}, {axis_role::pairs, 66},
                        {axis_role::parameter, 9}};
const size_by_role whole_blocks{
    {axis_role::token, 64}, {axis_role::key, 64}, {axis_role::width, 64}, {axis_role::pairs, 64}};
// The last block lacks one element.
const size_by_role nearly_whole{{axis_role::token, 127}, {axis_role::key, 191}};

// Whether the family or a setting gives the size of an axis (usual_sizes.hpp).
bool is_left_out(const core::operation& op, const std::string& axis) {
  const axis_role role = core::role_of(op, axis);
  return role == axis_role::parameter ? core::attribute_of_axis(op, axis) != nullptr
                                      : role == axis_role::pairs && !core::axis_with(op, axis_role::width).empty();
}

}  // namespace

core::axis_sizes few_of_each(const core::operation& op) {
  core::axis_sizes axes = core::sizes_by_role(op, few);
  std::erase_if(axes, [&](const auto& axis) { return is_left_out(op, axis.first); });
  return axes;
}

std::vector<usual_size> sizes_by_roles(const core::operation& op) {
  std::vector<usual_size> all;
  const auto add = [&](const core::axis_sizes& given, const char* family = "") {
    core::axis_sizes axes = given;
    axes.merge(core::sizes_by_role(op, few));
    std::erase_if(axes, [&](const auto& axis) { return is_left_out(op, axis.first); });
    if (!given.empty() && !axes.empty()) all.push_back({{op.forward_name()}, std::move(axes), true, family});
  };
  const auto with = [&](const size_by_role& sizes) { return core::sizes_by_role(op, sizes); };
  const core::axis_sizes large = with(many);
  for (const auto& one : with(more)) add({one});
  for (auto one = large.begin(); one != large.end(); ++one)
    for (auto other = std::next(one); other != large.end(); ++other) add({*one, *other});
  add(with(whole_blocks));
  add(with(nearly_whole));
  if (!with({{axis_role::width, 1}}).empty())
    for (const std::size_t width : {64, 128})
      add(with({{axis_role::batch, 1},
                {axis_role::token, many.at(axis_role::token)},
                {axis_role::key, many.at(axis_role::key)},
                {axis_role::width, width}}));
  size_by_role rows = many;
  rows.erase(axis_role::token), rows.erase(axis_role::key);
  for (const size_by_role& sizes :
       {rows, {{axis_role::token, many.at(axis_role::token)}}, {{axis_role::key, many.at(axis_role::key)}}})
    add(with(sizes), every_family);
  return all;
}

}  // namespace assay::properties
