// Each hostile candidate has its own fault, and leaves nothing behind.
#include "tools/transports/process.hpp"

#include <catch2/catch.hpp>

namespace {

using namespace assay;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using properties::fault;
using transports::process_candidate;

const core::operation& scan() {
  static const core::operation declared{
      .name = "heinsen/scan",
      .inputs = {{"log_p", {"B", "n", "d"}}, {"h", {"B", "n", "d"}}, {"s0", {"B", "d"}}},
      .outputs = {{"s", {"B", "n", "d"}}, {"s_n", {"B", "d"}}}};
  return declared;
}

properties::request scan_request() {
  const core::tensor x = core::zeros(core::dtype::f32, {2, 3, 4});
  return {&scan(), core::dtype::f32, {{"log_p", x}, {"h", x}, {"s0", core::zeros(core::dtype::f32, {2, 4})}}};
}

std::string command(const std::string& behaviour) {
  return "/usr/bin/python3 '" ASSAY_CANDIDATES "/hostile.py' '" + behaviour + "'";
}

process_candidate::started start(const std::string& line, const transports::process_limits& limits) {
  return process_candidate::start(transports::split_words(line).value(), line, limits);
}

transports::process_limits short_limits() {
  transports::process_limits limits;
  limits.hello = limits.first_call = 20s;
  limits.call = 10s;
  limits.farewell = 500ms;
  limits.child.resident_bytes = 256u << 20;
  return limits;
}

// A started candidate; at the end its processes and its folder must be gone.
class guarded_candidate {
 public:
  explicit guarded_candidate(const std::string& behaviour, const transports::process_limits& limits = short_limits()) {
    auto started = start(command(behaviour), limits);
    INFO((started ? "" : started.error().message));
    REQUIRE(started.has_value());
    candidate_ = std::move(*started);
    folder_ = candidate_->folder();
    group_ = candidate_->process_group();
    REQUIRE(std::filesystem::is_directory(folder_));
  }
  ~guarded_candidate() {
    const int last_group = candidate_->process_group();
    candidate_.reset();
    CHECK(transports::usage_of_group(group_).processes == 0);
    CHECK((last_group < 0 || transports::usage_of_group(last_group).processes == 0));
    CHECK_FALSE(std::filesystem::exists(folder_));
  }
  process_candidate* operator->() { return candidate_.get(); }
  /// Whether the program that was started first has ended.
  [[nodiscard]] bool first_group_gone() const { return transports::usage_of_group(group_).processes == 0; }
  properties::call_failure failure() {
    auto result = candidate_->evaluate(scan_request());
    REQUIRE_FALSE(result.has_value());
    return result.error();
  }

 private:
  std::unique_ptr<process_candidate> candidate_;
  std::filesystem::path folder_;
  int group_ = -1;
};

struct expectation {
  const char* behaviour;
  fault kind;
  const char* words;
};

}  // namespace

TEST_CASE("transports/process/a_good_candidate_answers") {
  guarded_candidate candidate("correct");
  CHECK(candidate->describe().name == "hostile");
  for (int i = 0; i < 3; ++i) {
    const auto result = candidate->evaluate(scan_request());
    REQUIRE(result.has_value());
    CHECK(result->at("s").shape() == core::shape{2, 3, 4});
  }
  CHECK(candidate->restarts() == 0);
  CHECK(std::filesystem::is_empty(candidate->folder()));
}

TEST_CASE("transports/process/every_member_of_the_hello_arrives") {
  guarded_candidate candidate("everything");
  const properties::description& about = candidate->describe();
  CHECK(about.version == "1.2");
  CHECK(about.offers("heinsen/scan", core::dtype::f64));
  CHECK(about.precisions_of(scan(), core::dtype::f32) == core::dtype::f64);
  CHECK(about.flush_subnormals);
  CHECK(about.deterministic);
  CHECK(about.domain.at("heinsen/scan").at("state").low == -50);
  CHECK(about.domain.at("heinsen/scan").at("state").high == 1.5);
  CHECK(about.domain.at("heinsen/scan").at("log_p").high == std::numeric_limits<double>::max());
  CHECK(about.variants.at("block") == std::vector<core::attribute>{std::int64_t{32}, std::int64_t{64}});
}

