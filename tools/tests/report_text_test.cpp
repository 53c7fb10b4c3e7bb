// Tests how a report treats text from others, and where it shows the plain-language findings.
#include <catch2/catch.hpp>

#include "tools/report/escape.hpp"
#include "tools/report/report.hpp"
#include "tools/report/sentences.hpp"

using namespace assay;
using tools::plain;

TEST_CASE("assay/report/plain_text_is_valid_and_on_one_line") {
  CHECK(plain("caf\xC3\xA9 \xF0\x9F\x98\x80") == "caf\xC3\xA9 \xF0\x9F\x98\x80");
  CHECK(plain("a\nb\tc\x01\x7F") == "a b c  ");
  CHECK(plain(std::string_view("a\0b", 3)) == "a b");
  const std::string bad = "\xEF\xBF\xBD";
  CHECK(plain("\xFF") == bad);
  CHECK(plain("x\xC3") == "x" + bad);
  CHECK(plain("\xC0\xAF") == bad + bad);              // overlong
  CHECK(plain("\xED\xA0\x80") == bad + bad + bad);    // a surrogate
  CHECK(plain("\xF4\x90\x80\x80").starts_with(bad));  // beyond U+10FFFF
  CHECK(plain("\xEF\xBF\xBF") == bad);                // U+FFFF is no character of XML
  CHECK(plain("a\xE2\x80\xAE"
              "b") == "ab");  // U+202E
}

TEST_CASE("assay/report/markup_and_markdown_are_inert") {
  CHECK(tools::escape_markup("<b a='1' c=\"2\">&") == "&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;");
  CHECK(tools::escape_markdown("[a](http://b) *c* _d_ e_f") == "[a\\](http\\://b) \\*c\\* \\_d\\_ e_f");
  CHECK(tools::escape_markdown("www.a.b") == "www\\.a.b");
  CHECK(tools::escape_markdown("# a | `b` <c>") == "\\# a \\| \\`b\\` &lt;c>");
  CHECK(tools::escape_markdown("s[0, 1]: x-1 + (y)") == "s[0, 1]: x-1 + (y)");
  CHECK(tools::escape_markdown("python:model.py:f@sinusoidal/table 1") == "`python:model.py:f@sinusoidal/table` 1");
  CHECK(tools::escape_markdown("(@h) `@h` a @ b @") == "(`@h`) \\``@h`\\` a @ b @");
  CHECK(tools::markdown_link("[a](b) c]", "d/e.html#f") == "[\\[a\\](b) c\\]](d/e.html#f)");
  CHECK(tools::url_path("a b/c(1)&\"#?.html") == "a%20b/c%281%29%26%22%23%3F.html");
  CHECK(tools::markdown_sentence("like: `i - j <= *w*` (a_b) | `c`") == "like: `i - j <= *w*` (a_b) \\| `c`");
  CHECK(tools::markdown_sentence("one ` alone") == tools::escape_markdown("one ` alone"));
  CHECK(tools::markup_sentence("like: `i < j`") == "like: <code>i &lt; j</code>");
  CHECK(tools::markdown_code("a`b") == "``a`b``");
  CHECK(tools::markdown_code("`a|b") == "`` `a|b ``");
  CHECK(tools::markdown_block({"a ``` b", "c"}, "sh", "  ") == "  ````sh\n  a ``` b\n  c\n  ````\n");
}

TEST_CASE("assay/report/shell_words") {
  CHECK(tools::shell_word("builtin:a/b-c_d.json") == "builtin:a/b-c_d.json");
  CHECK(tools::shell_word("") == "''");
  CHECK(tools::shell_word("a b") == "'a b'");
  CHECK(tools::shell_word("$(x) `y` ~ *") == "'$(x) `y` ~ *'");
  CHECK(tools::shell_word("it's") == "'it'\\''s'");
}

TEST_CASE("assay/report/stderr_is_cut_to_its_last_lines") {
  CHECK(tools::stderr_lines("").empty());
  CHECK(tools::stderr_lines("\n \n").empty());
  CHECK(tools::stderr_lines("a\n\x1b[1mb\r\n") == std::vector<std::string>{"a", " [1mb"});
  std::string many;
  for (int i = 0; i < 30; ++i) many += std::to_string(i) + "\n";
  CHECK(tools::stderr_lines(many).size() == 20);
  CHECK(tools::stderr_lines(many).back() == "29");
  // A line without an end is kept by its last part; if a line is cut in two and more lines follow, the rest of it is
  // dropped.
  CHECK(tools::stderr_lines(std::string(5000, 'x')) == std::vector<std::string>{std::string(2000, 'x')});
  CHECK(tools::stderr_lines(std::string(5000, 'x') + "\nlast\n") == std::vector<std::string>{"last"});
}

