// Valid and invalid messages of the candidate protocol.
#include "tools/transports/protocol.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <set>

#include "reference/oracle.hpp"

namespace {

using Catch::Matchers::Contains;
using namespace assay;

std::string hello_with(const std::string& members) {
  return R"({"hello":{"protocol":1,"name":"c","operations":{"a/b":["f32"]})" + members + "}}";
}

std::string hello_refusal(const std::string& line) {
  const auto parsed = transports::parse_hello(line);
  INFO(line);
  REQUIRE_FALSE(parsed.has_value());
  return parsed.error().message;
}

std::string reply_refusal(const std::string& line) {
  const auto parsed = transports::parse_reply(line);
  INFO(line);
  REQUIRE_FALSE(parsed.has_value());
  return parsed.error().message;
}

}  // namespace

TEST_CASE("transports/protocol/hello_needs_only_name_and_operations") {
  const auto parsed = transports::parse_hello(hello_with(""));
  REQUIRE(parsed.has_value());
  CHECK(parsed->version.empty());
  CHECK_FALSE(parsed->deterministic);
  CHECK_FALSE(parsed->relayed);
  CHECK_FALSE(parsed->flush_subnormals);
  CHECK(transports::parse_hello(hello_with(R"(,"later":{"x":[1.5e3,-1,null]})")).has_value());
  CHECK(transports::parse_hello(hello_with(R"(,"properties":{"relayed":true})"))->relayed);
  CHECK_FALSE(parsed->must_take_empty("a/b"));
  CHECK(transports::parse_hello(hello_with(R"(,"properties":{"empty":["a/b"]})"))->must_take_empty("a/b"));
}

TEST_CASE("transports/protocol/hello_is_strict") {
  CHECK_THAT(hello_refusal("{}"), Contains("must have the member 'hello'"));
  CHECK_THAT(hello_refusal(R"({"hello":3})"), Contains("must be an object"));
  CHECK_THAT(hello_refusal(hello_with(R"(,"name":"d")")), Contains("keys must not repeat"));
  CHECK_THAT(hello_refusal(hello_with("") + "{}"), Contains("must be valid JSON"));
  for (const std::string version : {"\"1\"", "1.0", "2", "-1", "true"})
    CHECK_THAT(hello_refusal(R"({"hello":{"protocol":)" + version + "}}"), Contains("hello.protocol must be 1"));
  for (const std::string operations :
       {"[]", "{}", R"({"a":"f32"})", R"({"a":[]})", R"({"a":[1]})", R"({"a":["f33"]})", R"({"a":["f32","f32"]})"})
    CHECK_THAT(hello_refusal(R"({"hello":{"protocol":1,"name":"c","operations":)" + operations + "}}"),
               Contains("hello.operations"));
  CHECK_THAT(hello_refusal(hello_with(R"(,"version":1)")), Contains("hello.version"));
  CHECK_THAT(hello_refusal(hello_with(R"(,"compute":{"f32":"i32"})")), Contains("floating-point"));
  CHECK_THAT(hello_refusal(hello_with(R"(,"compute":{"f8":"f32"})")), Contains("unknown dtype 'f8'"));
  CHECK_THAT(hello_refusal(hello_with(R"(,"compute":{"f32":1})")), Contains("must name a precision (f64, f32)"));
  CHECK_THAT(hello_refusal(hello_with(R"(,"compute":{"f32":"bf16"})")),
             Contains("less precise than f32; known: f64, f32"));
  CHECK_THAT(hello_refusal(hello_with(R"(,"compute":{"f32":{"angle":"f32"}})")), Contains("no offered operation"));
  CHECK_THAT(hello_refusal(hello_with(R"(,"compute":{"bf16":"f32"})")),
             Contains("hello.compute['bf16'] is of a dtype that no operation is offered in; offered: f32"));
  for (const std::string domain : {"\"infinite\"", "[1]", "[1,2,3]", "[1,\"2\"]", "[2,1]", "[1,1e999]", "1"})
    CHECK_FALSE(transports::parse_hello(R"({"hello":{"protocol":1,"name":"c","operations":{"heinsen/scan":["f32"]},)"
                                        R"("domain":{"heinsen/scan":{"h":)" +
                                        domain + "}}}}")
                    .has_value());
  CHECK_THAT(hello_refusal(hello_with(R"(,"domain":{"b/a":{}})")), Contains("is no operation"));
  CHECK_THAT(hello_refusal(hello_with(R"(,"flush_subnormals":1)")), Contains("true or false"));
  CHECK_THAT(hello_refusal(hello_with(R"(,"properties":{"deterministic":"yes"})")), Contains("true or false"));
  CHECK_THAT(hello_refusal(hello_with(R"(,"properties":{"empty":true})")), Contains("array of operations"));
  CHECK_THAT(hello_refusal(hello_with(R"(,"properties":{"empty":["b/a"]})")), Contains("\"b/a\" is no operation"));
  CHECK_THAT(hello_refusal(hello_with(R"(,"properties":{"empty":[1]})")), Contains("1 is no operation"));
  CHECK_THAT(hello_refusal(hello_with(R"(,"variants":{"block":[]})")), Contains("arrays of values"));
  CHECK_THAT(hello_refusal(hello_with(R"(,"variants":{"block":[[1]]})")),
             Contains("[1] is no number, string or boolean"));
  for (const std::string text : {R"(a\nb)", R"(\u001b[31m)"})
    for (const std::string& variants : {R"({"mode":[")" + text + R"("]})", R"({")" + text + R"(":[1]})"})
      CHECK_THAT(hello_refusal(hello_with(",\"variants\":" + variants)), Contains("must be printable"));
  CHECK_THAT(hello_refusal(hello_with(R"(,"variants":{"mode":[")" + std::string(81, 'x') + R"("]})")),
             Contains("at most 80 bytes"));
}

