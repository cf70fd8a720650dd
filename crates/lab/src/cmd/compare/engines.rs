//! Cases of one program against each other, in one process per session.

use super::builds::{self, Building};
use crate::build::Bench;
use crate::campaign::Contest;
use crate::cmd::Mount;
use crate::cmd::contests::{self, wants_control};
use crate::cmd::error::Error;
use crate::cmd::measure::{Job, other_program, own_program};
use crate::model::key::Key;
use crate::model::registry::Registry;
use crate::plan::Plan;
use crate::report::schema::{Build, Kind, Layout};

/// What has to be measured for the pairs, baseline first in each, and what its sessions are linked of, if that is known.
pub(super) fn job(
    mount: &Mount<'_>,
    pairs: &[(Key, Key)],
    other_build: Option<&str>,
    building: &Building,
    mut plan: Plan,
) -> Result<(Job, Option<Bench>), Error> {
    let (build, program, bench) = match &building.from {
        Some(source) => builds::own(mount, source, building)?,
        None => {
            let (build, program) = match other_build {
                Some(name) => other_program(mount, name)?,
                None => own_program(mount)?,
            };
            let layout =
                Some(Layout::Fixed("this program runs as it is; --from SOURCE links it anew".to_owned()));
            (Build { layout, ..build }, program, None)
        }
    };
    let meetings = pairs.iter().enumerate();
    let meetings = meetings.map(|(i, (baseline, candidate))| {
        contests::duel(baseline, candidate, wants_control(plan.control, i))
    });
    let contests: Vec<Contest> = meetings.collect::<Result<_, _>>()?;
    plan.rule = match bench {
        Some(_) => plan.rule.with_links(),
        // One piece of code at two settings has one layout.
        None if contests.iter().any(Contest::is_of_two_codes) => plan.rule.with_fixed_layout(),
        None => plan.rule,
    };
    Ok((Job::of(Kind::Engines, (build, program), contests, plan), bench))
}

/// Two cases that were written out.
pub(super) fn two(registry: &Registry, baseline: &str, candidate: &str) -> Result<(Key, Key), Error> {
    let one = |word: &str| match <[Key; 1]>::try_from(registry.select(&[word])?) {
        Ok([key]) => Ok(key),
        Err(keys) => Err(Error::Usage(format!(
            "`{word}` names {} cases, and a side is one; with --engines BASELINE,CANDIDATE there may be many",
            keys.len()
        ))),
    };
    Ok((one(baseline)?, one(candidate)?))
}

/// Each case of the baseline engine with the candidate's of the same name.
pub(super) fn pairs(
    registry: &Registry,
    patterns: &[String],
    engines: &[String],
) -> Result<Vec<(Key, Key)>, Error> {
    let [baseline, candidate] = engines else {
        return Err(Error::Usage("--engines takes exactly two: BASELINE,CANDIDATE".to_owned()));
    };
    let with = |engine: &str| -> Vec<String> { patterns.iter().map(|p| with_engine(p, engine)).collect() };
    let left = registry.select(&with(baseline))?;
    let right = registry.select(&with(candidate))?;
    let same_but_engine = |a: &Key, b: &Key| Key { engine: b.engine.clone(), ..a.clone() } == *b;
    let pairs: Vec<(Key, Key)> = left
        .into_iter()
        .filter_map(|a| right.iter().find(|b| same_but_engine(&a, b)).cloned().map(|b| (a, b)))
        .collect();
    if pairs.is_empty() {
        return Err(Error::Usage(format!("no case of `{baseline}` has a counterpart of `{candidate}`")));
    }
    Ok(pairs)
}

fn with_engine(pattern: &str, engine: &str) -> String {
    let mut segments: Vec<&str> = pattern.split('/').collect();
    match segments.get_mut(1) {
        Some(segment) => *segment = engine,
        None => segments.push(engine),
    }
    segments.join("/")
}
