//! `password needs-rehash`: whether hashes fall short of the costs asked for.

use super::bulk::{Entry, Lines};
use super::{NO, UNKNOWN, YES, costs, print, print_json};
use crate::flags::NeedsRehashArgs;
use crate::out;
use anyhow::Result;
use hashmill_hash::password::{Limits, PasswordHash, PhcError, Policy, Syntax};
use serde::Serialize;

/// The answer for one hash. The names of the fields are those of the JSON.
#[derive(Serialize)]
struct Answer {
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// `null` if there is no answer.
    needs_rehash: Option<bool>,
    reasons: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

pub(super) fn run(low: &NeedsRehashArgs) -> Result<u8> {
    let policy = costs::policy(&low.policy)?;
    let syntax = costs::syntax(low.lenient);
    let mut count = [0_u64; 3];
    let mut handle = |entry: &Entry, in_file: bool| {
        let mut answer = answer(&policy, &entry.hash, syntax);
        count[usize::from(code(answer.needs_rehash))] += 1;
        if in_file {
            answer.line = Some(entry.line);
            answer.name.clone_from(&entry.name);
        }
        show(&answer, in_file.then(|| entry.label()), low)
    };
    if let Some(hash) = &low.stored.hash {
        let hash = hash.to_string_lossy().into_owned();
        handle(&Entry { line: 1, name: None, hash }, false)?;
    } else if let Some(file) = &low.stored.file {
        let mut lines = Lines::open(file)?;
        while let Some(line) = lines.next()? {
            if let Some(entry) = Entry::of(&line) {
                handle(&entry, true)?;
            }
        }
        if count == [0; 3] {
            out::complain(&format!("{}: no hashes in it", out::shown(file)));
            return Ok(UNKNOWN);
        }
    }
    let [yes, _, unknown] = count;
    Ok(if unknown > 0 { UNKNOWN } else { code(Some(yes > 0)) })
}

fn code(needs_rehash: Option<bool>) -> u8 {
    match needs_rehash {
        Some(true) => YES,
        Some(false) => NO,
        None => UNKNOWN,
    }
}

fn answer(policy: &Policy, hash: &str, syntax: Syntax) -> Answer {
    // Nothing is computed, so no cost is too high to be told about.
    let decoded: Result<PasswordHash, PhcError> = PasswordHash::decode(hash, syntax, &Limits::NONE);
    let (needs_rehash, reasons, error) = match decoded {
        Ok(hash) => {
            let reasons: Vec<String> = policy.shortcomings(&hash).map(|reason| reason.to_string()).collect();
            (Some(!reasons.is_empty()), reasons, None)
        }
        Err(error) => (None, Vec::new(), Some(error.to_string())),
    };
    Answer { line: None, name: None, needs_rehash, reasons, error }
}

fn show(answer: &Answer, label: Option<String>, low: &NeedsRehashArgs) -> Result<()> {
    if low.json {
        return print_json(answer);
    }
    let label = label.map_or_else(String::new, |label| format!("{label}: "));
    if let Some(error) = &answer.error {
        out::complain(&format!("{label}{error}"));
    } else if !low.quiet {
        let words = if answer.reasons.is_empty() {
            "no".to_owned()
        } else {
            format!("yes: {}", answer.reasons.join(", "))
        };
        return print(&format!("{label}{words}\n"));
    }
    Ok(())
}
