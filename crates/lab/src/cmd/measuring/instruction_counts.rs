//! Instruction counts for comparisons whose verdict leaves a question.

use crate::cmd::context::interrupt;
use crate::counters::callgrind::{Callgrind, Count, Refusal, count};
use crate::measure::session::process::{Processes, Program};
use crate::model::key::Key;
use crate::report::schema::{Counted, Instructions, Report, Role, Row, Status, Verdict};
use std::path::Path;
use std::time::Duration;

/// Maximum time of a counted iteration: Valgrind is fifty times slower, and runs four of them.
const LONGEST_NS: f64 = 20e6;

/// Maximum time for one reply: the time of preparations is not known in advance.
const PATIENCE: Duration = Duration::from_secs(20);

/// Counts the sides of each row whose verdict is not "same". Does nothing without Valgrind.
pub(crate) fn count_beside(report: &mut Report, programs: &[Program]) {
    count_rows(report, LONGEST_NS, &|key, build, scratch| {
        let program = &programs[build];
        let native = Processes { programs: vec![program.clone()], timeout: PATIENCE };
        count(key, &native, &Callgrind::new(program, scratch, PATIENCE))
    });
}

/// The same for iterations up to `longest_ns`, for other counters than sessions.
pub(crate) fn count_rows(
    report: &mut Report,
    longest_ns: f64,
    of: &dyn Fn(&Key, usize, &Path) -> Result<Count, Refusal>,
) {
    if Callgrind::version().is_none() {
        return;
    }
    let scratch = std::env::temp_dir().join(format!("lab-count-{}", std::process::id()));
    let created = std::fs::create_dir_all(&scratch);
    for row in report.rows.iter_mut().filter(|row| leaves_a_question(row)) {
        // Controls come last, and repeat the baseline.
        let sides = row.sides.iter().filter(|side| side.role != Role::Control);
        let mut counted = Vec::new();
        for side in sides {
            let long = side.summary.is_none_or(|summary| summary.median_ns > longest_ns);
            counted.push(match (side.key.parse::<Key>(), &created) {
                _ if interrupt::came() => Instructions::Refused("it was interrupted".to_owned()),
                _ if long => Instructions::Refused("an iteration takes too long under Valgrind".to_owned()),
                (_, Err(error)) => Instructions::Refused(format!("{}: {error}", scratch.display())),
                (Err(error), _) => Instructions::Refused(error.to_string()),
                (Ok(key), Ok(())) => words(of(&key, side.build, &scratch)),
            });
        }
        row.instructions = counted;
    }
    // At worst an empty temporary folder stays.
    std::fs::remove_dir_all(&scratch).ok();
}

fn leaves_a_question(row: &Row) -> bool {
    row.status == Status::Ok && row.found(Role::Candidate).any(|found| found.verdict != Verdict::Same)
}

fn words(count: Result<Count, Refusal>) -> Instructions {
    match count {
        Ok(count) if count.instructions > 0.0 => {
            Instructions::Counted(Counted { per_iteration: count.instructions, resolution: count.resolution })
        }
        Ok(_) => Instructions::Refused("more calls did not take more instructions".to_owned()),
        Err(refusal) => Instructions::Refused(refusal.to_string()),
    }
}
