// The fault dictionary: everything that is known to go wrong with an operation, as wrong models with their words.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "properties/diagnosis/probes.hpp"

namespace assay::properties {

/// The answer of a wrong model to a call. A model that remembers gets all calls in their order.
using wrong_model = std::function<call_result(const request& call)>;

/// The source of an entry. The source that says most comes first, because several may explain the same outputs: where d
/// is 4, a scaling of frequencies equals another base.
enum class entry_source {
  setting,       ///< another declared value of one setting
  two_settings,  ///< other declared values of two settings
  hypothesis,    ///< a wrong formula of the encoding
  other_number,  ///< a usual number that a setting does not declare
  mutant,        ///< a mutant of the catalogue
  declared,      ///< a generated mutant, or positions that end at the length of a table (bounded_places)
};

struct dictionary_entry {
  entry_source from = entry_source::mutant;
  std::string id;                       ///< a mutant's id; for other entries their words
  std::string words;                    ///< "the first token does not decay s0"
  std::string models{};                 ///< the public report of a mutant, or that it is a convention of programs
  std::function<wrong_model()> make{};  ///< creates the model; may be empty if there is `answered`
  bool remembers = false;               ///< wrong only from its second call on
  std::string implied{};                ///< a condition that the words say already: " where causal = true"
  /// The call that is answered in place of the one made. It stands in place of a model, or beside it.
  std::function<request(const request& call)> answered{};
};

/// Whether an implementation with this fault gives what a probe shows.
using likeness = std::function<bool(const probe&)>;
likeness likeness_to(const dictionary_entry& entry);

/// The entries of an operation: other values of one setting and of two, wrong models of its encoding, and mutants,
/// those of the catalogue and generated ones. The words for settings name what the wrong probes asked for.
std::vector<dictionary_entry> dictionary_of(const core::operation& op, core::dtype type,
                                            const std::vector<probe>& probes);

}  // namespace assay::properties
