// The answers of angles, biases and stages in words.
#include "tools/explore/sentence_parts.hpp"

namespace assay::explore {

sentences of_angles(const all_cells& cells) {
  sentences all;
  const auto name = [](const cell& c) {
    return fmt::format("{} in {}, d = {}", c.implementation, format_words(c), c.scale);
  };
  for (const auto& [words, group] : grouped(cells, name)) {
    double three = 0, wrong = NAN;
    for (const measured_cell* m : group) {
      if (value_of(*m, "largest") <= 1e-3 && std::isnan(wrong)) three = static_cast<double>(m->what.size);
      if (value_of(*m, "largest") > 1e-3 && std::isnan(wrong)) wrong = static_cast<double>(m->what.size);
    }
    if (three > 0)
      all.push_back(
          fmt::format("{}: errors are at most 0.001 up to position {}{}.", words, shown(three),
                      std::isnan(wrong) ? ", the last one tried" : fmt::format(", and not at {}", shown(wrong))));
    else
      all.push_back(fmt::format("{}: the error is above 0.001 at position {} already.", words, shown(wrong)));
  }
  return all;
}

sentences of_neighbours(const all_cells& cells) {
  sentences all;
  for (const measured_cell* m : cells) {
    const double merged = value_of(*m, "merged_at");
    all.push_back(fmt::format("{} in {}: {}.", m->what.implementation, format_words(m->what),
                              std::isnan(merged)
                                  ? fmt::format("no neighbours merge up to position {}", m->what.size)
                                  : fmt::format("position {} has the row of its successor", shown(merged))));
  }
  return all;
}

sentences of_scores(const all_cells& cells) {
  sentences all;
  const auto name = [](const cell& c) { return fmt::format("{} in {}", c.implementation, format_words(c)); };
  for (const auto& [words, group] : grouped(cells, name)) {
    const measured_cell &first = *group.front(), &last = *group.back();
    const auto at = [](const measured_cell& m) {
      const double x = value_of(m, "largest");
      return std::isnan(x) ? std::string("no number") : shown(x);
    };
    all.push_back(fmt::format("{}: the error of a score is {} at position {}, {} at {}.", words, at(first),
                              first.what.size, at(last), last.what.size));
  }
  return all;
}

sentences of_linear_biases(const all_cells& cells) {
  sentences all;
  const auto name = [](const cell& c) {
    return fmt::format("{} in {}, slope {}", c.implementation, format_words(c), c.decay);
  };
  for (const auto& [words, group] : grouped(cells, name)) {
    const measured_cell& last = *group.back();
    const bool none = value_of(last, "nonfinite") == 1.0;
    all.push_back(fmt::format(
        "{}: at {} tokens {}.", words, last.what.size,
        none ? std::string("the weights are NaN")
             : fmt::format("{} of the last 16 keys have a bias of their own, total variation {}",
                           shown(value_of(last, "distinct_of_16")), shown(value_of(last, "total_variation")))));
  }
  return all;
}

sentences of_buckets(const all_cells& cells) {
  sentences all;
  for (const measured_cell* m : cells) {
    const double wrong = value_of(*m, "wrong");
    const std::string where = fmt::format("{} in {}, {}, {} buckets, D = {}", m->what.implementation,
                                          m->what.arithmetic, m->what.family, m->what.scale, m->what.size);
    all.push_back(wrong == 0.0 ? fmt::format("{}: every distance is in its bucket.", where)
                               : fmt::format("{}: {} wrong, from distance {} to {}.", where, shown(wrong),
                                             shown(value_of(*m, "first_wrong")), shown(value_of(*m, "last_wrong"))));
  }
  return all;
}

sentences of_forget_gates(const all_cells& cells) {
  sentences all;
  const auto name = [](const cell& c) {
    return fmt::format("{} in {}, gates of mean {}", c.implementation, format_words(c), c.decay);
  };
  for (const auto& [words, group] : grouped(cells, name)) {
    const measured_cell& last = *group.back();
    const double error = value_of(last, "largest");
    all.push_back(fmt::format("{}: at {} tokens the decay of the nearest pair is {}.", words, last.what.size,
                              std::isnan(error) ? std::string("no number") : "off by " + shown(error)));
  }
  return all;
}

sentences of_stages(const all_cells& cells) {
  sentences all;
  const auto name = [](const cell& c) {
    return fmt::format("{} in {}, {}, {} tokens", c.implementation.substr(0, c.implementation.rfind('/')), c.arithmetic,
                       c.family, c.size);
  };
  for (const auto& [words, group] : grouped(cells, name)) {
    std::vector<std::string> kept;
    for (const measured_cell* m : group)
      kept.push_back(fmt::format("{} {:.1f}", m->what.implementation.substr(m->what.implementation.rfind('/') + 1),
                                 value_of(*m, "digits")));
    all.push_back(fmt::format("{}: digits with this stage narrow: {}.", words, fmt::join(kept, ", ")));
  }
  return all;
}

}  // namespace assay::explore
