#include "tools/formula/formula_host.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <mutex>
#include <nlohmann/json.hpp>

#include "reference/formula/arrays.hpp"
#include "tools/commands.hpp"
#include "tools/formula/formula_source.hpp"
#include "tools/transports/child_process.hpp"
#include "tools/transports/python_host.hpp"

namespace assay::tools {
namespace {

using nlohmann::json;
namespace formula = reference::formula;

constexpr auto patience = std::chrono::milliseconds(60'000);

/// The child process that runs the function. Threads ask it one after the other.
class formula_host final : public formula_source {
 public:
  static core::result<std::shared_ptr<formula_host>> start(const std::string& module, const std::string& function,
                                                           const json& given) {
    const std::vector<std::string> words{transports::python_interpreter(),
                                         "-B",
                                         (transports::python_package() / "formulas" / "host.py").string(),
                                         module,
                                         function,
                                         given.dump()};
    transports::child_limits limits;
    limits.line_bytes = std::size_t{64} << 20;
    auto child = transports::child_process::spawn(words, limits);
    if (!child) return tl::make_unexpected(child.error());
    auto host = std::make_shared<formula_host>(std::move(*child), "python:" + module + ":" + function);
    auto greeting = host->ask("");
    if (!greeting) return tl::make_unexpected(greeting.error());
    host->about_ = judged_formula::that_says(host->about_.spec, std::move(*greeting));
    return host;
  }
  formula_host(std::unique_ptr<transports::child_process> child, std::string shown)
      : formula_source({.spec = std::move(shown)}), child_(std::move(child)) {}

  [[nodiscard]] bool tells_steps() const override { return true; }

 private:
  json answer_to(const json& question) override { return answer_from_host("trace", question); }
  json draws_for(const json& question) override { return answer_from_host("draw", question); }
  json answer_from_host(const char* what, json question) {
    question["ask"] = what;
    auto answer = ask(question.dump() + "\n");
    if (!answer) throw formula_fault(answer.error().message);
    return std::move(*answer);
  }
  // An empty text asks for the greeting. After a fault the child is ended, because it may answer late.
  core::result<json> ask(const std::string& text) {
    using outcome = transports::child_process::outcome;
    const std::lock_guard lock(mutex_);
    if (child_ == nullptr) return core::failure(broken_);
    std::string line;
    if (const outcome outcome_of_exchange = child_->exchange(text, line, patience);
        outcome_of_exchange != outcome::line)
      return ended(outcome_of_exchange == outcome::closed ? "its program ended. " + child_->stderr_tail()
                   : outcome_of_exchange == outcome::line_too_long
                       ? "its program is a text of more than 64 MiB at these sizes: an array that "
                         "no input is in is written out, element by element"
                   : outcome_of_exchange == outcome::out_of_memory ? "it takes more memory than its limit"
                                                                   : "no answer within a minute of computing");
    json answer = json::parse(line, nullptr, false);
    if (!answer.is_object() || !answer.contains("ok") || !answer["ok"].is_boolean())
      return ended("its host sent a malformed answer");
    if (answer["ok"].get<bool>()) return answer;
    return core::failure(fmt::format("the formula {}: {}", about_.spec,
                                     answer.contains("error") && answer["error"].is_string()
                                         ? answer["error"].get<std::string>()
                                         : "it does not say why"));
  }
  tl::unexpected<core::error> ended(const std::string& why) {
    broken_ = fmt::format("the formula {}: {}", about_.spec, why);
    child_.reset();
    return core::failure(broken_);
  }

  std::mutex mutex_;
  std::unique_ptr<transports::child_process> child_;
  std::string broken_{};
};

core::result<void> add_hosted_formula(const formula_options& options, bool tells_growth) {
  const std::string& spec = options.spec;
  ASSAY_EXPECTS(is_hosted_formula(spec));
  json given = json::object();
  for (const std::string& text : options.axes) {
    const std::size_t sign = text.find('=');
    if (sign == 0 || sign == std::string::npos) return core::failure("--axes " + text + " must be NAME=AXES");
    given[text.substr(0, sign)] = text.substr(sign + 1);
  }
  const std::string place = spec.substr(7);
  const std::size_t colon = place.rfind(':');
  try {
    auto host = formula_host::start(place.substr(0, colon), place.substr(colon + 1), given);
    if (!host) return tl::make_unexpected(host.error());
    // The function as its own candidate, in its own child process: adapters/python/assay/formulas/itself.py.
    setenv("ASSAY_FORMULA", place.c_str(), 1);
    setenv("ASSAY_FORMULA_NARROWEST", (*host)->about().says.at("narrowest").get<std::string>().c_str(), 1);
    return add_formula_source(std::move(*host), tells_growth);
  } catch (const json::exception& wrong) {
    return core::failure(fmt::format("the formula {}: its description is malformed: {}", spec, wrong.what()));
  }
}

}  // namespace

bool is_hosted_formula(const std::string& spec) {
  const std::string place = spec.starts_with("python:") ? spec.substr(7) : "";
  const std::size_t colon = place.rfind(':');
  return colon != std::string::npos && colon != 0 && colon + 1 != place.size();
}

int with_formula(const formula_options& options, const std::function<int()>& run, bool tells_growth) {
  const auto broken = [&](const std::string& why) {
    if (options.spec.empty() && formula_of_process() == nullptr) throw;
    const std::string& spec = options.spec.empty() ? formula_of_process()->spec : options.spec;
    return complain(fmt::format("the formula {}: {}", spec, why)), candidate_broke;
  };
  try {
    if (!options.spec.empty())
      if (const auto added = add_hosted_formula(options, tells_growth); !added)
        return complain(added.error().message), candidate_broke;
    return run();
  } catch (const formula_fault& why) {
    return complain(why.what()), candidate_broke;
  } catch (const reference::no_answer& why) {
    return broken(why.what());
  } catch (const core::contract_violation& why) {
    return broken(why.what());
  }
}

}  // namespace assay::tools
