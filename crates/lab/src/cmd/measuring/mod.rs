//! Shared by all commands that measure: starts the sessions, keeps the report on disk up to date, renders.

pub(crate) mod instruction_counts;
pub(crate) mod latest_run;
pub(crate) mod layout_history;
pub(crate) mod noise_card;
pub(crate) mod outcome;
pub(crate) mod pairings;
pub(crate) mod programs;
pub(crate) mod progress;

use super::context::{files, interrupt};
use crate::builds::RelinkInputs;
use crate::cmd::context::error::Error;
use crate::cmd::context::setup::LabSetup;
use crate::fingerprint::sha256_hex;
use crate::measure::campaign::{self, CaseGroup, GroupResult, Observer};
use crate::measure::plan::Plan;
use crate::measure::session::handle::Launcher;
use crate::measure::session::process::{Processes, Program};
use crate::report::assemble::RunHeader;
use crate::report::documents::samples::{self, SamplesFile};
use crate::report::render::{html, markdown};
use crate::report::schema::{Answers, Build, Kind, Report};
use crate::report::{assemble, store};
use hashmill_machine::clock::{Clock, Monotonic};
use hashmill_machine::date;
use hashmill_machine::{Load, Machine};
use instruction_counts::count_beside;
use layout_history::LayoutHistory;
use outcome::PAGE;
use progress::ProgressLine;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Parameters of a campaign.
pub(crate) struct Job {
    pub(crate) kind: Kind,
    pub(crate) groups: Vec<CaseGroup>,
    pub(crate) builds: Vec<Build>,
    pub(crate) programs: Vec<Program>,
    pub(crate) plan: Plan,
    pub(crate) same_code: bool,
}

impl Job {
    /// Groups in one program.
    pub(crate) fn new(
        kind: Kind,
        (build, program): (Build, Program),
        groups: Vec<CaseGroup>,
        plan: Plan,
    ) -> Self {
        let (builds, programs) = (vec![build], vec![program]);
        Job { kind, groups, builds, programs, plan, same_code: false }
    }
}

/// Measures, writes the report's files into `out` and returns the report with its folder.
pub(crate) fn measure(lab: &LabSetup<'_>, job: Job, out: Option<&Path>) -> Result<(Report, PathBuf), Error> {
    measure_with(lab, job, out, Extras::default())
}

/// Writes additions into a report after its measurement.
type Addition<'a> = Box<dyn FnMut(&mut Report) + 'a>;

/// Optional parts of a measurement.
#[derive(Default)]
pub(crate) struct Extras<'a> {
    /// Link inputs, for relinked sessions.
    pub(crate) bench: Option<RelinkInputs>,
    /// Whether instructions are counted if the verdicts leave a question.
    pub(crate) count: bool,
    /// Launcher of commands, and additions to their report.
    pub(crate) commands: Option<(&'a dyn Launcher, Addition<'a>)>,
    /// Renderer of the page, if not the usual one.
    pub(crate) page: Option<&'a dyn Fn(&Report) -> String>,
}

