//! `lab duel`: two engines of one program, in one process per session.

use super::args::Duel;
use super::contests::{self, wants_control};
use super::error::Error;
use super::measure::{Job, conclude, measure, own_program};
use super::{Console, Exit, Mount};
use crate::model::key::Key;
use crate::model::registry::Registry;
use crate::report::schema::Kind;

pub(super) fn main(mount: &Mount<'_>, args: &Duel, console: &mut Console<'_>) -> Result<Exit, Error> {
    let pairs = pairs(mount.registry, &args.patterns, &args.engines)?;
    let plan = args.measuring.plan();
    let (build, program) = own_program(mount)?;
    let meetings = pairs.into_iter().enumerate();
    let meetings =
        meetings.map(|(i, (ours, rival))| contests::duel(&ours, &rival, wants_control(plan.control, i)));
    let job = Job {
        kind: Kind::Duel,
        contests: meetings.collect::<Result<_, _>>()?,
        builds: vec![build],
        programs: vec![program],
        plan,
        same_code: false,
    };
    let (report, folder) = measure(mount, &args.measuring, job)?;
    conclude(&report, &folder, &args.measuring, console)
}

/// Which cases meet: each of ours with the rival's of the same name, or two that were written out.
pub(super) fn pairs(
    registry: &Registry,
    patterns: &[String],
    engines: &[String],
) -> Result<Vec<(Key, Key)>, Error> {
    let [ours, rival] = engines else {
        if !engines.is_empty() {
            return Err(Error::Usage("--engines takes exactly two: OURS,RIVAL".to_owned()));
        }
        let keys = registry.select(patterns)?;
        let Ok([ours, rival]) = <[Key; 2]>::try_from(keys) else {
            return Err(Error::Usage(
                "without --engines a duel needs exactly two cases; with --engines OURS,RIVAL any number"
                    .to_owned(),
            ));
        };
        return Ok(vec![(ours, rival)]);
    };
    let with = |engine: &str| -> Vec<String> { patterns.iter().map(|p| with_engine(p, engine)).collect() };
    let left = registry.select(&with(ours))?;
    let right = registry.select(&with(rival))?;
    let same_but_engine = |a: &Key, b: &Key| Key { engine: b.engine.clone(), ..a.clone() } == *b;
    let pairs: Vec<(Key, Key)> = left
        .into_iter()
        .filter_map(|a| right.iter().find(|b| same_but_engine(&a, b)).cloned().map(|b| (a, b)))
        .collect();
    if pairs.is_empty() {
        return Err(Error::Usage(format!("no case of `{ours}` has a counterpart of `{rival}`")));
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
