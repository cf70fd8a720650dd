//! Every form of one report, against files that a person has looked at.
//!
//! `LAB_GOLDEN=write cargo test -p hashmill-lab` writes them anew; look at the difference before it is committed.

use super::analysis::conditions;
use super::assemble::conclude;
use super::render::{html, markdown, text};
use super::schema::*;
use super::{check, store};
use crate::fingerprint::sha256_hex;
use crate::measure::campaign::{RowEvidence, SampleWork};
use crate::measure::plan::Plan as MeasurePlan;
use crate::model::class::Class;
use crate::model::key::Key;
use crate::model::lower_bound::BoundKind;
use crate::stats::cache_level::CacheLevel;
use crate::stats::order::{median, six_digits};
use hashmill_machine::{Load, Machine};
use std::path::PathBuf;

/// Sides of a row: label, role, engine, nanoseconds per iteration, and how far its sessions scatter.
pub(crate) type Sketch<'a> = (&'a str, Role, &'a str, f64, f64);

fn machine() -> Machine {
    let mut machine = Machine {
        cpu: "Scripted 1".to_owned(),
        model: "1-2-3".to_owned(),
        arch: "none".to_owned(),
        logical_cores: 2,
        memory_gib: 8,
        os: "paper".to_owned(),
        kernel: "1.0".to_owned(),
        virtualization: "none".to_owned(),
        ..Machine::default()
    };
    machine.id = machine.fingerprint();
    machine
}

