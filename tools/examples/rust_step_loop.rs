//! Candidate: the log-linear recurrence step by step in Rust, in the dtype itself.
//!
//! Heinsen, "Encoding Position by Decaying and Updating Different Exponentiated States Differently" (2024),
//! equations (1)-(3). Build and run it with:
//!   rustc --edition 2021 -O --crate-type cdylib -o librust_step_loop.so tools/examples/rust_step_loop.rs
//!   assay gate --candidate library:./librust_step_loop.so --operation heinsen/scan
#[path = "../adapters/rust/assay_candidate.rs"]
mod assay_candidate;
use assay_candidate::{text, Call, Candidate, Operation, ABI, END, OK};

macro_rules! step_loop {
    ($name:ident, $real:ty) => {
        fn $name(call: &mut Call) {
            let log_add_exp = |a: $real, b: $real| {
                // The difference of equal infinities is NaN.
                if a == b { a + (2.0 as $real).ln() } else { a.max(b) + (-(a - b).abs()).exp().ln_1p() }
            };
            let (n, d) = (call.input(0).shape()[1], call.input(0).shape()[2]);
            let ([log_p, h, s0], [s, s_n]) = call.tensors::<$real, 3, 2>();
            s_n.copy_from_slice(s0);
            for lane in 0..s_n.len() {
                for i in 0..n {
                    let index = (lane / d * n + i) * d + lane % d;
                    s_n[lane] = log_add_exp(log_p[index] + s_n[lane], h[index]); // equation (3)
                    s[index] = s_n[lane];
                }
            }
        }
    };
}
step_loop!(scan_f32, f32);
step_loop!(scan_f64, f64);

extern "C" fn scan(call: &mut Call) -> std::os::raw::c_int {
    if call.dtype() == "f64" { scan_f64(call) } else { scan_f32(call) }
    OK
}

static OPERATIONS: [Operation; 2] =
    [Operation { name: text("heinsen/scan\0"), dtypes: text("f32 f64\0"), evaluate: Some(scan) }, END];
static ME: Candidate = Candidate {
    abi: ABI,
    name: text("rust-step-loop\0"),
    version: text("1\0"),
    operations: OPERATIONS.as_ptr(),
    claims: text("{\"properties\": {\"deterministic\": true}}\0"),
};

#[no_mangle]
pub extern "C" fn assay_candidate_v1() -> *const Candidate {
    &ME
}
