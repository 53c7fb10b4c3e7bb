// Calls are read strictly by hosts and recordings.
#include "tools/transports/call_message.hpp"

#include <catch2/catch.hpp>

#include "reference/oracle.hpp"
#include "tools/transports/protocol.hpp"
#include "tools/transports/python_host.hpp"

using namespace assay;
using Catch::Matchers::Contains;
using transports::parse_call;

TEST_CASE("transports/call/what_is_written_is_read") {
  const core::operation* scan = reference::find_operation("heinsen/scan");
  const core::attributes settings{{"block", std::int64_t{64}}, {"scale", 0.1}, {"fused", true}, {"mode", "a \"b\""}};
  const std::string line = transports::call_request(7, {scan, core::dtype::bf16, {}, settings}, "a/in put", "a/\u00fc");
  const auto call = parse_call(line);
  REQUIRE(call.has_value());
  CHECK(call->id == 7);
  CHECK(call->operation == scan);
  CHECK(call->type == core::dtype::bf16);
  CHECK(call->attributes == settings);
  CHECK(call->inputs == "a/in put");
  CHECK(call->outputs == "a/\u00fc");
}

TEST_CASE("transports/call/replies_are_read_back") {
  using properties::fault;
  const auto read = [](const tl::expected<void, properties::call_failure>& outcome) {
    return transports::parse_reply(transports::call_reply(3, outcome)).value();
  };
  CHECK(read({}).ok);
  CHECK(read({}).id == 3);
  const auto declined = read(tl::make_unexpected(properties::call_failure{fault::unsupported, "no"}));
  CHECK((!declined.ok && declined.unsupported && declined.text == "no"));
  const auto failed = read(tl::make_unexpected(properties::call_failure{fault::error_reply, "bad \xff byte"}));
  CHECK((!failed.ok && !failed.unsupported));
  CHECK_THAT(failed.text, Contains("bad"));
}

TEST_CASE("transports/call/refusals_name_the_member") {
  const auto refusal = [](const std::string& line) {
    const auto call = parse_call(line);
    REQUIRE_FALSE(call.has_value());
    return call.error().message;
  };
  const auto with = [](const std::string& id, const std::string& operation, const std::string& attributes) {
    return "{\"id\":" + id + ",\"operation\":" + operation + ",\"dtype\":\"f32\",\"attributes\":" + attributes +
           ",\"inputs\":\"i\",\"outputs\":\"o\"}";
  };
  CHECK(parse_call(with("1", "\"heinsen/scan\"", "{}")).has_value());
  CHECK_THAT(refusal("{}"), Contains("'id' is missing"));
  CHECK_THAT(refusal("[]"), Contains("byte 0"));
  CHECK_THAT(refusal(with("-1", "\"heinsen/scan\"", "{}")), Contains("'id'"));
  CHECK_THAT(refusal(with("1", "7", "{}")), Contains("'operation'"));
  CHECK_THAT(refusal(with("1", "\"heinsen/none\"", "{}")), Contains("heinsen/none"));
  CHECK_THAT(refusal(with("1", "\"heinsen/scan\"", "[]")), Contains("'attributes'"));
}

TEST_CASE("transports/python/the_function_stands_after_the_last_colon") {
  const auto wanted = transports::parse_python_function("C:/a folder/model.py:Model.scan");
  REQUIRE(wanted.has_value());
  CHECK(wanted->module == "C:/a folder/model.py");
  CHECK(wanted->function == "Model.scan");
  for (const char* wrong : {"", "model", "model:", ":scan"})
    CHECK_FALSE(transports::parse_python_function(wrong).has_value());
}