/// A row with samples of known times: two rounds per session, a zigzag between sessions.
pub(crate) fn row(title: &str, case: &str, sessions: usize, sides: &[Sketch<'_>]) -> Row {
    let key: Key = case.parse().expect("a case");
    let class: &Class = &key.class;
    let (rounds, iterations) = (2, 1000_u64);
    let mut samples = Vec::new();
    for session in 0..sessions {
        for round in 0..rounds {
            for position in 0..sides.len() {
                let side = (position + round) % sides.len();
                let (_, _, _, ns, scatter) = sides[side];
                let zigzag = ((session * 7 + side * 5) % 11) as f64 / 5.0 - 1.0;
                samples.push((session, side, (ns * (1.0 + scatter * zigzag) * iterations as f64) as u64));
            }
        }
    }
    let work = SampleWork { iterations: vec![iterations; sessions], units: key.size.0 };
    let work = vec![work; sides.len()];
    let row_evidence = RowEvidence::from_samples(class, samples.into_iter(), sessions, &work);
    let quiet = Memory::default();
    Row {
        title: title.to_owned(),
        class: class.to_string(),
        work: None,
        units: Units { kind: "bytes".to_owned(), per_iteration: key.size.0 },
        reach: CacheLevel::Near,
        layouts: None,
        together: true,
        rounds,
        status: Status::Ok,
        sides: sides
            .iter()
            .zip(row_evidence.session_ns.into_iter().zip(row_evidence.deltas))
            .map(|((label, role, engine, _, _), (session_ns, deltas))| Side {
                label: (*label).to_owned(),
                role: *role,
                build: 0,
                key: Key { engine: (*engine).to_owned(), ..key.clone() }.to_string(),
                kernel: "paper".to_owned(),
                iterations,
                session_iterations: Vec::new(),
                units_per_iteration: None,
                digest: "07".to_owned(),
                reference: String::new(),
                session_ns,
                deltas,
                amounts: Vec::new(),
                summary: None,
                floor: None,
            })
            .collect(),
        sessions: vec![quiet; sessions],
        windows_ns: row_evidence.windows_ns,
        retried: Vec::new(),
        comparisons: Vec::new(),
        instructions: Vec::new(),
        commands: None,
    }
}

fn classes(rows: &[Row]) -> Vec<TimingClass> {
    let mut names: Vec<&str> = rows.iter().map(|row| &*row.class).collect();
    names.sort_unstable();
    names.dedup();
    names.iter().map(|name| TimingClass::from_class(&name.parse().expect("a class"))).collect()
}

/// One of everything that a report can say.
pub(crate) fn report() -> Report {
    let duel = |title: &str, sessions, b: f64, scatter, control: bool| {
        let mut sides = vec![
            ("rival", Role::Baseline, "rival", 1000.0, scatter),
            ("ours", Role::Candidate, "ours", b, scatter),
        ];
        if control {
            sides.push(("control", Role::Control, "rival", 1000.0, scatter));
        }
        row(title, "hash/rival/kernel/4KiB/t1", sessions, &sides)
    };
    let alone = |size: &str, ns| {
        let case = format!("hash/ours/oneshot/{size}/t1");
        row(&case, &case, 10, &[("ours", Role::Baseline, "ours", ns, 0.002)])
    };
    let mut rows = vec![
        duel("faster", 20, 900.0, 0.001, true),
        duel("slower", 20, 1030.0, 0.001, false),
        duel("same", 20, 1000.4, 0.001, false),
        duel("open <&|>", 40, 1002.0, 0.05, false),
        alone("1KiB", 700.0),
        alone("4KiB", 1700.0),
        alone("64KiB", 21_000.0),
    ];
    let broken = |mut row: Row, status: Status| {
        row.sessions.clear();
        row.sides.iter_mut().for_each(|side| side.session_ns.clear());
        row.status = status;
        row
    };
    let mut wrong = broken(alone("1MiB", 1.0), Status::Incorrect("computed 08, not 07".to_owned()));
    wrong.sides[0].digest = "08".to_owned();
    wrong.sides[0].reference = "07".to_owned();
    rows.push(wrong);
    rows.push(broken(alone("2MiB", 1.0), Status::Skipped("no such device".to_owned())));
    let family = rows.iter().flat_map(|row| &row.sides).filter(|side| side.role == Role::Candidate).count();
    let plan =
        super::assemble::wire_plan(&MeasurePlan { rounds: 2, ..MeasurePlan::default() }, family, false);
    conclude(&plan, &mut rows);
    let load = |average| Load { average: Some(average), ..Load::default() };
    let mut report = Report {
        schema: SCHEMA.to_owned(),
        tool: "0.1.0".to_owned(),
        id: "20260131-120000-0000".to_owned(),
        created: "2026-01-31T12:00:00Z".to_owned(),
        command: ["lab", "compare", "hash"].map(str::to_owned).to_vec(),
        kind: Kind::Engines,
        state: State::Complete,
        machine: machine(),
        builds: vec![Build {
            label: "self".to_owned(),
            source: "target/lab".to_owned(),
            program_sha256: sha256_hex(b"program"),
            ..Build::default()
        }],
        plan,
        answers: Vec::new(),
        noise: Some(NoiseCard {
            measured: "2026-01-30T08:00:00Z".to_owned(),
            near: Some(0.005),
            far: Some(0.0124),
            seal: sha256_hex(b"card"),
        }),
        samples_sha256: None,
        classes: classes(&rows),
        rows,
        quality: Quality { before: load(0.1), after: load(0.9), elapsed_ms: 61_500, flags: Vec::new() },
        seal: String::new(),
    };
    report.quality.flags = conditions::flags(&report);
    report.seal = report.compute_seal();
    report
}

/// Compares with the file of that name, or writes it when asked to.
pub(crate) fn golden(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(name);
    if std::env::var_os("LAB_GOLDEN").is_some_and(|value| value == "write") {
        std::fs::write(&path, text).expect("a writable folder");
        return;
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let different = stored.lines().zip(text.lines()).position(|(a, b)| a != b);
    let line = different.unwrap_or_else(|| stored.lines().count().min(text.lines().count()));
    assert!(
        stored == text,
        "{name} is no longer what is written, from line {} on:\n  kept {:?}\n  now  {:?}\nLAB_GOLDEN=write cargo test -p hashmill-lab",
        line + 1,
        stored.lines().nth(line),
        text.lines().nth(line)
    );
}

#[test]
fn all_forms_of_a_report_match_the_golden_files() {
    let report = report();
    assert_eq!(check::problems(&report), []);
    golden("tests/golden/report.json", &store::pretty(&report));
    golden("tests/golden/report.txt", &text::render(&report, false));
    golden("tests/golden/colour.txt", &text::render(&report, true));
    golden("tests/golden/report.md", &markdown::render(&report));
}

/// Position of a number on the page: `left:12.50%`.
fn left(html: &str) -> f64 {
    let after = html.split_once("left:").expect("a place").1;
    after.split_once('%').expect("in percent").0.parse().expect("a number")
}

#[test]
fn comparisons_share_one_axis() {
    let page = html::render(&report());
    let of = |name: &str| {
        let line = page.split("<span class=\"name\">").find(|line| line.starts_with(name)).expect("its line");
        let dot = line.find("<i class=\"dot").unwrap_or_else(|| panic!("{name} has a dot: {line}"));
        left(&line[dot..])
    };
    let one = left(&page[page.find("<i class=\"one\"").expect("where both are as fast")..]);
    assert!(of("slower<") < one && one < of("faster<"), "right is faster");
    assert!((of("same<") - one).abs() < 1.0, "as fast");
    assert!(of("open ") > 0.0 && of("open ") < 100.0);
    let wrong = page
        .split("<span class=\"name\">")
        .skip(1)
        .find(|line| line.contains("1MiB/<wbr>t1<"))
        .expect("its line");
    assert!(wrong.contains("<span class=\"says bad\">WRONG RESULT</span>"), "{wrong}");
    assert!(wrong.contains("aria-hidden=\"true\"></span>"), "what is wrong has no bar: {wrong}");
}

#[test]
fn device_traffic_of_commands_is_shown() {
    use crate::report::tests::commands::{Commands, ResourceUsage};
    let mut report = report();
    report.kind = Kind::Commands;
    report.rows.truncate(1);
    let used = ResourceUsage { runs: 3, peak_bytes: 4096.0, ..ResourceUsage::default() };
    report.rows[0].commands = Some(Commands { used: vec![used.clone(), used], ..Commands::default() });
    let table = |report: &Report| -> Vec<String> {
        let text = text::render(report, false);
        let head = |line: &&str| line.starts_with("command ") && line.contains("99 % interval");
        text.lines().skip_while(|line| !head(line)).take(3).map(str::to_owned).collect()
    };
    assert!(table(&report)[0].ends_with("  memory  runs"), "{:?}", table(&report));
    let commands = report.rows[0].commands.as_mut().expect("as above");
    commands.used[1].bytes_written = f64::from(3 << 20);
    let shown = table(&report);
    assert!(shown[0].ends_with(" written  runs") && !shown[0].contains(" read "), "{shown:?}");
    assert!(shown[1].ends_with("  0 B  3") && shown[2].ends_with("  3.000 MiB  3"), "{shown:?}");
}

#[test]
fn sides_have_their_names() {
    let mut report = report();
    let text = text::render(&report, false);
    assert!(
        text.contains("ratio: the time of rival divided by that of ours, so above 1 ours is faster"),
        "{text}"
    );
    let head = |report: &Report| -> Vec<String> {
        let text = text::render(report, false);
        let head = text.lines().find(|line| line.starts_with("case ")).expect("a table");
        head.split_whitespace().take(3).map(str::to_owned).collect()
    };
    assert_eq!(head(&report), ["case", "rival", "ours"]);
    report.rows.truncate(2);
    report.rows[0].sides[1].label = "second".to_owned();
    assert_eq!(head(&report), ["case", "baseline", "candidate"], "there is no name for all");
    let page = html::render(&report);
    assert!(page.contains("← rival faster") && page.contains("faster than rival →"), "{page}");
    assert!(page.contains("The time of rival over that of each, for the same work: above 1"), "{page}");
    report.kind = Kind::Commands;
    let page = html::render(&report);
    assert!(page.contains("<span class=\"name\">second</span>"), "{page}");
    assert!(!page.contains("ours faster") && !page.contains("The other"), "{page}");
    report.rows[1].sides[0].label = "third".to_owned();
    assert!(html::render(&report).contains("← the baseline faster"));
}

#[test]
fn warnings_come_first() {
    let mut report = report();
    assert!(!text::render(&report, false).contains("busy"));
    report.quality.before.average = Some(9.0);
    report.state = State::Interrupted;
    report.kind = Kind::Builds;
    report.rows[0].sides[1].key = report.rows[0].sides[0].key.clone();
    report.rows[0].sides[1].kernel = "other".to_owned();
    report.rows[4].sides[0].floor = Some(Floor { bound: BoundKind::Ports, ns: 900.0, share: 1.29 });
    report.quality.flags = conditions::flags(&report);
    let text = text::render(&report, false);
    let banner: Vec<&str> = text.lines().skip(1).take_while(|line| line.starts_with("! ")).collect();
    let begins = [
        "! WRONG RESULT: ",
        "! The run was interrupted",
        "! busy: ",
        "! different kernels: rival ran paper",
        "! floors are wrong: a row reaches 129 %",
    ];
    assert_eq!(banner.len(), begins.len(), "{banner:?}");
    assert!(banner.iter().zip(begins).all(|(line, begin)| line.starts_with(begin)), "{banner:?}");
    let html = html::render(&report);
    let position = |what: &str| html.find(what).unwrap_or_else(|| panic!("{what} is shown"));
    assert!(position("WRONG RESULT: ") < position("busy: ") && position("busy: ") < position("<h2>"));
    let quiet: Vec<&str> = text.lines().filter(|line| line.starts_with("busy")).collect();
    assert_eq!(quiet, Vec::<&str>::new(), "once is enough");
}

/// A sustained run: a window of a second at each rate, in bytes per nanosecond.
fn sustained(title: &str, rates: &[f64]) -> Row {
    let mut row = row(title, "hash/ours/sustained/1MiB/t1", 1, &[("ours", Role::Baseline, "ours", 1.0, 0.0)]);
    row.rounds = rates.len();
    row.windows_ns = rates.iter().map(|rate| (1000.0 * f64::from(1 << 20) / rate) as u64).collect();
    let windows: Vec<f64> = row.windows_ns.iter().map(|ns| *ns as f64 / 1000.0).collect();
    row.sides[0].session_ns = vec![six_digits(median(&windows))];
    row
}

#[test]
fn a_sustained_run_is_judged_by_its_quarters() {
    let rates = |at: &dyn Fn(f64) -> f64| (0..40).map(|i| at(f64::from(i) / 39.0)).collect::<Vec<f64>>();
    let rows = vec![
        sustained("stable", &rates(&|_| 1.0)),
        sustained("drifting", &rates(&|t| 1.0 - 0.02 * t)),
        sustained("throttled", &rates(&|t| if t < 0.6 { 1.0 } else { 0.8 })),
        sustained("one pause", &rates(&|t| if (0.5..0.52).contains(&t) { 0.1 } else { 1.0 })),
        sustained("short", &rates(&|_| 1.0)[..7]),
    ];
    let mut soaked = Report { kind: Kind::Sustained, classes: classes(&rows), rows, ..report() };
    soaked.plan.family = 1;
    conclude(&soaked.plan, &mut soaked.rows);
    soaked.quality.flags = conditions::flags(&soaked);
    soaked.seal = soaked.compute_seal();
    assert_eq!(check::problems(&soaked), []);
    golden("tests/golden/soak.txt", &text::render(&soaked, false));
    let page = html::render(&soaked);
    let drawn: Vec<&str> =
        page.split("<figcaption>").skip(1).filter_map(|f| f.split("</figcaption>").next()).collect();
    assert_eq!(
        drawn,
        [
            "stable <b>stable</b>",
            "drifting <b>drifting</b>",
            "throttled <b>throttled</b>",
            "one pause <b>stable</b>"
        ]
    );
    assert_eq!(page.matches("class=\"level\"").count(), 2 * drawn.len(), "both quarters of each");
    assert!(
        page.contains("throttled: the last quarter of throttled has 0.800× the rate of its first"),
        "{page}"
    );
}

#[test]
fn the_stored_report_reads_back_as_itself() {
    let report = report();
    let text = store::pretty(&report);
    assert_eq!(store::parse(text.as_bytes()).expect("readable"), report);
}

#[cfg(feature = "schema")]
#[test]
fn the_committed_schema_is_that_of_the_types() {
    let text = serde_json::to_string_pretty(&serde_json::Value::from(schemars::schema_for!(Report)))
        .expect("plain data");
    golden("schema/report.v2.json", &format!("{text}\n"));
    for (name, schema) in [
        ("history.v1", schemars::schema_for!(crate::report::documents::history::Run)),
        ("samples.v1", schemars::schema_for!(crate::report::documents::samples::SamplesFile)),
        ("noise.v3", schemars::schema_for!(crate::report::documents::noise::NoiseRecord)),
        ("count.v1", schemars::schema_for!(crate::report::documents::instruction_counts::CountRecord)),
    ] {
        let text = serde_json::to_string_pretty(&schema).expect("plain data");
        golden(&format!("schema/{name}.json"), &format!("{text}\n"));
    }
}

/// Every number of a stored report, by its JSON Pointer.
fn numbers(value: &serde_json::Value, pointer: &str, found: &mut Vec<String>) {
    use serde_json::Value;
    match value {
        Value::Number(_) => found.push(pointer.to_owned()),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, item)| numbers(item, &format!("{pointer}/{i}"), found));
        }
        Value::Object(fields) => {
            fields.iter().for_each(|(name, field)| numbers(field, &format!("{pointer}/{name}"), found));
        }
        _ => {}
    }
}

