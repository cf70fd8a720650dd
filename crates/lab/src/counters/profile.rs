//! Profile of a case: events per call, if the system counts them, and the functions that take the time.
//!
//! Only timed intervals are shown. Page faults and context switches are counted within them, and only samples of perf
//! within them are used. Hardware events are the difference of two runs with different numbers of calls, as in
//! [`callgrind`](crate::counters::callgrind), and are omitted if untimed work happens between the intervals. Machines
//! without hardware counters, such as most virtual ones, have only the events of the system.

use crate::measure::session::handle::{Launcher, SessionHandle};
use crate::measure::session::protocol::{Reply, Request, Sampled, Watched};
use crate::model::key::Key;
use std::collections::BTreeMap;

/// Events by their names in perf.
pub(crate) type Events = BTreeMap<String, f64>;

/// Profile of a case.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Profile {
    pub(crate) kernel: String,
    pub(crate) ns_per_call: f64,
    /// Per call; missing events were not counted.
    pub(crate) events: Events,
    /// Source of the events.
    pub(crate) source: String,
    /// Size of the input in bytes, if the case counts bytes.
    pub(crate) input_bytes: Option<u64>,
    /// Memory of the process in huge pages, in bytes.
    pub(crate) huge_bytes: Option<u64>,
    /// Whether the clock is paused while inputs and results are handled between calls.
    pub(crate) is_interrupted: bool,
}

/// Calls for which page faults and switches are counted, if each call has its own interval.
const COUNTED_CALLS: u64 = 1024;

/// Time of a short run, which shows whether untimed work takes longer than the calls; then all other runs are shorter
/// by this factor.
const SHORT_NS: u64 = 10_000_000;
const SHORTER: u64 = 8;

/// Maximum number of timed intervals in a run with samples.
const MOST_STRETCHES: u64 = 500_000;

/// What is known of a case before a tool profiles it.
pub(crate) struct SessionProfile {
    pub(crate) profile: Profile,
    /// Number of calls that take the target time.
    pub(crate) calls: u64,
    /// Number of calls in as many timed intervals as can be recorded.
    pub(crate) watched_calls: u64,
}

/// Measures what the session itself reports: kernel, time, page faults, switches and huge pages.
pub(crate) fn plain(key: &Key, launcher: &dyn Launcher, meant_ns: u64) -> Result<SessionProfile, String> {
    let mut handle = launcher.launch(0, 0).map_err(|error| error.to_string())?;
    let unit = match ask(&mut *handle, &open(key))? {
        Reply::Opened { unit, .. } => unit,
        other => return Err(refused(other)),
    };
    let kernel = match ask(&mut *handle, &Request::Check { slot: 0, amounts: false })? {
        Reply::Checked { kernel, .. } => kernel,
        other => return Err(refused(other)),
    };
    let (calls, sampled) = sample(&mut *handle, SHORT_NS)?;
    let is_mostly_untimed = calls > 1 && sampled.ns < SHORT_NS / 2;
    let meant_ns = if is_mostly_untimed { meant_ns / SHORTER } else { meant_ns };
    let (calls, sampled) = sample(&mut *handle, meant_ns)?;
    let counted_calls = calls.min(COUNTED_CALLS);
    let watched =
        match ask(&mut *handle, &Request::Watch { slot: 0, iterations: counted_calls, usage: true })? {
            Reply::Watched(watched) => watched,
            other => return Err(refused(other)),
        };
    let is_interrupted = watched.stretches() > 1;
    let watched_calls = match is_interrupted {
        true => calls.min((MOST_STRETCHES / watched.stretches() as u64).max(1).saturating_mul(counted_calls)),
        false => calls,
    };
    let huge_bytes = match ask(&mut *handle, &Request::Memory)? {
        Reply::Memory(memory) => memory.huge_bytes,
        other => return Err(refused(other)),
    };
    let per_call = |count: Option<u64>| count.map(|count| count as f64 / counted_calls as f64);
    let own_counts =
        [("page-faults", per_call(watched.faults)), ("context-switches", per_call(watched.switches))];
    let profile = Profile {
        kernel,
        ns_per_call: sampled.ns as f64 / calls as f64,
        events: own_counts.into_iter().filter_map(|(name, count)| Some((name.to_owned(), count?))).collect(),
        source: "the system's own counts; no perf".to_owned(),
        input_bytes: (unit == "bytes").then_some(key.size.0),
        huge_bytes,
        is_interrupted,
    };
    Ok(SessionProfile { profile, calls, watched_calls })
}

/// Takes a sample with as many calls as take `meant_ns`.
fn sample(handle: &mut dyn SessionHandle, meant_ns: u64) -> Result<(u64, Sampled), String> {
    let calls = match ask(handle, &Request::Calibrate { slot: 0, sample_ns: meant_ns })? {
        Reply::Calibrated { iterations, .. } => iterations.max(1),
        other => return Err(refused(other)),
    };
    match ask(handle, &Request::Sample { slot: 0, iterations: calls })? {
        Reply::Sampled(sampled) => Ok((calls, sampled)),
        other => Err(refused(other)),
    }
}

/// Runs one session of `calls` calls, with the wrapper of the launcher.
pub(crate) fn work(key: &Key, launcher: &dyn Launcher, calls: u64) -> Result<(), String> {
    match end_of(key, launcher, &Request::Work { slot: 0, iterations: calls })? {
        Reply::Sampled(_) => Ok(()),
        other => Err(refused(other)),
    }
}

/// The same, with the times of the clock readings.
pub(crate) fn watch(key: &Key, launcher: &dyn Launcher, calls: u64) -> Result<Watched, String> {
    match end_of(key, launcher, &Request::Watch { slot: 0, iterations: calls, usage: false })? {
        Reply::Watched(watched) => Ok(watched),
        other => Err(refused(other)),
    }
}

/// Sends `last` in a new session whose case is open and checked, and ends the session.
fn end_of(key: &Key, launcher: &dyn Launcher, last: &Request) -> Result<Reply, String> {
    let mut handle = launcher.launch(0, 0).map_err(|error| error.to_string())?;
    for request in [open(key), Request::Check { slot: 0, amounts: false }] {
        match ask(&mut *handle, &request)? {
            Reply::Opened { .. } | Reply::Checked { .. } => {}
            other => return Err(refused(other)),
        }
    }
    ask(&mut *handle, last)
}

fn open(key: &Key) -> Request {
    Request::Open { slot: 0, case: key.to_string(), seed: 1, share: false }
}

fn ask(handle: &mut dyn SessionHandle, request: &Request) -> Result<Reply, String> {
    handle.ask(request).map_err(|error| error.to_string())
}

fn refused(reply: Reply) -> String {
    match reply {
        Reply::Unavailable { reason } => format!("not available here: {reason}"),
        Reply::Failed { reason } => reason,
        other => format!("the session gave an unexpected reply: {other:?}"),
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
