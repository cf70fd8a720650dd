//! `hashmill tune`: measures the kernels on this processor, and keeps what was chosen.
//!
//! `survey` says what is measured and `measure` has the clock; `decide` has the rules, `words` the output; [`kept`] is the file.

mod decide;
#[cfg(feature = "gpu")]
mod device;
mod measure;
mod survey;
#[cfg(feature = "gpu")]
mod tiles;
mod words;

use crate::busy::busy;
use crate::flags::{Misuse, TuneArgs};
use crate::kept::{self, Argon2, Blake3, Choice, Streams, Target};
use crate::out::progress::Bar;
use crate::out::{self, print, shown};
use crate::{FAILED, OK};
use anyhow::{Result, bail};
use decide::{TOO_NOISY, Timing, Why};
use hashmill_hash::argon2::{self, Params, batch_width};
use hashmill_hash::blake3::{Plan, Role};
use hashmill_hash::isa::Cpu;
use hashmill_machine as machine;
use hashmill_machine::Load;
use hashmill_machine::clock::{Clock, Monotonic};
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use survey::{Group, Survey};

/// What came out. The names of the fields are those of the JSON.
#[derive(Serialize)]
struct Report<'a> {
    processor: &'a str,
    date: &'a str,
    /// The median of what comparisons may be off by chance, as a part of one.
    noise: f64,
    /// Why the times may not be those of an idle machine.
    busy: Option<&'a str>,
    measured: Vec<Measured<'a>>,
    choices: &'a [Line],
    /// Where the choice was kept, if it was.
    kept: Option<String>,
}

#[derive(Serialize)]
struct Measured<'a> {
    what: &'static str,
    options: &'a [String],
    sizes: Vec<Size<'a>>,
}

#[derive(Serialize)]
struct Size<'a> {
    bytes: u64,
    built_in: &'a str,
    nanoseconds: &'a [f64],
    /// How many times faster than what is built in: the median, and between what it may be by chance.
    faster: Vec<[f64; 3]>,
}

/// One choice in words.
#[derive(Serialize)]
struct Line {
    what: &'static str,
    built_in: String,
    chosen: String,
    why: String,
}

/// What follows from a survey.
struct Decision {
    blake3: Blake3,
    argon2: Argon2,
    lines: Vec<Line>,
    noise: f64,
}

/// Does what the flags say.
pub(crate) fn run(low: &TuneArgs) -> Result<u8> {
    if low.forget {
        return forget();
    }
    low.engine.check()?;
    if low.engine.is_device() {
        #[cfg(feature = "gpu")]
        return device::run(low);
        #[cfg(not(feature = "gpu"))]
        return Err(crate::flags::absent("gpu"));
    }
    if low.memory.is_some() || low.hashes.is_some() || low.files {
        bail!(Misuse("costs, --hashes and --files are for --engine cuda and --engine wgpu".to_owned()));
    }
    let target = if low.dry_run { None } else { Some(Target::prepare()?) };
    let done = Arc::new(AtomicU64::new(0));
    let bar = Bar::counting("measuring", &done, Some(survey::SIZES as u64), "sizes");
    let (clock, before) = (Monotonic::new(), Load::read());
    let survey = survey::survey(low.time, machine::free_kib(), &|| {
        done.fetch_add(1, Ordering::Relaxed);
    });
    let (after, elapsed_ms) = (Load::read(), clock.now_ns() / 1_000_000);
    if let Some(bar) = bar {
        bar.finish();
    }
    let survey = survey?;
    let decision = Decision::of(&survey);
    let busy = busy(&before, &after, elapsed_ms, machine::threads(), 0.0);
    let measured = machine::date::now_utc();

    let cpu = Cpu::detect();
    let (is_sure, choice) = (decision.noise <= TOO_NOISY, decision.choice(&measured));
    // Whoever waited for it sees what was measured, whether it can be kept or not.
    let kept = target
        .filter(|_| is_sure)
        .map(|target| target.keep(|kept| kept.choice = Some(choice.clone())))
        .transpose();
    let path = kept.as_ref().ok().and_then(|path| path.as_ref()).map(|path| shown(path).into_owned());
    if low.json {
        let report = Report {
            processor: cpu.brand(),
            date: &measured,
            noise: decision.noise,
            busy: busy.as_deref(),
            measured: survey.groups().map(Measured::of).collect(),
            choices: &decision.lines,
            kept: path,
        };
        print(&(serde_json::to_string(&report)? + "\n"))?;
    } else {
        let source = match low.source {
            true => {
                let inversions: String = survey.blake3.iter().map(words::inversions).collect();
                inversions + &words::source(&decision, &cpu, choice.date())
            }
            false => String::new(),
        };
        let kept = path.map(|path| format!("Used from now on: {path}\n")).unwrap_or_default();
        print(&format!("{}{}{source}{kept}", words::tables(&survey), words::choices(&decision.lines)))?;
    }
    if let Some(busy) = busy {
        out::remark(&format!("WARNING: {busy}"));
    }
    kept?;
    if !is_sure {
        out::complain(&too_noisy(decision.noise));
        return Ok(FAILED);
    }
    Ok(OK)
}

/// Why nothing was kept.
fn too_noisy(noise: f64) -> String {
    let percent = 100.0 * noise;
    format!(
        "comparisons may be off by {percent:.0} %: nothing can be told, and nothing was kept; run it again when the machine is \
         idle, or with more --time"
    )
}

