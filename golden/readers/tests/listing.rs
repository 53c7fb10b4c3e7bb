// Prints what golden_reader.rs reads of each file, as all listings do: see test_readers.py.
#[path = "../golden_reader.rs"]
#[rustfmt::skip]
mod golden_reader;

fn main() {
    for path in std::env::args().skip(1) {
        match golden_reader::read(&path) {
            Err(error) => println!("error {error}"),
            Ok(file) => {
                println!("file {path}");
                for (key, text) in file.metadata {
                    println!("metadata {key} {text}");
                }
                for (name, t) in file.tensors {
                    let mut sum = 0u64;
                    for (i, x) in t.values.iter().enumerate() {
                        let bits = if x.is_nan() { 0x7ff8000000000000 } else { x.to_bits() };
                        sum = sum.wrapping_add(bits.wrapping_mul(2 * i as u64 + 1));
                    }
                    println!("tensor {name} {} {:?} {} {sum:016x}", t.dtype, t.shape, t.values.len());
                }
            }
        }
    }
}
