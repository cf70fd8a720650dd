//! Registry of the workloads and engines of a program, and the cases that they form.

use super::class::{Class, Sampling};
use super::driver::{Drive, Driver};
use super::engine::{CaseError, Digest, Engine, Spec, Workload};
use super::inputs::{Limits, Pool, PreparedInput};
use super::key::{Key, Knobs, is_name};
use super::lower_bound::MinimalWork;
use super::select::{hint, instead, matches};
use super::summary::Summary;
use super::units::{Size, Units};
use std::any::{Any, TypeId};
use std::marker::PhantomData;
use std::rc::Rc;

/// All workloads, suites and known answers of a program.
pub struct Registry {
    workloads: Vec<WorkloadEntry>,
    suites: Vec<Suite>,
    answers: Vec<KnownAnswers>,
    examples: Vec<(String, String)>,
    absent: Vec<(String, String)>,
}

/// Parameters that an engine supports. The listed sizes, threads and knob values are suggestions, not limits.
#[derive(Clone, Debug)]
pub struct EngineOffer {
    classes: Vec<Class>,
    threads: Vec<u32>,
    kernels: Vec<String>,
    knobs: Vec<(String, Vec<String>)>,
}

/// Named list of patterns, such as `headline`.
#[derive(Clone, Debug)]
pub struct Suite {
    /// Name on the command line.
    pub name: String,
    /// One-line description.
    pub about: String,
    /// Patterns of its cases.
    pub patterns: Vec<String>,
    /// Summary that a run prints instead of the table of cases.
    pub summary: Option<Summary>,
}

/// Known answers of an engine, computed before anything is timed.
pub(crate) struct KnownAnswers {
    pub(crate) name: String,
    /// Returns the number of right answers, or what was wrong.
    pub(crate) check: Box<dyn Fn() -> Result<usize, String>>,
}

type Prepare = dyn Fn(&Spec, u64, Limits) -> Result<Prepared, CaseError>;
type CountWork = dyn Fn(&Spec) -> Option<MinimalWork>;
type MakeDriver = dyn Fn(&Prepared, Spec) -> Box<dyn Drive>;

struct WorkloadEntry {
    name: String,
    sizes: Vec<Size>,
    input: TypeId,
    prepare: Box<Prepare>,
    work: Box<CountWork>,
    engines: Vec<EngineEntry>,
    /// Whether its sizes and threads are fixed.
    self_contained: bool,
}

struct EngineEntry {
    name: String,
    offer: EngineOffer,
    drive: Box<MakeDriver>,
}

/// Inputs of a session. Clones share them, so two engines of one session read the same memory.
#[derive(Clone)]
pub(crate) struct Prepared {
    inputs: Rc<dyn Any>,
    pub(crate) reference: Digest,
    pub(crate) units: Units,
    pub(crate) working_set: u64,
    /// Number of inputs.
    pub(crate) len: usize,
}

impl Prepared {
    pub(crate) fn new(
        inputs: Rc<dyn Any>,
        len: usize,
        reference: Digest,
        units: Units,
        working_set: u64,
    ) -> Self {
        Prepared { inputs, reference, units, working_set, len }
    }

    /// The inputs, if they have this type.
    pub(crate) fn inputs<T: 'static>(&self) -> Option<Rc<T>> {
        Rc::clone(&self.inputs).downcast().ok()
    }
}

/// Error in a selection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SelectError {
    /// One segment of the pattern matches nothing.
    #[error("no {what} matches `{segment}` in `{pattern}`{hint}; {}", instead(segment, choices))]
    NoMatch {
        /// Kind of segment: workload, engine, class, …
        what: &'static str,
        /// Text of the segment.
        segment: String,
        /// The whole pattern.
        pattern: String,
        /// Suggestion with the nearest name.
        hint: String,
        /// Possible values.
        choices: Vec<String>,
    },
    /// The pattern is malformed.
    #[error(
        "`{0}` is not a pattern of cases; write workload/engine/class/size/tN[/kernel][/knob=value…], with * as you like"
    )]
    Shape(String),
    /// No pattern was given.
    #[error("no case was selected")]
    Empty,
}

