//! The program `perf` around a session: its event counts, and its samples by function.

use super::Events;
use crate::session::process::Program;
use crate::session::protocol::Watched;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// What is asked for; what a machine does not have is left out.
const EVENTS: &str = "cycles:u,instructions:u,branches:u,branch-misses:u,L1-dcache-loads:u,L1-dcache-load-misses:u,\
                      LLC-load-misses:u,dTLB-loads:u,dTLB-load-misses:u";

/// Functions that are shown.
const FUNCTIONS: usize = 12;
/// Least share of the time in percent.
const LEAST: f64 = 0.5;

/// Whether perf answers here.
pub(crate) fn answers() -> bool {
    Command::new("perf").arg("--version").output().is_ok_and(|output| output.status.success())
}

fn around(arguments: &[&str], file: &Path, program: &Program) -> Program {
    let mut all: Vec<OsString> = arguments.iter().map(Into::into).collect();
    all.extend(["-o".into(), file.into(), "--".into(), program.path.clone().into()]);
    all.extend(program.arguments.iter().cloned());
    Program { path: "perf".into(), arguments: all }
}

/// `program` with its events counted into `file`.
pub(crate) fn counting(program: &Program, file: &Path) -> Program {
    around(&["stat", "-x", ",", "-e", EVENTS], file, program)
}

/// `program` with its functions sampled into `file`, at times of the system's monotonic clock.
pub(crate) fn sampling(program: &Program, file: &Path) -> Program {
    around(&["record", "-q", "-k", "mono", "-F", "1999", "-e", "cpu-clock:u"], file, program)
}

/// The counts of a file of `perf stat -x ,`.
pub(crate) fn parse_counts(text: &str) -> Events {
    let counts = text.lines().filter_map(|line| {
        let mut fields = line.split(',');
        let count: f64 = fields.next()?.parse().ok()?;
        let name = fields.nth(1)?.trim_end_matches(":u");
        (!name.is_empty() && count.is_finite()).then(|| (name.to_owned(), count))
    });
    counts.collect()
}

/// The functions of a file of `perf record`, of those samples alone that fall into a stretch of the clock.
pub(crate) fn functions(file: &Path, watched: &Watched) -> Result<Vec<(f64, String)>, String> {
    let mut script = Command::new("perf");
    script.args(["script", "--ns", "-F", "time,ip,sym", "-i"]).arg(file);
    let output = script.output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    Ok(shares(&String::from_utf8_lossy(&output.stdout), &edges(watched)))
}

/// All readings of the clock, where its time is the system's.
fn edges(watched: &Watched) -> Vec<u64> {
    let add = |time: &mut u64, length: &u64| {
        *time += length;
        Some(*time)
    };
    let begin = watched.begin_ns.into_iter();
    begin.flat_map(|begin| std::iter::once(begin).chain(watched.lengths_ns.iter().scan(begin, add))).collect()
}

/// The shares of functions in the samples that lie behind an odd number of readings, which are those that were timed.
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

/// Time and function of a line such as `6222.497560791:      7f38571e1465 rounds`.
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
    fn samples_count_that_fall_into_a_stretch_of_the_clock() {
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
    }
}
