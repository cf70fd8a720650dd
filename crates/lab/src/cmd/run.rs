//! `lab run`: cases alone.

use super::args::Run;
use super::error::Error;
use super::measure::{Job, conclude, measure, own_program};
use super::{Console, Exit, Mount};
use crate::campaign::{Contest, Role, Side};
use crate::model::class::Sampling;
use crate::model::key::Key;
use crate::report::schema::Kind;

pub(super) fn main(mount: &Mount<'_>, args: &Run, console: &mut Console<'_>) -> Result<Exit, Error> {
    let keys = mount.registry.select(&args.patterns)?;
    refuse_sustained(&keys)?;
    let (build, program) = own_program(mount)?;
    let contests = keys.into_iter().map(|key| Contest {
        title: key.to_string(),
        sides: vec![Side { label: key.engine.clone(), role: Role::Baseline, build: 0, key }],
        together: true,
    });
    let job = Job {
        kind: Kind::Run,
        contests: contests.collect(),
        builds: vec![build],
        programs: vec![program],
        plan: args.measuring.plan(),
        same_code: false,
    };
    let (report, folder) = measure(mount, &args.measuring, job)?;
    conclude(&report, &folder, &args.measuring, console)
}

/// A sustained case is a run of minutes, not of samples.
pub(super) fn refuse_sustained(keys: &[Key]) -> Result<(), Error> {
    match keys.iter().find(|key| key.class.sampling() == Sampling::Sustained) {
        Some(key) => Err(Error::Usage(format!("{key} is sustained; measure it with `soak`"))),
        None => Ok(()),
    }
}
