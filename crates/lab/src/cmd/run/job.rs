//! Job for single cases, with the probes of their lower bounds if requested.

use crate::cmd::context::error::Error;
use crate::cmd::context::setup::LabSetup;
use crate::cmd::measuring::Job;
use crate::cmd::measuring::pairings::{alone, refuse_sustained};
use crate::cmd::measuring::programs::own_program;
use crate::measure::plan::Plan;
use crate::measure::probes::limits;
use crate::model::key::Key;
use crate::model::registry::Registry;
use crate::report::schema::Kind;

/// Creates the job: each case alone, and the probes for `--floor`.
pub(crate) fn job(lab: &LabSetup<'_>, mut keys: Vec<Key>, floor: bool, plan: Plan) -> Result<Job, Error> {
    refuse_sustained(&keys)?;
    if floor {
        add_limits(lab.registry, &mut keys)?;
    }
    let groups = keys.iter().map(alone).collect();
    Ok(Job::new(Kind::Run, own_program(lab)?, groups, plan))
}

/// Adds the probes of all limits that apply to the cases.
fn add_limits(registry: &Registry, keys: &mut Vec<Key>) -> Result<(), Error> {
    for key in keys.clone() {
        let Some(work) = registry.work(&key) else { continue };
        for probe in limits(&work, key.threads) {
            let probe: Key = probe.parse()?;
            if !keys.contains(&probe) {
                keys.push(probe);
            }
        }
    }
    Ok(())
}
