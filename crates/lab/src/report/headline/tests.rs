//! Tests of summaries: the words and their alignment at several widths, against files that a person has looked at.

use super::{Headline, html, text};
use crate::measure::plan::Plan;
use crate::model::lower_bound::MinimalWork;
use crate::model::summary::{Meaning, NamedCase, Number, ProductRow, Recorded, Summary, Tool};
use crate::report::analysis::conditions;
use crate::report::assemble::{conclude, wire_plan};
use crate::report::schema::{Answers, Kind, Report, Role, State, Status, Units};
use crate::report::tests::{golden, report, row};

const FILE: &str = "file/sum/kernel/256MiB/t1";
const FILE_ALL: &str = "file/sum/kernel/256MiB/t2";
const FILE_SHA: &str = "sha256-file/sum/kernel/256MiB/t1";
const MESSAGE: &str = "hash/ours/oneshot/64/t1";
const MESSAGE_SHA: &str = "sha256/ours/oneshot/64/t1";
const PASSWORD: &str = "password/ours/backend/19MiB/t1";
const LOAD: &str = "load/ours/kernel/10000/t1";
const MEET: &str = "meet/ours/kernel/10000/t1";
const WORK: &str = "pow/ours/backend/64MiB/t2";

fn summary() -> Summary {
    let row = |product: &str, name: &str, case: &str, number: Number, meaning: Meaning, tool: Tool| {
        ProductRow { product: product.to_owned(), named: NamedCase::new(name, case), number, meaning, tool }
    };
    let sha256 = |case: &str| Tool::Measured(NamedCase::new("SHA-256", case));
    let recorded = |name: &str| Tool::Recorded { name: name.to_owned(), engine: name.to_owned() };
    let image = || Meaning::Amount { what: "a 10 GiB image".to_owned(), units: 10 << 30 };
    let second = |what: &str| Meaning::PerSecond(what.to_owned());
    let record = |processor: &str, date: &str, ratio: f64| Recorded {
        case: LOAD.to_owned(),
        engine: "automerge".to_owned(),
        processor: processor.to_owned(),
        date: date.to_owned(),
        ratio,
        interval: [ratio * 0.9, ratio * 1.2],
        report: format!("bench/records/{processor}-2t/{date}-doc.json"),
    };
    Summary {
        program: "Hashmill".to_owned(),
        rivals: "cargo rivals lab compare".to_owned(),
        products: vec![
            row("FILES", "256 MiB", FILE, Number::Rate, image(), sha256(FILE_SHA)),
            row("FILES", "on 2 threads", FILE_ALL, Number::Rate, image(), sha256(FILE_SHA)),
            row("MESSAGES", "64 bytes", MESSAGE, Number::Time, second(""), sha256(MESSAGE_SHA)),
            row(
                "PASSWORDS",
                "OWASP, 19 MiB",
                PASSWORD,
                Number::Time,
                second("logins"),
                recorded("rust-argon2"),
            ),
            row("DOCUMENTS", "open 10,000 keys", LOAD, Number::Time, Meaning::Frame, recorded("automerge")),
            row("DOCUMENTS", "20,000 edits meet", MEET, Number::Time, Meaning::Frame, recorded("automerge")),
            row(
                "WORK",
                "nonces of 64 MiB",
                WORK,
                Number::Rate,
                Meaning::PerDay("tries".to_owned()),
                Tool::Unknown("no rival in the lab".to_owned()),
            ),
        ],
        further: vec![NamedCase::new("message of 1 KiB", "hash/ours/oneshot/1KiB/t1")],
        recorded: vec![
            record("another-processor-f1m2", "2026-02-01", 7.0),
            record("scripted-1-f1m2", "2026-01-01", 300.0),
            record("scripted-1-f1m2", "2026-01-30", 404.0),
        ],
    }
}

/// A run of the summary: nanoseconds and scatter of each case.
fn measured(sessions: usize) -> Report {
    let hashes = |count: u64| Units { kind: "hashes".to_owned(), per_iteration: count };
    let operations = || Units { kind: "operations".to_owned(), per_iteration: 1 };
    let alone = |case: &str, ns: f64, scatter: f64| {
        let engine = case.split('/').nth(1).expect("an engine");
        row(case, case, sessions, &[(engine, Role::Baseline, engine, ns, scatter)])
    };
    let in_units = |case: &str, ns: f64, scatter: f64, units: Units| {
        let mut row = alone(case, ns, scatter);
        row.units = units;
        row
    };
    let mut rows = vec![
        alone(FILE, 44_000_000.0, 0.01),
        alone(FILE_SHA, 132_000_000.0, 0.02),
        alone(FILE_ALL, 23_100_000.0, 0.3),
        alone(MESSAGE, 60.0, 0.08),
        alone(MESSAGE_SHA, 92.0, 0.002),
        in_units(PASSWORD, 5_340_000.0, 0.35, hashes(1)),
        in_units(LOAD, 2_300_000.0, 0.2, operations()),
        in_units(MEET, 40_100_000.0, 0.02, operations()),
        in_units(WORK, 21_000_000.0, 0.12, hashes(2)),
    ];
    let plan = wire_plan(&Plan { rounds: 2, solo_sessions: sessions, ..Plan::default() }, 0, false);
    conclude(&plan, &mut rows);
    let mut report = Report {
        kind: Kind::Run,
        plan,
        rows,
        answers: vec![
            Answers { engine: "BLAKE3".to_owned(), right: 700, wrong: None },
            Answers { engine: "Argon2".to_owned(), right: 84, wrong: None },
        ],
        ..report()
    };
    report.quality.elapsed_ms = 20_400;
    report.quality.flags = conditions::flags(&report);
    report
}