// An operation may get settings after a candidate was written.
TEST_CASE("transports/protocol/settings_without_a_parameter_have_standard_values") {
  const auto hello_of_rotation = [](const std::string& more) {
    return transports::parse_hello(
        R"({"hello":{"protocol":1,"name":"c","operations":{"rope/rotate":["f32"],"rope/rotate:vjp":["f32"]},)" + more +
        "}}");
  };
  const auto hello =
      hello_of_rotation(R"("domain":{"rope/rotate":{"layout":["half_split"]}},)"
                        R"("parameters":{"rope/rotate":["x","position","layout","base"],"rope/rotate:vjp":["base"]})");
  REQUIRE(hello.has_value());
  for (const char* name : {"rope/rotate", "rope/rotate:vjp"}) {
    INFO(name);
    const core::operation& op = *reference::find_operation(name);
    const auto& settings = hello->settings_of(op);
    CHECK_FALSE(settings.contains("base"));
    CHECK(settings.at("layout") == std::vector<core::attribute>{std::string("half_split")});
    CHECK(settings.at("position_scale") == std::vector<core::attribute>{1.0});
    CHECK(settings.size() == op.attributes.size() - 1);
  }
  for (const std::string wrong : {"[]", R"({"b/a":[]})", R"({"rope/rotate":"base"})", R"({"rope/rotate":[1]})"})
    CHECK_FALSE(hello_of_rotation("\"parameters\":" + wrong).has_value());
}

