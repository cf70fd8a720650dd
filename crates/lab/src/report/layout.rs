//! What a report says of link layout: whether it was covered, and what it hides.

use super::schema::{Comparison, Moved, Report, Role, Row, Side, Status, Verdict};
use crate::model::key::Key;
use crate::stats::layout::{TELLING, farthest, sees};
use crate::stats::order::six_digits;
use serde::{Deserialize, Serialize};

/// What the sessions of a build did about the luck of link layout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "is", content = "by", rename_all = "lowercase")]
pub enum Layout {
    /// Every session ran a link of its own, with functions and data in another order, made by this linker.
    Shuffled(String),
    /// All of its sessions ran one link, for this reason.
    Fixed(String),
}

impl Report {
    /// Whether every session of every build had a link of its own.
    pub(super) fn is_shuffled(&self) -> bool {
        self.builds.iter().all(|build| matches!(build.layout, Some(Layout::Shuffled(_))))
    }
}

/// The words for a verdict on which layout has its say; nothing where it has none.
pub(super) fn verdict(report: &Report, row: &Row, comparison: &Comparison) -> Option<String> {
    let Comparison { p_family, ratio, sessions, sessions_needed, .. } = *comparison;
    if comparison.verdict != Verdict::Inconclusive || sessions == 0 {
        return None;
    }
    let rule = report.plan.rule().of_layouts(row.layouts.as_ref().map(|moved| moved.by));
    if rule.may_be_layout(p_family, ratio, row.reach) {
        return Some("not distinguishable from layout".to_owned());
    }
    if !report.is_shuffled() {
        return None;
    }
    let seen = sees(&rule, report.candidates().count(), &row.evidence(comparison.side))?;
    let needed =
        super::view::needed(sessions_needed).map_or_else(String::new, |needed| format!("; {needed}"));
    Some(format!("inconclusive (sees {:.1} % and more{needed})", seen * 100.0))
}

/// What is said below the tables.
pub(super) fn notes(report: &Report) -> Vec<String> {
    let compared = report.rows.iter().any(|row| row.sides.len() > 1);
    let mut notes = Vec::new();
    if !compared {
        return notes;
    }
    if let Some(spread) = report.plan.fixed_layout {
        let mut uncovered: Vec<(&str, Vec<&str>)> = Vec::new();
        for build in &report.builds {
            let Some(Layout::Fixed(why)) = &build.layout else { continue };
            match uncovered.iter_mut().find(|(known, _)| known == why) {
                Some((_, labels)) => labels.push(&build.label),
                None => uncovered.push((why, vec![&build.label])),
            }
        }
        for (why, labels) in uncovered {
            notes.push(format!("layout of {} not covered: {why}", labels.join(", ")));
        }
        notes.push(format!(
            "all sessions of a build ran one link: a difference below what layouts do to a case, or none, can be their \
             work; {}",
            moves(report, spread)
        ));
    }
    if let (true, Some(Layout::Shuffled(linker))) =
        (report.is_shuffled(), report.builds.first().and_then(|build| build.layout.as_ref()))
    {
        let widest = report.candidates().map(|(_, comparison)| comparison.spread).fold(0.0, f64::max);
        notes.push(format!(
            "layout covered: each session ran links of its own, shuffled by {linker}; with their layouts the sessions \
             of a row differ by up to {:.2} % (standard deviation)",
            widest.exp_m1() * 100.0
        ));
    }
    notes
}

/// What layouts are taken to do to the rows of a report whose sides have one link each, and from where that is known.
pub(crate) fn moves(report: &Report, unknown: f64) -> String {
    let compared = || report.rows.iter().filter(|row| row.sides.len() > 1);
    let mut words: Vec<String> = Vec::new();
    let mut said: Vec<&Moved> = Vec::new();
    for moved in compared().filter_map(|row| row.layouts.as_ref()) {
        if !said.contains(&moved) {
            said.push(moved);
            words.push(format!(
                "{:.1} % in {}, the farthest of {} sessions with links of their own (report {} of this machine)",
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
            "{:.0} %{rows}, as measured of the work that layouts move most, which is no bound",
            unknown * 100.0
        ));
    }
    words.join("; ")
}

/// What each row of a report says of layouts, if its sessions had links of their own and were enough.
pub(crate) fn shown(report: &Report) -> Vec<(&Row, Moved)> {
    if !report.is_valid() || !report.is_shuffled() || report.builds.is_empty() {
        return Vec::new();
    }
    let told = |row: &Row| {
        let sides: Vec<&Vec<f64>> =
            row.sides.iter().map(|side| &side.deltas).filter(|deltas| !deltas.is_empty()).collect();
        let sessions: usize = sides.iter().map(|deltas| deltas.len()).sum();
        let by = sides.iter().map(|deltas| farthest(deltas)).fold(0.0, f64::max);
        (row.status == Status::Ok && sessions >= TELLING).then(|| Moved {
            by: six_digits(by),
            sessions,
            case: row.title.clone(),
            report: report.id.clone(),
        })
    };
    report.rows.iter().filter_map(|row| Some((row, told(row)?))).collect()
}

/// What is wrong about layout in a report, if anything is.
pub(super) fn problem(report: &Report) -> Option<String> {
    let fixed = report.builds.iter().any(|build| matches!(build.layout, Some(Layout::Fixed(_))));
    // One piece of code at two settings has one layout, and two builds of the same bytes have none to differ in.
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
        return Some("layout was not covered, but differences are judged as if it had been".to_owned());
    }
    let told = report.rows.iter().find(|row| {
        row.layouts.as_ref().is_some_and(|moved| !(0.0..1.0).contains(&moved.by) || moved.sessions < TELLING)
    });
    told.map(|row| format!("{}: layouts cannot do that to it, or were not seen often enough", row.title))
}
