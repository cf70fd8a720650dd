//! Effect of code layout in a report: whether it was measured, and how large it is.

use crate::model::key::Key;
use crate::report::schema::Layout;
use crate::report::schema::{LayoutEffect, Report, Role, Row, Side, Status};
use crate::stats::layout::{TELLING, farthest};
use crate::stats::order::six_digits;

impl Report {
    /// Whether every session of every build ran a program of its own, linked in a random order.
    pub(crate) fn is_shuffled(&self) -> bool {
        self.builds.iter().all(|build| matches!(build.layout, Some(Layout::Shuffled(_))))
    }
}

/// Notes below the tables.
pub(crate) fn notes(report: &Report) -> Vec<String> {
    let compared = report.rows.iter().any(|row| row.sides.len() > 1);
    let mut notes = Vec::new();
    if !compared {
        return notes;
    }
    if let Some(spread) = report.plan.fixed_layout {
        let mut uncovered: Vec<(&str, Vec<&str>)> = Vec::new();
        for build in &report.builds {
            let Some(Layout::Fixed(reason)) = &build.layout else { continue };
            match uncovered.iter_mut().find(|(known, _)| known == reason) {
                Some((_, labels)) => labels.push(&build.label),
                None => uncovered.push((reason, vec![&build.label])),
            }
        }
        for (reason, labels) in uncovered {
            notes.push(format!("layout of {} not covered: {reason}", labels.join(", ")));
        }
        notes.push(format!(
            "all sessions of a build had one code layout: a small difference, or none, can be an effect of the layout, which is up to {}",
            moves(report, spread)
        ));
    }
    if let (true, Some(Layout::Shuffled(linker))) =
        (report.is_shuffled(), report.builds.first().and_then(|build| build.layout.as_ref()))
    {
        let widest = report.candidates().map(|(_, comparison)| comparison.spread).fold(0.0, f64::max);
        notes.push(format!(
            "layout covered: each session had a random layout, linked by {linker}; with their layouts the sessions \
             of a row differ by up to {:.2} % (standard deviation)",
            widest.exp_m1() * 100.0
        ));
    }
    notes
}

/// The effect of layout that is assumed for rows whose sides have one link each, and the source of this assumption.
pub(crate) fn moves(report: &Report, unknown: f64) -> String {
    let compared = || report.rows.iter().filter(|row| row.sides.len() > 1);
    let mut words: Vec<String> = Vec::new();
    let mut mentioned: Vec<&LayoutEffect> = Vec::new();
    for moved in compared().filter_map(|row| row.layouts.as_ref()) {
        if !mentioned.contains(&moved) {
            mentioned.push(moved);
            words.push(format!(
                "{:.1} % in {}, the farthest of {} sessions with random layouts (report {} of this machine)",
                moved.by * 100.0,
                moved.case,
                moved.sessions,
                moved.report
            ));
        }
    }
    if compared().any(|row| row.layouts.is_none()) {
        let rows = if words.is_empty() { "" } else { " in the other rows" };
        words.push(format!(
            "{:.0} %{rows}, as measured for code that is sensitive to layouts, which is not an upper bound",
            unknown * 100.0
        ));
    }
    words.join("; ")
}

/// Effect of layout in each row, for rows with relinked sessions and enough of them.
pub(crate) fn shown(report: &Report) -> Vec<(&Row, LayoutEffect)> {
    if !report.is_valid() || !report.is_shuffled() || report.builds.is_empty() {
        return Vec::new();
    }
    let effect = |row: &Row| {
        let sides: Vec<&Vec<f64>> =
            row.sides.iter().map(|side| &side.deltas).filter(|deltas| !deltas.is_empty()).collect();
        let sessions: usize = sides.iter().map(|deltas| deltas.len()).sum();
        let by = sides.iter().map(|deltas| farthest(deltas)).fold(0.0, f64::max);
        (row.status == Status::Ok && sessions >= TELLING).then(|| LayoutEffect {
            by: six_digits(by),
            sessions,
            case: row.title.clone(),
            report: report.id.clone(),
        })
    };
    report.rows.iter().filter_map(|row| Some((row, effect(row)?))).collect()
}

/// Returns the first error about layouts in a report.
pub(crate) fn problem(report: &Report) -> Option<String> {
    let fixed = report.builds.iter().any(|build| matches!(build.layout, Some(Layout::Fixed(_))));
    // Engines of one program share one layout, and two builds with equal bytes have equal layouts.
    let differ = |row: &Row| {
        let code = |side: &Side| {
            let key = side.key.parse::<Key>().ok();
            (side.build, key.map(|key| (key.engine, key.kernel)))
        };
        let mut candidates = row.sides.iter().filter(|side| side.role == Role::Candidate);
        candidates.any(|side| row.sides.first().is_some_and(|first| code(side) != code(first)))
    };
    let judged = report.rows.iter().any(differ) && !report.plan.same_code;
    if fixed && judged && report.plan.fixed_layout.is_none() {
        return Some("layout was not covered, but the differences are judged as if it were".to_owned());
    }
    let wrong = report.rows.iter().find(|row| {
        row.layouts.as_ref().is_some_and(|moved| !(0.0..1.0).contains(&moved.by) || moved.sessions < TELLING)
    });
    wrong.map(|row| format!("{}: layouts cannot have this effect, or were measured too rarely", row.title))
}
