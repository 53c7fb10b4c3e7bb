// What tests of biases of pairs share (reference/kinds/pair_bias.hpp): families, sizes, laws and faults.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "properties/generators/pair_positions.hpp"
#include "properties/harness/catalogue.hpp"

namespace assay::properties {

/// A number of an input, by its name.
using parameter_source = double (*)(std::string_view input, core::dtype type, core::counter_random& random);

/// A family of operations of this kind: their parameters drawn one by one, and positions of queries and keys. Few heads
/// and hidden units, now and then none.
family pair_bias_family(std::string name, std::string summary, parameter_source number, position_filler positions);

/// Sizes of operations whose bias is cheap: many heads, tokens by tokens, long rows of keys and of queries; those of
/// every family among them.
std::vector<usual_size> pair_bias_sizes(const std::vector<std::string>& operations);

/// Of operations whose bias depends on distances alone: NAME_shift, all tokens later have the same bits, and
/// NAME_neutral_keys, keys before and after change no key's bias.
std::vector<property> laws_of_distance(const std::string& name, const std::vector<std::string>& operations,
                                       const std::vector<std::string>& families);

/// Keys are counted as they lie in memory, and queries as the last of them, wherever their tokens stand.
void count_as_last(request& call);
/// Queries are the first of the keys: of a cached sequence the wrong rows.
void count_from_first_key(request& call);

/// The case of one head by hand, for a test: positions as given, a parameter of one number each, in f64.
core::tensor bias_by_hand(const char* operation, const std::map<std::string, std::vector<double>>& parameters,
                          const std::vector<double>& queries, const std::vector<double>& keys,
                          core::attributes settings = {});

}  // namespace assay::properties
