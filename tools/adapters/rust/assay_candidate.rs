//! An implementation in Rust as a shared library (crate type cdylib) for `assay gate --candidate library:PATH`:
//! the declarations of tools/adapters/c/assay_candidate.h, where the contract stands, and slices of tensors.
//!
//! Include it as a module: `#[path = "assay_candidate.rs"] mod assay_candidate;`
#![allow(dead_code)]
use std::ffi::{c_void, CStr};
use std::os::raw::{c_char, c_int};

pub const ABI: u32 = 1;
pub const OK: c_int = 0;
pub const ERROR: c_int = 1;
pub const UNSUPPORTED: c_int = 2;

#[repr(C)]
pub struct Tensor {
    name: *const c_char,
    dtype: *const c_char,
    shape: *const usize,
    rank: usize,
    size: usize,
    data: *mut c_void,
}

#[repr(C)]
pub struct Call {
    operation: *const c_char,
    dtype: *const c_char,
    attributes: *const c_char,
    inputs: *const Tensor,
    outputs: *const Tensor,
    input_count: usize,
    output_count: usize,
    message: *mut c_char,
    message_size: usize,
}

#[repr(C)]
pub struct Operation {
    pub name: *const c_char,
    pub dtypes: *const c_char,
    pub evaluate: Option<extern "C" fn(&mut Call) -> c_int>,
}

#[repr(C)]
pub struct Candidate {
    pub abi: u32,
    pub name: *const c_char,
    pub version: *const c_char,
    pub operations: *const Operation,
    pub claims: *const c_char,
}
// Its pointers are to constants.
unsafe impl Sync for Candidate {}
unsafe impl Sync for Operation {}

/// The last entry of the operations.
pub const END: Operation = Operation { name: std::ptr::null(), dtypes: std::ptr::null(), evaluate: None };

/// A constant for C: `text("my-scan\0")`.
pub const fn text(nul_terminated: &'static str) -> *const c_char {
    assert!(nul_terminated.as_bytes()[nul_terminated.len() - 1] == 0);
    nul_terminated.as_ptr() as *const c_char
}

/// The Rust type of an element; f16 and bf16 are their bits in a u16.
pub trait Element: Copy {
    const DTYPES: &'static [&'static str];
}
macro_rules! element {
    ($($kind:ty: $($dtype:literal)*;)*) => { $(impl Element for $kind { const DTYPES: &'static [&'static str] = &[$($dtype),*]; })* };
}
element! { f64: "f64"; f32: "f32"; u16: "f16" "bf16"; i64: "i64"; i32: "i32"; u8: "bool"; }

impl Tensor {
    pub fn shape(&self) -> &[usize] {
        unsafe { std::slice::from_raw_parts(self.shape, self.rank) }
    }
    fn check<T: Element>(&self) {
        let dtype = unsafe { CStr::from_ptr(self.dtype) }.to_str().unwrap();
        assert!(T::DTYPES.contains(&dtype), "elements of {} are no {}", dtype, std::any::type_name::<T>());
    }
}

fn array_of<V, const N: usize>(make: impl Fn(usize) -> V) -> [V; N] {
    let mut position = 0;
    [(); N].map(|_| {
        position += 1;
        make(position - 1)
    })
}

impl Call {
    pub fn dtype(&self) -> &str {
        unsafe { CStr::from_ptr(self.dtype) }.to_str().unwrap()
    }
    /// An input, in the order of the operation's declaration.
    pub fn input(&self, position: usize) -> &Tensor {
        assert!(position < self.input_count);
        unsafe { &*self.inputs.add(position) }
    }
    /// The first I inputs and O outputs, all with elements of type T.
    pub fn tensors<T: Element, const I: usize, const O: usize>(&mut self) -> ([&[T]; I], [&mut [T]; O]) {
        assert!(I <= self.input_count && O <= self.output_count);
        let input = |position| unsafe {
            let t = &*self.inputs.add(position);
            t.check::<T>();
            std::slice::from_raw_parts(t.data as *const T, t.size)
        };
        let output = |position| unsafe {
            let t = &*self.outputs.add(position);
            t.check::<T>();
            std::slice::from_raw_parts_mut(t.data as *mut T, t.size)
        };
        (array_of(input), array_of(output))
    }
    /// Leaves the reason and returns the status: `return call.fail(ERROR, "out of memory");`
    pub fn fail(&mut self, status: c_int, reason: &str) -> c_int {
        let length = reason.len().min(self.message_size.saturating_sub(1));
        unsafe {
            std::ptr::copy_nonoverlapping(reason.as_ptr(), self.message as *mut u8, length);
            *self.message.add(length) = 0;
        }
        status
    }
}
