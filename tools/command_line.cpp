#include "tools/command_line.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tools/transports/near_names.hpp"

namespace assay::tools {

command_work add_commands(CLI::App& app, std::span<const command> all) {
  std::vector<std::pair<const CLI::App*, command_work>> added;
  for (const command& c : all) {
    CLI::App* subcommand = app.add_subcommand(c.name, c.what);
    if (c.is_hidden) subcommand->group("");
    command_work work = c.declare(*subcommand);
    added.emplace_back(subcommand, std::move(work));
  }
  return [added](const program_options& options) {
    return std::ranges::find_if(added, [](const auto& one) { return one.first->parsed(); })->second(options);
  };
}

std::string mistyped(const CLI::App& app, const std::vector<std::string>& words) {
  std::vector<const CLI::App*> chosen{&app};
  for (const std::string& word : words) {
    const std::string name = word.substr(0, word.find('='));
    const auto commands = chosen.back()->get_subcommands([](const CLI::App* a) { return !a->get_group().empty(); });
    std::vector<std::string> known;
    if (!name.starts_with("--")) {
      const auto it =
          std::find_if(commands.begin(), commands.end(), [&](const auto* c) { return c->get_name() == name; });
      if (it != commands.end()) {
        chosen.push_back(*it);
        continue;
      }
      for (const CLI::App* c : commands) known.push_back(c->get_name());
    } else {
      for (const CLI::App* a : chosen)
        for (const CLI::Option* o : a->get_options())
          for (const std::string& known_name : o->get_lnames()) known.push_back(known_name);
      if (std::find(known.begin(), known.end(), name.substr(2)) != known.end()) continue;
    }
    // Dashes do not count: with them short names would be near that have little in common.
    const std::string dashes = name.starts_with("--") ? "--" : "";
    const std::vector<std::string> near = transports::near_names(name.substr(dashes.size()), known);
    if (!near.empty()) return fmt::format("'{}': near: {}{}", name, dashes, fmt::join(near, ", " + dashes));
  }
  return "";
}

}  // namespace assay::tools
