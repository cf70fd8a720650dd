//! `lab duel`: two engines of one program, in one process per session.

use super::args::Duel;
use super::error::Error;
use super::measure::{Job, conclude, measure, own_program};
use super::run::refuse_sustained;
use super::{Console, Exit, Mount};
use crate::campaign::{Contest, Role, Side};
use crate::model::key::Key;
use crate::model::registry::Registry;
use crate::plan::Control;
use crate::report::schema::Kind;

pub(super) fn main(mount: &Mount<'_>, args: &Duel, console: &mut Console<'_>) -> Result<Exit, Error> {
    let pairs = pairs(mount.registry, &args.patterns, &args.engines)?;
    let plan = args.measuring.plan();
    let (build, program) = own_program(mount)?;
    let contests = pairs.into_iter().enumerate();
    let contests = contests.map(|(i, (ours, rival))| contest(&ours, &rival, wants_control(plan.control, i)));
    let job = Job {
        kind: Kind::Duel,
        contests: contests.collect::<Result<_, _>>()?,
        builds: vec![build],
        programs: vec![program],
        plan,
        same_code: false,
    };
    let (report, folder) = measure(mount, &args.measuring, job)?;
    conclude(&report, &folder, &args.measuring, console)
}

pub(super) fn wants_control(control: Control, index: usize) -> bool {
    match control {
        Control::Off => false,
        Control::First => index == 0,
        Control::All => true,
    }
}

/// Which cases meet: each of ours with the rival's of the same name, or two that were written out.
pub(super) fn pairs(
    registry: &Registry,
    patterns: &[String],
    engines: &[String],
) -> Result<Vec<(Key, Key)>, Error> {
    let [ours, rival] = engines else {
        if !engines.is_empty() {
            return Err(Error::Usage("--engines takes exactly two: OURS,RIVAL".to_owned()));
        }
        let keys = registry.select(patterns)?;
        let Ok([ours, rival]) = <[Key; 2]>::try_from(keys) else {
            return Err(Error::Usage(
                "without --engines a duel needs exactly two cases; with --engines OURS,RIVAL any number"
                    .to_owned(),
            ));
        };
        return Ok(vec![(ours, rival)]);
    };
    let with = |engine: &str| -> Vec<String> { patterns.iter().map(|p| with_engine(p, engine)).collect() };
    let left = registry.select(&with(ours))?;
    let right = registry.select(&with(rival))?;
    let same_but_engine = |a: &Key, b: &Key| Key { engine: b.engine.clone(), ..a.clone() } == *b;
    let pairs: Vec<(Key, Key)> = left
        .into_iter()
        .filter_map(|a| right.iter().find(|b| same_but_engine(&a, b)).cloned().map(|b| (a, b)))
        .collect();
    if pairs.is_empty() {
        return Err(Error::Usage(format!("no case of `{ours}` has a counterpart of `{rival}`")));
    }
    Ok(pairs)
}

fn with_engine(pattern: &str, engine: &str) -> String {
    let mut segments: Vec<&str> = pattern.split('/').collect();
    match segments.get_mut(1) {
        Some(segment) => *segment = engine,
        None => segments.push(engine),
    }
    segments.join("/")
}

/// The rival is the baseline, so that the verdict speaks of ours.
pub(super) fn contest(ours: &Key, rival: &Key, control: bool) -> Result<Contest, Error> {
    if ours.class != rival.class {
        return Err(Error::Usage(format!(
            "{ours} and {rival} are of different timing classes: `{}` times {}, `{}` times {}; there is no delta between them",
            ours.class,
            phases(ours),
            rival.class,
            phases(rival)
        )));
    }
    if ours.workload != rival.workload {
        return Err(Error::Usage(format!("{ours} and {rival} are different workloads")));
    }
    if ours == rival {
        return Err(Error::Usage(format!("{ours} is set against itself; `noise` does that on purpose")));
    }
    refuse_sustained(std::slice::from_ref(ours))?;
    let (a, b) = labels(rival, ours);
    let title = format!("{}: {b} against {a}", common(ours, rival));
    let side =
        |label: &str, role, key: &Key| Side { label: label.to_owned(), role, build: 0, key: key.clone() };
    let mut sides = vec![side(&a, Role::Baseline, rival), side(&b, Role::Candidate, ours)];
    if control {
        sides.push(side("control", Role::Control, rival));
    }
    Ok(Contest { title, sides, together: true })
}

fn phases(key: &Key) -> String {
    let names = key.class.includes();
    let names = names.iter().filter_map(|text| text.split(':').next());
    names.collect::<Vec<_>>().join("+")
}

/// What tells the two apart: the engines, or else the segments that only one of them has.
fn labels(a: &Key, b: &Key) -> (String, String) {
    if a.engine != b.engine {
        return (a.engine.clone(), b.engine.clone());
    }
    let (a, b) = (a.to_string(), b.to_string());
    let own = |key: &str, other: &str| -> String {
        let own: Vec<_> =
            key.split('/').filter(|part| other.split('/').all(|theirs| theirs != *part)).collect();
        // Who has nothing of its own is what the other adds to.
        if own.is_empty() { "plain".to_owned() } else { own.join("/") }
    };
    (own(&a, &b), own(&b, &a))
}

/// The segments that both have.
fn common(a: &Key, b: &Key) -> String {
    let (a, b) = (a.to_string(), b.to_string());
    let both = a.split('/').zip(b.split('/')).filter(|(x, y)| x == y).map(|(x, _)| x);
    both.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_say_only_what_differs() {
        let said = |a: &str, b: &str| labels(&a.parse().expect("a key"), &b.parse().expect("a key"));
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(said("w/a/kernel/64KiB/t1", "w/b/kernel/64KiB/t1"), pair("a", "b"));
        assert_eq!(
            said("w/a/kernel/64KiB/t1/avx2", "w/a/kernel/64KiB/t1/portable"),
            pair("avx2", "portable")
        );
        assert_eq!(
            said("w/a/kernel/64KiB/t1", "w/a/kernel/64KiB/t2/pages=huge"),
            pair("t1", "t2/pages=huge")
        );
        assert_eq!(said("w/a/kernel/64KiB/t1", "w/a/kernel/64KiB/t1/avx2"), pair("plain", "avx2"));
    }
}
