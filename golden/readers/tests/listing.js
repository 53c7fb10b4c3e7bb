// Prints what golden_reader.js reads of each file, as all listings do: see test_readers.py.
"use strict";
const { read } = require("../golden_reader.js");

const byName = (a, b) => Buffer.from(a[0]).compare(Buffer.from(b[0]));
for (const path of process.argv.slice(2)) {
  try {
    const { tensors, metadata } = read(path);
    console.log(`file ${path}`);
    for (const [key, text] of Object.entries(metadata).sort(byName)) console.log(`metadata ${key} ${text}`);
    for (const [name, { dtype, shape, values }] of Object.entries(tensors).sort(byName)) {
      const bits = new BigUint64Array(values.buffer);
      let sum = 0n;
      for (let i = 0; i < bits.length; ++i) {
        sum += (Number.isNaN(values[i]) ? 0x7ff8000000000000n : bits[i]) * BigInt(2 * i + 1);
      }
      const hash = BigInt.asUintN(64, sum).toString(16).padStart(16, "0");
      console.log(`tensor ${name} ${dtype} [${shape.join(", ")}] ${values.length} ${hash}`);
    }
  } catch (error) {
    console.log(`error ${error.message}`);
  }
}
