//! Benchmark of DEFLATE: Hashmill's code, pure Rust libraries, and libdeflate in C. Each deflated column of some documents is
//! inflated and deflated again on one thread; the shortest of ROUNDS times counts. A document is a file, a number of changes of
//! ten puts each, or `list` with a number of elements.
//!
//! `cargo run --release -p hashmill-rivals --example deflate -- ROUNDS FILE|CHANGES|listNUMBERS...`

#![expect(clippy::print_stdout, reason = "it is a program")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use hashmill_doc::{Document, ObjType, ROOT, Transactable as _};

#[expect(dead_code, reason = "incremental inflation is not compared")]
#[path = "../../doc/src/codec/columns/deflate/mod.rs"]
mod hashmill_deflate;

type Error = Box<dyn std::error::Error>;

/// Larger than any inflated column.
const LIMIT: usize = 1 << 28;

/// A codec: its name and its function.
type Codec = (&'static str, fn(&[u8]) -> Vec<u8>);

const INFLATE: [Codec; 4] = [
    ("libdeflate", inflate_libdeflate),
    ("flate2 on zlib-rs, as Hashmill", |bytes| {
        hashmill_deflate::inflate(bytes, LIMIT as u64).expect("sound")
    }),
    ("miniz_oxide", |bytes| miniz_oxide::inflate::decompress_to_vec_with_limit(bytes, LIMIT).expect("sound")),
    ("zune-inflate", |bytes| {
        let options = zune_inflate::DeflateOptions::default().set_limit(LIMIT).set_size_hint(4 * bytes.len());
        // This library refuses some streams.
        zune_inflate::DeflateDecoder::new_with_options(bytes, options).decode_deflate().unwrap_or_default()
    }),
];

const DEFLATE: [Codec; 9] = [
    ("libdeflate 1", |bytes| deflate_libdeflate(bytes, 1)),
    ("libdeflate 5", |bytes| deflate_libdeflate(bytes, 5)),
    ("libdeflate 7", |bytes| deflate_libdeflate(bytes, 7)),
    ("zlib-rs 2", |bytes| deflate_zlib(bytes, 2)),
    ("zlib-rs 4", |bytes| deflate_zlib(bytes, 4)),
    ("zlib-rs 5", |bytes| deflate_zlib(bytes, 5)),
    ("zlib-rs 6", |bytes| deflate_zlib(bytes, 6)),
    ("Hashmill, texts", |bytes| hashmill_deflate::deflate(bytes, hashmill_deflate::Effort::Texts)),
    ("Hashmill, numbers", |bytes| hashmill_deflate::deflate(bytes, hashmill_deflate::Effort::Numbers)),
];

fn inflate_libdeflate(bytes: &[u8]) -> Vec<u8> {
    let mut capacity = 4 * bytes.len();
    loop {
        let mut out = vec![0; capacity];
        match libdeflater::Decompressor::new().deflate_decompress(bytes, &mut out) {
            Ok(len) => {
                out.truncate(len);
                return out;
            }
            Err(_) => capacity *= 2,
        }
    }
}

fn deflate_libdeflate(bytes: &[u8], level: i32) -> Vec<u8> {
    let level = libdeflater::CompressionLvl::new(level).expect("a level");
    let mut compressor = libdeflater::Compressor::new(level);
    let mut out = vec![0; compressor.deflate_compress_bound(bytes.len())];
    let len = compressor.deflate_compress(bytes, &mut out).expect("enough capacity");
    out.truncate(len);
    out
}

fn deflate_zlib(bytes: &[u8], level: u32) -> Vec<u8> {
    let mut compressor = flate2::Compress::new(flate2::Compression::new(level), false);
    let mut out = Vec::with_capacity(2 * bytes.len() + 64);
    compressor.compress_vec(bytes, &mut out, flate2::FlushCompress::Finish).expect("enough capacity");
    out
}

/// The deflated columns of a document.
fn columns(file: &[u8]) -> Option<Vec<&[u8]>> {
    let mut offset = 9;
    let number = |offset: &mut usize| {
        let mut sum = 0;
        for shift in (0..63).step_by(7) {
            let byte = *file.get(*offset)?;
            *offset += 1;
            sum |= usize::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(sum);
            }
        }
        None
    };
    number(&mut offset)?;
    for _ in 0..number(&mut offset)? {
        offset += number(&mut offset)?;
    }
    offset += 32 * number(&mut offset)?;
    let mut layout = Vec::new();
    for _ in 0..2 {
        for _ in 0..number(&mut offset)? {
            layout.push((number(&mut offset)?, number(&mut offset)?));
        }
    }
    let mut columns = Vec::new();
    for (spec, len) in layout {
        columns.extend(Some(file.get(offset..offset + len)?).filter(|_| spec & 8 > 0));
        offset += len;
    }
    Some(columns)
}

/// A document of changes with ten puts each, on a hundred keys in turn.
fn changes(count: u64) -> Result<Document, Error> {
    let mut doc = Document::new();
    for change in 0..count {
        doc.transact(|tx| {
            let mut puts = (10 * change..).take(10);
            puts.try_for_each(|number| tx.put(ROOT, format!("key{}", number % 100), number))
        })?;
    }
    Ok(doc)
}

/// A document of one change: a list of `count` numbers.
fn list(count: u64) -> Result<Document, Error> {
    let mut doc = Document::new();
    doc.transact(|tx| {
        let list = tx.put_object(ROOT, "list", ObjType::List)?;
        (0..count).try_for_each(|number| tx.insert(&list, number as usize, number))
    })?;
    Ok(doc)
}

/// The shortest time for all inputs, and the length of all outputs.
fn time(rounds: u32, all: &[impl AsRef<[u8]>], codec: fn(&[u8]) -> Vec<u8>) -> (Duration, usize) {
    let mut shortest = Duration::MAX;
    let mut len = 0;
    for _ in 0..rounds {
        let start = Instant::now();
        len = all.iter().map(|bytes| black_box(codec(black_box(bytes.as_ref()))).len()).sum();
        shortest = shortest.min(start.elapsed());
    }
    (shortest, len)
}

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let rounds: u32 = arguments.next().ok_or("how many rounds?")?.parse()?;
    for name in arguments {
        let file = match (name.parse(), name.strip_prefix("list").map(str::parse)) {
            (Ok(count), _) => changes(count)?.save(),
            (_, Some(count)) => list(count?)?.save(),
            _ => Document::load(&std::fs::read(&name)?)?.save(),
        };
        let deflated = columns(&file).ok_or("not a document of one chunk")?;
        let plain: Vec<_> = deflated.iter().map(|bytes| inflate_libdeflate(bytes)).collect();
        let len: usize = deflated.iter().map(|bytes| bytes.len()).sum();
        println!(
            "\n{name}: {} columns, saved with {len} bytes\n\n| | µs | bytes |\n|---|--:|--:|",
            plain.len()
        );
        let print = |name: &str, (time, len): (Duration, usize)| {
            println!("| {name} | {:.1} | {len} |", 1e6 * time.as_secs_f64());
        };
        INFLATE
            .iter()
            .for_each(|(name, codec)| print(&format!("inflate: {name}"), time(rounds, &deflated, *codec)));
        DEFLATE
            .iter()
            .for_each(|(name, codec)| print(&format!("deflate: {name}"), time(rounds, &plain, *codec)));
    }
    Ok(())
}
