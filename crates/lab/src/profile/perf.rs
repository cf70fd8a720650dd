//! The program `perf` around a session: its event counts, and its samples by function.

use super::Events;
use crate::session::process::Program;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// What is asked for; what a machine does not have is left out.
const EVENTS: &str = "cycles:u,instructions:u,branches:u,branch-misses:u,L1-dcache-loads:u,L1-dcache-load-misses:u,\
                      LLC-load-misses:u,dTLB-loads:u,dTLB-load-misses:u,page-faults";

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

/// `program` with its functions sampled into `file`.
pub(crate) fn sampling(program: &Program, file: &Path) -> Program {
    around(&["record", "-q", "-F", "1999", "-e", "cpu-clock:u"], file, program)
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

/// The functions of a file of `perf record`.
pub(crate) fn functions(file: &Path) -> Result<Vec<(f64, String)>, String> {
    let mut report = Command::new("perf");
    report.args(["report", "--stdio", "-q", "--no-children", "-F", "overhead,symbol", "-i"]).arg(file);
    let output = report.output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    Ok(parse_functions(&String::from_utf8_lossy(&output.stdout)))
}

fn parse_functions(text: &str) -> Vec<(f64, String)> {
    let lines = text.lines().filter_map(|line| {
        let (share, rest) = line.trim().split_once('%')?;
        let share: f64 = share.trim().parse().ok()?;
        // `[.]` and `[k]` say whether it is the program or the kernel.
        let name = rest.trim();
        let name = name.strip_prefix("[.] ").unwrap_or(name);
        (share >= LEAST).then(|| (share, name.to_owned()))
    });
    lines.take(FUNCTIONS).collect()
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
    fn functions_of_a_real_file() {
        let text = "    82.30%  [.] rounds\n    16.67%  [k] do_syscall_64\n     0.10%  [.] main\n\nnoise\n";
        assert_eq!(
            parse_functions(text),
            [(82.3, "rounds".to_owned()), (16.67, "[k] do_syscall_64".to_owned())]
        );
    }
}