#[cfg(feature = "gates")]
impl SelectError {
    /// Whether the name is known but this processor lacks the kernel.
    pub(crate) fn is_about_the_processor(&self) -> bool {
        matches!(self, SelectError::NoMatch { what: KERNEL, .. })
    }
}

/// Prefix of the lab's own probes, which are listed only if a pattern names them.
pub(crate) const PROBE_PREFIX: &str = "lab.";

/// Threads segment for the largest number that an engine offers.
const ALL_THREADS: &str = "all";

/// Segment whose choices differ between processors.
const KERNEL: &str = "kernel";

impl EngineOffer {
    /// These timing classes on one thread, with the engine's default kernel.
    ///
    /// # Panics
    /// When a name is not a class: the program that registers it is wrong.
    #[must_use]
    pub fn classes(names: &[&str]) -> Self {
        let classes =
            names.iter().map(|name| name.parse().unwrap_or_else(|error| panic!("{error}"))).collect();
        EngineOffer { classes, threads: vec![1], kernels: Vec::new(), knobs: Vec::new() }
    }

    /// Thread counts worth measuring.
    #[must_use]
    pub fn threads(mut self, threads: impl IntoIterator<Item = u32>) -> Self {
        self.threads = threads.into_iter().collect();
        self
    }

    /// Kernels that can be forced.
    #[must_use]
    pub fn kernels<K: Into<String>>(mut self, kernels: impl IntoIterator<Item = K>) -> Self {
        self.kernels = kernels.into_iter().map(Into::into).collect();
        self
    }

    /// A parameter and values worth trying. The engine uses its default if the key omits it.
    #[must_use]
    pub fn knob<V: Into<String>>(mut self, name: &str, values: impl IntoIterator<Item = V>) -> Self {
        self.knobs.push((name.to_owned(), values.into_iter().map(Into::into).collect()));
        self
    }
}

/// Builder that adds engines with input `I` to a workload.
pub struct AddEngines<'a, I> {
    entry: &'a mut WorkloadEntry,
    input: PhantomData<I>,
}

impl<I: 'static> AddEngines<'_, I> {
    /// Adds an engine under `name`.
    ///
    /// # Panics
    /// If the name is not valid in a key or is already used.
    pub fn engine<E: Engine<Input = I>>(self, name: &str, engine: E, offer: EngineOffer) -> Self {
        assert!(is_name(name), "`{name}` cannot be the name of an engine");
        assert!(self.entry.engines.iter().all(|e| e.name != name), "engine `{name}` is registered twice");
        let engine = Rc::new(engine);
        let drive = move |prepared: &Prepared, spec| -> Box<dyn Drive> {
            let inputs = prepared.inputs().unwrap_or_else(|| unreachable!("same workload"));
            Box::new(Driver::new(Rc::clone(&engine), spec, inputs))
        };
        self.entry.engines.push(EngineEntry { name: name.to_owned(), offer, drive: Box::new(drive) });
        self
    }
}

impl Registry {
    /// Empty registry, without probes.
    pub(crate) fn empty() -> Self {
        Registry {
            workloads: Vec::new(),
            suites: Vec::new(),
            answers: Vec::new(),
            examples: Vec::new(),
            absent: Vec::new(),
        }
    }

