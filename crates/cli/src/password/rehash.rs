//! `password needs-rehash`: whether hashes should be replaced to meet the costs asked for, and how they stand to them.

use super::entry::{Entry, Field, Layout};
use super::lines::{Lines, unread_after};
use super::{NO, UNKNOWN, YES, costs, stored};
use crate::flags::NeedsRehashArgs;
use crate::out::{self, Closed, Out, json};
use anyhow::Result;
use hashmill_hash::password::{Limits, Policy, Standing, Syntax};
use serde::Serialize;
use std::ops::ControlFlow;
use std::path::Path;

/// The answer for one hash. The names of the fields are those of the JSON.
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
    /// Nobody enters with any password.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    locked: bool,
    /// Everything in which the hash is not as asked for.
    reasons: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

pub(super) fn run(low: &NeedsRehashArgs) -> Result<u8> {
    let mut asked = Asked {
        policy: costs::policy(&low.policy)?,
        syntax: costs::syntax(low.lenient),
        low,
        out: Out::new(None),
        count: [0; 3],
        locked: 0,
    };
    let mut whole = true;
    if low.stored.hash.is_some() {
        let hash = stored::typed(&low.stored, None)?;
        let hash = String::from_utf8_lossy(&hash).into_owned();
        // Whether the answer could be written is known to `out`.
        let (ControlFlow::Continue(()) | ControlFlow::Break(Closed)) =
            asked.handle(&Entry::alone(hash), false);
    } else if let Some(file) = &low.stored.file {
        whole = asked.file(file, &mut Lines::open(file)?, Layout::of(&low.layout)?);
    }
    let [yes, _, unknown] = asked.count;
    let code = if unknown > 0 || !whole { UNKNOWN } else { code(Some(yes > 0)) };
    Ok(asked.out.finish().answer(code, UNKNOWN))
}

/// What is asked for, and how the answers have been so far.
struct Asked<'a> {
    policy: Policy,
    syntax: Syntax,
    low: &'a NeedsRehashArgs,
    out: Out,
    /// By exit code.
    count: [u64; 3],
    /// Of no matter: nobody enters with them.
    locked: u64,
}

impl Asked<'_> {
    /// All hashes of a file; whether these were all.
    fn file(&mut self, file: &Path, lines: &mut Lines, mut layout: Layout) -> bool {
        let file = out::shown(file);
        let mut reached = 0;
        loop {
            let line = match lines.next() {
                Ok(Some(line)) => line,
                Ok(None) if self.count == [0; 3] && self.locked == 0 => {
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

    fn handle(&mut self, entry: &Entry, in_file: bool) -> ControlFlow<Closed> {
        let mut answer = answer(&self.policy, &entry.field, self.syntax);
        if answer.locked {
            self.locked += 1;
        } else {
            self.count[usize::from(code(answer.needs_rehash))] += 1;
        }
        let mut label = String::new();
        if in_file {
            answer.line = Some(entry.line);
            answer.name.clone_from(&entry.name);
            label = format!("{}: ", entry.label());
        }
        if self.low.json {
            return self.out.print(|out| json::line(out, &answer));
        }
        if let Some(error) = &answer.error {
            self.out.note(&format!("{label}{error}"));
            return ControlFlow::Continue(());
        }
        if self.low.quiet {
            return ControlFlow::Continue(());
        }
        self.out.print(|out| writeln!(out, "{label}{}", words(&answer)))
    }
}

fn code(needs_rehash: Option<bool>) -> u8 {
    match needs_rehash {
        Some(true) => YES,
        Some(false) => NO,
        None => UNKNOWN,
    }
}

fn answer(policy: &Policy, field: &Field, syntax: Syntax) -> Answer {
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
        Field::Nothing(reason) => return Answer { error: Some((*reason).to_owned()), ..blank },
    };
    // Nothing is computed, so no cost is too high to be told about.
    let stored = match stored::decode(text, syntax, &Limits::NONE) {
        Ok(stored) => stored,
        Err(words) => return Answer { error: Some(words), ..blank },
    };
    match stored.argon2() {
        Some(hash) => Answer {
            needs_rehash: Some(policy.wants_rehash(hash)),
            standing: Some(match policy.compare(hash) {
                Standing::Same => "same",
                Standing::Stronger => "stronger",
                Standing::Weaker => "weaker",
                _ => "different",
            }),
            reasons: policy.differences(hash).map(|difference| difference.to_string()).collect(),
            ..blank
        },
        None => Answer {
            needs_rehash: Some(true),
            standing: Some("foreign"),
            reasons: vec![stored::kind(&stored)],
            ..blank
        },
    }
}

/// `yes` or `no`, how the hash stands to what is asked for, and in what.
fn words(answer: &Answer) -> String {
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