TEST_CASE("transports/process/requests_follow_the_protocol") {
  guarded_candidate candidate("echo request");
  properties::request call = scan_request();
  call.attributes["block"] = std::int64_t{64};
  const std::string request = candidate->evaluate(call).error().message;
  CHECK_THAT(request, Contains(R"("operation": "heinsen/scan")") && Contains(R"("dtype": "f32")") &&
                          Contains(R"("attributes": {"block": 64})") && Contains(R"("id": 1)") &&
                          Contains(candidate->folder().string() + "/1.in.safetensors") &&
                          Contains(candidate->folder().string() + "/1.out.safetensors"));
}

TEST_CASE("transports/process/faults_that_end_the_program") {
  const auto [behaviour, kind, words] = GENERATE(values<expectation>({
      {"crash", fault::crashed, "signal 11"},
      {"early exit", fault::exited, "status 0"},
      {"goodbye", fault::exited, "status 0"},  // its stdin is closed, so writing raises SIGPIPE
      {"close stdout", fault::closed_stdout, "closed its stdout"},
      {"malformed reply", fault::malformed_reply, "malformed answer"},
      {"duplicate keys", fault::malformed_reply, "keys must not repeat"},
      {"reply without ok", fault::malformed_reply, "ok must be true or false"},
      {"wrong id", fault::wrong_id, "answer to call 2"},
      {"endless line", fault::malformed_reply, "longer than 1048576 bytes"},
      {"memory hog", fault::out_of_memory, "limit of 256 MiB"},
      {"grandchild hog", fault::out_of_memory, "limit of 256 MiB"},
      {"orphan holds stdout", fault::crashed, "status 7"},
  }));
  INFO(behaviour);
  guarded_candidate candidate(behaviour);
  const auto failed = candidate.failure();
  CHECK(properties::kind_of(failed.kind) == std::string(properties::kind_of(kind)));
  CHECK_THAT(failed.message, Contains(words));
  CHECK(candidate.first_group_gone());
  CHECK(candidate->process_group() == -1);
  CHECK(std::filesystem::is_empty(candidate->folder()));
}

TEST_CASE("transports/process/faults_that_leave_it_running") {
  const auto [behaviour, kind, words] = GENERATE(values<expectation>({
      {"wrong shape", fault::wrong_shape, "output 's' must have shape [B, n, d] but has [2, 3, 4, 1]"},
      {"exchanged axes", fault::wrong_shape,
       "output 's' must have shape [2, 3, 4] but has [2, 4, 3]: axes n and d look exchanged"},
      {"wrong size", fault::wrong_shape, "output 's_n' must have shape [2, 4] but has [3, 5]"},
      {"wrong dtype", fault::wrong_dtype, "must be f32 but is f64"},
      {"missing output", fault::missing_output, "'s_n' is missing"},
      {"extra output", fault::unknown_output, "unknown output 't'"},
      {"no file", fault::missing_file, "No such file"},
      {"truncated file", fault::truncated_file, "must lie within the file"},
      {"oversized header", fault::oversized_file, "at most 1048576 bytes"},
      {"symlink output", fault::bad_file, "not a symbolic link"},
      {"error reply", fault::error_reply, "the kernel needs d = 64"},
      {"unsupported", fault::unsupported, "no f32 here"},
  }));
  INFO(behaviour);
  guarded_candidate candidate(behaviour);
  for (int i = 0; i < 2; ++i) {
    const auto failed = candidate.failure();
    CHECK(properties::kind_of(failed.kind) == std::string(properties::kind_of(kind)));
    CHECK_THAT(failed.message, Contains(words));
  }
  CHECK(candidate->restarts() == 0);
}

TEST_CASE("transports/process/a_hang_is_cut_short") {
  auto limits = short_limits();
  limits.first_call = 300ms;
  guarded_candidate candidate("hang", limits);
  const auto failed = candidate.failure();
  CHECK(failed.kind == fault::timed_out);
  CHECK(failed.message == "no answer within 3 s, of which it computed less than 0.300 s");
  CHECK(candidate.first_group_gone());
}

TEST_CASE("transports/process/a_limit_counts_what_the_group_computes") {
  auto limits = short_limits();
  limits.first_call = 500ms;
  for (const char* behaviour : {"busy", "busy grandchild"}) {
    guarded_candidate candidate(behaviour, limits);
    CHECK(candidate.failure().message == "no answer within 0.500 s of computing");
  }
  guarded_candidate waits("sleeps a while", limits);  // 1.5 s
  CHECK(waits->evaluate(scan_request()).has_value());
}

