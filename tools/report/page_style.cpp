#include "tools/report/html_parts.hpp"

namespace assay::tools {

// The colours are those of Okabe and Ito, "Color universal design" (2008), darkened where text needs contrast;
// every colour that carries a meaning is joined by a dash pattern, a shape or a word.
std::string page_style() {
  return R"css(:root {
  --page: #fbfbfa; --card: #ffffff; --text: #1d2126; --soft: #5a626b; --line: #d9dde1;
  --passed: #00608f; --failed: #b03f00; --broken: #77406a; --heat: 0, 114, 178; --point: #1d2126;
  --law0: #0072b2; --law1: #007a58; --law2: #a06a00; --law3: #b0578a; --law4: #6d7680;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14171a; --card: #1c2024; --text: #e8eaec; --soft: #a3abb3; --line: #343a40;
    --passed: #0a5f8a; --failed: #a84410; --broken: #77406a; --heat: 86, 180, 233; --point: #f2f4f5;
    --law0: #56b4e9; --law1: #2fc494; --law2: #e69f00; --law3: #dd8fb9; --law4: #9aa3ab;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; padding: 1rem; max-width: 76rem; background: var(--page); color: var(--text);
  font: 16px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; overflow-wrap: anywhere; }
header { border-radius: .6rem; padding: 1.1rem 1.3rem; color: #fff; background: var(--failed); }
header.passed { background: var(--passed); }
header.broken { background: var(--broken); }
h1 { margin: 0; font-size: clamp(1.5rem, 5vw, 2.4rem); line-height: 1.2; font-weight: 500; }
h1 .word { font-weight: 750; }
h1::before { content: "\2717\a0"; }
header.passed h1::before { content: "\2713\a0"; }
.counts { margin: .4rem 0 0; }
h2 { font-size: 1.3rem; margin: 2.2rem 0 .5rem; }
.findings, .complaints, .notes { margin: 1rem 0; padding: .7rem 1rem .7rem 2rem; background: var(--card);
  border: 1px solid var(--line); border-left: .3rem solid var(--failed); border-radius: .3rem; }
.findings { font-size: 1.1rem; }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: 1rem 0; font-size: .92rem; }
.facts dt { color: var(--soft); }
.facts dd { margin: 0; }
.note, footer, summary { color: var(--soft); font-size: .92rem; }
.note { margin: .2rem 0 .8rem; max-width: 46rem; }
code, pre, .numbers td, .numbers th { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .86rem; }
.failure { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .7rem 1rem; margin: .6rem 0; }
.failure summary { color: var(--text); font-size: 1.02rem; cursor: pointer; }
summary { cursor: pointer; }
.failure p { margin: .6rem 0; }
.replay, .stderr { margin: .6rem 0 .2rem; padding: .6rem .8rem; background: var(--page); border: 1px solid var(--line);
  border-radius: .3rem; white-space: pre-wrap; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; margin: .4rem 0; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
.scroll table { overflow-wrap: normal; }
th, td { padding: .25rem .7rem .25rem 0; text-align: left; border-bottom: 1px solid var(--line); vertical-align: top; }
.scroll th, .numbers td { white-space: nowrap; }
thead th { color: var(--soft); font-weight: 500; }
tbody th { font-weight: 500; }
.numbers td, .numbers th { padding-right: 1.2rem; }
.wrong td, .wrong th { background: rgba(213, 94, 0, .18); font-weight: 700; }
.mark { display: inline-block; white-space: nowrap; margin-right: .8rem; }
tr.failed .verdict { font-weight: 700; text-decoration: underline; text-decoration-color: #d55e00; text-decoration-thickness: 2px; }
tr.uninformative, tr.skipped { color: var(--soft); }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 21rem), 1fr)); gap: 1rem; align-items: start; }
.columns { columns: 21rem; column-gap: 1rem; }
.card { break-inside: avoid; margin: 0 0 1rem; }
figure, .card { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; }
figure { margin: 0; padding: .7rem; min-width: 0; }
figcaption { font-size: .92rem; }
.class { float: right; color: var(--soft); }
.chart { display: block; width: 100%; height: auto; }
.chart text { font: 10.5px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: var(--soft); }
.chart .middle { text-anchor: middle; }
.chart .end { text-anchor: end; }
.frame { fill: none; stroke: var(--line); }
.rule { stroke: var(--line); stroke-width: .6; fill: none; }
.point, .dot { fill: var(--point); }
.point.zero { fill: var(--card); stroke: var(--point); }
path.bug { fill: none; stroke: #d55e00; stroke-width: 2.4; }
.law { fill: none; stroke-width: 1.6; }
.law0 { stroke: var(--law0); }
.law1 { stroke: var(--law1); stroke-dasharray: 7 3; }
.law2 { stroke: var(--law2); stroke-dasharray: 2 2.5; }
.law3 { stroke: var(--law3); stroke-dasharray: 8 3 2 3; }
.law4 { stroke: var(--law4); stroke-dasharray: 4 4; }
.heat { border-collapse: separate; border-spacing: 2px; padding: .5rem; width: 100%; }
.heat caption { text-align: left; padding: .2rem .4rem; font-size: .92rem; font-weight: 600; }
.heat th, .heat td { border: 0; padding: .12rem .4rem; border-radius: .2rem; }
.heat td { text-align: right; width: 4.2rem; white-space: nowrap; }
.heat1 { background: rgba(var(--heat), .07); }
.heat2 { background: rgba(var(--heat), .15); }
.heat3 { background: rgba(var(--heat), .25); }
.heat4 { background: rgba(var(--heat), .37); }
.heat5 { background: rgba(var(--heat), .5); }
.heat .bug { background: #b03f00; color: #fff; font-weight: 700; }
footer { margin: 2.5rem 0 1rem; border-top: 1px solid var(--line); }
@media print { body { max-width: none; } .scroll { overflow: visible; } }
)css";
}

}  // namespace assay::tools
