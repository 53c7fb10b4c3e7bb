//! Candidate: the biases of ALiBi in Rust: inputs of two dtypes (slopes, and positions in i64) and settings.
//!
//! Press, Smith and Lewis, "Train Short, Test Long" (2022), section 3. Build and run it with:
//!   rustc --edition 2021 -O --crate-type cdylib -o librust_alibi.so tools/examples/rust_alibi.rs
//!   assay gate --candidate library:./librust_alibi.so --operation alibi/bias
#[path = "../adapters/rust/assay_candidate.rs"]
mod assay_candidate;
use assay_candidate::{text, Call, Candidate, Operation, ABI, END, OK};

macro_rules! biases {
    ($name:ident, $real:ty) => {
        fn $name(call: &mut Call) {
            let (form, causal, last) = (call.choice("form"), call.flag("causal"), call.integer("last_position"));
            let (inputs, mut outputs) = call.by_name();
            let slopes = inputs.values::<$real>("slopes");
            let (queries, keys) = (inputs.values::<i64>("query_position"), inputs.values::<i64>("key_position"));
            let bias = outputs.values::<$real>("bias");
            let mut index = 0;
            for &slope in slopes {
                for &i in queries {
                    for &j in keys {
                        let steps = match form.as_str() {
                            "distance" => j - i,
                            "absolute" => -(i - j).abs(),
                            "key" => j,
                            _ => j - last, // key_from_last
                        };
                        bias[index] = if causal && j > i { -<$real>::INFINITY } else { slope * steps as $real };
                        index += 1;
                    }
                }
            }
        }
    };
}
biases!(bias_f32, f32);
biases!(bias_f64, f64);

extern "C" fn bias(call: &mut Call) -> std::os::raw::c_int {
    if call.dtype() == "f64" { bias_f64(call) } else { bias_f32(call) }
    OK
}

static OPERATIONS: [Operation; 2] =
    [Operation { name: text("alibi/bias\0"), dtypes: text("f32 f64\0"), evaluate: Some(bias) }, END];
static ME: Candidate = Candidate {
    abi: ABI,
    name: text("rust-alibi\0"),
    version: text("1\0"),
    operations: OPERATIONS.as_ptr(),
    claims: text("{\"properties\": {\"deterministic\": true}}\0"),
};

#[no_mangle]
pub extern "C" fn assay_candidate_v1() -> *const Candidate {
    &ME
}
