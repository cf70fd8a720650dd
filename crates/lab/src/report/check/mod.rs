//! Checks of a report: finds all errors, each with its place and reason.
//!
//! The shape is checked first, then common errors of benchmarks, then every conclusion is computed again from the
//! sessions. [`samples`](crate::report::documents::samples) checks that the sessions follow from the samples, if
//! these are available.

#[cfg(all(test, feature = "gates"))]
mod committed_reports;

use super::analysis::{conditions, layout};
use super::assemble::conclude;
use super::schema::{
    Comparison, Floor, Kind, Report, Role, Row, Side, State, Status, Summary, TimingClass, Verdict,
};
use crate::model::class::{Class, Sampling};
use crate::model::key::Key;
use crate::stats::MAX_SESSIONS;
use crate::stats::verdict::LEVEL;
use std::collections::BTreeSet;
use std::fmt;

/// Reason for rows with samples of unequal length.
pub(crate) const UNEQUAL: &str = "samples of unequal length: no verdict follows";

/// One error in a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// Place: title of a row, a side, a field.
    pub(crate) location: String,
    /// Description of the error.
    pub(crate) reason: String,
}

#[cfg(feature = "gates")]
impl Problem {
    /// Whether it removes the verdict of one row and does not affect the others.
    pub(crate) fn is_of_unequal_samples(&self) -> bool {
        self.reason == UNEQUAL
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location, self.reason)
    }
}

/// All errors of a report; none means that its conclusions follow from its sessions.
pub(crate) fn problems(report: &Report) -> Vec<Problem> {
    let mut found = Checker::default();
    found.header(report);
    for row in &report.rows {
        found.row(report, row);
    }
    // Conclusions can only be recomputed from well-formed sessions.
    if found.0.is_empty() {
        found.conclusions(report);
        found.steadiness(report);
    }
    if report.seal != report.compute_seal() {
        found.add("seal", "the report was changed after it was written");
    }
    found.0
}

#[derive(Default)]
struct Checker(Vec<Problem>);

impl Checker {
    fn add(&mut self, location: impl fmt::Display, reason: impl fmt::Display) {
        self.0.push(Problem { location: location.to_string(), reason: reason.to_string() });
    }

    fn require(&mut self, holds: bool, location: &str, reason: impl FnOnce() -> String) {
        if !holds {
            self.add(location, reason());
        }
    }

    fn header(&mut self, report: &Report) {
        let Report { machine, plan, builds, rows, .. } = report;
        self.require(hashmill_machine::date::parse_utc(&report.created).is_some(), "created", || {
            format!("`{}` is not a date of the form 2026-01-31T12:00:00Z", report.created)
        });
        self.require(!report.command.is_empty(), "command", || "is empty".to_owned());
        self.require(!rows.is_empty(), "rows", || "there is none".to_owned());
        self.require(machine.id == machine.fingerprint(), "machine", || {
            format!(
                "the id {} belongs to another machine; these fields make {}",
                machine.id,
                machine.fingerprint()
            )
        });
        for answers in &report.answers {
            self.require(answers.wrong.is_none() && answers.right > 0, "answers", || {
                let reason = answers.wrong.as_deref().unwrap_or("none was computed");
                format!("{}: {reason}", answers.engine)
            });
        }
        let names: BTreeSet<&str> = report.classes.iter().map(|class| class.name.as_str()).collect();
        let used: BTreeSet<&str> = rows.iter().map(|row| row.class.as_str()).collect();
        self.require(names == used && names.len() == report.classes.len(), "classes", || {
            "they must be those of the rows, each once".to_owned()
        });
        for stated in &report.classes {
            match stated.name.parse::<Class>() {
                Err(error) => self.add("classes", error),
                Ok(class) => self.require(*stated == TimingClass::from_class(&class), "classes", || {
                    format!("the phases listed are not those of the class `{class}`")
                }),
            }
        }
        let hash = report.samples_sha256.as_deref();
        self.require(hash.is_none_or(is_sha256), "samples", || "their hash is none".to_owned());
        if let Some(card) = &report.noise {
            let sound =
                [card.near, card.far].into_iter().flatten().all(|share| share.is_finite() && share > 0.0);
            let sound =
                sound && hashmill_machine::date::parse_utc(&card.measured).is_some() && is_sha256(&card.seal);
            self.require(sound, "noise", || "the noise card is none that `doctor --noise` writes".to_owned());
        }
        for build in builds {
            let location = format!("build {}", build.label);
            self.require(is_sha256(&build.program_sha256), &location, || {
                "its program has no fingerprint".to_owned()
            });
        }
        if let Some(problem) = layout::problem(report) {
            self.add("builds", problem);
        }
        if report.kind == Kind::Builds && !plan.same_code {
            let same = builds.len() == 2 && builds[0].program_sha256 == builds[1].program_sha256;
            self.require(!same, "builds", || {
                "both builds are the same program, but the run does not say so".to_owned()
            });
        }
        self.require(plan.looks.len() == plan.alpha.len(), "plan", || {
            "every look needs its alpha".to_owned()
        });
        if let Err(error) = plan.rule().validate() {
            self.add("plan", error);
        }
        self.require((plan.level - LEVEL).abs() < 1e-12, "plan", || {
            format!("the level is {}, not {LEVEL}", plan.level)
        });
        let candidates =
            rows.iter().flat_map(|row| &row.sides).filter(|side| side.role == Role::Candidate).count();
        self.require(plan.family == candidates.max(1), "plan", || {
            format!("the family is {}, but {candidates} comparisons were made", plan.family)
        });
    }

