//! Five workloads as a program that the lab can measure. It uses only the standard library, so that it builds in a second, and runs on
//! Linux, as relinking for each session does. `cargo xtask layouts` compares it with itself in other layouts, with changed or added dead
//! code, and with true extra work.
#![allow(unexpected_cfgs)]

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::hint::black_box;
use std::io::{BufRead, Write, stdin, stdout};
use std::time::Instant;

/// Rounds of the work in one iteration. `--cfg more` adds one percent, or three to the memory-bound work.
fn rounds(work: &str) -> u64 {
    let more = if cfg!(more) { if work == "memory" { 3 } else { 1 } } else { 0 };
    black_box(100 + more)
}

/// Inputs of all workloads.
struct Input {
    numbers: Vec<u64>,
    text: String,
    table: Vec<u32>,
}

fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Length of the table of ones: four times the largest caches of a core. With a smaller table, the cached share would vary by chance.
const WORDS: usize = 1 << 25;

fn prepare(work: &str, seed: u64) -> Input {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let numbers: Vec<u64> = (0..1000).map(|_| next(&mut state)).collect();
    let text =
        numbers.iter().take(200).map(|n| format!("{{\"at\": {}, \"name\": \"n{}\"}},", n % 100_000, n % 977));
    let text = text.collect();
    let table = if work == "memory" { ones() } else { Vec::new() };
    Input { numbers, text, table }
}

#[inline(never)]
fn sort(input: &Input) -> u64 {
    let mut numbers = input.numbers.clone();
    numbers.sort_unstable();
    numbers.iter().enumerate().fold(0, |sum, (i, n)| sum ^ n.rotate_left(i as u32))
}

#[inline(never)]
fn hash(input: &Input) -> u64 {
    let mut counts: HashMap<u64, u64, BuildHasherDefault<DefaultHasher>> = HashMap::default();
    for number in &input.numbers[..300] {
        *counts.entry(number % 101).or_default() += number;
    }
    let mut hasher = DefaultHasher::new();
    (0..101).for_each(|n| counts.get(&n).hash(&mut hasher));
    hasher.finish()
}

#[inline(never)]
fn documents(input: &Input) -> u64 {
    let mut lines: BTreeMap<u64, String> = BTreeMap::new();
    for number in &input.numbers[..100] {
        let line = lines.entry(number % 31).or_default();
        let index = (number >> 8) as usize % (line.len() + 1);
        line.insert(index, char::from(b'a' + (number % 26) as u8));
        if line.len() > 7 {
            line.remove(index % line.len());
        }
    }
    let chars = lines.values().flat_map(|line| line.chars());
    chars.fold(7, |sum: u64, letter| sum.wrapping_mul(31).wrapping_add(u64::from(letter)))
}

#[inline(never)]
fn parse(input: &Input) -> u64 {
    let mut sum = 0_u64;
    let mut rest = input.text.as_str();
    while let Some(open) = rest.find('{') {
        let Some(close) = rest.find('}') else { break };
        for field in rest[open + 1..close].split(',') {
            let Some((name, value)) = field.split_once(':') else { continue };
            let value = value.trim();
            let value = value.parse::<u64>().unwrap_or(value.len() as u64);
            sum = sum.rotate_left(5) ^ value ^ name.trim().len() as u64;
        }
        rest = &rest[close + 1..];
    }
    sum
}

unsafe extern "C" {
    fn madvise(at: *mut u8, length: usize, advice: i32) -> i32;
}

const HUGE_PAGE: i32 = 14;

/// Allocates the table, in huge pages if there are any: the choice of small pages varies its speed by chance, five times as much.
fn ones() -> Vec<u32> {
    let mut table: Vec<u32> = Vec::with_capacity(WORDS);
    let skipped = table.as_ptr().align_offset(4096);
    // SAFETY: the pages are within the memory of `table`, and the advice does not change their content.
    unsafe { madvise(table.as_mut_ptr().add(skipped).cast(), 4 * (WORDS - skipped) & !4095, HUGE_PAGE) };
    table.resize(WORDS, 1);
    table
}

/// Reads random entries; each position depends on the previous entry. The walk never returns to its start, so the cached share stays the
/// same while it is timed.
#[inline(never)]
fn walk(table: &[u32], from: u64) -> u64 {
    let step = |at: u64| {
        let entry = u64::from(table[(at >> 39) as usize % WORDS]);
        at.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(entry)
    };
    (0..50).fold(from, |at, _| step(at))
}

fn memory(input: &Input) -> u64 {
    walk(&input.table, input.numbers[0])
}