TEST_CASE("transports/protocol/a_domain_names_what_there_is") {
  const auto with_domain = [](const std::string& operation, const std::string& domain) {
    return R"({"hello":{"protocol":1,"name":"c","operations":{")" + operation + R"(":["f32"]},"domain":{")" +
           operation + "\":" + domain + "}}}";
  };
  const std::string scan = "heinsen/scan";
  for (const std::string name : {"logp", "m", "", "grad_s"})
    CHECK_THAT(
        hello_refusal(with_domain(scan, "{\"" + name + R"(":"finite"})")),
        Contains("['" + name + "'] is no input, setting or axis of heinsen/scan; known: log_p, h, s0, state, B, d, n"));
  CHECK_THAT(hello_refusal(with_domain("heinsen/scan:vjp", R"({"logp":[-1,0]})")),
             Contains("known: log_p, h, s0, grad_s, grad_s_n, state"));
  CHECK_THAT(hello_refusal(with_domain("rope/rotate", R"({"state":"finite"})")),
             Contains("known: x, position, layout, rotary, base, position_scale"));
  CHECK_THAT(hello_refusal(with_domain(scan, R"({"log_p":[2,1]})")), Contains("low must not exceed high"));
  CHECK_THAT(hello_refusal(with_domain(scan, R"({"log_p":[1,2]})")),
             Contains("holds no value of log_p, which lies in [-inf, 0]"));
  CHECK(transports::parse_hello(with_domain(scan, R"({"log_p":[0,1],"state":"finite"})")).has_value());
  CHECK(transports::parse_hello(with_domain("heinsen/scan:vjp", R"({"grad_s":[-1,1],"state":[-9,9]})")).has_value());
  CHECK(transports::parse_hello(with_domain("rope/rotate", R"({"layout":["half_split"],"x":"finite"})")).has_value());
  CHECK(transports::parse_hello(with_domain("later/encoding", R"({"new":{"multiple_of":2}})")).has_value());
}

TEST_CASE("transports/protocol/a_domain_holds_sizes_of_axes") {
  const auto with_sizes = [](const std::string& axis, const std::string& sizes) {
    return R"({"hello":{"protocol":1,"name":"c","operations":{"rope/rotate":["f32"]},"domain":{"rope/rotate":{")" +
           axis + "\":" + sizes + "}}}}";
  };
  const auto sizes_of = [&](const std::string& sizes) {
    const auto hello = transports::parse_hello(with_sizes("d", sizes));
    REQUIRE(hello.has_value());
    return hello->sizes_of_axis(*reference::find_operation("rope/rotate"), "d");
  };
  CHECK(sizes_of("[2,256]") == properties::declared_sizes{2, 256, 1});
  CHECK(sizes_of(R"({"multiple_of":64})").multiple_of == 64);
  CHECK(sizes_of(R"({"multiple_of":2,"at_least":4,"at_most":128})") == properties::declared_sizes{4, 128, 2});
  for (const std::string sizes :
       {"64", "[2]", "[0,0]", "[9,8]", "[1,2,3]", "[-1,8]", "[1,1e30]", "[1.5,2]", "{}", "\"finite\"", "true",
        R"({"multiple_of":0})", R"({"multiple_of":64,"at_most":63})", R"({"times":2})", R"({"multiple_of":"2"})"})
    CHECK_THAT(hello_refusal(with_sizes("n", sizes)), Contains("hello.domain['rope/rotate']['n']"));
  CHECK_THAT(hello_refusal(with_sizes("width", "[1,2]")), Contains("is no input, setting or axis of rope/rotate"));
}

TEST_CASE("transports/protocol/a_domain_holds_sizes_that_settings_have") {
  const auto domain = [](const std::string& sizes) {
    return R"({"hello":{"protocol":1,"name":"c","operations":{"sinusoidal/table":["f32"]},)"
           R"("domain":{"sinusoidal/table":)" +
           sizes + "}}}";
  };
  const core::operation& table = *reference::find_operation("sinusoidal/table");
  for (const char* even : {R"({"d":{"multiple_of":2}})", R"({"width":{"multiple_of":2}})"}) {
    const auto hello = transports::parse_hello(domain(even));
    REQUIRE(hello.has_value());
    CHECK(hello->sizes_of_axis(table, "d").multiple_of == 2);
  }
  CHECK(transports::parse_hello(domain(R"({"width":[2,4,64]})")).has_value());
  CHECK_THAT(hello_refusal(domain(R"({"d":{"at_least":2097152}})")),
             Contains("hello.domain['sinusoidal/table']['width']"));
}

