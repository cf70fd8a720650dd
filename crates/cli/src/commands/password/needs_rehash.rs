//! `password needs-rehash`: whether hashes should be replaced to meet the requested costs, and how they compare with them.

use super::costs::{self, StoredLimits};
use super::input::entry::{Entry, Field, Layout};
use super::input::lines::{Lines, unread_after};
use super::input::stored_hash;
use super::report::{NO, UNKNOWN, YES};
use crate::flags::NeedsRehashArgs;
use crate::output::{self, Out, StdoutClosed, json};
use anyhow::Result;
use hashmill_hash::password::{Limits, Policy, PolicyComparison};
use serde::Serialize;
use std::ops::ControlFlow;
use std::path::Path;

/// The answer for one hash. The field names are those of the JSON.
#[derive(Serialize)]
struct Answer {
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// `null` if there is no answer.
    needs_rehash: Option<bool>,
    /// `same`, `stronger`, `weaker`, `different` or `foreign`; absent if there is no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    standing: Option<&'static str>,
    /// No password gives access.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    locked: bool,
    /// Every difference from the requested costs.
    reasons: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

pub(super) fn run(flags: &NeedsRehashArgs) -> Result<u8> {
    let mut comparison = Comparison {
        policy: costs::policy(&flags.policy)?,
        // Nothing is computed, so no cost is over a limit.
        limits: StoredLimits { limits: Limits::NONE, syntax: costs::syntax(flags.lenient) },
        flags,
        out: Out::new(None),
        counts: [0; 3],
        locked: 0,
    };
    let mut is_complete = true;
    if flags.stored.hash.is_some() {
        let hash = stored_hash::typed(&flags.stored, None)?;
        let hash = String::from_utf8_lossy(&hash).into_owned();
        // `out` keeps whether the answer was written.
        let (ControlFlow::Continue(()) | ControlFlow::Break(StdoutClosed)) =
            comparison.handle(&Entry::single(hash), false);
    } else if let Some(file) = &flags.stored.file {
        is_complete = comparison.file(file, &mut Lines::open(file)?, Layout::from_flags(&flags.layout)?);
    }
    let [yes, _, unknown] = comparison.counts;
    let code = if unknown > 0 || !is_complete { UNKNOWN } else { exit_code(Some(yes > 0)) };
    Ok(comparison.out.finish().answer_code(code, UNKNOWN))
}

/// The requested policy, and the answers so far.
struct Comparison<'a> {
    policy: Policy,
    limits: StoredLimits,
    flags: &'a NeedsRehashArgs,
    out: Out,
    /// Number of answers by exit code.
    counts: [u64; 3],
    /// Locked entries, which do not affect the exit code.
    locked: u64,
}

impl Comparison<'_> {
    /// Compares all hashes of a file. Returns whether the file was read to its end.
    fn file(&mut self, file: &Path, lines: &mut Lines, mut layout: Layout) -> bool {
        let file = output::display_path(file);
        let mut reached = 0;
        loop {
            let line = match lines.next() {
                Ok(Some(line)) => line,
                Ok(None) if self.counts == [0; 3] && self.locked == 0 => {
                    self.out.fail(&format!("{file}: no hashes in it"));
                    return false;
                }
                Ok(None) => return true,
                Err(error) => {
                    self.out.fail(&format!("{error:#}"));
                    break;
                }
            };
            reached = line.number;
            match layout.entry(line.number, &line.bytes) {
                Ok(None) => {}
                Ok(Some(entry)) if self.handle(&entry, true).is_continue() => {}
                Ok(Some(_)) => break,
                Err(error) => {
                    self.out.fail(&format!("{file}: {error:#}"));
                    return false;
                }
            }
        }
        self.out.fail(&format!("{file}: {}", unread_after(reached)));
        false
    }

    fn handle(&mut self, entry: &Entry, in_file: bool) -> ControlFlow<StdoutClosed> {
        let mut answer = compare(&self.policy, &entry.field, &self.limits);
        if answer.locked {
            self.locked += 1;
        } else {
            self.counts[usize::from(exit_code(answer.needs_rehash))] += 1;
        }
        let mut label = String::new();
        if in_file {
            answer.line = Some(entry.line);
            answer.name.clone_from(&entry.name);
            label = format!("{}: ", entry.label());
        }
        if self.flags.json {
            return self.out.print(|out| json::line(out, &answer));
        }
        if let Some(error) = &answer.error {
            self.out.note(&format!("{label}{error}"));
            return ControlFlow::Continue(());
        }
        if self.flags.quiet {
            return ControlFlow::Continue(());
        }
        self.out.print(|out| writeln!(out, "{label}{}", summary(&answer)))
    }
}

fn exit_code(needs_rehash: Option<bool>) -> u8 {
    match needs_rehash {
        Some(true) => YES,
        Some(false) => NO,
        None => UNKNOWN,
    }
}

fn compare(policy: &Policy, field: &Field, limits: &StoredLimits) -> Answer {
    let blank = Answer {
        line: None,
        name: None,
        needs_rehash: None,
        standing: None,
        locked: false,
        reasons: Vec::new(),
        error: None,
    };
    let text = match field {
        Field::Hash(text) => text,
        Field::Locked => return Answer { locked: true, ..blank },
        Field::Missing(reason) => return Answer { error: Some((*reason).to_owned()), ..blank },
    };
    let stored = match stored_hash::decode(text, limits) {
        Ok(stored) => stored,
        Err(message) => return Answer { error: Some(message), ..blank },
    };
    match stored.argon2() {
        Some(hash) => Answer {
            needs_rehash: Some(policy.wants_rehash(hash)),
            standing: Some(match policy.compare(hash) {
                PolicyComparison::Same => "same",
                PolicyComparison::Stronger => "stronger",
                PolicyComparison::Weaker => "weaker",
                _ => "different",
            }),
            reasons: policy.differences(hash).map(|difference| difference.to_string()).collect(),
            ..blank
        },
        None => Answer {
            needs_rehash: Some(true),
            standing: Some("foreign"),
            reasons: vec![stored_hash::description(&stored)],
            ..blank
        },
    }
}

/// The answer for people: `yes` or `no`, the result of the comparison, and the differences.
fn summary(answer: &Answer) -> String {
    if answer.locked {
        return "locked".to_owned();
    }
    let head = if answer.needs_rehash == Some(true) { "yes" } else { "no" };
    match answer.standing {
        Some(standing) if !answer.reasons.is_empty() => {
            format!("{head}: {standing}: {}", answer.reasons.join(", "))
        }
        _ => head.to_owned(),
    }
}
