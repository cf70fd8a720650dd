//! Targets of the search, with generators of their inputs.

use hashmill_doc::ChangeHash;
use hashmill_testkit::Rng;
use hashmill_testkit::mutate::chunk::{Change, Chunk, Hash, join};
use hashmill_testkit::mutate::forge::{ForgeStrictness, KnownOps};
use hashmill_testkit::mutate::{mutate, mutate_change, values};

use super::{BLOCK, bases};
use crate::targets::doc::{FRAMES, small};
use crate::{
    Verdict, doc_change, doc_converse, doc_cursor, doc_incremental, doc_json, doc_limits, doc_load,
    doc_orders, doc_rescue, doc_sync,
};

/// Runs an input.
pub(super) type Run<'a> = &'a mut dyn FnMut(&[u8]) -> Option<Verdict>;

/// One search.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of the fuzz target whose inputs these are.
    pub name: &'static str,
    /// The property, for one input.
    pub body: fn(&[u8]) -> Verdict,
    /// Generates and runs the inputs of a block.
    pub(super) block: fn(u64, Run<'_>),
}

/// Targets with mutated inputs.
pub const TARGETS: &[Target] = &[
    Target { name: "doc_change", body: doc_change, block: changes },
    Target { name: "doc_converse", body: doc_converse, block: scripts },
    Target { name: "doc_cursor", body: doc_cursor, block: cursors },
    Target { name: "doc_incremental", body: doc_incremental, block: additions },
    Target { name: "doc_json", body: doc_json, block: jsons },
    Target { name: "doc_limits", body: doc_limits, block: limited },
    Target { name: "doc_load", body: doc_load, block: files },
    Target { name: "doc_orders", body: doc_orders, block: orders },
    Target { name: "doc_rescue", body: doc_rescue, block: wrecks },
    Target { name: "doc_sync", body: doc_sync, block: messages },
];

/// Maximum number of inputs that are mutated further.
const POOL: usize = 6;

/// Larger inputs are not mutated further: they only become slow.
const LONG: usize = 600;

/// Files that are mutated, and mutated further where they were accepted.
struct Pool {
    files: Vec<Vec<Chunk>>,
    universe: KnownOps,
    /// Maximum number of mutations before a run: few get past early checks, many combine faults.
    most: usize,
}

impl Pool {
    fn new((file, universe): (Vec<Chunk>, KnownOps), rng: &mut Rng) -> Self {
        Self { files: vec![file], universe, most: [1, 2, 4, 8][rng.below(4)] }
    }

    /// A mutated file.
    fn next(&mut self, rng: &mut Rng) -> Vec<Chunk> {
        let mut file = self.files[rng.below(self.files.len())].clone();
        mutate(&mut file, &mut self.universe, self.most, rng);
        file
    }

    fn keep(&mut self, file: Vec<Chunk>, rng: &mut Rng) {
        if self.files.len() < POOL {
            self.files.push(file);
        } else if rng.below(4) == 0 {
            // The first input stays, since the others differ more and more from it.
            self.files[1 + rng.below(POOL - 1)] = file;
        }
    }
}

/// Mutates files; `head` writes the bytes before them. A document with wrong heads alone gets the right ones.
fn each_file(pool: &mut Pool, rng: &mut Rng, mut head: impl FnMut(&mut Rng, &mut Vec<u8>), run: Run<'_>) {
    let mut input = vec![];
    for _ in 0..BLOCK {
        let mut file = pool.next(rng);
        input.clear();
        head(rng, &mut input);
        let start = input.len();
        input.extend(join(&file));
        let mut verdict = run(&input);
        if let Some(Verdict::OtherHeads(heads)) = verdict {
            lead(&mut file, &heads);
            input.truncate(start);
            input.extend(join(&file));
            verdict = run(&input);
        }
        if verdict == Some(Verdict::Accepted) && input.len() < LONG {
            pool.keep(file, rng);
        }
    }
}

/// Writes these heads into the first document of a file.
pub(super) fn lead(file: &mut [Chunk], heads: &[ChangeHash]) {
    let document = file.iter_mut().find_map(|chunk| match chunk {
        Chunk::Document(document) => Some(document),
        _ => None,
    });
    if let Some(document) = document {
        document.lead_to(heads.iter().map(|hash| hash.0).collect());
    }
}

fn files(seed: u64, run: Run<'_>) {
    let rng = &mut Rng::new(seed);
    let mut pool = Pool::new(bases::file(rng), rng);
    // Most loads are strict, some ignore what is damaged, and few use a second thread, which takes long to wake.
    let add_mode = |rng: &mut Rng, out: &mut Vec<u8>| match rng.below(256) {
        0 => out.push(3 * FRAMES),
        1..=31 => out.push(2 * FRAMES),
        _ => out.push(FRAMES),
    };
    each_file(&mut pool, rng, add_mode, run);
}