    /// Registers a workload with sizes worth measuring; add its engines on the result.
    ///
    /// # Panics
    /// If the name is not valid in a key or is already used.
    pub fn workload<W: Workload>(&mut self, workload: W, sizes: &[u64]) -> AddEngines<'_, W::Input> {
        let name = workload.name().to_owned();
        assert!(is_name(&name), "`{name}` cannot be the name of a workload");
        assert!(self.workloads.iter().all(|w| w.name != name), "workload `{name}` is registered twice");
        let workload = Rc::new(workload);
        let counting = Rc::clone(&workload);
        let work = move |spec: &Spec| counting.work(spec);
        let prepare = move |spec: &Spec, seed, limits| {
            // A cold case has one input and one call.
            let is_cold = spec.class.sampling() == Sampling::Cold;
            let most = if is_cold { 1 } else { workload.inputs(spec) };
            let pool = Pool::fill(seed, most, limits, |seed| {
                let input = workload.prepare(spec, seed)?;
                let right = workload.reference(spec, &input)?;
                Ok(PreparedInput { input: Some(input), right, found: None })
            })?;
            let (reference, units) = (pool.right(), workload.units(spec));
            let working_set = workload.working_set(spec).saturating_mul(pool.len() as u64);
            let len = pool.len();
            Ok(Prepared::new(Rc::new(pool), len, reference, units, working_set))
        };
        let sizes = sizes.iter().copied().map(Size).collect();
        let (prepare, work) = (Box::new(prepare), Box::new(work));
        let input = TypeId::of::<W::Input>();
        let engines = Vec::new();
        self.workloads.push(WorkloadEntry {
            name,
            sizes,
            input,
            prepare,
            work,
            engines,
            self_contained: false,
        });
        let entry = self.workloads.last_mut().expect("just pushed");
        AddEngines { entry, input: PhantomData }
    }

    /// Registers a case that makes its own inputs and has its own driver, under the names in `key`.
    pub(crate) fn self_contained(
        &mut self,
        key: &Key,
        prepare: impl Fn(u64) -> Result<Prepared, CaseError> + 'static,
        drive: fn(&Prepared) -> Box<dyn Drive>,
    ) {
        let offer = EngineOffer {
            classes: vec![key.class.clone()],
            threads: vec![key.threads],
            ..EngineOffer::classes(&[])
        };
        let engine = EngineEntry {
            name: key.engine.clone(),
            offer,
            drive: Box::new(move |prepared, _| drive(prepared)),
        };
        self.workloads.push(WorkloadEntry {
            name: key.workload.clone(),
            sizes: vec![key.size],
            input: TypeId::of::<()>(),
            prepare: Box::new(move |_, seed, _| prepare(seed)),
            work: Box::new(|_| None),
            engines: vec![engine],
            self_contained: true,
        });
    }

    /// Adds engines to a workload that is already registered.
    ///
    /// # Panics
    /// When there is none of that name, or its input is another: the program that registers them is wrong.
    pub fn more_engines<I: 'static>(&mut self, name: &str) -> AddEngines<'_, I> {
        let entry = self.workloads.iter_mut().find(|workload| workload.name == name);
        let entry = entry.unwrap_or_else(|| panic!("there is no workload `{name}`"));
        assert!(entry.input == TypeId::of::<I>(), "the engines of `{name}` read another input");
        AddEngines { entry, input: PhantomData }
    }

    /// Registers a suite.
    pub fn suite(&mut self, name: &str, about: &str, patterns: &[&str]) {
        let patterns = patterns.iter().map(|p| (*p).to_owned()).collect();
        self.suites.push(Suite { name: name.to_owned(), about: about.to_owned(), patterns, summary: None });
    }

    /// Registers a suite for a first-time user. A run prints the summary and measures the cases of its products; with
    /// `--full`, all cases.
    pub fn summary(&mut self, name: &str, about: &str, summary: Summary) {
        let patterns = summary.cases().iter().map(|named| named.key.to_string()).collect();
        let summary = Some(summary);
        self.suites.push(Suite { name: name.to_owned(), about: about.to_owned(), patterns, summary });
    }

    /// Registers an example for the help of a command, such as `claim check`. `line` follows the program's name.
    pub fn example(&mut self, command: &str, line: &str) {
        self.examples.push((command.to_owned(), line.to_owned()));
    }

    pub(crate) fn examples(&self) -> &[(String, String)] {
        &self.examples
    }

    /// Registers known answers. `check` computes them and returns the number of right ones, or what was wrong.
    pub fn known_answers(&mut self, name: &str, check: impl Fn() -> Result<usize, String> + 'static) {
        self.answers.push(KnownAnswers { name: name.to_owned(), check: Box::new(check) });
    }

    pub(crate) fn answers(&self) -> &[KnownAnswers] {
        &self.answers
    }

    /// Records why workloads or engines of these names (`*` matches any text) are absent on this machine.
    pub fn absent(&mut self, names: &str, reason: &str) {
        self.absent.push((names.to_owned(), reason.to_owned()));
    }

    /// Absent workloads and engines with the reason.
    #[must_use]
    pub fn absences(&self) -> &[(String, String)] {
        &self.absent
    }

    /// Minimal work of one iteration of a case, if its workload counts it.
    pub(crate) fn work(&self, key: &Key) -> Option<MinimalWork> {
        let (workload, _) = self.find(key).ok()?;
        (workload.work)(&key.spec())
    }

    /// Suites in registration order.
    #[must_use]
    pub fn suites(&self) -> &[Suite] {
        &self.suites
    }

    /// All suggested cases, with default kernels and knobs.
    #[must_use]
    pub fn cases(&self) -> Vec<Key> {
        self.select_one("*").unwrap_or_default()
    }

    /// Cases that the patterns select, in order and without duplicates. A pattern is a key whose segments may contain
    /// `*` and whose trailing segments may be missing; a suite's name stands for its patterns.
    ///
    /// Explicit sizes, threads and knob values need not be among the suggested ones.
    pub fn select<P: AsRef<str>>(&self, patterns: &[P]) -> Result<Vec<Key>, SelectError> {
        let mut keys: Vec<Key> = Vec::new();
        for pattern in patterns {
            let pattern = pattern.as_ref();
            let suite = self.suites.iter().find(|suite| suite.name == pattern);
            let found = match suite {
                Some(suite) => self.select(&suite.patterns)?,
                None => self
                    .select_one(pattern)
                    .map_err(|error| self.or_absent(self.or_a_suite(pattern, error)))?,
            };
            keys.extend(found.into_iter().filter(|key| !keys.contains(key)).collect::<Vec<_>>());
        }
        if keys.is_empty() { Err(SelectError::Empty) } else { Ok(keys) }
    }

    /// A single unknown word may be a misspelt suite.
    fn or_a_suite(&self, pattern: &str, mut error: SelectError) -> SelectError {
        if let SelectError::NoMatch { hint: meant, choices, .. } = &mut error
            && !pattern.contains('/')
        {
            choices.extend(self.suites.iter().map(|suite| suite.name.clone()));
            *meant = hint(pattern, choices.iter().map(String::as_str));
        }
        error
    }

    /// Adds the reason if the segment names something that only other machines have.
    fn or_absent(&self, mut error: SelectError) -> SelectError {
        if let SelectError::NoMatch { segment, hint, .. } = &mut error
            && let Some((names, reason)) = self.absent.iter().find(|(names, _)| matches(names, segment))
        {
            *hint = format!(" ({names} is not here: {reason})");
        }
        error
    }

    fn select_one(&self, pattern: &str) -> Result<Vec<Key>, SelectError> {
        let pattern = Pattern::parse(pattern)?;
        let own = pattern.workload.starts_with(PROBE_PREFIX);
        let listed: Vec<&WorkloadEntry> =
            self.workloads.iter().filter(|w| w.name.starts_with(PROBE_PREFIX) == own).collect();
        let workloads = pattern.filter("workload", &pattern.workload, &listed, |w| w.name.clone())?;
        let pairs: Vec<_> = workloads.iter().flat_map(|w| w.engines.iter().map(|e| (*w, e))).collect();
        let pairs = pattern.filter("engine", &pattern.engine, &pairs, |(_, e)| e.name.clone())?;
        let triples: Vec<_> =
            pairs.into_iter().flat_map(|(w, e)| e.offer.classes.iter().map(move |c| (w, e, c))).collect();
        let triples = pattern.filter("class", &pattern.class, &triples, |(_, _, c)| c.to_string())?;
        let mut keys = Vec::new();
        for (workload, engine, class) in triples {
            pattern.expand(workload, engine, class, &mut keys)?;
        }
        Ok(keys)
    }

    /// Makes the inputs of a case and their right answers.
    pub(crate) fn prepare(&self, key: &Key, seed: u64) -> Result<Prepared, CaseError> {
        self.prepare_within(Limits::default(), key, seed)
    }

    /// As [`Self::prepare`]. The default limits include a time, so on a busy machine they can stop after any number of inputs.
    fn prepare_within(&self, limits: Limits, key: &Key, seed: u64) -> Result<Prepared, CaseError> {
        let (workload, _) = self.find(key)?;
        (workload.prepare)(&key.spec(), seed, limits)
    }

    /// Driver for a prepared case.
    pub(crate) fn drive(&self, key: &Key, prepared: &Prepared) -> Result<Box<dyn Drive>, CaseError> {
        let (_, engine) = self.find(key)?;
        Ok((engine.drive)(prepared, key.spec()))
    }

    fn find(&self, key: &Key) -> Result<(&WorkloadEntry, &EngineEntry), CaseError> {
        // Ready-made cases share a name if they differ only in size or threads.
        let is_it = |w: &&WorkloadEntry| {
            let own = |e: &EngineEntry| e.offer.threads.contains(&key.threads);
            w.name == key.workload
                && (!w.self_contained || w.sizes.contains(&key.size) && w.engines.iter().any(own))
        };
        let workload = self.workloads.iter().find(is_it);
        let pair = workload.and_then(|w| Some((w, w.engines.iter().find(|e| e.name == key.engine)?)));
        match pair {
            Some((workload, engine)) if engine.offer.classes.contains(&key.class) => Ok((workload, engine)),
            _ => Err(CaseError::unavailable(format!("this build has no case {key}"))),
        }
    }
}

