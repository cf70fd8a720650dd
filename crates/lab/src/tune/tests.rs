//! Races with known times.

use super::*;
use crate::report::assemble::wire_plan;
use crate::stats::verdict::Rule;

/// `n` sessions of a candidate whose time is `ln` above the common one, with a zigzag of its own.
fn times(ln: f64, scatter: f64, salt: usize, n: usize) -> Vec<f64> {
    (0..n).map(|i| ln + scatter * (((i * 7 + salt * 3) % 11) as f64 - 5.0) / 5.0).collect()
}

fn record(profile: Profile, candidates: &[(u32, f64)]) -> TuneRecord {
    let mut machine = Machine { cpu: "paper".to_owned(), ..Machine::default() };
    machine.id = machine.fingerprint();
    let candidates = candidates.iter().enumerate().map(|(i, (threads, ln))| Candidate {
        case: format!("hash/ours/oneshot/1MiB/t{threads}"),
        threads: *threads,
        kernel: "paper".to_owned(),
        relative: times(*ln, 0.001, i, 40),
    });
    TuneRecord {
        schema: SCHEMA.to_owned(),
        tool: "0.1.0".to_owned(),
        created: hashmill_machine::date::now_utc(),
        machine,
        program_sha256: crate::fingerprint::sha256_hex(b"program"),
        subject: "hash/ours/oneshot/1MiB".to_owned(),
        reach: Reach::Near,
        profile,
        plan: wire_plan(&crate::plan::Plan::default(), 1, false),
        candidates: candidates.collect(),
        best: 0,
        tied: Vec::new(),
        chosen: 0,
        seal: String::new(),
    }
    .conclude()
}

#[test]
fn losers_leave_as_soon_as_it_is_proven_and_ties_stay() {
    let rule = Rule::standard();
    let candidates = [times(0.0, 0.001, 0, 20), times(0.0002, 0.001, 1, 20), times(0.3, 0.001, 2, 20)];
    let slices = |n: usize| candidates.iter().map(|c| &c[..n]).collect::<Vec<_>>();
    // With two rivals to the best, ten sessions of one sign are not enough: 2/1024 > .002 / 2.
    let early = settle(&rule, Reach::Near, &slices(10));
    assert_eq!((early.wanted, early.survivors()), (Some(20), vec![0, 1, 2]));
    let late = settle(&rule, Reach::Near, &slices(20));
    assert_eq!((late.best, late.survivors(), late.wanted), (0, vec![0, 1], None));
    assert!((late.ratio[2] - 0.3_f64.exp()).abs() < 1e-3, "{:?}", late.ratio);
}

#[test]
fn who_left_early_needs_no_more_sessions() {
    let rule = Rule::standard();
    let (a, b, slow) = (times(0.0, 0.02, 0, 40), times(0.0, 0.02, 1, 40), times(0.5, 0.001, 2, 20));
    let standing = settle(&rule, Reach::Near, &[&a, &b, &slow]);
    assert_eq!((standing.dropped, standing.wanted), (vec![false, false, true], None));
    let standing = settle(&rule, Reach::Near, &[&a[..20], &b[..20], &slow]);
    assert_eq!(standing.wanted, Some(40), "the two that are left are open");
}

#[test]
fn profiles_trade_speed_for_threads() {
    let field = [(1, 1.2_f64.ln()), (2, 1.007_f64.ln()), (4, 0.0), (8, 0.0)];
    let chosen = |profile| {
        let record = record(profile, &field);
        (record.candidates[record.best].threads, record.candidates[record.chosen].threads, record.tied.len())
    };
    assert_eq!(chosen(Profile::Throughput).1, 4, "the cheaper of two that tie");
    assert_eq!(chosen(Profile::Balanced).1, 2, "less than a percent below the peak");
    assert_eq!(chosen(Profile::Efficiency).1, 1, "a sixth below the peak");
    assert_eq!(chosen(Profile::Throughput).2, 2);
}

#[test]
fn a_changed_record_is_no_choice() {
    let honest = record(Profile::Throughput, &[(1, 0.1), (2, 0.0)]);
    assert_eq!(honest.problems(), Vec::<String>::new());
    let mut other = TuneRecord { chosen: 0, ..honest.clone() };
    other.seal = other.compute_seal();
    assert_eq!(
        other.problems().first().map(String::as_str),
        Some("the choice does not follow from the sessions")
    );
    let mut faster = honest;
    faster.candidates[0].relative[3] = f64::NAN;
    assert!(faster.problems()[0].contains("finite numbers"));
}