TEST_CASE("transports/process/a_limit_that_is_met_between_answers_is_forgiven") {
  auto limits = short_limits();
  limits.first_call = limits.call = 100ms;
  limits.restarts = 2;
  guarded_candidate candidate("busy every other time", limits);
  for (int i = 0; i < 4; ++i) {
    CHECK(candidate->evaluate(scan_request()).has_value());
    CHECK(candidate.failure().kind == fault::timed_out);
  }
}

TEST_CASE("transports/process/noise_does_no_harm") {
  SECTION("banners on stdout") {
    guarded_candidate candidate("banners");
    REQUIRE(candidate->evaluate(scan_request()).has_value());
    CHECK(candidate->log_tail().size() <= 65536);
  }
  SECTION("10 MiB on stderr") {
    guarded_candidate candidate("stderr flood");
    REQUIRE(candidate->evaluate(scan_request()).has_value());
    candidate->evaluate(scan_request());
    CHECK(candidate->stderr_tail().size() <= 65536);
    CHECK_THAT(candidate->stderr_tail(), Contains("the end\n"));
  }
  SECTION("a grandchild left behind") {
    guarded_candidate candidate("grandchild");
    REQUIRE(candidate->evaluate(scan_request()).has_value());
  }
  SECTION("a candidate that goes on after the end of stdin") {
    guarded_candidate candidate("ignores the end");
    REQUIRE(candidate->evaluate(scan_request()).has_value());
  }
}

TEST_CASE("transports/process/restarts_are_counted_and_bounded") {
  guarded_candidate candidate("crash once");
  CHECK_THAT(candidate.failure().message, Contains("status 3"));
  CHECK(candidate->evaluate(scan_request()).has_value());
  CHECK(candidate->restarts() == 1);

  auto limits = short_limits();
  limits.restarts = 2;
  guarded_candidate hopeless("crash", limits);
  for (int i = 0; i < 5; ++i) CHECK(hopeless.failure().kind == fault::crashed);
  CHECK_THAT(hopeless.failure().message, StartsWith("not started again after 2 restarts: ended by signal 11"));
  CHECK(hopeless->restarts() == 2);
}

TEST_CASE("transports/process/start_fails_with_the_reason") {
  const auto refusal = [](const std::string& line, transports::process_limits limits = short_limits()) {
    const auto started = start(line, limits);
    REQUIRE_FALSE(started.has_value());
    return started.error().message;
  };
  auto impatient = short_limits();
  impatient.hello = 300ms;
  CHECK_THAT(refusal(command("silent hello"), impatient),
             Contains("hang: before its hello: no answer within 3 s, of which it"));
  CHECK_THAT(refusal(command("no json hello")), Contains("protocol: malformed hello: byte 1"));
  CHECK_THAT(refusal(command("wrong protocol")), Contains("hello.protocol must be 1"));
  CHECK_THAT(refusal(command("nameless")), Contains("hello.name"));
  CHECK_THAT(refusal(command("unknown dtype")), Contains("unknown dtype 'float32'"));
  CHECK_THAT(refusal(command("domain of nothing")), Contains("['heinsen/scam'] is no operation"));
  CHECK_THAT(refusal(command("no candidate")), Contains("error reply: it needs the package 'kernel'"));
  CHECK_THAT(refusal(command("crash at hello")), Contains("crash: ") && Contains("cannot import name 'kernel'"));
  CHECK_THAT(refusal("/no/such/program"), Contains("No such file"));
  CHECK_THAT(refusal("true"), Contains("early exit"));
}

TEST_CASE("transports/process/a_command_is_split_without_a_shell") {
  const auto refusal = [](const std::string& line) {
    const auto words = transports::split_words(line);
    REQUIRE_FALSE(words.has_value());
    return words.error().message;
  };
  CHECK_THAT(refusal("  "), Contains("names no program"));
  CHECK_THAT(refusal("a | b"), Contains("needs a shell"));
  CHECK_THAT(refusal("a > b"), Contains("needs a shell"));
  CHECK_THAT(refusal("a; b"), Contains("needs a shell"));
  CHECK_THAT(refusal("echo $(id)"), Contains("command substitution"));
  CHECK_THAT(refusal("echo `id`"), Contains("command substitution"));
  CHECK_THAT(refusal("echo 'a"), Contains("unmatched quote"));
}

TEST_CASE("transports/process/words_are_split_as_by_a_shell") {
  using words = std::vector<std::string>;
  CHECK(transports::split_words(R"(a 'b c' "d  e" f\ g '|')").value() == words{"a", "b c", "d  e", "f g", "|"});
}