pub(crate) fn measure_with(
    lab: &LabSetup<'_>,
    job: Job,
    out: Option<&Path>,
    mut extras: Extras<'_>,
) -> Result<(Report, PathBuf), Error> {
    job.plan.validate()?;
    let before = Load::read();
    let machine = Machine::read();
    let created = date::now_utc();
    let id = run_id(&created);
    let folder = out.map_or_else(|| Path::new("lab-results").join(&id), Path::to_owned);
    let noise = noise_card::usable(&machine).and_then(|record| record.card());
    let mut groups = job.groups;
    if job.plan.rule.fixed_layout.is_some() {
        LayoutHistory::read(&machine).tell(lab, &mut groups)?;
    }
    let works = groups.iter().map(|group| lab.registry.work(&group.sides[0].key)).collect();
    let header = RunHeader {
        kind: job.kind,
        id,
        created,
        command: command_line(lab),
        machine,
        builds: job.builds,
        plan: job.plan,
        same_code: job.same_code,
        answers: known_answers(lab, job.kind)?,
        noise,
        works,
        before,
    };
    interrupt::watch();
    let mut recorder = Recorder {
        display: ProgressLine::new(groups.len()),
        file: folder.join("report.json"),
        header,
        clock: Monotonic::new(),
        written_ns: 0,
        error: None,
    };
    // An unwritable folder must be reported before the measurement and not after it.
    recorder.write(&[])?;
    let plan = recorder.header.plan.clone();
    let timeout = Duration::from_secs(plan.timeout_s);
    let programs = job.programs.clone();
    let own_launcher: Box<dyn Launcher> = match extras.bench {
        Some(bench) => Box::new(bench.launcher(programs, plan.seed, job.same_code, timeout)),
        None => Box::new(Processes { programs, timeout }),
    };
    let launcher = extras.commands.as_ref().map_or(&*own_launcher, |(launcher, _)| *launcher);
    let all = campaign::run(groups, &plan, launcher, &mut recorder);
    let mut report = recorder.report(&all);
    drop(recorder);
    if extras.count {
        count_beside(&mut report, &job.programs);
    }
    if let Some((_, add)) = &mut extras.commands {
        add(&mut report);
    }
    let samples = store::pretty(&SamplesFile::from_groups(&report.id, &all));
    report.samples_sha256 = Some(sha256_hex(samples.as_bytes()));
    report.seal = report.compute_seal();
    let page = extras.page.map_or_else(|| html::render(&report), |page| page(&report));
    let written = [
        (samples::NAME, samples),
        ("report.json", store::pretty(&report)),
        (PAGE, page),
        ("report.md", markdown::render(&report)),
    ];
    files::write(&folder, written)?;
    layout_history::keep(lab, &report);
    if out.is_none() {
        latest_run::point_at(&folder);
    }
    Ok((report, folder))
}

/// Test vectors of all engines. Nothing is timed after a wrong answer.
fn known_answers(lab: &LabSetup<'_>, kind: Kind) -> Result<Vec<Answers>, Error> {
    // For two builds, the digests are the check.
    if !matches!(kind, Kind::Run | Kind::Engines) {
        return Ok(Vec::new());
    }
    let checks = lab.registry.answers().iter();
    let answers = checks.map(|known| match (known.check)() {
        Ok(right) => Ok(Answers { engine: known.name.clone(), right, wrong: None }),
        Err(wrong) => Err(Error::Refused(format!("{}: wrong known answer: {wrong}", known.name))),
    });
    answers.collect()
}

fn command_line(lab: &LabSetup<'_>) -> Vec<String> {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    // A bench measures without an argument before its flags.
    let mounted = arguments.iter().zip(lab.arguments).take_while(|(given, lab)| *given == *lab).count();
    let arguments = arguments[mounted..].iter().map(|argument| argument.to_string_lossy().into_owned());
    lab.name.split(' ').map(str::to_owned).chain(arguments).collect()
}

/// Time of the start, readable and sortable, with four random digits against collisions.
pub(crate) fn run_id(created: &str) -> String {
    let moment =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |t| t.subsec_nanos());
    let digits: String = created.chars().filter(|c| c.is_ascii_digit()).collect();
    let unique = sha256_hex(format!("{created} {moment} {}", std::process::id()).as_bytes());
    format!("{}-{}-{}", &digits[..8], &digits[8..], &unique[..4])
}

/// Keeps the report on disk up to date, so that a killed process loses at most a second.
struct Recorder {
    display: ProgressLine,
    file: PathBuf,
    header: RunHeader,
    clock: Monotonic,
    written_ns: u64,
    error: Option<Error>,
}

impl Recorder {
    fn report(&self, all: &[GroupResult]) -> Report {
        assemble::report(&self.header, all, Load::read(), self.clock.now_ns() / 1_000_000)
    }

    fn write(&mut self, all: &[GroupResult]) -> Result<(), Error> {
        let report = self.report(all);
        let result = store::write_atomically(&self.file, &store::pretty(&report));
        self.written_ns = self.clock.now_ns();
        result.map_err(Error::write(&self.file))
    }
}

impl Observer for Recorder {
    fn progress(&mut self, index: usize, wanted: usize, all: &[GroupResult]) {
        self.display.show(index, wanted, all);
        if self.clock.now_ns() - self.written_ns > 1_000_000_000 && self.error.is_none() {
            // A full disk must not end the measurement; the final write reports it.
            self.error = self.write(all).err();
        }
    }

    fn stop(&self) -> bool {
        interrupt::came()
    }
}