impl Key {
    pub(crate) fn spec(&self) -> Spec {
        Spec {
            class: self.class.clone(),
            size: self.size.0,
            threads: self.threads,
            kernel: self.kernel.clone(),
            knobs: self.knobs.clone(),
        }
    }
}

/// Key with wildcards. Missing segments before the kernel match everything.
struct Pattern {
    text: String,
    workload: String,
    engine: String,
    class: String,
    size: String,
    threads: String,
    kernel: Option<String>,
    knobs: Vec<(String, String)>,
}

impl Pattern {
    fn parse(text: &str) -> Result<Self, SelectError> {
        let shape = || SelectError::Shape(text.to_owned());
        let mut segments: Vec<&str> = text.split('/').collect();
        if segments.iter().any(|segment| segment.is_empty()) {
            return Err(shape());
        }
        let knobs_from = segments.iter().position(|segment| segment.contains('=')).unwrap_or(segments.len());
        let knobs = segments.split_off(knobs_from);
        let knobs: Option<Vec<_>> = knobs.iter().map(|segment| segment.split_once('=')).collect();
        let knobs = knobs.ok_or_else(shape)?;
        let mut segments = segments.into_iter().map(str::to_owned);
        let mut next = || segments.next().unwrap_or_else(|| "*".to_owned());
        let (workload, engine, class, size, threads) = (next(), next(), next(), next(), next());
        let kernel = segments.next();
        if segments.next().is_some() {
            return Err(shape());
        }
        let knobs = knobs.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Ok(Pattern { text: text.to_owned(), workload, engine, class, size, threads, kernel, knobs })
    }

