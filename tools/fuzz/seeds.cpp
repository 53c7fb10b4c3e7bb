#include <algorithm>
#include <filesystem>
#include <set>

#include "golden/formats/attributes_json.hpp"
#include "golden/formats/file.hpp"
#include "golden/formats/json_file.hpp"
#include "golden/formats/safetensors.hpp"
#include "golden/formats/temporary_folder.hpp"
#include "golden/manifest.hpp"
#include "golden/recipe.hpp"
#include "reference/oracle.hpp"
#include "tools/case_file.hpp"
#include "tools/explore/sweep.hpp"
#include "tools/fuzz/program_target.hpp"
#include "tools/fuzz/targets.hpp"
#include "tools/gate/shard_file.hpp"
#include "tools/transports/protocol.hpp"

namespace assay::fuzz {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
constexpr std::uint64_t most_bytes = std::uint64_t{16} << 20;
constexpr std::size_t small_work = 40;  // elements of a call: the product of its axes

std::string recipe_path(const std::string& source, const std::string& encoding) {
  return source + "/golden/recipes/" + encoding + ".json";
}

// Every third entry of the recipes, each as a recipe of its own.
std::vector<std::string> recipes(const std::string& source) {
  std::vector<std::string> out;
  for (const std::string& encoding : reference::encoding_names()) {
    const auto file = formats::read_json_file(recipe_path(source, encoding), most_bytes);
    if (!file) continue;
    json alone = file->value;
    for (std::size_t i = 0; i < file->value.at("entries").size(); i += 3) {
      alone["entries"] = json::array({file->value.at("entries").at(i)});
      out.push_back(alone.dump());
    }
  }
  return out;
}

// The smallest files of the sets: about six of a set, and at most 60.
std::vector<std::string> tensor_files(const std::string& source) {
  std::vector<std::string> out;
  for (const std::string& encoding : reference::encoding_names()) {
    std::set<std::pair<std::uintmax_t, fs::path>> files;
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator(source + "/golden/sets/" + encoding, failed))
      if (entry.path().extension() == ".safetensors") files.emplace(entry.file_size(), entry.path());
    for (const auto& [size, path] : files) {
      if (out.size() >= 60 || size > 4000) break;
      if (auto bytes = formats::read_file(path, most_bytes)) out.push_back(std::move(*bytes));
      if (out.size() % 6 == 0) break;
    }
  }
  return out;
}

std::vector<std::string> manifests(const std::string& source) {
  std::vector<std::string> out;
  for (const std::string& encoding : reference::encoding_names()) {
    auto m = golden::read_manifest(source + "/golden/sets/" + encoding);
    if (!m) continue;
    m->files.resize(std::min<std::size_t>(m->files.size(), 2));
    out.push_back(golden::manifest_text(*m));
  }
  return out;
}

// One small call of each operation for which recipes have one.
std::vector<properties::test_case> calls(const std::string& source) {
  std::vector<properties::test_case> out;
  std::set<std::string> seen;
  for (const std::string& encoding : reference::encoding_names()) {
    const auto recipe = golden::read_recipe(recipe_path(source, encoding));
    if (!recipe) continue;
    for (const golden::recipe_entry& entry : recipe->entries) {
      std::size_t work = 1;
      for (const auto& [symbol, size] : entry.axes) work *= std::max<std::size_t>(size, 1);
      if (work > small_work || !seen.insert(entry.operation->name).second) continue;
      auto inputs = golden::draw_inputs(entry, entry.dtypes.front());
      if (inputs)
        out.push_back({{entry.operation, entry.dtypes.front(), std::move(*inputs), entry.attributes}, "seed", 1, {}});
    }
  }
  return out;
}

std::vector<std::string> cases(const std::string& source) {
  std::vector<std::string> out;
  for (auto& c : calls(source))
    for (const char* name : {"value", "vjp", "jvp"})
      if (const auto* p = properties::find_property(name); p != nullptr && p->applies(*c.call.operation))
        out.push_back(to_json(tools::stored_case{p, c}).dump());
  return out;
}

std::string call_line(const properties::test_case& c) {
  return transports::call_request(1, c.call, "1.in.safetensors", "1.out.safetensors");
}

std::string hello_line(const std::string& operation) {
  return R"({"hello":{"protocol":1,"name":"my-scan","version":"1.2","operations":{")" + operation +
         R"(":["f32","f64","bf16"]},"compute":{"bf16":"f32"},"domain":{")" + operation +
         R"(":{"n":[1,64],"d":{"multiple_of":8}}},"flush_subnormals":false,"variants":{"block":[32,64]},)"
         R"("properties":{"deterministic":true}}})";
}

std::vector<std::string> messages(const std::string& source) {
  std::vector<std::string> out{
      R"({"id":1,"ok":true})", R"({"id":1,"ok":false,"unsupported":true,"reason":"needs d = 64"})",
      R"({"id":18446744073709551615,"ok":false,"error":"out of memory"})",
      R"({"error":"it needs the package 'kernel'"})",
      R"({"hello":{"protocol":1,"name":"my-scan","operations":{"heinsen/scan":["f32","bf16"]},)"
      R"("domain":{"heinsen/scan":{"log_p":"finite","state":[-1e3,1e3]}},"compute":{"bf16":{"logits":"f32"}}}})"};
  for (const auto& c : calls(source)) {
    out.push_back(call_line(c));
    out.push_back(hello_line(c.call.operation->name));
  }
  return out;
}