TEST_CASE("assay/report/findings_stand_right_under_the_verdict") {
  tools::gate_report r;
  r.candidate.name = "x";
  r.candidate_spec = "builtin:x";
  r.effort = "quick";
  r.verdict = tools::gate_verdict::failed;
  r.findings = {"The first token does not decay <s0>."};
  CHECK(to_json(r).at("findings").at(0) == r.findings[0]);
  CHECK(to_markdown(r).starts_with("# Assay: x - failed\n\n- The first token does not decay &lt;s0>.\n"));
  CHECK(to_junit(r).find("The first token does not decay &lt;s0&gt;.") != std::string::npos);
  const std::string page = to_html(r);
  const std::size_t verdict = page.find("</header>");
  CHECK(page.find("<li>The first token does not decay &lt;s0&gt;.</li>") < verdict + 60);
  CHECK(page.find("<li>") > verdict);
}

TEST_CASE("assay/report/sentences") {
  using reference::accuracy_class;
  CHECK(tools::class_sentence(*reference::find_operation("heinsen/scan"), accuracy_class::uniform, true) ==
        "correct; errors do not grow with the length: class uniform");
  CHECK(tools::class_sentence(*reference::find_operation("heinsen/scan"), accuracy_class::sequential, true) ==
        "correct; rounds like step-by-step code: class sequential");
  CHECK(tools::class_sentence(*reference::find_operation("heinsen/scan"), accuracy_class::tree, true) ==
        "correct; rounds like a tree or a chunked scan: class tree");
  CHECK(tools::class_sentence(*reference::find_operation("heinsen/scan"), accuracy_class::linear, true) ==
        "correct, but rounds like a scan in the linear domain, on exp(s): class linear");
  CHECK(tools::class_sentence(*reference::find_operation("heinsen/scan"), accuracy_class::cumsum, true) ==
        "correct, but loses digits as the length grows, as prefix sums do: class cumsum");
  CHECK(tools::class_sentence(*reference::find_operation("kerple/log:vjp"), accuracy_class::linear, true) ==
        "correct, but loses what is small beside a larger number, as log(1 + x) does: class linear");
  CHECK(tools::class_sentence(*reference::find_operation("heinsen/scan"), accuracy_class::cumsum, false) ==
        "loses digits as the length grows, as prefix sums do: class cumsum");
  CHECK(tools::share_sentence(0) == "correct: no error beyond the rounding of the results");
  CHECK(tools::share_sentence(0.001) == "correct: rounding explains every error (at most 1 % of the allowance)");
  CHECK(tools::share_sentence(0.86) == "correct: rounding explains every error (at most 86 % of the allowance)");
  CHECK(tools::share_sentence(1.1) ==
        "correct: rounding explains every error (at most 1.1 times its first-order estimate)");
  CHECK(tools::suspicious_sentence(1.65) ==
        "suspicious: its error is 1.65 times the first-order bound of rounding; from 2 times on it is a bug");
  CHECK(tools::suspicious_sentence(1.65, "cumsum") ==
        "suspicious: its error is 1.65 times the first-order bound of rounding (class cumsum); from 2 times on it is a "
        "bug");
  const core::operation &rotate = *reference::find_operation("rope/rotate"),
                        &scan = *reference::find_operation("heinsen/scan");
  CHECK(tools::digits_sentence(rotate,
                               {{core::dtype::f64, {{15, 3}}}, {core::dtype::f32, {{6, 15}, {5, 63}, {3, 4095}}}}) ==
        "digits of rope/rotate in f64: 15 up to position 3; in f32: 6 up to position 15, 3 up to position 4095");
  CHECK(tools::digits_sentence(scan, {{core::dtype::f32, {{7, 2}, {3, 4096}}}}) ==
        "digits of heinsen/scan, mild inputs, in f32: 7 up to n = 2, 3 up to n = 4096");
  CHECK(tools::digits_in_words(rotate, {{6, 15}, {1, 4095}}) == "6 digits up to position 15, 1 up to position 4095");
  CHECK(tools::digits_in_words(scan, {{1, 4096}}) == "1 digit up to n = 4096 (mild inputs)");
  CHECK(tools::broke_sentence("heinsen/scan f32 n=3", "crash: signal 11", false) ==
        "it does not survive heinsen/scan f32 n=3: crash: signal 11");
  CHECK(tools::broke_sentence("heinsen/scan f32 n=3", "hang: no answer within 30 s", true) ==
        "it does not survive heinsen/scan f32 n=3: hang: no answer within 30 s; --case-timeout gives it longer");
  const auto sentence_of = [](std::initializer_list<const char*> names) {
    std::vector<const properties::property*> violated;
    for (const char* name : names) violated.push_back(properties::find_property(name));
    return tools::violation_sentence(violated);
  };
  CHECK(sentence_of({"value", "causality", "lanes"}) == "lanes influence one another");
  CHECK(sentence_of({"repeat", "strides"}).starts_with("the property 'repeat' does not hold: "));
  CHECK(tools::vanished_sentence({"value", "vjp"}) == "the counterexample of value, vjp passed when it was run again");
}