    /// Items whose name matches `segment`, or an error with suggestions.
    fn filter<T: Clone>(
        &self,
        what: &'static str,
        segment: &str,
        items: &[T],
        name: impl Fn(&T) -> String,
    ) -> Result<Vec<T>, SelectError> {
        let found: Vec<T> = items.iter().filter(|item| matches(segment, &name(item))).cloned().collect();
        if !found.is_empty() || items.is_empty() {
            return Ok(found);
        }
        let mut choices: Vec<String> = Vec::new();
        for item in items {
            let name = name(item);
            if !choices.contains(&name) {
                choices.push(name);
            }
        }
        Err(SelectError::NoMatch {
            what,
            segment: segment.to_owned(),
            pattern: self.text.clone(),
            hint: hint(segment, choices.iter().map(String::as_str)),
            choices,
        })
    }

    fn expand(
        &self,
        workload: &WorkloadEntry,
        engine: &EngineEntry,
        class: &Class,
        keys: &mut Vec<Key>,
    ) -> Result<(), SelectError> {
        let sizes = match self.size.parse::<Size>() {
            Ok(size) => vec![size],
            Err(_) => self.filter("size", &self.size, &workload.sizes, Size::to_string)?,
        };
        let literal = self.threads.strip_prefix('t').and_then(|n| n.parse::<u32>().ok()).filter(|n| *n > 0);
        let threads = match literal {
            Some(threads) => vec![threads],
            None if self.threads == ALL_THREADS => {
                engine.offer.threads.iter().copied().max().into_iter().collect()
            }
            None => self.filter("thread count", &self.threads, &engine.offer.threads, |n| format!("t{n}"))?,
        };
        let kernels: Vec<Option<String>> = match &self.kernel {
            None => vec![None],
            Some(kernel) => {
                let kernels = self.filter(KERNEL, kernel, &engine.offer.kernels, String::clone)?;
                kernels.into_iter().map(Some).collect()
            }
        };
        let settings = self.settings(engine)?;
        for &size in &sizes {
            for &threads in &threads {
                for kernel in &kernels {
                    keys.extend(settings.iter().map(|knobs| Key {
                        workload: workload.name.clone(),
                        engine: engine.name.clone(),
                        class: class.clone(),
                        size,
                        threads,
                        kernel: kernel.clone(),
                        knobs: knobs.clone(),
                    }));
                }
            }
        }
        Ok(())
    }