    fn row(&mut self, report: &Report, row: &Row) {
        let location = &row.title;
        if let Some(wrong) = row.wrong_count() {
            self.add(location, wrong);
        }
        if !row.is_whole() {
            return self.add(location, "refers to a side that it does not have");
        }
        for (index, side) in row.sides.iter().enumerate() {
            self.side(report, row, index, side);
            let first = &row.sides[0];
            let equal = side.key != first.key || side.right() == first.right();
            self.require(equal || row.status != Status::Ok, location, || {
                format!("{} and {} have different references for one case", first.label, side.label)
            });
        }
        self.sessions(row);
    }

    fn side(&mut self, report: &Report, row: &Row, index: usize, side: &Side) {
        let location = format!("{}, side {}", row.title, side.label);
        self.require(side.build < report.builds.len(), &location, || {
            format!("build {} does not exist", side.build)
        });
        self.require((side.role == Role::Baseline) == (index == 0), &location, || {
            "exactly the first side is the baseline".to_owned()
        });
        let counts = [&[side.iterations], &side.session_iterations[..]].concat();
        self.require(!counts.contains(&0), &location, || "a sample has at least one iteration".to_owned());
        let whole = side.session_iterations.is_empty() || side.session_iterations.len() == row.sessions.len();
        self.require(whole, &location, || {
            "every session has its own number of iterations, or none has".to_owned()
        });
        match side.key.parse::<Key>() {
            Err(error) => self.add(&location, error),
            Ok(key) => self.require(key.class.to_string() == row.class, &location, || {
                format!(
                    "its class is `{}`, the row's is `{}`; they time different phases",
                    key.class, row.class
                )
            }),
        }
        // The output of commands has no reference value and may be discarded.
        if row.status == Status::Ok && report.kind != Kind::Commands {
            self.require(is_hex(&side.digest), &location, || "there is no digest of its result".to_owned());
            self.require(side.reference.is_empty(), &location, || {
                format!("it computed {}, but the reference is {}", side.digest, side.reference)
            });
        }
    }

    /// Every session has a time for each side, and a difference for each side but the first.
    fn sessions(&mut self, row: &Row) {
        let location = &row.title;
        let sessions = row.sessions.len();
        self.require(sessions <= MAX_SESSIONS, location, || {
            format!("{sessions} sessions are more than {MAX_SESSIONS}")
        });
        for (index, side) in row.sides.iter().enumerate() {
            let deltas = if index == 0 { 0 } else { sessions };
            let whole = side.session_ns.len() == sessions && side.deltas.len() == deltas;
            self.require(whole, location, || {
                format!("{sessions} sessions give {sessions} times and {deltas} differences to {}, but there are {} and {}",
                    side.label, side.session_ns.len(), side.deltas.len())
            });
            let sound = side.session_ns.iter().all(|ns| ns.is_finite() && *ns > 0.0)
                && side.deltas.iter().all(|delta| delta.is_finite());
            self.require(sound, location, || format!("{} has an invalid time or difference", side.label));
        }
        let sustained = row.class.parse().is_ok_and(|class: Class| class.sampling() == Sampling::Sustained);
        let windows = row.windows_ns.len();
        let due = sessions * row.rounds * row.sides.len();
        self.require(row.windows_ns.iter().all(|ns| *ns > 0), location, || {
            "a window took no time at all".to_owned()
        });
        match (sustained, row.status == Status::Ok) {
            (true, true) => self.require(windows == due, location, || {
                format!("{due} windows were planned, but there are {windows}")
            }),
            (true, false) => {}
            (false, _) => {
                self.require(windows == 0, location, || "only a sustained run has windows".to_owned());
            }
        }
    }