fn wrecks(seed: u64, run: Run<'_>) {
    let rng = &mut Rng::new(seed);
    let mut pool = Pool::new(bases::file(rng), rng);
    each_file(&mut pool, rng, |_, out| out.push(0), run);
}

fn additions(seed: u64, run: Run<'_>) {
    let rng = &mut Rng::new(seed);
    let base = if rng.below(4) == 0 { bases::file(rng) } else { bases::news(rng) };
    let mut pool = Pool::new(base, rng);
    each_file(&mut pool, rng, |_, out| out.push(FRAMES), run);
}

fn limited(seed: u64, run: Run<'_>) {
    let rng = &mut Rng::new(seed);
    let load = rng.below(2) == 0;
    let base = if load { bases::file(rng) } else { bases::news(rng) };
    let mut pool = Pool::new(base, rng);
    let head = |rng: &mut Rng, out: &mut Vec<u8>| {
        // Inflated bytes, operations, total, changes and steps; most of them at their maximum.
        for _ in 0..4 {
            out.push(if rng.below(4) == 0 { rng.next_u64() as u8 } else { 0 });
        }
        out.push(rng.next_u64() as u8);
        out.push(if load { 0 } else { FRAMES });
    };
    each_file(&mut pool, rng, head, run);
}

/// Mutated and forged changes on top of a common document.
fn changes(seed: u64, run: Run<'_>) {
    let rng = &mut Rng::new(seed);
    let (file, mut universe) = bases::news(rng);
    let heads: Vec<Hash> = small().get_heads().iter().map(|hash| hash.0).collect();
    let first = |chunk: Chunk| match chunk {
        Chunk::Change(change) if change.deps == heads => Some(change),
        _ => None,
    };
    let mut pool: Vec<Change> = file.into_iter().filter_map(first).collect();
    for _ in 0..BLOCK {
        let change = if pool.is_empty() || rng.below(3) == 0 {
            universe.forge(&[0xf0], heads.clone(), ForgeStrictness::Little, rng)
        } else {
            let mut change = pool[rng.below(pool.len())].clone();
            mutate_change(&mut change, &mut universe, rng);
            change
        };
        if run(&change.body()) == Some(Verdict::Accepted) {
            if pool.len() < POOL {
                pool.push(change);
            } else {
                pool[rng.below(POOL)] = change;
            }
        }
    }
}

/// Changes of a conversation, one of them forged or mutated.
fn orders(seed: u64, run: Run<'_>) {
    let rng = &mut Rng::new(seed);
    let docs = bases::people(&crate::targets::doc::within(crate::targets::doc::LIMITS), rng);
    let mut universe = bases::universe(&docs[0]);
    let good: Vec<Vec<u8>> = docs[0].get_changes(&[]).iter().map(hashmill_doc::Change::raw_bytes).collect();
    let all: Vec<Change> = good
        .iter()
        .flat_map(|bytes| hashmill_testkit::mutate::chunk::split(bytes))
        .filter_map(|chunk| if let Chunk::Change(change) = chunk { Some(change) } else { None })
        .collect();
    let leaves = universe.heads();
    for _ in 0..BLOCK / 8 {
        let mut parts = good.clone();
        for writer in 0..1 + rng.below(2) {
            let leaf = rng.below(parts.len().max(1));
            match all.get(leaf) {
                // A change without dependents, as another peer might have sent it.
                Some(change)
                    if rng.below(4) == 0
                        && leaves.contains(&hashmill_testkit::mutate::chunk::hash(&good[leaf])) =>
                {
                    let mut change = change.clone();
                    mutate_change(&mut change, &mut universe, rng);
                    parts[leaf] = change.bytes();
                }
                _ => {
                    let mut deps = if rng.below(2) == 0 {
                        leaves.clone()
                    } else {
                        universe.any(rng).into_iter().collect()
                    };
                    deps.sort_unstable();
                    let forged = universe.forge(&[0xf0, writer as u8], deps, ForgeStrictness::Little, rng);
                    let at = rng.below(parts.len() + 1);
                    parts.insert(at, forged.bytes());
                }
            }
        }
        run(&parts.concat());
    }
}

/// Conversations.
fn scripts(seed: u64, run: Run<'_>) {
    let rng = &mut Rng::new(seed);
    for _ in 0..BLOCK / 8 {
        let len = 8 + rng.below(40);
        run(&rng.bytes(len));
    }
}

