//! The rules of the journal, and what changes of its lines and reports lead to.

use super::*;

const BEFORE: &str = "2026-01-31T11:00:00Z";

/// The report of one of everything: `ours` against `rival`, faster, slower, same and open.
fn report(verdicts: &[Verdict]) -> Report {
    let mut report = crate::report::tests::report();
    report.rows.retain(|row| row.comparisons.first().is_some_and(|c| verdicts.contains(&c.verdict)));
    report.plan.family = report.rows.len();
    crate::report::assemble::conclude(&report.plan, &mut report.rows);
    report.quality.flags = crate::report::quality::flags(&report);
    report.seal = report.compute_seal();
    report
}

fn opened(target: &str) -> Event {
    Event::Opened(Opened {
        attempt: 1,
        title: "Hash *two* at once".to_owned(),
        hypothesis: "the ports are idle".to_owned(),
        change: "abc123".to_owned(),
        target: target.to_owned(),
        predicted_pct: [-12.0, -5.0],
    })
}

fn decided(decision: Decision) -> Event {
    Event::Decided(Decided { attempt: 1, decision, reason: "as measured".to_owned() })
}

/// A journal with one attempt and the evidence of `report`; its text.
fn with_evidence(report: &Report) -> (Journal, String) {
    let mut journal = Journal::default();
    let mut text = journal.add(BEFORE, opened("hash/ours")).expect("allowed");
    let evidence = journal.attempts[0].evidence_of("r.json", report).expect("evidence");
    text += &journal.add("2026-01-31T13:00:00Z", Event::Evidence(evidence)).expect("allowed");
    (journal, text)
}

#[test]
fn only_faster_targets_without_a_slower_case_are_adopted() {
    let adopt = |verdicts: &[Verdict]| {
        let (mut journal, _) = with_evidence(&report(verdicts));
        journal.add(BEFORE, decided(Decision::Adopted)).map(drop)
    };
    assert_eq!(adopt(&[Verdict::Faster, Verdict::Same]), Ok(()));
    assert_eq!(adopt(&[Verdict::Same]), Err(JournalError::NotFaster("hash/ours".to_owned())));
    assert!(matches!(adopt(&[Verdict::Faster, Verdict::Slower]), Err(JournalError::Slower(_))));
    let (mut journal, _) = with_evidence(&report(&[Verdict::Slower]));
    assert!(journal.add(BEFORE, decided(Decision::Rejected)).is_ok(), "a failure is worth its lines");
}

#[test]
fn evidence_that_is_older_than_the_prediction_is_none() {
    let mut journal = Journal::default();
    journal.add("2026-01-31T12:00:01Z", opened("hash/ours")).expect("allowed");
    let error = journal.attempts[0].evidence_of("r.json", &report(&[Verdict::Faster])).expect_err("too old");
    assert!(matches!(error, JournalError::TooOld { .. }), "{error}");
}

#[test]
fn evidence_must_be_about_the_target() {
    let mut journal = Journal::default();
    journal.add(BEFORE, opened("hash/theirs")).expect("allowed");
    let error =
        journal.attempts[0].evidence_of("r.json", &report(&[Verdict::Faster])).expect_err("not about it");
    assert_eq!(error, JournalError::NoTarget("hash/theirs".to_owned()));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let mut journal = Journal::default();
    assert_eq!(journal.add(BEFORE, decided(Decision::Held)), Err(JournalError::Unknown(1)));
    let Event::Opened(mut odd) = opened("x") else { unreachable!("opened makes no other") };
    odd.predicted_pct = [5.0, -5.0];
    assert_eq!(journal.add(BEFORE, Event::Opened(odd)), Err(JournalError::Prediction(5.0, -5.0)));
    assert!(matches!(journal.add("today", opened("x")), Err(JournalError::Date(_))));
}

#[test]
fn a_changed_or_missing_line_breaks_the_chain() {
    let (mut journal, mut text) = with_evidence(&report(&[Verdict::Faster]));
    text += &journal.add("2026-01-31T14:00:00Z", decided(Decision::Adopted)).expect("allowed");
    assert_eq!(Journal::parse(&text), Ok(journal));
    let lines: Vec<&str> = text.lines().collect();
    let changed = text.replacen("the ports are idle", "the ports are busy", 1);
    for broken in [changed, format!("{}\n{}\n", lines[0], lines[2]), lines[1].to_owned()] {
        let error = Journal::parse(&broken).expect_err("broken");
        assert!(error.to_string().contains("does not follow the line before"), "{error}");
    }
    assert!(matches!(Journal::parse("{}\n"), Err(JournalError::Line { number: 1, .. })));
}

#[test]
fn citations_are_checked_against_the_reports() {
    let honest = report(&[Verdict::Faster, Verdict::Same]);
    let (journal, _) = with_evidence(&honest);
    let against = |stored: Result<Report, String>| problems(&journal, &|_| stored.clone()).join("\n");
    assert_eq!(against(Ok(honest.clone())), "");
    assert!(against(Err("no such file".to_owned())).contains("r.json: no such file"));
    let mut forged = honest;
    forged.rows[0].samples.ns[0] += 1;
    forged.seal = forged.compute_seal();
    let found = against(Ok(forged));
    assert!(found.contains("mean_ns is stated as") && found.contains("the seals differ"), "{found}");
    let other = against(Ok(report(&[Verdict::Same])));
    assert!(other.contains("the seals differ"), "{other}");
    assert!(other.contains("it does not say that hash/ours/kernel/4KiB/t1 is faster"), "{other}");
}

#[test]
fn markdown_shows_prediction_evidence_and_decision() {
    let (mut journal, _) = with_evidence(&report(&[Verdict::Faster, Verdict::Same]));
    journal.add("2026-01-31T14:00:00Z", decided(Decision::NotViable)).expect("allowed");
    let text = markdown(&journal);
    assert!(text.contains("## 1. Hash \\*two\\* at once — not viable\n"), "{text}");
    assert!(text.contains("- Predicted for `hash/ours`: -12 % to -5 % of the time\n"), "{text}");
    assert!(text.contains("| -10.01 % | -10.11 % … -9.91 % | faster | met | `r.json` |"), "{text}");
    assert!(text.contains("| same | missed |"), "{text}");
    assert!(text.contains("**not viable** on 2026-01-31T14:00:00Z: as measured\n"), "{text}");
}

#[test]
fn the_head_vouches_for_the_last_line() {
    let (mut journal, mut text) = with_evidence(&report(&[Verdict::Faster]));
    let early = journal.head().to_owned();
    text += &journal.add("2026-01-31T14:00:00Z", decided(Decision::Rejected)).expect("allowed");
    let late = journal.head().to_owned();
    assert_eq!((journal.since(&late), journal.since(&early), journal.since("")), (Some(0), Some(1), None));
    assert!(markdown(&journal).contains(&format!("Head `{late}`")));

    // No line follows the last one: the chain is whole, and only the head shows the change.
    let changed = Journal::parse(&text.replace("rejected", "not-viable")).expect("a chain");
    assert_eq!((changed.since(&late), changed.since(&early)), (None, Some(1)));
    let lines: Vec<&str> = text.lines().collect();
    let cut = Journal::parse(&format!("{}\n{}\n", lines[0], lines[1])).expect("a chain");
    assert_eq!((cut.since(&late), cut.since(&early)), (None, Some(0)));
}