#[test]
fn a_choice_is_recalled_on_its_machine_until_it_is_old() {
    let cache = std::env::temp_dir().join(format!("lab-tune-{}", std::process::id()));
    let kept = record(Profile::Balanced, &[(1, 0.1), (2, 0.0)]);
    let subject = kept.subject.clone();
    let keep = |record: &TuneRecord| {
        let path = place(&cache, &record.machine, &subject, Profile::Balanced);
        crate::report::store::write_atomically(&path, &crate::report::store::pretty(record))
            .expect("writable");
    };
    let recall = |machine: &Machine| recall(&cache, machine, &subject, Profile::Balanced);
    assert!(recall(&kept.machine).expect("no file is no error").is_none());
    keep(&kept);
    assert_eq!(recall(&kept.machine).expect("readable"), Some(kept.clone()));
    let mut other = Machine { cpu: "stone".to_owned(), ..Machine::default() };
    other.id = other.fingerprint();
    assert!(recall(&other).expect("another folder").is_none());
    let mut old = TuneRecord { created: "2026-01-01T00:00:00Z".to_owned(), ..kept.clone() };
    old.seal = old.compute_seal();
    keep(&old);
    assert!(recall(&kept.machine).expect("readable").is_none(), "older than fourteen days");
    let mut forged = TuneRecord { chosen: 0, ..kept.clone() };
    forged.seal = forged.compute_seal();
    keep(&forged);
    assert!(recall(&kept.machine).is_err());
    std::fs::remove_dir_all(&cache).ok();
}

/// A finished race of one size: `threads` of the winner first.
fn of_size(size: &str, winner: u32) -> TuneRecord {
    let loser = 3 - winner;
    let mut record = record(Profile::Throughput, &[(winner, 0.0), (loser, 0.2)]);
    record.subject = format!("hash/ours/oneshot/{size}");
    for candidate in &mut record.candidates {
        candidate.case = format!("hash/ours/oneshot/{size}/t{}", candidate.threads);
    }
    record.conclude()
}

#[test]
fn the_choice_changes_at_a_size() {
    let records = [of_size("1MiB", 2), of_size("64KiB", 1), of_size("4KiB", 1), of_size("2MiB", 2)];
    let view = view::view(&records);
    let by_size = view.tables.last().expect("a table of boundaries");
    let lines: Vec<String> = by_size.rows.iter().map(|line| line.cells.join(" ")).collect();
    let choice = |threads| format!("t{threads}, its own choice of a kernel");
    let expected = [
        format!("hash/ours/oneshot 4KiB 64KiB {}", choice(1)),
        format!("hash/ours/oneshot 1MiB 2MiB {}", choice(2)),
    ];
    assert_eq!(lines, expected);
    assert_eq!(view::view(&records[..1]).tables.len(), 1, "one size has no boundary");
}

#[test]
fn a_race_that_was_interrupted_chooses_nothing() {
    let mut open = record(Profile::Throughput, &[(1, 0.0), (2, 0.0001)]);
    assert!(open.is_finished());
    open.candidates.iter_mut().for_each(|candidate| candidate.relative.truncate(7));
    let open = open.conclude();
    assert!(!open.is_finished());
    assert_eq!(open.problems(), Vec::<String>::new(), "it is true all the same");
    let view = view::view(std::slice::from_ref(&open));
    let standing: Vec<&str> = view.tables[0].rows.iter().map(|line| line.cells[4].as_str()).collect();
    assert_eq!(standing, ["still in the race", "still in the race"]);
    assert!(view.notes.iter().any(|note| note.contains("nothing was chosen")), "{:?}", view.notes);
}

#[test]
fn sessions_that_scatter_do_not_tie() {
    let mut wide = record(Profile::Throughput, &[(1, 0.0), (2, 0.0)]);
    wide.candidates[1].relative = times(0.3, 2.0, 1, 40);
    let wide = wide.conclude();
    let view = view::view(std::slice::from_ref(&wide));
    assert_eq!(view.tables[0].rows[1].cells[4], "not proven slower");
    let close = record(Profile::Throughput, &[(1, 0.0), (2, 0.0)]);
    assert_eq!(view::view(std::slice::from_ref(&close)).tables[0].rows[1].cells[4], "ties");
}
