// A test of your scan against Assay's golden set, for Node. CC0: copy it with golden_reader.js, and put your function
// into myScan. For other operations change the operation, the call and the output.
//
//   node test_my_scan.js golden/sets/heinsen
"use strict";
const fs = require("fs");
const { read } = require("./golden_reader.js");

// log_p, h [B, n, d], s0 [B, d] -> all states s [B, n, d], in arrays of one type: here goes yours
function myScan(log_p, h, s0, [, n, d]) {
  const s = new h.constructor(h.length);
  for (let i = 0; i < s.length; ++i) {
    const row = Math.floor(i / (n * d)), token = Math.floor(i / d) % n;
    const a = log_p[i] + (token > 0 ? s[i - d] : s0[row * d + (i % d)]), b = h[i];
    s[i] = a === b ? a + Math.LN2 : Math.max(a, b) + Math.log1p(Math.exp(-Math.abs(a - b)));
  }
  return s;
}

// Whether x is right, given the truth y; emax is the exponent of the largest number: 127 of f32, 1023 of f64.
function right(x, y, allowed, emax) {
  const near = Number.isFinite(x) && Number.isFinite(y) && Math.abs(x - y) <= allowed;
  const over = allowed === Infinity && x * y > 0 && Math.min(Math.abs(x), Math.abs(y)) >= 2 ** emax;
  return x === y || near || over || (Number.isNaN(x) && Number.isNaN(y));
}

let files = 0, wrong = 0, otherDtypes = 0, otherOperations = 0;
const folder = process.argv[2] ?? ".";
for (const name of fs.readdirSync(folder).filter((file) => file.endsWith(".safetensors"))) {
  const { tensors, metadata } = read(`${folder}/${name}`);
  const type = { f32: Float32Array, f64: Float64Array }[metadata.dtype];
  if (metadata.operation !== "heinsen/scan" || !type) {
    metadata.operation === "heinsen/scan" ? ++otherDtypes : ++otherOperations;
    continue;
  }
  const [log_p, h, s0] = ["log_p", "h", "s0"].map((input) => type.from(tensors[input].values));
  const s = myScan(log_p, h, s0, tensors.h.shape);
  const y = tensors.s.values, bug = tensors["s:bug"].values, emax = type === Float32Array ? 127 : 1023;
  const i = y.findIndex((truth, k) => !right(s[k], truth, bug[k], emax));
  files += 1;
  wrong += i >= 0;
  if (i >= 0) console.log(`${name} (${metadata.reason}): element ${i} is ${s[i]}, truth ${y[i]}, allowed ${bug[i]}`);
}
console.log(`${files} files, ${wrong} wrong; left out: ${otherDtypes} of other dtypes, ${otherOperations} of other operations`);
process.exitCode = files > 0 && wrong === 0 ? 0 : 1;