type Work = fn(&Input) -> u64;

const WORKS: [(&str, Work); 5] =
    [("sort", sort), ("hash", hash), ("documents", documents), ("parse", parse), ("memory", memory)];

/// Functions that never run. `--cfg dead="…"` sets their length.
macro_rules! dead {
    ($($name:ident)*) => {$(
        #[inline(never)]
        fn $name(x: u64) -> u64 {
            let mut x = black_box(x);
            if cfg!(dead = "longer") {
                x = black_box(x.rotate_left(7) ^ 0x5851_F42D_4C95_7F2D);
                x = black_box(x.wrapping_mul(0x1405_7B7E_F767_814F) >> 3);
            }
            if cfg!(dead = "long") {
                for n in 0..black_box(9_u64) {
                    x = x.wrapping_mul(n | 1).rotate_left(11) ^ black_box(n);
                }
            }
            x
        }
    )*};
}

dead!(a0 a1 a2 a3 a4 a5);

const DEAD: &[fn(u64) -> u64] = if cfg!(added = "five") {
    &[a0, a1, a2, a3, a4, a5]
} else if cfg!(added = "two") {
    &[a0, a1, a2]
} else {
    &[a0]
};

struct Case {
    name: &'static str,
    work: Work,
    input: Input,
    /// State of the walk through memory. It continues in the next round, because a repeated walk would find its entries in a cache.
    walk_state: u64,
}

impl Case {
    fn run(&mut self) -> u64 {
        let first = (self.work)(&self.input);
        let more = rounds(self.name) - 1;
        if self.name == "memory" {
            self.walk_state = (0..more).fold(self.walk_state, |state, _| walk(&self.input.table, state));
        } else {
            (0..more).for_each(|_| {
                black_box((self.work)(&self.input));
            });
        }
        first
    }
}

fn number(line: &str, name: &str) -> u64 {
    let digits = line.split(name).nth(1).unwrap_or("");
    let digits: String =
        digits.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

fn time(case: &mut Case, iterations: u64) -> (u64, u64) {
    let start = Instant::now();
    let mut digest = 0;
    for _ in 0..iterations {
        digest = case.run();
    }
    (start.elapsed().as_nanos() as u64, digest)
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.get(1).is_some_and(|word| word == "list") {
        for (name, _) in WORKS {
            if arguments[2..].iter().any(|pattern| pattern == "*" || pattern == name) {
                println!("{name}/plain/kernel/1/t1");
            }
        }
        return;
    }
    if arguments.len() > 1000 {
        println!("{}", DEAD.iter().map(|f| f(7)).sum::<u64>());
    }
    let mut case: Option<Case> = None;
    for line in stdin().lock().lines() {
        let line = line.expect("a request");
        let asks = |request: &str| line.contains(&format!("\"ask\":\"{request}\""));
        let reply = if asks("hello") {
            r#"{"re":"hello","protocol":2}"#.to_owned()
        } else if asks("pin") {
            r#"{"re":"pinned","cpu":null}"#.to_owned()
        } else if asks("open") {
            let workload = WORKS.into_iter().find(|(name, _)| line.contains(&format!("\"{name}/")));
            let (name, work) = workload.expect("a case");
            let input = prepare(name, number(&line, "\"seed\":"));
            let reference = work(&input);
            case = Some(Case { name, work, input, walk_state: 1 });
            let bytes = if name == "memory" { 4 * WORDS } else { 8000 };
            format!(
                r#"{{"re":"opened","unit":"operations","units":100,"working_set":{bytes},"reference":"{reference:016x}"}}"#
            )
        } else if asks("memory") {
            r#"{"re":"memory","huge_bytes":null}"#.to_owned()
        } else {
            let case = case.as_mut().expect("it was opened");
            if asks("check") {
                format!(r#"{{"re":"checked","kernel":"plain","digest":"{:016x}"}}"#, case.run())
            } else if asks("calibrate") {
                time(case, 1);
                let target_ns = number(&line, "sample_ns");
                let (ns, _) = time(case, 3);
                let iterations = (3 * target_ns / ns.max(1)).max(1);
                format!(r#"{{"re":"calibrated","iterations":{iterations},"ns":{}}}"#, iterations * ns / 3)
            } else {
                let (ns, digest) = time(case, number(&line, "\"iterations\":"));
                format!(r#"{{"re":"sampled","ns":{ns},"digest":"{digest:016x}"}}"#)
            }
        };
        writeln!(stdout(), "{reply}").expect("the lab listens");
    }
}