TEST_CASE("transports/protocol/a_domain_holds_a_range_of_a_setting") {
  const auto domain = [](const std::string& range) {
    return R"({"hello":{"protocol":1,"name":"c","operations":{"t5_bias/bucket":["f32"]},)"
           R"("domain":{"t5_bias/bucket":)" +
           range + "}}}";
  };
  const auto values_of = [&](const std::string& setting, const std::string& range) {
    const auto hello = transports::parse_hello(domain("{\"" + setting + "\":" + range + "}"));
    REQUIRE(hello.has_value());
    std::set<std::int64_t> values;
    for (const auto& value : hello->settings_of(*reference::find_operation("t5_bias/bucket")).at(setting))
      values.insert(std::get<std::int64_t>(value));
    return values;
  };
  CHECK(values_of("buckets", R"({"at_least":16})") == std::set<std::int64_t>{16, 32, 64, 128});
  CHECK(values_of("buckets", R"({"multiple_of":3})").contains(6));  // no usual value fits: others are taken
  CHECK(values_of("max_distance", R"({"at_least":200,"at_most":256})") == std::set<std::int64_t>{200, 256});
  for (const char* none : {R"({"buckets":{"at_least":1000}})", R"({"buckets":{"times":2}})",
                           R"({"form":{"at_least":2}})", R"({"bidirectional":{"at_least":1}})"})
    CHECK_THAT(hello_refusal(domain(none)), Contains("hello.domain['t5_bias/bucket']['"));
}

TEST_CASE("transports/protocol/a_domain_that_no_case_has_is_refused") {
  const auto refusal = [](const std::string& operation, const std::string& domain) {
    return hello_refusal(R"({"hello":{"protocol":1,"name":"c","operations":{")" + operation +
                         R"(":["f32"]},"domain":{")" + operation + "\":" + domain + "}}}");
  };
  CHECK_THAT(
      refusal("rope/rotate", R"({"rotary":[0,16],"d":[2,8]})"),
      Contains("hello.domain['rope/rotate']['rotary']: rotary = 16: rotary = 16 pairs are more than d = 8 holds"));
  CHECK_THAT(refusal("alibi/slopes", R"({"alpha_max":[0.3]})"), Contains("must be a multiple of 1/16"));
  CHECK_THAT(refusal("t5_bias/bucket", R"({"buckets":[32],"max_distance":[5]})"),
             Contains("'max_distance' must be larger"));
  // No other scaling would help: the two ends are wrong.
  CHECK_THAT(refusal("rope/extended_frequencies",
                     R"({"scaling":["llama3"],"factor":[8.0],"trained_length":[8192],"length":[8192],)"
                     R"("low":[4.0],"high":[1.0]})"),
             Contains("['low']: low = 4: attribute 'high' must not be smaller than 'low'"));
  const auto accepted = [](const std::string& domain) {
    return transports::parse_hello(R"({"hello":{"protocol":1,"name":"c","operations":{"rope/rotate":["f32"]},)"
                                   R"("domain":{"rope/rotate":)" +
                                   domain + "}}}")
        .has_value();
  };
  CHECK(accepted(R"({"rotary":[16]})"));
  CHECK(accepted(R"({"rotary":[0,4],"d":[2,8]})"));
  CHECK(accepted(R"({"d":[2,2]})"));
}

TEST_CASE("transports/protocol/a_program_may_say_why_it_is_no_candidate") {
  CHECK(transports::parse_refusal(R"({"error":"it needs\u0007 torch"})") == "it needs  torch");
  for (const std::string& line : {hello_with(""), std::string(R"({"error":3})"), std::string("{}"), std::string("{"),
                                  std::string(R"({"hello":{},"error":"both"})")})
    CHECK_FALSE(transports::parse_refusal(line).has_value());
}

TEST_CASE("transports/protocol/replies_are_strict") {
  CHECK(transports::parse_reply(R"({"id":3,"ok":true,"seconds":0.5})")->id == 3);
  CHECK(transports::parse_reply(R"({"id":3,"ok":false,"unsupported":true})")->unsupported);
  CHECK(transports::parse_reply(R"({"id":3,"ok":false,"error":"a\u0007b"})")->text == "a b");
  CHECK(transports::parse_reply(R"({"id":3,"ok":false,"error":")" + std::string(9000, 'x') + "\"}")->text.size() <
        4010);
  for (const std::string id : {"-1", "1.0", "\"1\"", "18446744073709551616", "null"})
    CHECK_THAT(reply_refusal(R"({"ok":true,"id":)" + id + "}"), Contains("id must be a non-negative integer"));
  CHECK_THAT(reply_refusal(R"({"id":1,"ok":1})"), Contains("ok must be true or false"));
  CHECK_THAT(reply_refusal(R"({"id":1,"ok":false})"), Contains("must be unsupported or have an error"));
  CHECK_THAT(reply_refusal(R"({"id":1,"ok":false,"error":3})"), Contains("must be strings"));
  CHECK_THAT(reply_refusal(R"({"id":1,"ok":false,"unsupported":1})"), Contains("unsupported must be"));
}

