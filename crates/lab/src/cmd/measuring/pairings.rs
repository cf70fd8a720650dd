//! Groups of the cases that each command compares.

use crate::cmd::context::error::Error;
use crate::measure::campaign::{CaseGroup, Role, Side};
use crate::measure::plan::Control;
use crate::model::class::Sampling;
use crate::model::key::Key;

/// Side of build `build` that runs `key`.
fn side(label: &str, role: Role, build: usize, key: &Key) -> Side {
    Side { label: label.to_owned(), role, build, key: key.clone() }
}

/// Group of a single case.
pub(crate) fn alone(key: &Key) -> CaseGroup {
    let sides = vec![side(&key.engine, Role::Baseline, 0, key)];
    CaseGroup { title: key.to_string(), sides, together: true, sessions: None, layouts: None }
}

/// Group of one case in two builds, baseline and candidate, each in its own processes.
pub(crate) fn builds(key: &Key, labels: [&str; 2], control: bool) -> CaseGroup {
    let [baseline, candidate] = labels;
    let mut sides = vec![side(baseline, Role::Baseline, 0, key), side(candidate, Role::Candidate, 1, key)];
    if control {
        sides.push(side("control", Role::Control, 0, key));
    }
    CaseGroup { title: key.to_string(), sides, together: false, sessions: None, layouts: None }
}

/// Group of two cases of one build, in one process per session. The verdict is about the candidate.
pub(crate) fn duel(baseline: &Key, candidate: &Key, control: bool) -> Result<CaseGroup, Error> {
    if baseline.class != candidate.class {
        return Err(Error::Usage(format!(
            "{baseline} and {candidate} are of different timing classes: `{}` times {}, `{}` times {}; they cannot be compared",
            baseline.class,
            phases(baseline),
            candidate.class,
            phases(candidate)
        )));
    }
    if baseline.workload != candidate.workload {
        return Err(Error::Usage(format!("{baseline} and {candidate} are different workloads")));
    }
    if baseline == candidate {
        return Err(Error::Usage(format!(
            "{baseline} would be compared with itself; `doctor --noise` does that"
        )));
    }
    refuse_sustained(std::slice::from_ref(baseline))?;
    let (a, b) = labels(baseline, candidate);
    let title = format!("{}: {b} against {a}", common(baseline, candidate));
    let mut sides = vec![side(&a, Role::Baseline, 0, baseline), side(&b, Role::Candidate, 0, candidate)];
    if control {
        sides.push(side("control", Role::Control, 0, baseline));
    }
    Ok(CaseGroup { title, sides, together: true, sessions: None, layouts: None })
}

/// Group of a case and itself, in its own process: it measures the measurement.
pub(crate) fn trial(title: &str, key: &Key) -> CaseGroup {
    let sides = vec![side("itself", Role::Baseline, 0, key), side("again", Role::Candidate, 1, key)];
    CaseGroup { title: title.to_owned(), sides, together: false, sessions: None, layouts: None }
}

/// Whether comparison `index` of a command also compares its baseline with itself.
pub(crate) fn wants_control(control: Control, index: usize) -> bool {
    match control {
        Control::Off => false,
        Control::First => index == 0,
        Control::All => true,
    }
}

/// Refuses sustained cases: they run for minutes and have no samples.
pub(crate) fn refuse_sustained(keys: &[Key]) -> Result<(), Error> {
    match keys.iter().find(|key| key.class.sampling() == Sampling::Sustained) {
        Some(key) => Err(Error::Usage(format!("{key} is sustained; measure it with `run --for 2m`"))),
        None => Ok(()),
    }
}

fn phases(key: &Key) -> String {
    let names = key.class.includes();
    let names = names.iter().filter_map(|text| text.split(':').next());
    names.collect::<Vec<_>>().join("+")
}

/// Labels that distinguish the two: the engines, or the segments that only one of them has.
fn labels(a: &Key, b: &Key) -> (String, String) {
    if a.engine != b.engine {
        return (a.engine.clone(), b.engine.clone());
    }
    let (a, b) = (a.to_string(), b.to_string());
    let own = |key: &str, other: &str| -> String {
        let own: Vec<_> =
            key.split('/').filter(|part| other.split('/').all(|segment| segment != *part)).collect();
        // A side without own segments is the plain one.
        if own.is_empty() { "plain".to_owned() } else { own.join("/") }
    };
    (own(&a, &b), own(&b, &a))
}

/// Common segments.
fn common(a: &Key, b: &Key) -> String {
    let (a, b) = (a.to_string(), b.to_string());
    let both = a.split('/').zip(b.split('/')).filter(|(x, y)| x == y).map(|(x, _)| x);
    both.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_contain_only_differences() {
        let labels_of = |a: &str, b: &str| labels(&a.parse().expect("a key"), &b.parse().expect("a key"));
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(labels_of("w/a/kernel/64KiB/t1", "w/b/kernel/64KiB/t1"), pair("a", "b"));
        assert_eq!(
            labels_of("w/a/kernel/64KiB/t1/avx2", "w/a/kernel/64KiB/t1/portable"),
            pair("avx2", "portable")
        );
        assert_eq!(
            labels_of("w/a/kernel/64KiB/t1", "w/a/kernel/64KiB/t2/pages=huge"),
            pair("t1", "t2/pages=huge")
        );
        assert_eq!(labels_of("w/a/kernel/64KiB/t1", "w/a/kernel/64KiB/t1/avx2"), pair("plain", "avx2"));
    }
}
