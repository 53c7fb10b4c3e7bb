#include "reference/formula/scan.hpp"

#include <fmt/format.h>

#include "reference/formula/types_of_nodes.hpp"

namespace assay::reference::formula {

std::vector<scan_part> parts_of(const node& scan) {
  const scan_counts counts(scan);
  std::vector<scan_part> parts;
  std::size_t first = 0;
  for (const program::output& o : scan.body->outputs()) {
    core::shape shape = scan.body->type_of(o.node).shape;
    if (parts.size() >= counts.carried) shape.insert(shape.begin(), counts.turns);
    const std::size_t size = elements_of(shape);
    parts.push_back({first, std::move(shape)});
    first += size;
  }
  return parts;
}

namespace types_of {
namespace {

using core::failure;

// Checks that the inputs of the body fit the inputs of its node.
core::result<void> check_taken(const scan_counts& counts, const program& body, const types& in) {
  if (body.inputs().size() != in.size())
    return failure(fmt::format("its body takes {} arrays, and it has {}", body.inputs().size(), in.size()));
  for (std::size_t k = 0; k < in.size(); ++k) {
    array_type one = *in[k];
    if (k >= counts.carried && k < counts.carried + counts.stepped) {
      if (one.shape.empty() || one.shape.front() != counts.turns)
        return failure(fmt::format("its array {} has no axis of its {} turns", k, counts.turns));
      one.shape.erase(one.shape.begin());
    }
    if (body.type_of(body.inputs()[k]) != one)
      return failure(
          fmt::format("its array {} has not the type of '{}' of its body", k, body.nodes()[body.inputs()[k]].text));
  }
  return {};
}

}  // namespace

core::result<array_type> scanned(const node& n, const types& in) {
  constexpr std::int64_t most_turns = std::int64_t{1} << 31;
  const std::int64_t turns = n.integer(0), carried = n.integer(1), stepped = n.integer(2);
  const auto most = static_cast<std::int64_t>(in.size());
  if (!n.body) return failure("it has no body");
  if (turns < 1 || turns > most_turns || carried < 0 || carried > most || stepped < 0 || stepped > most - carried)
    return failure("it needs at least 1 turn, and it must take all carried and stepped arrays");
  const program& body = *n.body;
  const scan_counts counts(n);
  if (const auto ok = check_taken(counts, body, in); !ok) return tl::make_unexpected(ok.error());
  if (body.outputs().empty() || body.outputs().size() < counts.carried)
    return failure("its body must give all carried arrays");
  std::uint64_t size = 0;
  for (std::size_t k = 0; k < body.outputs().size(); ++k) {
    const array_type& given = body.type_of(body.outputs()[k].node);
    if (given.kind != number_kind::real || (k < counts.carried && given != *in[k]))
      return failure(fmt::format("its output '{}' is {}", body.outputs()[k].name,
                                 given.kind != number_kind::real ? "no real" : "not what it carries"));
    if (k >= counts.carried && given.shape.size() == most_axes)
      return failure(fmt::format("its output '{}' has too many axes for one of turns", body.outputs()[k].name));
    size += (k < counts.carried ? 1 : counts.turns) * elements_of(given.shape);
    if (size > most_elements) return failure(fmt::format("more than {} elements", most_elements));
  }
  return array_type{number_kind::real, {static_cast<std::size_t>(size)}};
}

}  // namespace types_of
}  // namespace assay::reference::formula