fn busy(mut report: Report) -> Report {
    report.quality.before.average = Some(5.23);
    report.quality.flags = conditions::flags(&report);
    report
}

fn text(report: &Report, width: usize) -> String {
    text::render(&Headline::from_report(report, &summary()), width, false)
}

#[test]
fn the_table_matches_the_golden_file() {
    let report = busy(measured(5));
    for width in [40, 80, 120, 150] {
        golden(&format!("tests/golden/headline-{width}.txt"), &text(&report, width));
    }
    let headline = Headline::from_report(&report, &summary());
    golden("tests/golden/headline-colour.txt", &text::render(&headline, 120, true));
}

/// At every width, no line is longer unless it is one word, and every number has its uncertainty.
#[test]
fn layouts_of_any_width_are_complete() {
    let (report, summary) = (busy(measured(5)), summary());
    let headline = Headline::from_report(&report, &summary);
    for width in 30..=200 {
        let text = text::render(&headline, width, false);
        for line in text.lines() {
            let is_word = line.trim().split(' ').count() == 1;
            assert!(line.chars().count() <= width || is_word, "{width}: {line}");
            assert_eq!(line, line.trim_end(), "{width}");
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        let text = words.join(" ");
        for row in &headline.rows {
            let number = format!("{} {}", row.number, row.plus_minus);
            for part in [&number, &row.name, &row.meaning, &row.beside.tool] {
                assert!(text.contains(part.as_str()), "{width}: {part} in {text}");
            }
            if let Some(ratio) = &row.beside.ratio {
                assert!(text.contains(&format!("{} {}", ratio.words, ratio.plus_minus)), "{width}: {text}");
            }
        }
        for note in &headline.notes {
            assert!(text.contains(note.as_str()), "{width}: {note} in {text}");
        }
    }
}

#[test]
fn the_page_has_the_same_content() {
    let report = busy(measured(5));
    let headline = Headline::from_report(&report, &summary());
    let page = html::render(&report, &summary(), &headline);
    assert!(page.contains(&format!("<h1>{}</h1>", headline.title)), "{page}");
    let (lead, rest) = page.split_once("</tbody></table>").expect("the table");
    assert!(lead.contains("✔ 784 published answers right, all 9 timed results right"), "{lead}");
    assert!(lead.find('✔').expect("a proof") < lead.find("busy: ").expect("a warning"), "{lead}");
    assert!(lead.find("busy: ").expect("a warning") < lead.find("FILES").expect("a row"), "{lead}");
    for row in &headline.rows {
        for part in [&row.name, &row.number, &row.plus_minus, &row.meaning, &row.beside.tool] {
            assert!(
                lead.contains(&format!("{part}<")) || lead.contains(&format!(" {part}")),
                "{part}: {lead}"
            );
        }
    }
    for note in &headline.notes {
        assert!(rest.contains(note.as_str()), "{note}: {rest}");
    }
    assert!(rest.contains("<span class=\"name\">FILES, 256 MiB</span>"), "{rest}");
    let is_key = |line: &str| line.contains("/<wbr>");
    let named = rest.split("<span class=\"name\">").skip(1);
    assert!(named.map(|line| line.split('<').next().unwrap_or_default()).all(|name| !is_key(name)), "{rest}");
    assert!(rest.contains("<p>file/<wbr>sum/<wbr>kernel/<wbr>256MiB/<wbr>t1: "), "where to measure it again");
}

#[test]
fn a_row_without_a_rival_has_a_note() {
    let report = measured(5);
    let headline = Headline::from_report(&report, &summary());
    let beside = |name: &str| {
        let row = headline.rows.iter().find(|row| row.name == name).expect("a row");
        (row.beside.tool.as_str(), row.beside.ratio.as_ref().map(|ratio| ratio.words.as_str()))
    };
    assert_eq!(beside("OWASP, 19 MiB"), ("rust-argon2: no record here", None));
    assert_eq!(beside("nonces of 64 MiB"), ("no rival in the lab", None));
    assert_eq!(
        beside("open 10,000 keys"),
        ("automerge*", Some("400×")),
        "the newest of this kind of processor"
    );
    let message = |words: &str| headline.notes.iter().any(|note| note.contains(words));
    assert!(message("recorded on 2026-01-30 on this kind of processor (scripted-1-f1m2), bench/records/"));
    assert!(message("no committed report compares with rust-argon2 or automerge on this kind of processor"));
    assert!(message(&format!("cargo rivals lab compare --engines rust-argon2,ours {PASSWORD}")));

    let mut elsewhere = measured(5);
    elsewhere.machine.cpu = "Unheard Of".to_owned();
    let headline = Headline::from_report(&elsewhere, &summary());
    let recorded = headline.rows.iter().filter(|row| row.beside.tool.starts_with("automerge"));
    assert!(recorded.clone().count() == 2 && recorded.clone().all(|row| row.beside.ratio.is_none()));

    // A tool that was to be measured, and was not.
    let mut alone = measured(5);
    alone.rows.retain(|row| row.sides[0].key != FILE_SHA);
    let headline = Headline::from_report(&alone, &summary());
    assert_eq!(headline.rows[0].beside.tool, "SHA-256: not measured");
}

#[test]
fn wrong_results_come_first_and_have_no_number() {
    for (status, word) in [
        (Status::Incorrect("computed 08, not 07".to_owned()), "WRONG RESULT"),
        (Status::Failed("the session ended".to_owned()), "FAILED"),
    ] {
        let mut report = busy(measured(5));
        report.rows[0].status = status;
        assert!(!report.is_valid(), "the command ends with 4");
        let text = text(&report, 80);
        let first = format!("✘ {word}: FILES, 256 MiB. None of these numbers may be used.");
        assert_eq!(text.lines().next(), Some(&*first));
        assert!(!text.contains('✔'), "{text}");
        let row = text.lines().find(|line| line.starts_with("FILES")).expect("its row");
        assert!(row.contains(word) && !row.contains("GiB/s"), "{row}");
        let page = html::render(&report, &summary(), &Headline::from_report(&report, &summary()));
        assert!(page.find(word).expect("told") < page.find("<table").expect("a table"));
    }
    let mut report = measured(5);
    report.answers[1].wrong = Some("2 + 2 gives 5".to_owned());
    assert!(text(&report, 80).starts_with("✘ WRONG ANSWER: Argon2. None"));
}

#[test]
fn warnings_come_before_the_numbers() {
    assert!(!text(&measured(5), 80).contains('!'));
    let mut report = busy(measured(5));
    report.state = State::Interrupted;
    let shown = text(&report, 80);
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[0].starts_with("✔ ") && lines[1].starts_with("Hashmill on Scripted 1"), "{shown}");
    assert!(lines[2].starts_with("! not finished") && lines[3].starts_with("! busy: "), "{shown}");
    assert!(lines[3].contains("5.2 on 2 processors"), "{shown}");
}

