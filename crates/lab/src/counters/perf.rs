//! Runs a session under `perf`: event counts, and samples by function.

use super::profile::Events;
use crate::measure::session::process::Program;
use crate::measure::session::protocol::Watched;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// Requested events; those that a machine lacks are omitted.
const EVENTS: &str = "cycles:u,instructions:u,branches:u,branch-misses:u,L1-dcache-loads:u,L1-dcache-load-misses:u,\
                      LLC-load-misses:u,dTLB-loads:u,dTLB-load-misses:u";

/// Maximum number of functions.
const FUNCTIONS: usize = 12;
/// Minimum share of the time in percent.
const LEAST: f64 = 0.5;

/// Whether perf works on this machine.
pub(crate) fn answers() -> bool {
    Command::new("perf").arg("--version").output().is_ok_and(|output| output.status.success())
}

fn around(arguments: &[&str], file: &Path, program: &Program) -> Program {
    let mut all: Vec<OsString> = arguments.iter().map(Into::into).collect();
    all.extend(["-o".into(), file.into(), "--".into(), program.path.clone().into()]);
    all.extend(program.arguments.iter().cloned());
    Program { path: "perf".into(), arguments: all }
}

/// Runs `program` and counts its events into `file`.
pub(crate) fn counting(program: &Program, file: &Path) -> Program {
    around(&["stat", "-x", ",", "-e", EVENTS], file, program)
}

/// Runs `program` and samples its functions into `file`, with times of the system's monotonic clock.
pub(crate) fn sampling(program: &Program, file: &Path) -> Program {
    around(&["record", "-q", "-k", "mono", "-F", "1999", "-e", "cpu-clock:u"], file, program)
}

/// Parses the counts of `perf stat -x ,`.
pub(crate) fn parse_counts(text: &str) -> Events {
    let counts = text.lines().filter_map(|line| {
        let mut fields = line.split(',');
        let count: f64 = fields.next()?.parse().ok()?;
        let name = fields.nth(1)?.trim_end_matches(":u");
        (!name.is_empty() && count.is_finite()).then(|| (name.to_owned(), count))
    });
    counts.collect()
}

/// Functions in a file of `perf record`, from the samples within the timed intervals; at least one.
pub(crate) fn functions(file: &Path, watched: &Watched) -> Result<Vec<(f64, String)>, String> {
    let mut script = Command::new("perf");
    script.args(["script", "--ns", "-F", "time,ip,sym", "-i"]).arg(file);
    let output = script.output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let shares = shares(&text, &edges(watched));
    if shares.is_empty() { Err(reason_for_none(&text, watched)) } else { Ok(shares) }
}

/// Reason why no function has a share.
fn reason_for_none(text: &str, watched: &Watched) -> String {
    match text.lines().filter_map(sample).count() {
        _ if watched.begin_ns.is_none() => "the session has another clock than perf".to_owned(),
        0 => "perf took no sample".to_owned(),
        1 => "the one sample of perf fell outside the timed calls".to_owned(),
        all => format!("none of the {all} samples of perf fell into the timed calls"),
    }
}

/// All clock readings, if the clock is the system's.
fn edges(watched: &Watched) -> Vec<u64> {
    let add = |time: &mut u64, length: &u64| {
        *time += length;
        Some(*time)
    };
    let begin = watched.begin_ns.into_iter();
    begin.flat_map(|begin| std::iter::once(begin).chain(watched.lengths_ns.iter().scan(begin, add))).collect()
}

/// Shares of functions among samples after an odd number of readings, which are the timed ones.
fn shares(text: &str, edges: &[u64]) -> Vec<(f64, String)> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for (time, name) in text.lines().filter_map(sample) {
        if edges.partition_point(|edge| *edge <= time) % 2 == 1 {
            *counts.entry(name).or_default() += 1;
        }
    }
    let all: u64 = counts.values().sum();
    let mut shares: Vec<(f64, String)> =
        counts.iter().map(|(name, count)| (*count as f64 / all as f64 * 100.0, (*name).to_owned())).collect();
    shares.retain(|(share, _)| *share >= LEAST);
    shares.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    shares.truncate(FUNCTIONS);
    shares
}

