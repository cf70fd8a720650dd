//! Why a case takes its time: events per call, where the system counts them, and the functions that it is spent in.
//!
//! Only what the clock counts is shown. Page faults and switches are counted within its stretches, and of the samples of
//! perf those count that fall into one. Hardware events are the difference of two runs that differ only in their number of
//! calls, as in [`count`](crate::count), and are left out where anything is done between the stretches. On machines
//! without hardware counters, most virtual ones, the system's own events remain.

pub(crate) mod perf;
pub(crate) mod reading;

use crate::model::key::Key;
use crate::session::peer::{Launcher, Peer};
use crate::session::protocol::{Reply, Request, Sampled, Watched};
use std::collections::BTreeMap;

/// Events by their name in perf.
pub(crate) type Events = BTreeMap<String, f64>;

/// What was seen of a case.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Profile {
    pub(crate) kernel: String,
    pub(crate) ns_per_call: f64,
    /// Per call; what is not there was not counted.
    pub(crate) events: Events,
    /// Where the events come from.
    pub(crate) source: String,
    /// Size of the input in bytes, if it counts bytes.
    pub(crate) input_bytes: Option<u64>,
    /// Bytes of the process in huge pages.
    pub(crate) huge_bytes: Option<u64>,
    /// Share of the time in percent, and the function.
    pub(crate) functions: Vec<(f64, String)>,
    /// Whether the clock stands still while inputs and results are handled between calls.
    pub(crate) is_interrupted: bool,
}

/// Calls within which page faults and switches are counted, where each has a stretch of its own.
const COUNTED_CALLS: u64 = 1024;

/// A short run shows whether what is done between calls takes longer than they; then all others are shorter by this factor.
const SHORT_NS: u64 = 10_000_000;
const SHORTER: u64 = 8;

/// Stretches of the clock in a run whose samples are looked at.
const MOST_STRETCHES: u64 = 500_000;

/// What is known of a case before any tool looks at it.
pub(crate) struct Plain {
    pub(crate) profile: Profile,
    /// Calls that fill the time that was meant.
    pub(crate) calls: u64,
    /// Calls in as many stretches of the clock as can be told.
    pub(crate) watched_calls: u64,
}

/// What the session itself tells: kernel, time, page faults, switches and huge pages.
pub(crate) fn plain(key: &Key, launcher: &dyn Launcher, meant_ns: u64) -> Result<Plain, String> {
    let mut peer = launcher.launch(0, 0).map_err(|error| error.to_string())?;
    let unit = match ask(&mut *peer, &open(key))? {
        Reply::Opened { unit, .. } => unit,
        other => return Err(refused(other)),
    };
    let kernel = match ask(&mut *peer, &Request::Check { slot: 0, amounts: false })? {
        Reply::Checked { kernel, .. } => kernel,
        other => return Err(refused(other)),
    };
    let (calls, sampled) = sample(&mut *peer, SHORT_NS)?;
    let is_mostly_untimed = calls > 1 && sampled.ns < SHORT_NS / 2;
    let meant_ns = if is_mostly_untimed { meant_ns / SHORTER } else { meant_ns };
    let (calls, sampled) = sample(&mut *peer, meant_ns)?;
    let counted_calls = calls.min(COUNTED_CALLS);
    let watched = match ask(&mut *peer, &Request::Watch { slot: 0, iterations: counted_calls, usage: true })?
    {
        Reply::Watched(watched) => watched,
        other => return Err(refused(other)),
    };
    let is_interrupted = watched.stretches() > 1;
    let watched_calls = match is_interrupted {
        true => calls.min((MOST_STRETCHES / watched.stretches() as u64).max(1).saturating_mul(counted_calls)),
        false => calls,
    };
    let huge_bytes = match ask(&mut *peer, &Request::Memory)? {
        Reply::Memory(memory) => memory.huge_bytes,
        other => return Err(refused(other)),
    };
    let per_call = |count: Option<u64>| count.map(|count| count as f64 / counted_calls as f64);
    let seen = [("page-faults", per_call(watched.faults)), ("context-switches", per_call(watched.switches))];
    let profile = Profile {
        kernel,
        ns_per_call: sampled.ns as f64 / calls as f64,
        events: seen.into_iter().filter_map(|(name, count)| Some((name.to_owned(), count?))).collect(),
        source: "the system's own counts; no perf".to_owned(),
        input_bytes: (unit == "bytes").then_some(key.size.0),
        huge_bytes,
        functions: Vec::new(),
        is_interrupted,
    };
    Ok(Plain { profile, calls, watched_calls })
}

