//! Warnings at the top of a report: wrong results, and conditions that make measurements unreliable.

use crate::report::analysis::conditions::{UNEQUAL, explain};
use crate::report::analysis::conditions::{is_fatal, is_loud};
use crate::report::analysis::sustained::{Steadiness, SustainedRun};
use crate::report::schema::{Kind, Report, Role, Row, State, Status};
use crate::report::view::Warning;
use crate::stats::ratio::times;
use hashmill_machine::Load;

/// Ratio of lower bound and time that noise cannot explain.
const BEYOND: f64 = 1.1;

pub(crate) fn warnings(report: &Report) -> Vec<Warning> {
    let fatal = |message: String| Warning { is_fatal: true, message };
    let careful = |message: String| Warning { is_fatal: false, message };
    let mut found = Vec::new();
    for answers in &report.answers {
        found.extend(
            answers
                .wrong
                .as_ref()
                .map(|reason| fatal(format!("WRONG ANSWER of {}: {reason}", answers.engine))),
        );
    }
    let of = |word: &str, rows: Vec<&Row>| {
        let titles: Vec<&str> = rows.iter().take(3).map(|row| row.title.as_str()).collect();
        let more = if rows.len() > 3 { format!(" and {} more", rows.len() - 3) } else { String::new() };
        (!rows.is_empty()).then(|| fatal(format!("{word}: {}{more}", titles.join(", "))))
    };
    let rows = |holds: fn(&Status) -> bool| report.rows.iter().filter(|row| holds(&row.status)).collect();
    found.extend(of("WRONG RESULT", rows(|status| matches!(status, Status::Incorrect(_)))));
    found.extend(of("FAILED", rows(|status| matches!(status, Status::Failed(_)))));
    found.extend(match report.state {
        State::Complete => None,
        State::Interrupted => {
            Some(careful("The run was interrupted; the data measured so far are kept.".to_owned()))
        }
        State::Running => Some(careful(
            "The run is unfinished: it is still running, or it was killed. The data measured so far are kept.".to_owned(),
        )),
    });
    // Older reports without this flag show it too.
    let unstated = report.has_unequal_samples() && !report.quality.flags.iter().any(|flag| flag == UNEQUAL);
    let flags = report.quality.flags.iter().map(String::as_str).chain(unstated.then_some(UNEQUAL));
    for flag in flags.filter(|flag| is_loud(flag)) {
        let more = match flag {
            "busy" => loads(report),
            UNEQUAL => unequal(report),
            _ => String::new(),
        };
        found.push(Warning { is_fatal: is_fatal(flag), message: format!("{flag}: {}{more}", explain(flag)) });
    }
    found.extend(kernels(report).map(careful));
    found.extend(overrun(report).map(careful));
    for row in report.rows.iter().filter(|_| report.kind == Kind::Sustained) {
        let sustained_run = SustainedRun::from_row(row)
            .filter(|sustained_run| sustained_run.steadiness == Steadiness::Throttled);
        found.extend(sustained_run.map(|sustained_run| {
            let speed = times(sustained_run.last / sustained_run.first);
            careful(format!("throttled: the last quarter of {} has {speed} the rate of its first", row.title))
        }));
    }
    found
}

/// Names the first rows without a verdict.
fn unequal(report: &Report) -> String {
    let rows = report.rows.iter().filter(|row| row.has_unequal_samples());
    let titles: Vec<&str> = rows.map(|row| row.title.as_str()).collect();
    let more = if titles.len() > 3 { format!(" and {} more", titles.len() - 3) } else { String::new() };
    format!(" ({}{more})", titles[..titles.len().min(3)].join(", "))
}

fn loads(report: &Report) -> String {
    let average = |load: &Load| load.average.map(|average| average.to_string());
    let both = average(&report.quality.before).zip(average(&report.quality.after));
    both.map_or_else(String::new, |(before, after)| {
        format!(" ({before} then and {after} at the end, on {} cores)", report.machine.logical_cores)
    })
}

/// No row can be faster than its lower bound; otherwise the probes were disturbed, or built without optimisation.
pub(crate) fn overrun(report: &Report) -> Option<String> {
    let sides = report.rows.iter().flat_map(|row| &row.sides);
    let most = sides.filter_map(|side| side.floor).map(|floor| floor.share).fold(0.0, f64::max);
    (most > BEYOND).then(|| {
        format!(
            "floors are wrong: a row reaches {:.0} % of what the probes found possible; the probes were disturbed",
            most * 100.0
        )
    })
}

/// Two builds of a case that ran different kernels, which may explain the whole difference.
fn kernels(report: &Report) -> Option<String> {
    let differ = |row: &&Row| {
        let candidates =
            row.sides.iter().filter(|side| side.role == Role::Candidate && side.key == row.sides[0].key);
        candidates.into_iter().any(|side| side.kernel != row.sides[0].kernel)
    };
    let rows: Vec<&Row> = report.rows.iter().filter(differ).collect();
    let first = rows.first()?;
    let other = first.sides.iter().find(|side| side.kernel != first.sides[0].kernel)?;
    let more = if rows.len() > 1 { format!(", and in {} more", rows.len() - 1) } else { String::new() };
    Some(format!(
        "different kernels: {} ran {} and {} ran {} in {}{more}",
        first.sides[0].label, first.sides[0].kernel, other.label, other.kernel, first.title
    ))
}