    fn conclusions(&mut self, report: &Report) {
        let mut rows = report.rows.clone();
        conclude(&report.plan, &mut rows);
        for (row, again) in report.rows.iter().zip(&rows) {
            for (side, side_again) in row.sides.iter().zip(&again.sides) {
                let location = format!("{}, side {}", row.title, side.label);
                match (&side.summary, &side_again.summary) {
                    (None, None) => {}
                    (Some(stated), Some(computed)) => self.summary(&location, stated, computed),
                    _ => self.add(&location, "the summary and the sessions do not belong together"),
                }
                self.floor(&location, side.floor.as_ref(), side_again.floor.as_ref());
            }
            if row.comparisons.len() != again.comparisons.len() {
                self.add(&row.title, "there must be one comparison for each side but the first");
                continue;
            }
            for (stated, computed) in row.comparisons.iter().zip(&again.comparisons) {
                self.comparison(report.plan.same_code, row, stated, computed);
            }
        }
        // Older reports without this flag have an error for each such row, which is more specific.
        let other = |flags: &[String]| -> Vec<String> {
            flags.iter().filter(|flag| *flag != conditions::UNEQUAL).cloned().collect()
        };
        let [stated, flags] = [other(&report.quality.flags), other(&conditions::flags(report))];
        self.require(stated == flags, "quality", || {
            format!("the flags should be [{}], but are [{}]", flags.join(", "), stated.join(", "))
        });
    }

    fn summary(&mut self, location: &str, stated: &Summary, computed: &Summary) {
        let pair = |interval: Option<[f64; 2]>, i: usize| interval.map(|ends| ends[i]);
        for (name, stated, computed) in [
            ("median_ns", Some(stated.median_ns), Some(computed.median_ns)),
            ("interval_ns", pair(stated.interval_ns, 0), pair(computed.interval_ns, 0)),
            ("interval_ns", pair(stated.interval_ns, 1), pair(computed.interval_ns, 1)),
        ] {
            self.number(location, name, stated, computed);
        }
    }

    fn floor(&mut self, location: &str, stated: Option<&Floor>, computed: Option<&Floor>) {
        self.require(stated.map(|floor| floor.bound) == computed.map(|floor| floor.bound), location, || {
            "the bound of its floor does not follow from the probes".to_owned()
        });
        self.number(location, "floor", stated.map(|floor| floor.ns), computed.map(|floor| floor.ns));
        let share = |floor: Option<&Floor>| floor.map(|floor| floor.share);
        self.number(location, "share of the floor", share(stated), share(computed));
    }

    fn comparison(&mut self, same_code: bool, row: &Row, stated: &Comparison, computed: &Comparison) {
        if stated.side != computed.side {
            return self.add(&row.title, "the comparisons are not in the order of the sides");
        }
        let location =
            format!("{}, {} against {}", row.title, row.sides[stated.side].label, row.sides[0].label);
        let location = &location;
        if row.is_unequal(stated.side) {
            return self.add(location, UNEQUAL);
        }
        self.require(stated.verdict == computed.verdict, location, || {
            format!(
                "the verdict is stated as {}, but the sessions say {}",
                stated.verdict.word(),
                computed.verdict.word()
            )
        });
        self.require(stated.sessions == computed.sessions, location, || {
            format!("it claims {} sessions, but there are {}", stated.sessions, computed.sessions)
        });
        self.require(stated.sessions_needed == computed.sessions_needed, location, || {
            "the number of sessions still needed does not follow from the sessions".to_owned()
        });
        let pair = |interval: Option<[f64; 2]>, i: usize| interval.map(|ends| ends[i]);
        for (name, stated, computed) in [
            ("ratio", Some(stated.ratio), Some(computed.ratio)),
            ("interval", pair(stated.interval, 0), pair(computed.interval, 0)),
            ("interval", pair(stated.interval, 1), pair(computed.interval, 1)),
            ("p", Some(stated.p), Some(computed.p)),
            ("p_family", Some(stated.p_family), Some(computed.p_family)),
            ("spread", Some(stated.spread), Some(computed.spread)),
        ] {
            self.number(location, name, stated, computed);
        }
        let identical = same_code || row.sides[stated.side].role == Role::Control;
        self.require(!identical || !computed.verdict.is_claim(), location, || {
            "a program differed from itself: the run is invalid".to_owned()
        });
    }