/// Parses time and function of a line such as `6222.497560791:      7f38571e1465 rounds`.
fn sample(line: &str) -> Option<(u64, &str)> {
    let (time, rest) = line.trim().split_once(": ")?;
    let (seconds, fraction) = time.split_once('.')?;
    let time =
        seconds.parse::<u64>().ok()? * 1_000_000_000 + format!("{fraction:0<9}").parse::<u64>().ok()?;
    let (_, name) = rest.trim().split_once(' ')?;
    Some((time, name.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_a_real_file() {
        let text = "# started on Sat Nov 21 14:08:00 2026\n\n<not supported>,,cycles:u,0,100.00,,\n\
                    47,,page-faults,553641,100.00,84.893,K/sec\n2500,,instructions:u,1,100.00,1.25,insn per cycle\n\
                    <not counted>,,branches:u,0,0.00,,\n,,\n";
        let counts = parse_counts(text);
        assert_eq!(counts.get("page-faults"), Some(&47.0));
        assert_eq!(counts.get("instructions"), Some(&2500.0));
        assert_eq!(counts.len(), 2, "{counts:?}");
    }

    #[test]
    fn counts_samples_within_timed_intervals() {
        let text = " 6222.000000099:      7f38571e1465 set_up\n 6222.000000100:      7f38571ec470 rounds\n\
                    6222.000000149:      7f38571ec470 rounds\n 6222.000000150:      7f38571e1465 set_up\n\
                    6222.000000200:      55a88bf50096 core::ops::Fn::call<A, B>\n noise\n\
                    6222.000000249:      7f38571ec470 rounds\n 6222.000000250:      7f38571e1465 look\n";
        let watched =
            Watched { begin_ns: Some(6_222_000_000_100), lengths_ns: vec![50, 50, 50], ..Watched::default() };
        let expected = [(75.0, "rounds".to_owned()), (25.0, "core::ops::Fn::call<A, B>".to_owned())];
        assert_eq!(shares(text, &edges(&watched)), expected);
        let unknown = Watched { begin_ns: None, ..watched };
        assert_eq!(shares(text, &edges(&unknown)), [], "by another clock, nothing is known");
        assert!(reason_for_none(text, &unknown).contains("another clock"));
    }

    /// Random samples and intervals: either there are shares that add up, or one line with the reason why there are
    /// none.
    #[test]
    fn samples_have_shares_or_a_reason() {
        let mut rng = hashmill_testkit::Rng::new(39);
        for round in 0..2_000 {
            let count = rng.below(4);
            let times: Vec<u64> = (0..count).map(|_| rng.below(40) as u64).collect();
            let text: String =
                times.iter().map(|time| format!(" 7.{time:09}:      7f38571e1465 rounds\n")).collect();
            let begin = 7_000_000_000 + rng.below(40) as u64;
            // The last interval is timed, too.
            let stretches = 1 + rng.below(3);
            let lengths_ns: Vec<u64> = (0..2 * stretches - 1).map(|_| 1 + rng.below(12) as u64).collect();
            let begin_ns = Some(begin).filter(|_| rng.below(8) > 0);
            let watched = Watched { begin_ns, lengths_ns: lengths_ns.clone(), ..Watched::default() };
            let is_timed = |time: u64| {
                let Some(begin) = begin_ns else { return false };
                let mut edge = begin;
                lengths_ns.iter().enumerate().any(|(index, length)| {
                    let (from, to) = (edge, edge + length);
                    edge = to;
                    // Timed intervals and pauses alternate; the first is timed.
                    index % 2 == 0 && (from..to).contains(&(7_000_000_000 + time))
                })
            };
            let found = shares(&text, &edges(&watched));
            assert_eq!(found.is_empty(), !times.iter().any(|time| is_timed(*time)), "{round}: {text}");
            let sum: f64 = found.iter().map(|(share, _)| share).sum();
            assert!(found.is_empty() || (sum - 100.0).abs() < 1e-9, "{round}: {sum}");
            let reason = reason_for_none(&text, &watched);
            assert!(!reason.is_empty() && !reason.contains('\n'), "{round}: {reason}");
        }
    }
}