fn forget() -> Result<u8> {
    print(&match kept::forget()? {
        Some(path) => format!("What is built in is used from now on: {} is gone\n", shown(&path)),
        None => "Nothing was kept: what is built in is used\n".to_owned(),
    })?;
    Ok(OK)
}

impl Measured<'_> {
    fn of(group: &Group) -> Measured<'_> {
        let size = |row| Size::of(row, &group.options);
        Measured { what: group.what, options: &group.options, sizes: group.rows.iter().map(size).collect() }
    }
}

impl<'a> Size<'a> {
    fn of(row: &'a Timing, options: &'a [String]) -> Size<'a> {
        let faster = row.ratios.iter().map(|ratio| [ratio.middle, ratio.low, ratio.high]).collect();
        Size { bytes: row.size, built_in: &options[row.in_use], nanoseconds: &row.times, faster }
    }
}

impl Decision {
    fn of(survey: &Survey) -> Decision {
        let mut lines = Vec::new();
        let mut kernel = |group: &Group, built_in: &str, what| {
            let (chosen, why) = match decide::choose(&group.rows) {
                Some(choice) => {
                    let why = words::why(&choice, &group.options, built_in);
                    (group.options[choice.option].clone(), why)
                }
                None => (built_in.to_owned(), "built in; not measured: too little memory is free".to_owned()),
            };
            lines.push(Line { what, built_in: built_in.to_owned(), chosen: chosen.clone(), why });
            chosen
        };
        let mut role =
            |role: Role, what| kernel(&survey.blake3[role as usize], Plan::host().kernel(role).name(), what);
        let (block, chunk) = (role(Role::Block, "BLAKE3, one block"), role(Role::Chunk, "BLAKE3, one chunk"));
        let many = role(Role::Many, "BLAKE3, many chunks");
        let xof = role(Role::Xof, "BLAKE3, extended output");
        let (parallel_from, line) = second_thread(&survey.threads);
        let argon2 = kernel(&survey.argon2, argon2::Plan::host().kernel().name(), "Argon2, kernel");
        lines.insert(lines.len() - 1, line);
        let plan = survey.plan;
        let in_use = |kib| plan.width(costs(kib, survey::LANES));
        let (lanes, line) = streams("Argon2, lanes in turns", &survey.lanes, in_use);
        lines.push(line);
        let in_use = |kib| batch_width(plan, costs(kib, 1));
        let (hashes, line) = streams("Argon2, hashes side by side", &survey.hashes, in_use);
        lines.push(line);
        let noise = decide::noise(survey.groups().flat_map(|group| &group.rows));
        let blake3 = Blake3 { block, chunk, many, xof, parallel_from };
        Decision { blake3, argon2: Argon2 { kernel: argon2, lanes, hashes }, lines, noise }
    }

    fn choice(&self, measured: &str) -> Choice {
        let (blake3, argon2) = (self.blake3.clone(), self.argon2.clone());
        Choice { measured: measured.to_owned(), blake3, argon2 }
    }
}

fn costs(kib: u32, lanes: u32) -> Params {
    Params::new(kib, 1, lanes).expect("as RFC 9106 allows")
}

/// From how many bytes on a second thread pays.
fn second_thread(threads: &Result<Group, String>) -> (u64, Line) {
    let built_in = Plan::host().parallel_from() as u64;
    let from = |bytes: u64| match bytes {
        u64::MAX => "never".to_owned(),
        _ => format!("from {}", words::size(bytes)),
    };
    let (chosen, why) = match threads {
        Ok(group) => match decide::parallel_from(built_in, &group.rows) {
            chosen if chosen == built_in => (chosen, "built in".to_owned()),
            chosen => (chosen, format!("built in is {}", from(built_in))),
        },
        Err(why) => (built_in, format!("built in; not measured: {why}")),
    };
    (chosen, Line { what: "BLAKE3, second thread", built_in: from(built_in), chosen: from(chosen), why })
}

/// A table of streams for all sizes of memory; what was not measured stays.
fn streams(what: &'static str, group: &Group, in_use: impl Fn(u32) -> usize) -> (Vec<Streams>, Line) {
    let table = |chosen: &dyn Fn(u32) -> usize| -> Vec<Streams> {
        let chosen = survey::STREAMS.map(|kib| (kib, chosen(kib)));
        let entries = decide::table(&chosen, &in_use).into_iter();
        entries.map(|(up_to_kib, streams)| Streams { up_to_kib, streams }).collect()
    };
    let choice = |kib: u32| {
        let row = group.rows.iter().find(|row| row.size == u64::from(kib) << 10);
        row.and_then(|row| decide::choose(std::slice::from_ref(row)))
    };
    let built_in = table(&in_use);
    let chosen = table(&|kib| choice(kib).map_or_else(|| in_use(kib), |choice| choice.option + 1));
    let unclear = |kib: &u32| choice(*kib).is_some_and(|choice| matches!(choice.why, Why::Unclear(_)));
    let unclear: Vec<String> =
        survey::STREAMS.into_iter().filter(unclear).map(|kib| words::size(u64::from(kib) << 10)).collect();
    let mut why = match chosen == built_in {
        true => "built in".to_owned(),
        false => format!("built in is {}", words::streams(&built_in)),
    };
    if !unclear.is_empty() {
        why += &format!("; whether others are faster cannot be told at {}", unclear.join(", "));
    }
    let line = Line { what, built_in: words::streams(&built_in), chosen: words::streams(&chosen), why };
    (chosen, line)
}
