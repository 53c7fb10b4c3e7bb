// The fault dictionary: everything that is known to go wrong with an operation, as wrong models with their words.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "properties/diagnosis/probes.hpp"

namespace assay::properties {

/// The answer of a wrong model to a call. A model that remembers gets all calls in their order.
using wrong_model = std::function<call_result(const request& call)>;

/// The source of an entry; the source that says most comes first. Where d is 4, a scaling of frequencies equals another
/// base as well.
enum class entry_source { setting, two_settings, hypothesis, other_number, mutant, declared };

struct dictionary_entry {
  entry_source from = entry_source::mutant;
  std::string id;                       ///< a mutant's id; for other entries their words
  std::string words;                    ///< "the first token does not decay s0"
  std::string models{};                 ///< the public report of a mutant, or that it is a convention of programs
  std::function<wrong_model()> make{};  ///< empty where there is `answered`
  bool remembers = false;               ///< wrong only from its second call on
  std::string implied{};                ///< a condition that the words say already: " where causal = true"
  /// In place of a model, or in addition to it: the call that is answered in place of the one made.
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
