//! What a report says of link layout: whether it was covered, and what it hides.

use super::schema::{Comparison, Report, Role, Row, Side, Verdict};
use crate::model::key::Key;
use crate::stats::layout::sees;
use crate::stats::verdict::Evidence;
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
    let rule = report.plan.rule();
    if rule.may_be_layout(p_family, ratio, row.reach) {
        return Some("not distinguishable from layout".to_owned());
    }
    if !report.is_shuffled() {
        return None;
    }
    let deltas = row.sides[comparison.side].deltas.clone();
    let seen = sees(&rule, report.candidates().count(), &Evidence { deltas, reach: row.reach })?;
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
            "all sessions of a build ran one link: below {0} % a difference, or none, can be the work of layout; {0} % is \
             what layouts seldom reach, and no bound",
            spread * 100.0
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
    (fixed && judged && report.plan.fixed_layout.is_none())
        .then(|| "layout was not covered, but differences are judged as if it had been".to_owned())
}
