#include "golden/axes.hpp"

#include <algorithm>

#include "golden/formats/json_file.hpp"

namespace assay::golden {

bool is_too_large(const core::axis_sizes& axes) {
  std::size_t product = 1;
  for (const auto& [symbol, size] : axes)
    if (__builtin_mul_overflow(product, std::max<std::size_t>(size, 1), &product) || product > largest_work)
      return true;
  return false;
}

core::result<core::axis_sizes> axes_from(const nlohmann::json& j, const core::operation& op, core::axis_sizes known) {
  if (!j.is_object()) return core::failure("must be an object of sizes");
  const auto symbols = core::axis_symbols(op);
  core::axis_sizes sizes = std::move(known);
  for (const auto& [symbol, ignored] : j.items()) {
    if (!symbols.contains(symbol) || sizes.contains(symbol))
      return core::failure(op.name + " has no axis '" + formats::shown(symbol) + "'");
    const auto size = formats::count_member(j, symbol.c_str());
    if (!size) return tl::make_unexpected(size.error());
    sizes[symbol] = *size;
  }
  for (const std::string& symbol : symbols)
    if (!sizes.contains(symbol)) return core::failure("the size of axis '" + symbol + "' is missing");
  if (is_too_large(sizes)) return core::failure("the product of the sizes is too large");
  return sizes;
}

}  // namespace assay::golden
