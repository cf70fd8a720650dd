//! Who is still in the race: a pure function of the sessions so far.

use crate::model::reach::Reach;
use crate::stats::order::median;
use crate::stats::signed_rank::{hodges_lehmann, p_value};
use crate::stats::verdict::Rule;

/// The race after some sessions.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Standing {
    /// The fastest.
    pub(crate) best: usize,
    /// Who was proven slower than the best of a look.
    pub(crate) dropped: Vec<bool>,
    /// Time over that of the best, from the sessions that both have.
    pub(crate) ratio: Vec<f64>,
    /// Sessions that the survivors need next; none when the race is over.
    pub(crate) wanted: Option<usize>,
}

impl Standing {
    pub(crate) fn survivors(&self) -> Vec<usize> {
        (0..self.dropped.len()).filter(|index| !self.dropped[*index]).collect()
    }
}

/// Goes through the looks of the rule as far as the data reach.
pub(crate) fn settle(rule: &Rule, reach: Reach, relative: &[&[f64]]) -> Standing {
    let mut dropped = vec![false; relative.len()];
    let mut wanted = None;
    let family = relative.len().saturating_sub(1).max(1) as f64;
    for look in &rule.looks {
        let alive: Vec<usize> = (0..relative.len()).filter(|index| !dropped[*index]).collect();
        if alive.len() < 2 {
            break;
        }
        if alive.iter().any(|index| relative[*index].len() < look.sessions) {
            wanted = Some(look.sessions);
            break;
        }
        let seen: Vec<&[f64]> = relative.iter().map(|r| &r[..r.len().min(look.sessions)]).collect();
        let best = fastest(&seen, &alive);
        let mut open = false;
        for index in alive.into_iter().filter(|index| *index != best) {
            let deltas = difference(seen[index], seen[best]);
            let slower = hodges_lehmann(&deltas) >= rule.least(reach).ln_1p();
            dropped[index] = slower && p_value(&deltas) < look.alpha / family;
            open |= !dropped[index] && !rule.is_same(&deltas);
        }
        if !open {
            break;
        }
    }
    let alive: Vec<usize> = (0..relative.len()).filter(|index| !dropped[*index]).collect();
    let best = fastest(relative, &alive);
    let ratio = relative.iter().map(|r| {
        let deltas = difference(r, relative[best]);
        if deltas.is_empty() { 1.0 } else { hodges_lehmann(&deltas).exp() }
    });
    Standing { best, ratio: ratio.collect(), dropped, wanted }
}

/// The one of `alive` with the smallest median difference to the first of them; of equals the earlier.
fn fastest(relative: &[&[f64]], alive: &[usize]) -> usize {
    let first = alive.first().copied().unwrap_or(0);
    let centre = |index: usize| {
        let deltas = difference(relative[index], relative[first]);
        if deltas.is_empty() { 0.0 } else { median(&deltas) }
    };
    let mut best = (first, 0.0);
    for &index in alive {
        let centre = centre(index);
        if centre < best.1 {
            best = (index, centre);
        }
    }
    best.0
}

pub(crate) fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}