std::vector<std::string> recordings(const std::string& source) {
  std::vector<std::string> out;
  for (const auto& c : calls(source))
    if (const auto inputs = formats::safetensors_bytes(c.call.inputs)) {
      out.push_back(call_line(c) + separator + hello_line(c.call.operation->name) + separator + *inputs);
      out.push_back(call_line(c) + "\n" + separator + separator + *inputs + separator + *inputs);
    }
  return out;
}

std::vector<std::string> sweeps() {
  std::vector<std::string> out;
  for (const explore::preset& p : explore::presets()) out.emplace_back(p.text);
  return out;
}

// One shard for each operation, with one check of one small call. Every second check fails.
std::vector<tools::shard_record> shards(const std::string& source) {
  std::vector<tools::shard_record> out;
  for (auto& c : calls(source)) {
    const auto* p = properties::find_property(c.call.operation->is_forward() ? "value" : "vjp");
    if (p == nullptr || !p->applies(*c.call.operation)) continue;
    tools::part_record part{c.call.operation, c.call.type};
    properties::check_result& check = part.checks.emplace_back();
    check.checked = p;
    check.operation = part.operation;
    check.type = part.type;
    check.planned = 2;
    check.families["mild"] = 1;
    const bool fails = out.size() % 2 == 1;
    check.cases[fails ? properties::status::failed : properties::status::passed] = 2;
    properties::outcome wrong{properties::status::failed, "is wrong"};
    if (out.size() % 4 == 1)
      wrong.failure = properties::call_failure{properties::fault::crashed, "signal 11", "Traceback"};
    if (fails) check.found = properties::counterexample{c, c, wrong};
    tools::shard_record& record = out.emplace_back();
    record.options.candidate = "builtin:optimized";
    record.options.shard = {1, 2, true};
    record.candidate.name = "my-scan";
    record.candidate.operations[part.operation->name] = {part.type};
    record.parts.push_back(std::move(part));
  }
  return out;
}

std::vector<std::string> shard_files(const std::string& source) {
  std::vector<std::string> out;
  const auto folder = formats::temporary_folder::make();
  if (!folder) return out;
  for (const auto& record : shards(source))
    if (tools::write_shard(record, folder->path()))
      if (auto text = formats::read_file(folder->path() / "shard.json", most_bytes)) out.push_back(std::move(*text));
  return out;
}

std::vector<std::string> baselines(const std::string& source) {
  std::vector<std::string> out;
  for (const auto& record : shards(source)) {
    tools::gate_report report;
    report.candidate = record.candidate;
    report.checks = record.parts.front().checks;
    out.push_back(to_json(report).dump());
  }
  return out;
}

std::vector<std::string> known_failures() {
  return {"value heinsen/scan f32 # issue 12\nvjp heinsen/scan:vjp f32 crash # needs d = 64\n",
          "# none\n\nvalue rope/rotate f16 wrong_shape   # odd widths\r\n",
          R"({"known_failures":[{"property":"value","operation":"rope/rotate","dtype":"f16",)"
          R"("reason":"odd widths","verdict":"bad output"}]})"};
}

}  // namespace

std::vector<std::string> seeds_of(std::string_view target, const std::string& source) {
  if (target == "recipe") return recipes(source);
  if (target == "safetensors") return tensor_files(source);
  if (target == "manifest") return manifests(source);
  if (target == "case") return cases(source);
  if (target == "message") return messages(source);
  if (target == "recording") return recordings(source);
  if (target == "sweep") return sweeps();
  if (target == "shard") return shard_files(source);
  if (target == "baseline") return baselines(source);
  if (target == "known_failures") return known_failures();
  if (target == "program") return program_seeds();
  if (target == "number") return {"0x1.8p+1", "-inf", "nan", "1e-320", "-0", "0x1p-1074", "1.7976931348623157e308"};
  std::vector<std::string> all = recipes(source);
  for (auto& more : {messages(source), cases(source)}) all.insert(all.end(), more.begin(), more.end());
  return all;
}

const std::vector<std::string>& words() {
  static const std::vector<std::string> all = [] {
    std::set<std::string> found{"uniform",
                                "normal",
                                "scale",
                                "shift",
                                "constant",
                                "values",
                                "choice",
                                "binades",
                                "powers",
                                "from",
                                "to",
                                "sign",
                                "of",
                                "either",
                                "sprinkle",
                                "prefix",
                                "axis",
                                "count",
                                "value",
                                "one_in",
                                "smallest_subnormal",
                                "0x1p-1074",
                                "-inf",
                                "nan",
                                "true",
                                "null",
                                "1e400",
                                "18446744073709551616",
                                "9007199254740993",
                                "\\u0000",
                                "\\ud800",
                                "[[",
                                "{\"",
                                "\":",
                                "dtype",
                                "shape",
                                "data_offsets",
                                "F64",
                                "BF16",
                                "BOOL",
                                "I64",
                                "__metadata__",
                                "[[grid]]",
                                "finite",
                                "multiple_of"};
    for (const core::operation& op : reference::operations()) {
      found.insert(op.name);
      for (const auto* tensors : {&op.inputs, &op.outputs})
        for (const auto& d : *tensors) found.insert(d.name);
      for (const auto& a : op.attributes) found.insert(a.name);
    }
    for (const std::string& word : program_words()) found.insert(word);
    return std::vector<std::string>(found.begin(), found.end());
  }();
  return all;
}

}  // namespace assay::fuzz
