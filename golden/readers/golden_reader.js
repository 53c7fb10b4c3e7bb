// Reads safetensors files such as those of Assay's golden sets, with Node alone. CC0: copy it.
//
// const { tensors, metadata } = require("./golden_reader.js").read("scan-mild.bf16.safetensors");
// tensors.h.dtype "BF16", tensors.h.shape [2, 6, 2], tensors.h.values a Float64Array, exact (I64 to 2^53)
"use strict";
const fs = require("fs");

function half(bits) {
  const exponent = (bits >> 10) & 31, fraction = bits & 1023, sign = bits >> 15 ? -1 : 1;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 1024 + fraction : fraction) * 2 ** ((exponent || 1) - 25);
}
const wide = new DataView(new ArrayBuffer(4));
const bfloat = (bits) => (wide.setUint16(0, bits), wide.getFloat32(0));
const types = {
  F64: [8, (v, i) => v.getFloat64(i, true)], F32: [4, (v, i) => v.getFloat32(i, true)],
  F16: [2, (v, i) => half(v.getUint16(i, true))], BF16: [2, (v, i) => bfloat(v.getUint16(i, true))],
  I64: [8, (v, i) => Number(v.getBigInt64(i, true))],
};

// Throws an Error that says what is wrong with a file.
// for (const [name, { shape, values }] of Object.entries(read("scan-mild.f32.safetensors").tensors))
//   console.log(name, shape, values[0]);
function read(path) {
  const data = fs.readFileSync(path), view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const check = (holds, rule) => { if (!holds) throw new Error(`${path}: no safetensors file: ${rule}`); };
  check(data.length >= 8 && view.getBigUint64(0, true) <= data.length - 8, "the header does not fit");
  const start = 8 + Number(view.getBigUint64(0, true));
  let header, tensors = {}, offset = start;
  try { header = JSON.parse(data.toString("utf8", 8, start)); } catch (error) { check(false, error.message); }
  const { __metadata__: metadata = {}, ...entries } = header ?? {};
  const ends = (e) => e[1]?.data_offsets ?? [];
  const byOffsets = (a, b) => ends(a)[0] - ends(b)[0] || ends(a)[1] - ends(b)[1];
  for (const [name, entry] of Object.entries(entries).sort(byOffsets)) {
    const { dtype, shape, data_offsets } = entry ?? {}, [size, get] = types[dtype] ?? [];
    check(size && Array.isArray(shape) && shape.every((n) => Number.isInteger(n) && n >= 0), `entry of ${name}`);
    const length = shape.reduce((a, b) => a * b, 1), begin = offset;
    check((offset += length * size) <= data.length, `${name} ends beyond the file`);
    check(data_offsets?.[0] === begin - start && data_offsets[1] === offset - start, `offsets of ${name}`);
    tensors[name] = { dtype, shape, values: Float64Array.from({ length }, (_, i) => get(view, begin + i * size)) };
  }
  check(offset === data.length, "its tensors do not end where the file ends");
  return { tensors, metadata };
}
module.exports = { read };
