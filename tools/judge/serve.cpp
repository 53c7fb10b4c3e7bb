#include <fmt/format.h>

#include <iostream>

#include "golden/formats/json_file.hpp"
#include "golden/formats/strict_json.hpp"
#include "reference/formula/arrays.hpp"
#include "tools/command_line.hpp"
#include "tools/commands.hpp"
#include "tools/judge/judge.hpp"

namespace assay::tools {
namespace {

using nlohmann::json;

struct question {
  bool wants_truth = true;
  requested_words words;
  std::filesystem::path outputs;
};

core::result<question> question_from(const json& j) {
  if (auto ok = formats::require_members(j, {"id", "ask", "operation", "inputs", "outputs"},
                                         {"dtype", "settings", "compute", "class", "strict", "limit"});
      !ok)
    return tl::make_unexpected(ok.error());
  for (const char* key : {"ask", "operation", "inputs", "outputs", "dtype", "class"})
    if (j.contains(key))
      if (auto text = formats::text_member(j, key); !text) return tl::make_unexpected(text.error());
  if (j.contains("strict") && !j["strict"].is_boolean()) return core::failure("'strict' must be true or false");
  if (j.contains("limit") && !(j["limit"].is_number() && j["limit"].get<double>() > 0.0))
    return core::failure("'limit' must be a number of seconds above 0");
  if (j["ask"] != "truth" && j["ask"] != "judge") return core::failure("'ask' must be truth or judge");
  question q{j["ask"] == "truth", {j["operation"], j["inputs"].get<std::string>()}, j["outputs"].get<std::string>()};
  q.words.dtype = j.value("dtype", "");
  q.words.settings = j.value("settings", json());
  q.words.compute = j.value("compute", json());
  q.words.accuracy_class = j.value("class", "");
  q.words.strict = j.value("strict", false);
  q.words.limit = j.value("limit", 0.0);
  return q;
}

void answer(const json& j, nlohmann::ordered_json& reply) {
  const auto refuse = [&](const core::error& e) { reply["error"] = e.message; };
  const auto q = question_from(j);
  if (!q) return refuse(q.error());
  const auto requested = requested_call_from(q->words);
  if (!requested) return refuse(requested.error());
  if (q->wants_truth) {
    if (const auto written = write_truth(*requested, q->outputs); !written) return refuse(written.error());
  } else {
    const auto found = judge_outputs(*requested, q->outputs);
    if (!found) return refuse(found.error());
    reply["right"] = found->right;
    reply["words"] = found->words;
  }
  reply["ok"] = true;
}

// Reads questions from stdin and writes an answer to stdout for each, one line of JSON each, until stdin ends:
//   {"id": 1, "ask": "truth", "operation": "rope/rotate", "inputs": "a.safetensors", "outputs": "b.safetensors",
//    "dtype": "f32", "settings": {"layout": "half_split"}, "compute": "f32", "class": "sequential", "strict": true,
//    "limit": 60}
//   {"id": 1, "ok": true} or, for "ask": "judge", {"id": 1, "ok": true, "right": false, "words": "..."}
//   or {"id": 1, "ok": false, "error": "..."}
// The last six members of a question may be left out. The Python package sends its questions here. `formula`: the texts
// for add_formula; empty: none.
int serve(const std::vector<std::string>& formula) {
  if (!formula.empty())
    if (const auto added = add_formula(formula); !added) {
      complain(added.error().message);
      return wrong_input;
    }
  for (std::string line; std::getline(std::cin, line);) {
    const auto parsed = formats::parse_strict_json(line);
    if (!parsed || !parsed->value.is_object() || !parsed->value.contains("id")) {
      complain("this line is no question with an id: " + formats::shown(line));
      return wrong_input;
    }
    nlohmann::ordered_json reply{{"id", parsed->value["id"]}, {"ok", false}};
    try {
      answer(parsed->value, reply);
    } catch (const reference::formula::evaluation_error& wrong) {  // such as an index beyond its axis
      reply["error"] = wrong.what();
    }
    fmt::print("{}\n", reply.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    std::fflush(stdout);
  }
  return all_passed;
}

}  // namespace

command_work serve_command(CLI::App& app) {
  auto formula = std::make_shared<std::vector<std::string>>();
  app.add_option("--formula", *formula,
                 "NAME=FILE: a program that is the operation formula/NAME; FILE: another way to compute it");
  return [formula](const program_options&) { return serve(*formula); };
}

}  // namespace assay::tools
