//! An implementation in Rust as a shared library (crate type cdylib) for `assay gate --candidate library:PATH`:
//! the declarations of tools/adapters/c/assay_candidate.h, which states the contract, and tensors as slices.
//!
//! Include it as a module: `#[path = "assay_candidate.rs"] mod assay_candidate;`
#![allow(dead_code)]
use std::collections::BTreeMap;
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
// The pointers of both structures lead to constants.
unsafe impl Sync for Candidate {}
unsafe impl Sync for Operation {}

/// The last entry of the operations: `static OPERATIONS: [Operation; 2] = [SCAN, END];`
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

/// A setting of a call. A number whose standard is whole may come as Integer or Number: `Call::number` takes both.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    Flag(bool),
    Integer(i64),
    Number(f64),
    Text(String),
}

impl Tensor {
    /// The name that the operation declares: `assert_eq!(call.input(0).name(), "log_p");`
    pub fn name(&self) -> &str {
        unsafe { CStr::from_ptr(self.name) }.to_str().unwrap()
    }
    /// "f64", "f32", "f16", "bf16", "i64", "i32" or "bool":
    /// `if call.input(0).dtype() == "bf16" { return call.fail(UNSUPPORTED, "no bf16 here"); }`
    pub fn dtype(&self) -> &str {
        unsafe { CStr::from_ptr(self.dtype) }.to_str().unwrap()
    }
    /// The sizes of its axes: `let (tokens, features) = (call.input(0).shape()[1], call.input(0).shape()[2]);`
    pub fn shape(&self) -> &[usize] {
        unsafe { std::slice::from_raw_parts(self.shape, self.rank) }
    }
    fn check<T: Element>(&self) {
        let dtype = self.dtype();
        assert!(T::DTYPES.contains(&dtype), "elements of {} are no {}", dtype, std::any::type_name::<T>());
    }
    unsafe fn slice<'a, T: Element>(&self) -> &'a [T] {
        self.check::<T>();
        std::slice::from_raw_parts(self.data as *const T, self.size)
    }
}

fn named<'a>(all: &'a [Tensor], name: &str) -> (usize, &'a Tensor) {
    let found = all.iter().enumerate().find(|(_, t)| t.name() == name);
    found.unwrap_or_else(|| panic!("the operation has no tensor '{}'", name))
}

/// The inputs of a call by name; each may have a dtype of its own: positions are i64, masks are bool (u8).
pub struct Inputs<'a>(&'a [Tensor]);
impl<'a> Inputs<'a> {
    /// An input by name; it panics where the operation has none of that name:
    /// `let features = inputs.tensor("h").shape()[2];`
    pub fn tensor(&self, name: &str) -> &'a Tensor {
        named(self.0, name).1
    }
    /// The sizes of the axes of an input: `let heads = inputs.shape("slopes")[0];`
    pub fn shape(&self, name: &str) -> &'a [usize] {
        self.tensor(name).shape()
    }
    /// The elements of an input, in row-major order. It panics where T is not the type of its elements:
    /// `let position = inputs.values::<i64>("query_position");`
    pub fn values<T: Element>(&self, name: &str) -> &'a [T] {
        unsafe { self.tensor(name).slice() }
    }
}

