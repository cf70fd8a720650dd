//! The journal as Markdown.

use super::{Attempt, Finding, Journal};
use crate::model::units::percent;
use crate::report::markdown::escape;

/// One section for each attempt, the newest last.
pub(crate) fn markdown(journal: &Journal) -> String {
    let mut out =
        String::from("# Journal\n\nWritten by `lab journal render`; the lines themselves are the source.\n");
    for attempt in &journal.attempts {
        out += &section(attempt);
    }
    if !journal.head().is_empty() {
        out += &format!("\nHead `{0}`: `lab journal check --head {0}`\n", journal.head());
    }
    out
}

fn section(attempt: &Attempt) -> String {
    let opened = &attempt.opened;
    let state =
        attempt.decided.last().map_or_else(|| "open".to_owned(), |(_, decided)| word(decided.decision));
    let [low, high] = opened.predicted_pct;
    let mut out = format!(
        "\n## {}. {} — {state}\n\n{}, {}.\n\n- Hypothesis: {}\n- Predicted for `{}`: {low:+} % to {high:+} % of the time\n",
        opened.attempt,
        escape(&opened.title),
        attempt.date,
        if opened.change.is_empty() { "no change named".to_owned() } else { escape(&opened.change) },
        escape(&opened.hypothesis),
        opened.target,
    );
    if !attempt.evidence.is_empty() {
        out +=
            "\n| case | B/A | 99 % interval | verdict | prediction | report |\n|---|---:|---:|---|---|---|\n";
    }
    for (_, evidence) in &attempt.evidence {
        for finding in &evidence.found {
            out += &line(attempt, finding, &evidence.report);
        }
    }
    for (date, decided) in &attempt.decided {
        out += &format!("\n**{}** on {date}: {}\n", word(decided.decision), escape(&decided.reason));
    }
    out
}

fn line(attempt: &Attempt, finding: &Finding, report: &str) -> String {
    let interval = finding
        .interval
        .map_or_else(|| "–".to_owned(), |[low, high]| format!("{} … {}", percent(low), percent(high)));
    let [low, high] = attempt.opened.predicted_pct.map(|pct| 1.0 + pct / 100.0);
    let prediction = match (attempt.is_target(&finding.case), finding.interval) {
        (false, _) => "not a target",
        (true, Some([from, to])) if from <= high && low <= to => "met",
        (true, None) => "open",
        (true, Some(_)) => "missed",
    };
    format!(
        "| `{}` | {} | {interval} | {} | {prediction} | `{report}` |\n",
        finding.case,
        percent(finding.ratio),
        finding.verdict.word()
    )
}

fn word(decision: super::Decision) -> String {
    let value = serde_json::to_value(decision).expect("a word");
    value.as_str().unwrap_or_default().replace('-', " ")
}
