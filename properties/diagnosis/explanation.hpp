// Finds the entries of the dictionary that explain the outputs of an implementation.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "properties/diagnosis/dictionary.hpp"
#include "properties/diagnosis/size_experiments.hpp"

namespace assay::properties {

struct explanation {
  std::string sentence;
  std::vector<std::string> named;  ///< ids of entries
};

/// Names the entries that explain every element of every wrong probe, at least two probes, and that are right where the
/// implementation is. If they are confined to some lengths or settings, the sentence says so. If several entries of one
/// source explain alike, all of them are named. If there are none: a hypothesis that explains all counterexamples and
/// all mild probes, and that at most one other probe for four wrong ones contradicts; the sentence names the families
/// of these others. Precondition: the wrong probes come first.
std::optional<explanation> explanation_of(const std::vector<probe>& probes,
                                          const std::vector<dictionary_entry>& dictionary, size_experiments& again);

/// Returns the explanation of one wrong call, if nothing else is known.
std::optional<explanation> explanation_of_call(const probe& wrong, const std::vector<dictionary_entry>& dictionary);

/// The same for an implementation that remembers: entries that remember too, and give alike outputs for the same calls
/// in the same order.
std::optional<explanation> explanation_of_session(const std::vector<probe>& session,
                                                  const std::vector<dictionary_entry>& dictionary);

}  // namespace assay::properties
