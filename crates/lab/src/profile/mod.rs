//! Why a case takes its time: events per call, where the system counts them, and the functions that it is spent in.
//!
//! Two runs that differ only in their number of calls differ in their events by those of the calls, as in
//! [`count`](crate::count). On machines without hardware counters, most virtual ones, the system's own events remain.

pub(crate) mod perf;
pub(crate) mod reading;

use crate::model::key::Key;
use crate::session::peer::{Launcher, Peer};
use crate::session::protocol::{Reply, Request};
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
}

/// What the session itself tells: kernel, time, page faults, switches and huge pages.
pub(crate) fn plain(key: &Key, launcher: &dyn Launcher, meant_ns: u64) -> Result<(Profile, u64), String> {
    let mut peer = launcher.launch(0, 0).map_err(|error| error.to_string())?;
    let unit = match ask(&mut *peer, &open(key))? {
        Reply::Opened { unit, .. } => unit,
        other => return Err(refused(other)),
    };
    let kernel = match ask(&mut *peer, &Request::Check { slot: 0, amounts: false })? {
        Reply::Checked { kernel, .. } => kernel,
        other => return Err(refused(other)),
    };
    let calls = match ask(&mut *peer, &Request::Calibrate { slot: 0, sample_ns: meant_ns })? {
        Reply::Calibrated { iterations, .. } => iterations.max(1),
        other => return Err(refused(other)),
    };
    let Reply::Sampled(sampled) = ask(&mut *peer, &Request::Sample { slot: 0, iterations: calls })? else {
        return Err("the session gave no sample".to_owned());
    };
    let huge_bytes = match ask(&mut *peer, &Request::Memory)? {
        Reply::Memory(memory) => memory.huge_bytes,
        other => return Err(refused(other)),
    };
    let per_call = |count: Option<u64>| count.map(|count| count as f64 / calls as f64);
    let seen = [("page-faults", per_call(sampled.faults)), ("context-switches", per_call(sampled.switches))];
    let profile = Profile {
        kernel,
        ns_per_call: sampled.ns as f64 / calls as f64,
        events: seen.into_iter().filter_map(|(name, count)| Some((name.to_owned(), count?))).collect(),
        source: "the system's own counts; no perf".to_owned(),
        input_bytes: (unit == "bytes").then_some(key.size.0),
        huge_bytes,
        functions: Vec::new(),
    };
    Ok((profile, calls))
}

/// One session of `calls` calls and nothing else, under whatever the launcher puts around it.
pub(crate) fn work(key: &Key, launcher: &dyn Launcher, calls: u64) -> Result<(), String> {
    let mut peer = launcher.launch(0, 0).map_err(|error| error.to_string())?;
    for request in
        [open(key), Request::Check { slot: 0, amounts: false }, Request::Work { slot: 0, iterations: calls }]
    {
        match ask(&mut *peer, &request)? {
            Reply::Opened { .. } | Reply::Checked { .. } | Reply::Sampled(_) => {}
            other => return Err(refused(other)),
        }
    }
    Ok(())
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
