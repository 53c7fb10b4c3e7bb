// Reads safetensors files such as those of Assay's golden sets, with Rust's std alone. CC0: copy it.
//
// let file = golden_reader::read("scan-mild.bf16.safetensors")?;  // the error says what is wrong with a file
// file.tensors["h"].dtype "BF16", .shape [2, 6, 2], .values as f64, exact (I64 to 2^53); file.metadata["operation"]
use std::collections::BTreeMap;
type Words = BTreeMap<String, String>;
pub struct Tensor { pub dtype: String, pub shape: Vec<usize>, pub values: Vec<f64> }
pub struct File { pub tensors: BTreeMap<String, Tensor>, pub metadata: Words }

fn value(dtype: &str, b: &[u8]) -> Option<f64> {
    let half = |b: u16| { // the bits in the places of f32 make 2^-112 times the value
        let x = f64::from(f32::from_bits(u32::from(b & 0x7fff) << 13)) * 2f64.powi(112);
        let magnitude = if x < 65536.0 { x } else if x > 65536.0 { f64::NAN } else { f64::INFINITY };
        if b >> 15 > 0 { -magnitude } else { magnitude }
    };
    Some(match dtype {
        "F64" => f64::from_le_bytes(b.try_into().ok()?),
        "F32" => f64::from(f32::from_le_bytes(b.try_into().ok()?)),
        "F16" => half(u16::from_le_bytes(b.try_into().ok()?)),
        "BF16" => f64::from(f32::from_bits(u32::from(u16::from_le_bytes(b.try_into().ok()?)) << 16)),
        _ => i64::from_le_bytes(b.try_into().ok()?) as f64,
    })
}

fn parse(data: &[u8]) -> Option<File> {
    let length = usize::try_from(u64::from_le_bytes(data.get(..8)?.try_into().ok()?)).ok()?;
    let header = std::str::from_utf8(data.get(8..)?.get(..length)?).ok()?;
    let (mut entries, data) = (BTreeMap::<String, Words>::new(), &data[8 + length..]);
    let (mut name, mut key, mut depth, mut chars) = (String::new(), String::new(), 0, header.chars());
    while let Some(c) = chars.next() { // strings at depth 1 are names; strings at depth 2 are keys and values
        match c {
            '"' => {
                let mut text = String::new();
                loop {
                    match chars.next()? { '"' => break, '\\' => text.push(chars.next()?), c => text.push(c) }
                }
                if depth == 1 { name = text } else if key.is_empty() { key = text } else {
                    entries.entry(name.clone()).or_default().insert(key.clone(), text);
                }
            }
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            c if depth == 3 => entries.entry(name.clone()).or_default().entry(key.clone()).or_default().push(c),
            _ => (),
        }
        if depth == 1 || (depth == 2 && c == ',') { key.clear() }
    }
    let mut file = File { tensors: BTreeMap::new(), metadata: entries.remove("__metadata__").unwrap_or_default() };
    let (mut ends, mut last) = (BTreeMap::new(), 0); // the end of each tensor that is not empty, by its beginning
    for (name, entry) in entries {
        let list = |key| {
            let text: &str = entry.get(key).map_or("", |text| text);
            text.split_terminator(',').map(|n| n.trim().parse().ok()).collect::<Option<Vec<usize>>>()
        };
        let (dtype, shape, offsets) = (entry.get("dtype")?.clone(), list("shape")?, list("data_offsets")?);
        let size = match dtype.as_str() { "F64" | "I64" => 8, "F32" => 4, "F16" | "BF16" => 2, _ => return None };
        let count = shape.iter().try_fold(1usize, |n, m| n.checked_mul(*m))?;
        let bytes = data.get(*offsets.first()?..*offsets.get(1)?)?;
        let fits = offsets.len() == 2 && bytes.len() == count.checked_mul(size)?;
        if !fits || count > 0 && ends.insert(offsets[0], offsets[1]).is_some() { return None }
        let values = bytes.chunks(size).map(|b| value(&dtype, b)).collect::<Option<_>>()?;
        file.tensors.insert(name, Tensor { dtype, shape, values });
    }
    for (begin, end) in ends {
        if begin != last { return None }
        last = end;
    }
    (last == data.len() && depth == 0 && !file.tensors.is_empty()).then(|| file)
}

/// for (name, t) in golden_reader::read("scan-mild.f32.safetensors")?.tensors {
///     println!("{name} {:?} {}", t.shape, t.values[0]);
/// }
pub fn read(path: &str) -> Result<File, String> {
    let data = std::fs::read(path).map_err(|error| format!("{path}: {error}"))?;
    parse(&data).ok_or(format!("{path}: the header, the offsets or the size of this file are wrong"))
}
