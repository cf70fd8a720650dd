//! One race: heats of those who are still in it, until nobody is left to be told apart.

use crate::campaign::{self, Measured, Observer, Outcome};
use crate::cmd::error::Error;
use crate::cmd::progress::Display;
use crate::cmd::{contests, interrupt};
use crate::model::key::Key;
use crate::model::reach::Reach;
use crate::plan::Plan;
use crate::report::assemble::wire_plan;
use crate::session::peer::{Launcher, PeerError};
use crate::session::process::{Processes, Program};
use crate::session::protocol::{Reply, Request};
use crate::stats::verdict::{Look, Rule};
use crate::tune::standing::settle;
use crate::tune::{Candidate, Profile, SCHEMA, TuneRecord};
use hashmill_machine::Machine;
use hashmill_machine::date::now_utc;
use std::io::Write as _;
use std::time::Duration;

/// What all races of a command share.
pub(super) struct Course {
    plan: Plan,
    processes: Processes,
    program_sha256: String,
    machine: Machine,
    profile: Profile,
}

impl Course {
    pub(super) fn new(
        plan: Plan,
        program: Program,
        program_sha256: String,
        machine: Machine,
        profile: Profile,
    ) -> Self {
        let timeout = Duration::from_secs(plan.timeout_s);
        let processes = Processes { programs: vec![program], timeout };
        Course { plan, processes, program_sha256, machine, profile }
    }

    /// Runs a race. One that was interrupted holds the sessions until then; none if there was not even one.
    pub(super) fn run(&mut self, subject: String, keys: &[Key]) -> Result<Option<TuneRecord>, Error> {
        let keys = &self.fit(&subject, keys)?[..];
        let candidate = |key: &Key| Candidate {
            case: key.to_string(),
            threads: key.threads,
            kernel: String::new(),
            relative: Vec::new(),
        };
        let mut field: Vec<Candidate> = keys.iter().map(candidate).collect();
        // Known after the first heat; before it there is nothing to judge.
        let mut reach = Reach::Near;
        let mut watch = Watch { display: Display::new(keys.len()), done: 0 };
        loop {
            let relative: Vec<&[f64]> = field.iter().map(|c| c.relative.as_slice()).collect();
            let standing = settle(&self.plan.rule, reach, &relative);
            let Some(wanted) = standing.wanted else { break };
            let mut heat = standing.survivors();
            // The best so far is what the others are measured against.
            heat.retain(|index| *index != standing.best);
            heat.insert(0, standing.best);
            watch.done = field[standing.best].relative.len();
            let measured = self.heat(&subject, keys, &heat, wanted, &mut watch)?;
            if !measured.sessions.is_empty() {
                reach = measured.reach();
            }
            for (side, index) in heat.into_iter().enumerate() {
                field[index].relative.extend(measured.deltas(side));
                field[index].kernel.clone_from(&measured.seen[side].kernel);
            }
            if measured.outcome != Outcome::Complete {
                break;
            }
        }
        if field.iter().all(|candidate| candidate.relative.is_empty()) {
            return Ok(None);
        }
        let record = TuneRecord {
            schema: SCHEMA.to_owned(),
            tool: env!("CARGO_PKG_VERSION").to_owned(),
            created: now_utc(),
            machine: self.machine.clone(),
            program_sha256: self.program_sha256.clone(),
            subject,
            reach,
            profile: self.profile,
            plan: wire_plan(&self.plan, keys.len() - 1, false),
            candidates: field,
            best: 0,
            tied: Vec::new(),
            chosen: 0,
            seal: String::new(),
        };
        Ok(Some(record.conclude()))
    }

    /// Those that can run here at all: the others are named and left out, as fewer threads or less memory may do.
    fn fit(&self, subject: &str, keys: &[Key]) -> Result<Vec<Key>, Error> {
        let mut fit = Vec::new();
        for key in keys {
            let lacks = lacks(key, self.plan.seed, &self.processes);
            match lacks.map_err(|error| Error::Refused(format!("{key}: {error}")))? {
                None => fit.push(key.clone()),
                Some(reason) => writeln!(std::io::stderr(), "{key} is left out: {reason}")?,
            }
        }
        match fit.len() {
            0 | 1 => Err(Error::Refused(format!("{subject}: fewer than two candidates can run here"))),
            _ => Ok(fit),
        }
    }

    /// Sessions of those who are still in the race, up to `wanted` of each.
    fn heat(
        &self,
        subject: &str,
        keys: &[Key],
        heat: &[usize],
        wanted: usize,
        watch: &mut Watch,
    ) -> Result<Measured, Error> {
        let contest = contests::race(subject, heat.iter().map(|index| &keys[*index]));
        // Who leaves is decided by the race; the campaign only counts sessions.
        let look = Look { sessions: wanted - watch.done, alpha: 0.01 };
        let rule = Rule { looks: vec![look], ..Rule::standard() };
        let seed = self.plan.seed.wrapping_add(watch.done as u64);
        let plan = Plan { rule, seed, ..self.plan.clone() };
        let measured = campaign::run(vec![contest], &plan, &self.processes, watch).remove(0);
        match &measured.outcome {
            Outcome::Complete | Outcome::Interrupted | Outcome::Running => Ok(measured),
            Outcome::Skipped(why) | Outcome::Incorrect(why) | Outcome::Failed(why) => {
                Err(Error::Refused(format!("{subject}: a candidate cannot race: {why}")))
            }
        }
    }
}

/// What this machine lacks for a case, by trying it once in a process of its own.
fn lacks(key: &Key, seed: u64, launcher: &dyn Launcher) -> Result<Option<String>, PeerError> {
    let mut peer = launcher.launch(0, 0)?;
    let open = Request::Open { slot: 0, case: key.to_string(), seed, share: false };
    for request in [open, Request::Check { slot: 0 }] {
        // Whatever else is wrong shows in the race, with its own words.
        if let Reply::Unavailable { reason } = peer.ask(&request)? {
            return Ok(Some(reason));
        }
    }
    Ok(None)
}

struct Watch {
    display: Display,
    /// Sessions of the heats before.
    done: usize,
}

impl Observer for Watch {
    fn progress(&mut self, _: usize, wanted: usize, all: &[Measured]) {
        let race = &all[0];
        self.display.set(self.done + race.sessions.len(), self.done + wanted, &race.contest.title);
    }

    fn stop(&self) -> bool {
        interrupt::came()
    }
}