TEST_CASE("transports/protocol/a_precision_for_each_stage") {
  const auto hello = [](const std::string& compute) {
    return R"({"hello":{"protocol":1,"name":"c","operations":{"rope/rotate":["bf16"],"attention/output":["bf16"]},)"
           R"("compute":{"bf16":)" +
           compute + "}}}";
  };
  const auto parsed = transports::parse_hello(hello(R"({"angle":"f32","product":"f32","softmax":"bf16"})"));
  REQUIRE(parsed);
  const auto& declared = parsed->compute.at(core::dtype::bf16);
  CHECK_FALSE(declared.all);
  const std::map<std::string, core::dtype> stages{
      {"angle", core::dtype::f32}, {"product", core::dtype::f32}, {"softmax", core::dtype::bf16}};
  CHECK(declared.stages == stages);
  CHECK(transports::parse_hello(hello(R"("f32")"))->compute.at(core::dtype::bf16).all == core::dtype::f32);
  CHECK_THAT(hello_refusal(hello(R"({"angel":"f32"})")),
             Contains("hello.compute['bf16']['angel'] is no stage of an offered operation; known: scores, softmax, "
                      "output, accumulation, angle, table, product"));
  CHECK_THAT(hello_refusal(hello(R"({"angle":"f64x"})")), Contains("unknown dtype 'f64x'; known: f64, f32, f16, bf16"));
  CHECK_THAT(hello_refusal(hello(R"({"angle":"i32"})")),
             Contains("must be a floating-point dtype; known: f64, f32, f16, bf16"));
  CHECK_THAT(hello_refusal(hello(R"({"angle":{}})")), Contains("must name a precision"));
  CHECK_THAT(hello_refusal(hello("{}")), Contains("must name stages; known: "));
}

// Settings that an operation did not have at first: a candidate that does not know them is asked for the standard
// value, in a message without them.
TEST_CASE("transports/protocol/later_settings_are_asked_of_who_names_them") {
  const core::operation &op = *reference::find_operation("deberta/scores"),
                        &vjp = *reference::find_operation("deberta/scores:vjp");
  const auto values_of = [&](const std::string& more, const core::operation& op_or_vjp) {
    const auto hello = transports::parse_hello(
        R"({"hello":{"protocol":1,"name":"c","operations":{"deberta/scores":["f32"],"deberta/scores:vjp":["f32"]})" +
        more + "}}");
    REQUIRE(hello.has_value());
    const auto& settings = hello->settings_of(op_or_vjp);
    const auto known = settings.find("clamp_first");
    const std::vector<core::attribute> tried =
        known == settings.end() ? std::vector<core::attribute>{true, false} : known->second;
    // In every call the other settings are present; this one is present if it is named or is not standard.
    for (const core::attribute& value : tried) {
      const core::request call{&op_or_vjp, core::dtype::f32, {}, core::completed(op_or_vjp, {{"clamp_first", value}})};
      const bool is_unnamed = tried == std::vector<core::attribute>{true};
      CHECK(properties::requested_attributes(*hello, call).contains("clamp_first") == !is_unnamed);
      CHECK(properties::requested_attributes(*hello, call).contains("p2c_index"));
    }
    return tried;
  };
  using values = std::vector<core::attribute>;
  for (const core::operation* tested : {&op, &vjp}) {
    CHECK(values_of("", *tested) == values{true});
    CHECK(values_of(R"(,"parameters":{"deberta/scores":["q","k","span"]})", *tested) == values{true});
    CHECK(values_of(R"(,"parameters":{"deberta/scores":["q","k","clamp_first"]})", *tested) == values{true, false});
    CHECK(values_of(R"(,"domain":{"deberta/scores":{"clamp_first":[false]}})", *tested) == values{false});
    CHECK(values_of(R"(,"domain":{"deberta/scores":{"terms":["both"]}})", *tested) == values{true});
    CHECK(values_of(R"(,"written_for":"0.1")", *tested) == values{true});
    CHECK(values_of(R"(,"written_for":"0.2")", *tested) == values{true, false});
    CHECK(values_of(R"(,"written_for":"0.2","parameters":{"deberta/scores":["q"]})", *tested) == values{true});
  }
  const std::string line = transports::call_request(1, {&op, core::dtype::f32, {}, core::completed(op, {})}, "a", "b");
  CHECK(line.find("clamp_first") == std::string::npos);
  CHECK(line.find("p2c_index") != std::string::npos);
}

