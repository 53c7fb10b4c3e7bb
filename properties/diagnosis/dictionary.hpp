// The fault dictionary: everything that is known to go wrong with an operation, as wrong models with their words.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "properties/diagnosis/probes.hpp"

namespace assay::properties {

/// What a wrong model gives for a call. One that remembers is asked all calls in their order.
using wrong_model = std::function<call_result(const request& call)>;

/// Where an entry comes from; what says most comes first. Where d is 4, a scaling of frequencies is another base, too.
enum class entry_source { setting, two_settings, hypothesis, other_number, mutant, declared };

struct dictionary_entry {
  entry_source from = entry_source::mutant;
  std::string id;                       ///< of a mutant; else its words
  std::string words;                    ///< "the first token does not decay s0"
  std::string models{};                 ///< the public report of a mutant, or that it is a convention of programs
  std::function<wrong_model()> make{};  ///< empty where there is `answered`
  bool remembers = false;               ///< wrong only from its second call on
  std::string implied{};                ///< a condition that the words say already: " where causal = true"
  /// In place of a model, or beside it: the call that is answered where another one is made.
  std::function<request(const request& call)> answered{};
};

/// Whether an implementation with this fault gives what a probe shows.
using likeness = std::function<bool(const probe&)>;
likeness likeness_to(const dictionary_entry& entry);

/// The entries of an operation: other values of one of its settings and of two, wrong models of its encoding, the
/// mutants of the catalogue and those made by rule. The words of settings name what the wrong probes asked for.
std::vector<dictionary_entry> dictionary_of(const core::operation& op, core::dtype type,
                                            const std::vector<probe>& probes);

}  // namespace assay::properties
