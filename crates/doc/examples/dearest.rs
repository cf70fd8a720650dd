//! Cost of the most expensive inputs that the default limits accept: files in which every operation is processed
//! individually. For each kind of file and each given size in bytes, prints the number of operations, the time to load the
//! file in a process, and the peak memory (where `/proc/self/status` has it). The first kind is the same file for every
//! size.
//!
//! `cargo run --release -p hashmill-doc --example dearest -- 1000 1000000 100000000`

#![expect(clippy::print_stdout, reason = "it is a program")]

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::time::Instant;

use hashmill_doc::{
    ActorId, Document, EditError, Limits, LoadOptions, ObjId, ObjType, ROOT, ReadDoc, ScalarValue,
    Transactable, Transaction, Verify,
};

/// An edit that adds one individually processed operation.
type Edit = fn(&mut Transaction<'_>, &ObjId, usize, &mut u64) -> Result<(), EditError>;

const KINDS: [(&str, Edit); 4] = [
    ("nulls at the front of a list", |tx, list, _, _| tx.insert(list, 0, ScalarValue::Null)),
    ("numbers anywhere in a list", |tx, list, n, rng| tx.insert(list, random(rng, n + 1), (n % 64) as i64)),
    ("numbers at keys of their own", |tx, _, n, _| tx.put(ROOT, format!("{n}"), (n % 64) as i64)),
    ("letters anywhere in a text", |tx, _, n, rng| {
        let text = tx.get(ROOT, "text")?.map(|(_, text)| text).ok_or(EditError::UnknownObject(ROOT))?;
        tx.splice_text(&text, random(rng, n + 1), 0, "x")
    }),
];

fn random(state: &mut u64, below: usize) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 11) as usize % below
}

/// A document of `count` edits in one change, without a limit on the cost of loading it.
fn document(edit: Edit, count: usize) -> Result<Document, EditError> {
    let most = Limits { steps: u64::MAX / 32, ..Limits::default() };
    let mut doc = Document::load_with(&[], LoadOptions::new().limits(most)).unwrap_or_default();
    doc.set_actor(ActorId::from([1]));
    let list = doc.transact(|tx| {
        tx.put_object(ROOT, "text", ObjType::Text)?;
        tx.put_object(ROOT, "list", ObjType::List)
    })?;
    let mut rng = 1;
    doc.transact(|tx| (0..count).try_for_each(|n| edit(tx, &list, n, &mut rng)))?;
    Ok(doc)
}

/// Peak memory in kilobytes.
fn memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Maximum size for a search: longer files take minutes each.
const SEARCHED: usize = 1_000_000;

/// As [`searched`], for sizes beyond a search: tries a few files, starting with the number of edits extrapolated from a
/// shorter file, at most the limit. Each file is made in a process of its own, to release its memory. Whether the file is
/// accepted shows when it is loaded.
fn largest(kind: usize, size: usize) -> Result<(Vec<u8>, usize), Box<dyn std::error::Error>> {
    let (mut file, mut count) = searched(KINDS[kind].1, size.min(SEARCHED))?;
    // Files without paying bytes do not grow.
    if size <= SEARCHED || file.len() < 300 {
        return Ok((file, count));
    }
    let most = usize::try_from(Limits::default().total)? - 2;
    loop {
        // Extrapolated from the last file, less one percent.
        let fits = count.saturating_mul(size) / file.len();
        count = (fits - fits / 100).min(most);
        let output = Command::new(std::env::current_exe()?)
            .args(["make", &kind.to_string(), &count.to_string()])
            .stderr(Stdio::inherit())
            .output()?;
        file = output.stdout;
        if !output.status.success() {
            return Err("no such file can be made here".into());
        }
        if file.len() <= size {
            return Ok((file, count));
        }
    }
}

/// The largest accepted file of a kind with about `size` bytes, and its number of edits.
fn searched(edit: Edit, size: usize) -> Result<(Vec<u8>, usize), EditError> {
    let (mut low, mut high) = (1, size);
    if document(edit, 1000)?.save().len() < 300 {
        // Operations that no bytes pay for.
        (low, high) = (6_900_000, 7_340_032);
    }
    let mut best = (Vec::new(), 0);
    // To within a thirtieth.
    while high - low > 1 + low / 30 {
        let count = usize::midpoint(low, high);
        let file = document(edit, count)?.save();
        let options = LoadOptions::new().verify(Verify::Later);
        if file.len() <= size && Document::load_with(&file, options).is_ok() {
            (low, best) = (count, (file, count));
        } else {
            high = count;
        }
    }
    Ok(best)
}

/// Loads a file from standard input, and prints time and memory.
fn load() -> Result<(), Box<dyn std::error::Error>> {
    let mut file = Vec::new();
    std::io::stdin().read_to_end(&mut file)?;
    let start = Instant::now();
    let doc = Document::load(&file)?;
    println!("{:>8.1?}  {:>5} MB", start.elapsed(), memory().unwrap_or_default() / 1000);
    drop(doc);
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [] => return load(),
        [make, kind, count] if make == "make" => {
            let (_, edit) = KINDS[kind.parse::<usize>()?];
            return Ok(std::io::stdout().write_all(&document(edit, count.parse()?)?.save())?);
        }
        _ => {}
    }
    for size in arguments {
        for (kind, (name, _)) in KINDS.iter().enumerate() {
            let (file, count) = largest(kind, size.parse()?)?;
            print!("{:>9} bytes  {count:>9} {name:<30} ", file.len());
            std::io::stdout().flush()?;
            let mut child = Command::new(std::env::current_exe()?).stdin(Stdio::piped()).spawn()?;
            child.stdin.take().ok_or("no pipe")?.write_all(&file)?;
            child.wait()?;
        }
    }
    Ok(())
}