/// A sample of as many calls as fill `meant_ns`.
fn sample(peer: &mut dyn Peer, meant_ns: u64) -> Result<(u64, Sampled), String> {
    let calls = match ask(peer, &Request::Calibrate { slot: 0, sample_ns: meant_ns })? {
        Reply::Calibrated { iterations, .. } => iterations.max(1),
        other => return Err(refused(other)),
    };
    match ask(peer, &Request::Sample { slot: 0, iterations: calls })? {
        Reply::Sampled(sampled) => Ok((calls, sampled)),
        other => Err(refused(other)),
    }
}

/// One session of `calls` calls and nothing else, under whatever the launcher puts around it.
pub(crate) fn work(key: &Key, launcher: &dyn Launcher, calls: u64) -> Result<(), String> {
    match end_of(key, launcher, &Request::Work { slot: 0, iterations: calls })? {
        Reply::Sampled(_) => Ok(()),
        other => Err(refused(other)),
    }
}

/// The same, with the times at which the clock ran.
pub(crate) fn watch(key: &Key, launcher: &dyn Launcher, calls: u64) -> Result<Watched, String> {
    match end_of(key, launcher, &Request::Watch { slot: 0, iterations: calls, usage: false })? {
        Reply::Watched(watched) => Ok(watched),
        other => Err(refused(other)),
    }
}

/// The answer to `last`, in a session of its own whose case is open and checked. The session is over then.
fn end_of(key: &Key, launcher: &dyn Launcher, last: &Request) -> Result<Reply, String> {
    let mut peer = launcher.launch(0, 0).map_err(|error| error.to_string())?;
    for request in [open(key), Request::Check { slot: 0, amounts: false }] {
        match ask(&mut *peer, &request)? {
            Reply::Opened { .. } | Reply::Checked { .. } => {}
            other => return Err(refused(other)),
        }
    }
    ask(&mut *peer, last)
}

fn open(key: &Key) -> Request {
    Request::Open { slot: 0, case: key.to_string(), seed: 1, share: false }
}

fn ask(peer: &mut dyn Peer, request: &Request) -> Result<Reply, String> {
    peer.ask(request).map_err(|error| error.to_string())
}

fn refused(reply: Reply) -> String {
    match reply {
        Reply::Unavailable { reason } => format!("not available here: {reason}"),
        Reply::Failed { reason } => reason,
        other => format!("the session gave another answer than was asked for: {other:?}"),
    }
}

/// Events of the calls by which two runs differ.
pub(crate) fn per_call(once: &Events, twice: &Events, calls: u64) -> Events {
    let both = once.iter().filter_map(|(name, few)| Some((name, few, twice.get(name)?)));
    both.map(|(name, few, many)| (name.clone(), ((many - few) / calls as f64).max(0.0))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_difference_belongs_to_the_calls() {
        let events =
            |list: &[(&str, f64)]| list.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect::<Events>();
        let once = events(&[("cycles", 1500.0), ("page-faults", 90.0), ("branches", 1.0)]);
        let twice = events(&[("cycles", 2500.0), ("page-faults", 88.0)]);
        assert_eq!(per_call(&once, &twice, 10), events(&[("cycles", 100.0), ("page-faults", 0.0)]));
    }
}
