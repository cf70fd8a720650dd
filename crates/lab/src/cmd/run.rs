//! `lab run`: cases alone; `--for` and `--explain` are in files of their own.

use super::args::Run;
use super::contests::{alone, refuse_sustained};
use super::error::Error;
use super::github::{Page, of_banner};
use super::measure::{Job, conclude, conclude_as, measure, own_program};
use super::{Console, Exit, Mount, endurance, explain};
use crate::model::key::Key;
use crate::model::registry::{Registry, Suite};
use crate::probe::limits;
use crate::report::view::View;
use crate::report::{self, schema::Kind};

pub(super) fn main(mount: &Mount<'_>, args: &Run, console: &mut Console<'_>) -> Result<Exit, Error> {
    if args.explain {
        return explain::main(mount, args, console);
    }
    if let Some(length) = args.length {
        return endurance::main(mount, args, length, console);
    }
    if args.floor && !cfg!(feature = "limits") {
        return Err(Error::Usage(
            "--floor needs probes: this program was built without the feature `limits` of hashmill-lab"
                .to_owned(),
        ));
    }
    let page = Page::open(args.measuring.github)?;
    let mut keys = mount.registry.select(&args.patterns)?;
    refuse_sustained(&keys)?;
    let mut suites = mount.registry.suites().iter().filter(|suite| args.patterns.contains(&suite.name));
    let summary = suites.find(|suite| !suite.names.is_empty());
    if args.floor || summary.is_some() {
        add_limits(mount.registry, &mut keys)?;
    }
    let contests = keys.iter().map(alone).collect();
    let job = Job::of(Kind::Run, own_program(mount)?, contests, args.measuring.plan());
    let (report, folder) = measure(mount, &args.measuring, job)?;
    let exit = match summary.filter(|_| args.patterns.len() == 1) {
        Some(suite) => {
            let names = names(mount.registry, suite)?;
            let text = report::brief::render(&report, &names, console.colour);
            conclude_as(&text, &report, &folder, &args.measuring, console)
        }
        None => conclude(&report, &folder, &args.measuring, console),
    }?;
    let view = View::of(&report);
    page.show(&view, of_banner(&view))?;
    Ok(exit)
}

/// What the cases of a suite are called, by the titles of their rows.
fn names(registry: &Registry, suite: &Suite) -> Result<Vec<(String, String)>, Error> {
    let mut names = Vec::new();
    for (name, pattern) in suite.names.iter().zip(&suite.patterns) {
        names.extend(registry.select(&[pattern])?.iter().map(|key| (key.to_string(), name.clone())));
    }
    Ok(names)
}

/// Adds the probes of every limit that a case could meet.
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