/// The outputs of a call by name; each can be taken once.
pub struct Outputs<'a> {
    all: &'a [Tensor],
    taken: Vec<bool>,
}
impl<'a> Outputs<'a> {
    /// The elements of an output, to be written: `outputs.values::<f32>("bias").fill(0.0);`
    pub fn values<T: Element>(&mut self, name: &str) -> &'a mut [T] {
        let (position, t) = named(self.all, name);
        assert!(!std::mem::replace(&mut self.taken[position], true), "the output '{}' was taken before", name);
        t.check::<T>();
        unsafe { std::slice::from_raw_parts_mut(t.data as *mut T, t.size) }
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
    /// The dtype of all floating-point tensors of the call:
    /// `match call.dtype() { "f32" => scan_in::<f32>(call), _ => scan_in::<f64>(call) }`
    pub fn dtype(&self) -> &str {
        unsafe { CStr::from_ptr(self.dtype) }.to_str().unwrap()
    }
    /// An input, in the order of the operation's declaration:
    /// `let (tokens, features) = (call.input(0).shape()[1], call.input(0).shape()[2]);`
    pub fn input(&self, position: usize) -> &Tensor {
        assert!(position < self.input_count);
        unsafe { &*self.inputs.add(position) }
    }
    /// Inputs and outputs by name, whatever their dtypes:
    /// `let (inputs, mut outputs) = call.by_name();`
    /// `let (slopes, bias) = (inputs.values::<f32>("slopes"), outputs.values::<f32>("bias"));`
    pub fn by_name(&mut self) -> (Inputs<'_>, Outputs<'_>) {
        let all = |first: *const Tensor, count| match count {
            0 => &[][..],
            _ => unsafe { std::slice::from_raw_parts(first, count) },
        };
        let outputs = all(self.outputs, self.output_count);
        (Inputs(all(self.inputs, self.input_count)), Outputs { all: outputs, taken: vec![false; outputs.len()] })
    }
    /// The settings of the operation by name, variants that the claims name among them:
    /// `for (name, value) in call.settings() { eprintln!("{} = {:?}", name, value); }`
    pub fn settings(&self) -> BTreeMap<String, Setting> {
        let text = unsafe { CStr::from_ptr(self.attributes) }.to_str().unwrap();
        settings_of(text).unwrap_or_else(|| panic!("no object of settings: {}", text))
    }
    /// A setting of any kind; `number`, `integer`, `flag` and `choice` return settings of one kind:
    /// `if call.setting("causal") == Setting::Flag(false) { return call.fail(UNSUPPORTED, "causal alone"); }`
    pub fn setting(&self, name: &str) -> Setting {
        self.settings().remove(name).unwrap_or_else(|| panic!("the operation has no setting '{}'", name))
    }
    /// A setting that is a number, whole or not: `let base = call.number("base");`
    pub fn number(&self, name: &str) -> f64 {
        match self.setting(name) {
            Setting::Integer(i) => i as f64,
            Setting::Number(x) => x,
            other => panic!("the setting '{}' is no number: {:?}", name, other),
        }
    }
    /// A setting that is a whole number: `let last = call.integer("last_position");`
    pub fn integer(&self, name: &str) -> i64 {
        match self.setting(name) {
            Setting::Integer(i) => i,
            other => panic!("the setting '{}' is no integer: {:?}", name, other),
        }
    }
    /// A setting that is true or false: `let is_masked = call.flag("causal") && key > query;`
    pub fn flag(&self, name: &str) -> bool {
        self.setting(name) == Setting::Flag(true)
    }
    /// A setting that is a word:
    /// `if call.choice("form") != "distance" { return call.fail(UNSUPPORTED, "distances alone"); }`
    pub fn choice(&self, name: &str) -> String {
        match self.setting(name) {
            Setting::Text(text) => text,
            other => panic!("the setting '{}' is no string: {:?}", name, other),
        }
    }
    /// The first I inputs and O outputs, all with elements of type T:
    /// `let ([log_p, h, s0], [s, s_n]) = call.tensors::<f32, 3, 2>();`
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
    /// Copies the reason into the message of the call and returns the status:
    /// `if features % 16 != 0 { return call.fail(UNSUPPORTED, "the number of features is a multiple of 16"); }`
    pub fn fail(&mut self, status: c_int, reason: &str) -> c_int {
        if self.message_size == 0 {
            return status;
        }
        let length = reason.len().min(self.message_size - 1);
        unsafe {
            std::ptr::copy_nonoverlapping(reason.as_ptr(), self.message as *mut u8, length);
            *self.message.add(length) = 0;
        }
        status
    }
}

/// The members of a JSON object of booleans, numbers and strings, as Assay writes it; None for another text.
fn settings_of(text: &str) -> Option<BTreeMap<String, Setting>> {
    let mut rest = text.trim().strip_prefix('{')?.strip_suffix('}')?.trim();
    let mut all = BTreeMap::new();
    while !rest.is_empty() {
        let (name, behind) = quoted(rest)?;
        let behind = behind.trim_start().strip_prefix(':')?.trim_start();
        let (value, behind) = if behind.starts_with('"') {
            quoted(behind).map(|(text, behind)| (Setting::Text(text), behind))?
        } else {
            let (word, behind) = behind.split_at(behind.find(',').unwrap_or(behind.len()));
            (plain(word.trim())?, behind)
        };
        all.insert(name, value);
        rest = behind.trim_start();
        if !rest.is_empty() {
            rest = rest.strip_prefix(',')?.trim_start();
        }
    }
    Some(all)
}

fn plain(word: &str) -> Option<Setting> {
    match word {
        "true" => Some(Setting::Flag(true)),
        "false" => Some(Setting::Flag(false)),
        _ => word.parse().map(Setting::Integer).or_else(|_| word.parse().map(Setting::Number)).ok(),
    }
}

/// The JSON string at the beginning of a text, and the rest of the text.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut content = String::new();
    let mut letters = text.strip_prefix('"')?.char_indices();
    while let Some((index, letter)) = letters.next() {
        match letter {
            '"' => return Some((content, &text[1 + index + 1..])),
            '\\' => content.push(match letters.next()?.1 {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                'b' => '\u{8}',
                'f' => '\u{c}',
                'u' => {
                    let code: String = (0..4).map_while(|_| letters.next().map(|(_, digit)| digit)).collect();
                    char::from_u32(u32::from_str_radix(&code, 16).ok()?)?
                }
                other => other,
            }),
            other => content.push(other),
        }
    }
    None
}