#[test]
fn names_the_kind_of_interval() {
    for (sessions, message) in [
        (1, "±?: one session has no uncertainty"),
        (5, "±: from the fastest to the slowest of 5 sessions"),
        (10, "±: 99 % interval of the median of 10 sessions"),
    ] {
        let headline = Headline::from_report(&measured(sessions), &summary());
        assert_eq!(headline.notes[0], message);
        assert_eq!(headline.rows.iter().all(|row| row.plus_minus == "±?"), sessions == 1);
    }
}

/// Sessions take 0.7 to 1.3 times 23.1 ms around a median of 1.06: the time lies within 34 %, the rate within 1.06 / 0.7.
#[test]
fn a_rate_has_the_uncertainty_of_the_rate() {
    let headline = Headline::from_report(&measured(5), &summary());
    let row = headline.rows.iter().find(|row| row.name == "on 2 threads").expect("a row");
    assert_eq!((&*row.number, &*row.plus_minus), ("10 GiB/s", "±52 %"));
}

#[test]
fn skipped_rows_have_a_reason() {
    let mut report = measured(5);
    report.rows[0].status = Status::Skipped("no disk".to_owned());
    report.rows[0].sides[0].summary = None;
    let headline = Headline::from_report(&report, &summary());
    assert_eq!((&*headline.rows[0].number, &*headline.rows[0].meaning), ("skipped", ""));
    assert!(headline.notes.contains(&"skipped: FILES, 256 MiB: no disk".to_owned()), "{:?}", headline.notes);
}

#[test]
fn further_cases_and_lower_bounds_have_tables_of_their_own() {
    assert!(Headline::from_report(&measured(5), &summary()).tables.is_empty());
    let mut report = measured(10);
    let alone = |case: &str, ns: f64| row(case, case, 10, &[("ours", Role::Baseline, "ours", ns, 0.02)]);
    let mut probe = alone("lab.ports/ours/kernel/1000/t1", 1000.0);
    probe.work = Some(MinimalWork { vector_bytes: 1000, ..MinimalWork::default() });
    report.rows[3].work = Some(MinimalWork { vector_bytes: 30, ..MinimalWork::default() });
    report.rows.extend([alone("hash/ours/oneshot/1KiB/t1", 700.0), probe]);
    conclude(&report.plan, &mut report.rows);
    let text = text(&report, 80);
    let line = |begin: &str| text.lines().find(|line| line.starts_with(begin)).unwrap_or_default();
    assert!(line("message of 1 KiB").contains("ns  ±3 %  "), "{text}");
    assert!(line("MESSAGES, 64 bytes").ends_with("ports  50 %"), "{text}");
    assert!(line("FILES, 256 MiB").ends_with("no lower bound is known"), "{text}");
    assert!(!text.contains("lab.ports"), "{text}");
}