    /// All combinations of the requested knob values.
    fn settings(&self, engine: &EngineEntry) -> Result<Vec<Knobs>, SelectError> {
        let mut settings = vec![Knobs::new()];
        for (name, value) in &self.knobs {
            let offered = self.filter("knob", name, &engine.offer.knobs, |(knob, _)| knob.clone())?;
            let Some((knob, suggested)) = offered.first() else {
                return Err(SelectError::Shape(self.text.clone()));
            };
            let values = match value.contains('*') {
                false if is_name(value) => vec![value.clone()],
                _ => self.filter("value", value, suggested, String::clone)?,
            };
            settings = settings
                .iter()
                .flat_map(|chosen| values.iter().map(|value| with(chosen, knob, value)))
                .collect();
        }
        Ok(settings)
    }
}

fn with(knobs: &Knobs, name: &str, value: &str) -> Knobs {
    let mut knobs = knobs.clone();
    knobs.insert(name.to_owned(), value.to_owned());
    knobs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::engine::function;

    struct Count(&'static str);

    impl Workload for Count {
        type Input = u64;
        fn name(&self) -> &str {
            self.0
        }
        fn units(&self, spec: &Spec) -> Units {
            Units::Operations(spec.size)
        }
        fn prepare(&self, spec: &Spec, _: u64) -> Result<u64, CaseError> {
            Ok(spec.size)
        }
        fn reference(&self, _: &Spec, input: &u64) -> Result<Digest, CaseError> {
            Ok(Digest::new(&input.to_le_bytes()))
        }
    }

    fn registry() -> Registry {
        let same = || function("plain", |n: &u64| *n, |n: &u64| Digest::new(&n.to_le_bytes()));
        let mut registry = Registry::new();
        registry
            .workload(Count("count"), &[64, 4096])
            .engine(
                "fast",
                same(),
                EngineOffer::classes(&["kernel", "oneshot"]).threads([1, 2]).kernels(["avx2", "sse2"]),
            )
            .engine("slow", same(), EngineOffer::classes(&["oneshot"]).knob("tile", ["1", "2"]));
        registry.suite("short", "the small ones", &["count/*/oneshot/64"]);
        registry
    }

    fn selected(patterns: &[&str]) -> Vec<String> {
        registry().select(patterns).expect("a match").iter().map(Key::to_string).collect()
    }

    fn refused(pattern: &str) -> String {
        registry().select(&[pattern]).expect_err("no match").to_string()
    }

    #[test]
    fn missing_segments_match_everything_but_kernels_and_knobs() {
        assert_eq!(registry().cases().len(), 2 * 2 * 2 + 2);
        assert_eq!(
            selected(&["count/fast/kernel"]),
            [
                "count/fast/kernel/64/t1",
                "count/fast/kernel/64/t2",
                "count/fast/kernel/4KiB/t1",
                "count/fast/kernel/4KiB/t2"
            ]
        );
    }

    #[test]
    fn kernels_knobs_and_other_sizes_are_selected_by_name() {
        assert_eq!(
            selected(&["*/fast/kernel/100/t3/*"]),
            ["count/fast/kernel/100/t3/avx2", "count/fast/kernel/100/t3/sse2"]
        );
        assert_eq!(
            selected(&["count/slow/oneshot/64/t1/tile=*"]),
            ["count/slow/oneshot/64/t1/tile=1", "count/slow/oneshot/64/t1/tile=2"]
        );
        assert_eq!(selected(&["count/slow/oneshot/64/t1/tile=9"]), ["count/slow/oneshot/64/t1/tile=9"]);
    }

    #[test]
    fn suites_expand_to_their_patterns_without_duplicates() {
        let keys = ["count/fast/oneshot/64/t1", "count/fast/oneshot/64/t2", "count/slow/oneshot/64/t1"];
        assert_eq!(selected(&["short"]), keys);
        assert_eq!(selected(&["short", "count/slow/oneshot/64"]), keys);
    }

    #[test]
    fn errors_suggest_the_nearest_name() {
        assert_eq!(
            refused("cuont"),
            "no workload matches `cuont` in `cuont` (did you mean `count`?); there is count, short"
        );
        assert!(refused("count/fats").contains("no engine matches `fats`"));
        assert!(
            refused("shrot").ends_with("(did you mean `short`?); there is count, short"),
            "{}",
            refused("shrot")
        );
        assert!(refused("count/fast/kernal").contains("did you mean `kernel`?"));
        assert!(refused("count/slow/kernel").contains("there is oneshot"));
        assert!(refused("count/fast/kernel/64/t1/avx512").contains("there is avx2, sse2"));
        assert!(refused("count/slow/oneshot/64/t1/tiles=1").contains("did you mean `tile`?"));
        assert!(refused("count//kernel").contains("not a pattern"));
        assert!(refused("a/b/c/d/e/f/g").contains("not a pattern"));
        assert_eq!(registry().select::<&str>(&[]), Err(SelectError::Empty));
    }

    /// Any number; a session takes as many inputs as allowed.
    struct Numbers;

    impl Workload for Numbers {
        type Input = u64;
        fn name(&self) -> &str {
            "numbers"
        }
        fn units(&self, _: &Spec) -> Units {
            Units::Bytes(8)
        }
        fn inputs(&self, _: &Spec) -> usize {
            usize::MAX
        }
        fn prepare(&self, _: &Spec, seed: u64) -> Result<u64, CaseError> {
            Ok(seed)
        }
        fn reference(&self, _: &Spec, input: &u64) -> Result<Digest, CaseError> {
            Ok(Digest::from_debug(input))
        }
    }

    #[test]
    fn only_warm_sessions_have_several_inputs() {
        let mut registry = registry();
        let offer = EngineOffer::classes(&["kernel", "cold"]);
        registry.workload(Numbers, &[1]).engine(
            "echo",
            function("echo", |n: &u64| *n, Digest::from_debug),
            offer,
        );
        let pool = |case: &str| {
            let key: Key = case.parse().expect("a key");
            let prepared = registry.prepare_within(Limits::UNLIMITED, &key, 7).expect("numbers");
            let pool: Rc<Pool<u64>> = prepared.inputs().expect("of numbers");
            (pool.len(), pool.inputs[0], prepared.working_set)
        };
        let (several, first, working_set) = pool("numbers/echo/kernel/1/t1");
        assert!(several > 1 && first == 7 && working_set == 8 * several as u64, "{several} {working_set}");
        assert_eq!(pool("numbers/echo/cold/1/t1"), (1, 7, 8));
        assert_eq!(pool("count/fast/kernel/64/t1"), (1, 64, 0));
    }

    #[test]
    fn a_case_of_another_build_is_unavailable_not_a_panic() {
        let key: Key = "count/slow/kernel/64/t1".parse().expect("a key");
        assert!(matches!(registry().prepare(&key, 1), Err(CaseError::Unavailable(_))));
    }
}
