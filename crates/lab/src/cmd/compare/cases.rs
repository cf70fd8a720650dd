//! Comparison of cases of one program, in one process per session.

use crate::cmd::context::error::Error;
use crate::cmd::context::setup::LabSetup;
use crate::cmd::measuring::pairings::wants_control;
use crate::cmd::measuring::programs::{other_program, own_program};
use crate::cmd::measuring::{Job, pairings};
use crate::measure::campaign::CaseGroup;
use crate::measure::plan::Plan;
use crate::measure::session::process::Program;
use crate::model::key::Key;
use crate::model::registry::Registry;
use crate::report::schema::{Build, Kind, Layout};

/// Program of the cases as it is: this one, or another build of it.
pub(crate) fn existing_program(
    lab: &LabSetup<'_>,
    other_build: Option<&str>,
) -> Result<(Build, Program), Error> {
    let (build, program) = match other_build {
        Some(name) => other_program(lab, name)?,
        None => own_program(lab)?,
    };
    let layout = Some(Layout::Fixed(
        "this program has one layout; --from SOURCE links it again for each session".to_owned(),
    ));
    Ok((Build { layout, ..build }, program))
}

/// Job for pairs, baseline first in each.
pub(crate) fn job(
    pairs: &[(Key, Key)],
    (build, program): (Build, Program),
    is_relinked: bool,
    mut plan: Plan,
) -> Result<Job, Error> {
    let meetings = pairs.iter().enumerate();
    let meetings = meetings.map(|(i, (baseline, candidate))| {
        pairings::duel(baseline, candidate, wants_control(plan.control, i))
    });
    let groups: Vec<CaseGroup> = meetings.collect::<Result<_, _>>()?;
    plan.rule = match is_relinked {
        true => plan.rule.with_links(),
        // The same code with two settings has one layout.
        false if groups.iter().any(CaseGroup::is_of_two_codes) => plan.rule.with_fixed_layout(),
        false => plan.rule,
    };
    Ok(Job::new(Kind::Engines, (build, program), groups, plan))
}

/// Two explicit cases.
pub(crate) fn two(registry: &Registry, baseline: &str, candidate: &str) -> Result<(Key, Key), Error> {
    let one = |word: &str| match <[Key; 1]>::try_from(registry.select(&[word])?) {
        Ok([key]) => Ok(key),
        Err(keys) => Err(Error::Usage(format!(
            "`{word}` names {} cases, but a side must be one case; --engines BASELINE,CANDIDATE allows several",
            keys.len()
        ))),
    };
    Ok((one(baseline)?, one(candidate)?))
}

/// Pairs each case of the baseline engine with the candidate's case of the same name.
pub(crate) fn pairs(
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