// The same holds for values that came after their setting.
TEST_CASE("transports/protocol/later_values_are_asked_of_who_names_them") {
  const core::operation& table = *reference::find_operation("sinusoidal/table");
  using values = std::vector<core::attribute>;
  const values known{std::string("paper"), std::string("tensor2tensor")}, later{std::string("power")};
  const auto check = [&](const std::string& more, const values& expected, bool tells) {
    const auto hello = transports::parse_hello(
        R"({"hello":{"protocol":1,"name":"c","operations":{"sinusoidal/table":["f32"]})" + more + "}}");
    INFO(more);
    REQUIRE(hello.has_value());
    const auto& settings = hello->settings_of(table);
    CHECK((settings.contains("rule") ? settings.at("rule") : table.attribute("rule")->values) == expected);
    const auto unasked = hello->unasked.find("sinusoidal/table");
    CHECK((unasked != hello->unasked.end() && unasked->second.contains("rule")) == tells);
    if (tells) CHECK(unasked->second.at("rule") == later);
  };
  const values all = table.attribute("rule")->values;
  check("", known, true);
  check(R"(,"parameters":{"sinusoidal/table":["rule"]})", known, true);
  check(R"(,"parameters":{"sinusoidal/table":["position"]})", {std::string("paper")}, false);
  check(R"(,"written_for":"0.2")", all, false);
  check(R"(,"written_for":"0.2.7")", all, false);
  check(R"(,"domain":{"sinusoidal/table":{"rule":["power"]}})", later, false);
  for (const char* list : {"1", "\"0\"", "\"0.0\"", "\"0.\"", "\"9.0\"", "\"0.2x\"", "\"v0.2\"", "null", "0.2"})
    CHECK_THAT(hello_refusal(hello_with(std::string(R"(,"written_for":)") + list)),
               Contains("hello.written_for must be a version of Assay from \"0.1\" to \"0.2\""));
}

TEST_CASE("transports/protocol/relations_of_axes") {
  const auto hello = [](const std::string& relations) {
    return transports::parse_hello(
        R"({"hello":{"protocol":1,"name":"c","operations":{"attention/output":["f32"]},"domain":{"attention/output":)"
        R"({"relations":)" +
        relations + "}}}}");
  };
  const auto texts = [&](const std::string& relations) {
    std::vector<std::string> all;
    const properties::description about = hello(relations).value();
    for (const auto& r : about.relations.at("attention/output")) all.push_back(r.text());
    return all;
  };
  CHECK(texts(R"(["n <= m","e=d"])") == std::vector<std::string>{"n <= m", "e = d"});
  CHECK(texts(R"(["m >= 2 n"])") == std::vector<std::string>{"2 n <= m"});
  for (const std::string wrong :
       {"[]", "\"n <= m\"", "[1]", R"(["n < m"])", R"(["n <= n"])", R"(["n <= 0 m"])", R"(["n <="])", R"(["= m"])"})
    CHECK_FALSE(hello(wrong).has_value());
  CHECK_THAT(hello(R"(["n <= z"])").error().message, Contains("has no axis z; known: "));
  CHECK_THAT(hello(R"(["n < m"])").error().message, Contains("is no relation of two axes"));
}