/// A changed number breaks the seal. If it is a conclusion, a new seal does not hide the change.
#[test]
fn every_changed_number_is_detected() {
    let mut report = report();
    report.rows.retain(|row| ["faster", "same", "hash/ours/oneshot/1KiB/t1"].contains(&&*row.title));
    report.plan.family = 2;
    conclude(&report.plan, &mut report.rows);
    assert_eq!(check::problems(&report).len(), 1, "the seal");
    report.seal = report.compute_seal();
    let stored = serde_json::to_value(report).expect("plain data");
    let mut places = Vec::new();
    numbers(&stored, "", &mut places);
    let (mut derived, mut missed) = (0, Vec::new());
    for pointer in &places {
        let mut changed = stored.clone();
        let number = changed.pointer_mut(pointer).expect("its place");
        *number = match number.as_u64() {
            Some(whole) => (whole + 1).into(),
            None => (number.as_f64().expect("a number") * 1.001 + 1e-6).into(),
        };
        let Ok(mut report) = serde_json::from_value::<Report>(changed) else { continue };
        let seal = check::problems(&report).iter().any(|problem| problem.location == "seal");
        report.seal = report.compute_seal();
        let is_derived = pointer.contains("/summary/") || pointer.contains("/comparisons/");
        let again = check::problems(&report);
        if !seal || is_derived && again.is_empty() {
            missed.push(pointer);
        }
        derived += usize::from(is_derived);
    }
    assert_eq!(missed, Vec::<&String>::new());
    assert!(derived > 25 && places.len() > 200, "{derived} of {} numbers", places.len());
}
