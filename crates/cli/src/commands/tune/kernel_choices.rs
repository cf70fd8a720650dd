//! Choices of kernels, threads and interleaving, from measurements.

use super::decide::{self, ChoiceReason};
use super::measurements::{self, Group, Measurements};
use super::text;
use hashmill_engines::{Argon2Choice, Blake3Choice, Choice, Streams};
use hashmill_hash::argon2::{self, Params, batch_width};
use hashmill_hash::blake3::{Plan, Role};
use serde::Serialize;

/// One choice as text. The field names are those of the JSON.
#[derive(Serialize)]
pub(super) struct ChoiceLine {
    pub(super) what: &'static str,
    pub(super) built_in: String,
    pub(super) chosen: String,
    pub(super) why: String,
}

/// The choices that the measurements lead to.
pub(super) struct KernelChoices {
    pub(super) blake3: Blake3Choice,
    pub(super) argon2: Argon2Choice,
    pub(super) lines: Vec<ChoiceLine>,
    /// Median uncertainty of the comparisons, as a fraction.
    pub(super) noise: f64,
}

impl KernelChoices {
    pub(super) fn from_measurements(measurements: &Measurements) -> KernelChoices {
        let mut lines = Vec::new();
        let mut kernel = |group: &Group, built_in: &str, what| {
            let (chosen, why) = match decide::choose(&group.rows) {
                Some(choice) => {
                    let why = text::reason_text(&choice, &group.options, built_in);
                    (group.options[choice.option].clone(), why)
                }
                None => (built_in.to_owned(), "built in; not measured: too little memory is free".to_owned()),
            };
            lines.push(ChoiceLine { what, built_in: built_in.to_owned(), chosen: chosen.clone(), why });
            chosen
        };
        let mut role = |role: Role, what| {
            kernel(&measurements.blake3[role as usize], Plan::host().kernel(role).name(), what)
        };
        let (block, chunk) = (role(Role::Block, "BLAKE3, one block"), role(Role::Chunk, "BLAKE3, one chunk"));
        let many = role(Role::Many, "BLAKE3, many chunks");
        let long = role(Role::Long, "BLAKE3, 1 MiB and more");
        let xof = role(Role::Xof, "BLAKE3, extended output");
        let (parallel_from, line) = second_thread(&measurements.threads);
        let argon2 = kernel(&measurements.argon2, argon2::Plan::host().kernel().name(), "Argon2, kernel");
        lines.insert(lines.len() - 1, line);
        let plan = measurements.plan;
        let in_use = |kib| plan.width(costs(kib, measurements::LANES));
        let (lanes, line) = streams("Argon2, lanes in turns", &measurements.lanes, in_use);
        lines.push(line);
        let in_use = |kib| batch_width(plan, costs(kib, 1));
        let (hashes, line) = streams("Argon2, hashes side by side", &measurements.hashes, in_use);
        lines.push(line);
        let noise = decide::noise(measurements.groups().flat_map(|group| &group.rows));
        let blake3 = Blake3Choice { block, chunk, many, long: Some(long), xof, parallel_from };
        KernelChoices { blake3, argon2: Argon2Choice { kernel: argon2, lanes, hashes }, lines, noise }
    }

    /// The entry for the tune file.
    pub(super) fn choice(&self, measured: &str) -> Choice {
        let (blake3, argon2) = (self.blake3.clone(), self.argon2.clone());
        Choice { measured: measured.to_owned(), blake3, argon2 }
    }
}

fn costs(kib: u32, lanes: u32) -> Params {
    Params::new(kib, 1, lanes).expect("valid by RFC 9106")
}

/// The input size from which a second thread pays.
fn second_thread(threads: &Result<Group, String>) -> (u64, ChoiceLine) {
    let built_in = Plan::host().parallel_from() as u64;
    let from = |bytes: u64| match bytes {
        u64::MAX => "never".to_owned(),
        _ => format!("from {}", text::size(bytes)),
    };
    let (chosen, why) = match threads {
        Ok(group) => match decide::parallel_from(built_in, &group.rows) {
            chosen if chosen == built_in => (chosen, "built in".to_owned()),
            chosen => (chosen, format!("built in is {}", from(built_in))),
        },
        Err(reason) => (built_in, format!("built in; not measured: {reason}")),
    };
    (
        chosen,
        ChoiceLine { what: "BLAKE3, second thread", built_in: from(built_in), chosen: from(chosen), why },
    )
}

/// A table of interleaved streams for all memory sizes. Unmeasured sizes keep the built-in choice.
fn streams(what: &'static str, group: &Group, in_use: impl Fn(u32) -> usize) -> (Vec<Streams>, ChoiceLine) {
    let table = |chosen: &dyn Fn(u32) -> usize| -> Vec<Streams> {
        let chosen = measurements::STREAMS.map(|kib| (kib, chosen(kib)));
        let entries = decide::table(&chosen, &in_use).into_iter();
        entries.map(|(up_to_kib, streams)| Streams { up_to_kib, streams }).collect()
    };
    let choice = |kib: u32| {
        let row = group.rows.iter().find(|row| row.size == u64::from(kib) << 10);
        row.and_then(|row| decide::choose(std::slice::from_ref(row)))
    };
    let built_in = table(&in_use);
    let chosen = table(&|kib| choice(kib).map_or_else(|| in_use(kib), |choice| choice.option + 1));
    let unclear =
        |kib: &u32| choice(*kib).is_some_and(|choice| matches!(choice.reason, ChoiceReason::Inconclusive(_)));
    let unclear: Vec<String> = measurements::STREAMS
        .into_iter()
        .filter(unclear)
        .map(|kib| text::size(u64::from(kib) << 10))
        .collect();
    let mut why = match chosen == built_in {
        true => "built in".to_owned(),
        false => format!("built in is {}", text::streams(&built_in)),
    };
    if !unclear.is_empty() {
        why += &format!("; the comparison is inconclusive at {}", unclear.join(", "));
    }
    let line = ChoiceLine { what, built_in: text::streams(&built_in), chosen: text::streams(&chosen), why };
    (chosen, line)
}