fn cursors(seed: u64, run: Run<'_>) {
    const SAMPLES: [&[u8]; 4] = [
        include_bytes!("../../corpus/doc_cursor/letter"),
        include_bytes!("../../corpus/doc_cursor/letter-as-text"),
        include_bytes!("../../corpus/doc_cursor/letter-before"),
        include_bytes!("../../corpus/doc_cursor/start"),
    ];
    damaged(&SAMPLES, 2, &mut Rng::new(seed), run);
}

/// Inputs without chunks, each with a few damaged bytes.
fn damaged(samples: &[&[u8]], most: usize, rng: &mut Rng, run: Run<'_>) {
    for _ in 0..BLOCK {
        let mut input = samples[rng.below(samples.len())].to_vec();
        (0..1 + rng.below(most)).for_each(|_| values::damage(&mut input, rng));
        run(&input);
    }
}

fn messages(seed: u64, run: Run<'_>) {
    const SAMPLES: [&[u8]; 4] = [
        include_bytes!("../../corpus/doc_sync/first"),
        include_bytes!("../../corpus/doc_sync/answer"),
        include_bytes!("../../corpus/doc_sync/changes"),
        include_bytes!("../../corpus/doc_sync/request"),
    ];
    let rng = &mut Rng::new(seed);
    if rng.below(2) == 0 {
        let base = if rng.below(4) == 0 { bases::file(rng) } else { bases::news(rng) };
        let mut pool = Pool::new(base, rng);
        return each_file(&mut pool, rng, |rng, out| out.push([1, 3][rng.below(2)]), run);
    }
    damaged(&SAMPLES, 3, rng, run);
}

/// A value in JSON, of few keys and few levels.
fn json(rng: &mut Rng, levels: usize, out: &mut String) {
    const LEAVES: [&str; 18] = [
        "null",
        "true",
        "0",
        "-1",
        "1.0",
        "0.1e5",
        "18446744073709551615",
        "1e999",
        "\"\"",
        "\"a\\u00e9\"",
        "[]",
        "{}",
        r#"{"__type":"text","value":"one two"}"#,
        r#"{"__type":"text","value":"two"}"#,
        "\"three\"",
        r#"{"__type":"counter","value":7}"#,
        r#"{"__type":"bytes","value":"0aff"}"#,
        r#"{"__type":"map","value":{"__type":1}}"#,
    ];
    let (begin, end) = match rng.below(if levels == 0 { 2 } else { 4 }) {
        0 | 1 => return out.push_str(LEAVES[rng.below(LEAVES.len())]),
        2 => ("[", "]"),
        _ => ("{", "}"),
    };
    out.push_str(begin);
    for number in 0..rng.below(4) {
        out.push_str(if number > 0 { "," } else { "" });
        if begin == "{" {
            out.push_str(["\"a\":", "\"b\":", "\"\":", "\"~/\":"][rng.below(4)]);
        }
        json(rng, levels - 1, out);
    }
    out.push_str(end);
}

/// A JSON Pointer with few tokens, most of which exist.
fn pointer(rng: &mut Rng) -> String {
    const USUAL: [&str; 8] = ["/a", "/a", "/b", "/b", "/0", "/0", "/1", "/-"];
    const STRANGE: [&str; 4] = ["/", "/~0~1", "/01", "/~"];
    let token = |rng: &mut Rng| match rng.below(10) {
        0 => STRANGE[rng.below(STRANGE.len())],
        _ => USUAL[rng.below(USUAL.len())],
    };
    (0..[0, 1, 1, 1, 2, 2, 3][rng.below(7)]).map(|_| token(rng)).collect()
}

fn jsons(seed: u64, run: Run<'_>) {
    let rng = &mut Rng::new(seed);
    for _ in 0..BLOCK {
        let first = rng.below(4) as u8;
        let mut input = String::from("{\"a\":");
        json(rng, 3, &mut input);
        input.push_str(",\"b\":");
        json(rng, 2, &mut input);
        input.push_str("}\0");
        if first & 2 == 0 {
            input.push('[');
            for number in 0..rng.below(5) {
                input.push_str(if number > 0 { "," } else { "" });
                let op = ["add", "remove", "replace", "move", "copy", "test", "add", "jump"][rng.below(8)];
                let (path, from) = (pointer(rng), pointer(rng));
                input.push_str(&format!(r#"{{"op":"{op}","path":"{path}","from":"{from}","value":"#));
                json(rng, 2, &mut input);
                input.push('}');
            }
            input.push(']');
        } else {
            json(rng, 3, &mut input);
        }
        let mut input = [&[first], input.as_bytes()].concat();
        if rng.below(8) == 0 {
            values::damage(&mut input, rng);
        }
        run(&input);
    }
}