    /// Compares numbers; only the last digit may differ because logarithms differ between systems.
    fn number(&mut self, location: &str, name: &str, stated: Option<f64>, computed: Option<f64>) {
        let equal = match (stated, computed) {
            (None, None) => true,
            (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * b.abs().max(1e-12),
            _ => false,
        };
        let show = |value: Option<f64>| value.map_or_else(|| "nothing".to_owned(), |value| value.to_string());
        self.require(equal, location, || {
            format!("{name} is stated as {}, but the sessions give {}", show(stated), show(computed))
        });
    }

    /// A complete row must have stopped exactly at the session that its rule requires: stopping earlier or later
    /// would select favourable results.
    fn steadiness(&mut self, report: &Report) {
        let rule = report.plan.rule();
        for row in &report.rows {
            if row.status != Status::Ok || report.state != State::Complete {
                continue;
            }
            let candidates: Vec<usize> =
                (1..row.sides.len()).filter(|side| row.sides[*side].role == Role::Candidate).collect();
            if candidates.is_empty() {
                continue;
            }
            // Measured for its counted amounts: one session supports no claim about time.
            if row.sessions.len() == 1 && candidates.iter().all(|side| row.counts_alike(*side)) {
                continue;
            }
            let settled = |side: &usize, sessions: usize| {
                let mut evidence = row.evidence(*side);
                evidence.deltas.truncate(sessions);
                rule.sessions_wanted(report.plan.family, &evidence).is_none()
            };
            let mut looks = rule.looks.iter().map(|look| look.sessions);
            let due = looks.find(|sessions| candidates.iter().all(|side| settled(side, *sessions)));
            let measured = row.sessions.len();
            self.require(due == Some(measured), &row.title, || match due {
                Some(due) => format!("the rule ended after {due} sessions, but {measured} were kept"),
                None => format!("the row stopped after {measured} sessions, before the rule ended"),
            });
        }
    }
}

fn is_hex(text: &str) -> bool {
    !text.is_empty()
        && text.len().is_multiple_of(2)
        && text.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'))
}

fn is_sha256(text: &str) -> bool {
    text.len() == 64 && is_hex(text)
}

impl Side {
    /// Digest of the correct result.
    fn right(&self) -> &str {
        if self.reference.is_empty() { &self.digest } else { &self.reference }
    }
}

impl Row {
    /// Whether a side and the first side counted a common amount.
    fn counts_alike(&self, side: usize) -> bool {
        let first = &self.sides[0];
        self.sides[side].amounts.iter().any(|amount| first.amount(&amount.name).is_some())
    }
}

impl Report {
    /// Whether the conclusions may be used: no wrong result, no failed control.
    pub(crate) fn is_valid(&self) -> bool {
        let sound =
            self.rows.iter().all(|row| !matches!(row.status, Status::Incorrect(_) | Status::Failed(_)));
        let known = self.answers.iter().all(|answers| answers.wrong.is_none());
        sound
            && known
            && !self.has_unequal_samples()
            && !self.quality.flags.iter().any(|flag| conditions::is_fatal(flag))
    }

    /// All comparisons of candidates with their rows.
    pub(crate) fn candidates(&self) -> impl Iterator<Item = (&Row, &Comparison)> {
        self.rows.iter().flat_map(|row| row.found(Role::Candidate).map(move |found| (row, found)))
    }

    /// Whether any comparison is inconclusive.
    pub(crate) fn is_inconclusive(&self) -> bool {
        self.candidates().any(|(_, comparison)| comparison.verdict == Verdict::Inconclusive)
    }
}
