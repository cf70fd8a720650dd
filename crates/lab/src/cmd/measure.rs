//! What every measuring command shares: start the sessions, keep the report on disk current, render, judge.

use super::args::Measuring;
use super::compare::count_beside;
use super::error::Error;
use super::layouts::{self, Layouts};
use super::progress::Display;
use super::{Console, Exit, Mount, doctor, files, interrupt};
use crate::build::Bench;
use crate::campaign::{self, Contest, Measured, Observer};
use crate::fingerprint::{sha256_file, sha256_hex};
use crate::plan::Plan;
use crate::report::assemble::{self, Heading};
use crate::report::samples::{self, SamplesFile};
use crate::report::schema::{Answers, Build, Kind, Report, Row, State, Status};
use crate::report::{html, markdown, store, text};
use crate::session::peer::Launcher;
use crate::session::process::{Processes, Program};
use hashmill_machine::clock::{Clock, Monotonic};
use hashmill_machine::date;
use hashmill_machine::{Load, Machine};
use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Everything a campaign of this command needs.
pub(super) struct Job {
    pub(super) kind: Kind,
    pub(super) contests: Vec<Contest>,
    pub(super) builds: Vec<Build>,
    pub(super) programs: Vec<Program>,
    pub(super) plan: Plan,
    pub(super) same_code: bool,
}

impl Job {
    /// Contests in one program.
    pub(super) fn of(
        kind: Kind,
        (build, program): (Build, Program),
        contests: Vec<Contest>,
        plan: Plan,
    ) -> Self {
        let (builds, programs) = (vec![build], vec![program]);
        Job { kind, contests, builds, programs, plan, same_code: false }
    }
}

/// Label of the program that measures.
pub(super) const SELF: &str = Build::SELF;

/// This very program as a build and as something to start.
pub(super) fn own_program(mount: &Mount<'_>) -> Result<(Build, Program), Error> {
    described(mount, SELF, std::env::current_exe().map_err(Error::Program)?)
}

/// The program built as `name` says.
pub(super) fn other_program(mount: &Mount<'_>, name: &str) -> Result<(Build, Program), Error> {
    let maker = mount
        .maker
        .ok_or_else(|| Error::Usage(format!("{} has no build `{name}`: it knows only itself", mount.name)))?;
    let path = maker.make(name).map_err(|error| Error::Usage(format!("build `{name}`: {error}")))?;
    let (mut build, program) = described(mount, name, path)?;
    build.settings.push(name.to_owned());
    Ok((build, program))
}

fn described(mount: &Mount<'_>, label: &str, path: PathBuf) -> Result<(Build, Program), Error> {
    let build = Build {
        label: label.to_owned(),
        source: path.display().to_string(),
        program_sha256: sha256_file(&path).map_err(Error::Program)?,
        ..mount.maker.map(|maker| maker.about()).unwrap_or_default()
    };
    Ok((build, Program { path, arguments: session_arguments(mount) }))
}

pub(super) fn session_arguments(mount: &Mount<'_>) -> Vec<OsString> {
    mount.arguments.iter().copied().chain(["session"]).map(OsString::from).collect()
}

/// Measures, writes the report's files and returns it with its folder.
pub(super) fn measure(mount: &Mount<'_>, options: &Measuring, job: Job) -> Result<(Report, PathBuf), Error> {
    measure_with(mount, options, job, Beside::default())
}

/// What is written into a report after its measurement.
type Addition<'a> = Box<dyn FnMut(&mut Report) + 'a>;

/// What a comparison takes to its measurement.
#[derive(Default)]
pub(super) struct Beside<'a> {
    /// What its sessions are linked of, where they have links of their own.
    pub(super) bench: Option<Bench>,
    /// Whether instructions are counted, where the verdicts leave a question.
    pub(super) count: bool,
    /// Commands, which start themselves, and what is added to their report.
    pub(super) commands: Option<(&'a dyn Launcher, Addition<'a>)>,
}

pub(super) fn measure_with(
    mount: &Mount<'_>,
    options: &Measuring,
    job: Job,
    mut beside: Beside<'_>,
) -> Result<(Report, PathBuf), Error> {
    job.plan.validate()?;
    let before = Load::read();
    let machine = Machine::read();
    let created = date::now_utc();
    let id = run_id(&created);
    let folder = options.out.clone().unwrap_or_else(|| Path::new("lab-results").join(&id));
    let noise = doctor::stored(&machine).and_then(|record| record.card());
    let mut contests = job.contests;
    if job.plan.rule.fixed_layout.is_some() {
        Layouts::read(&machine).tell(mount, &mut contests)?;
    }
    let works = contests.iter().map(|contest| mount.registry.work(&contest.sides[0].key)).collect();
    let heading = Heading {
        kind: job.kind,
        id,
        created,
        command: command_line(mount),
        machine,
        builds: job.builds,
        plan: job.plan,
        same_code: job.same_code,
        answers: known_answers(mount, job.kind)?,
        noise,
        works,
        before,
    };
    interrupt::watch();
    let mut recorder = Recorder {
        display: Display::new(contests.len()),
        file: folder.join("report.json"),
        heading,
        clock: Monotonic::new(),
        written_ns: 0,
        error: None,
    };
    // An unwritable folder must show before the first minute is spent, not after the last.
    recorder.write(&[])?;
    let plan = recorder.heading.plan.clone();
    let timeout = Duration::from_secs(plan.timeout_s);
    let programs = job.programs.clone();
    let made: Box<dyn Launcher> = match beside.bench {
        Some(bench) => Box::new(bench.launcher(programs, plan.seed, job.same_code, timeout)),
        None => Box::new(Processes { programs, timeout }),
    };
    let launcher = beside.commands.as_ref().map_or(&*made, |(launcher, _)| *launcher);
    let all = campaign::run(contests, &plan, launcher, &mut recorder);
    let mut report = recorder.report(&all);
    drop(recorder);
    if beside.count {
        count_beside(&mut report, &job.programs);
    }
    if let Some((_, add)) = &mut beside.commands {
        add(&mut report);
    }
    let samples = store::pretty(&SamplesFile::of(&report.id, &all));
    report.samples_sha256 = Some(sha256_hex(samples.as_bytes()));
    report.seal = report.compute_seal();
    let written = [
        (samples::NAME, samples),
        ("report.json", store::pretty(&report)),
        ("report.html", html::render(&report)),
        ("report.md", markdown::render(&report)),
    ];
    files::write(&folder, written)?;
    layouts::keep(mount, &report);
    Ok((report, folder))
}

/// The known answers of all engines. Nothing is timed after a wrong one.
fn known_answers(mount: &Mount<'_>, kind: Kind) -> Result<Vec<Answers>, Error> {
    // Two builds answer for themselves, by their digests.
    if !matches!(kind, Kind::Run | Kind::Engines) {
        return Ok(Vec::new());
    }
    let checks = mount.registry.answers().iter();
    let answers = checks.map(|known| match (known.check)() {
        Ok(right) => Ok(Answers { engine: known.name.clone(), right, wrong: None }),
        Err(wrong) => Err(Error::Refused(format!("{}: wrong known answer: {wrong}", known.name))),
    });
    answers.collect()
}

fn command_line(mount: &Mount<'_>) -> Vec<String> {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    // A bench measures without a word before its flags.
    let mounted = arguments.iter().zip(mount.arguments).take_while(|(given, mount)| *given == *mount).count();
    let arguments = arguments[mounted..].iter().map(|argument| argument.to_string_lossy().into_owned());
    mount.name.split(' ').map(str::to_owned).chain(arguments).collect()
}

/// The time of the start, readable and sortable, with four digits against collisions.
pub(super) fn run_id(created: &str) -> String {
    let moment =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |t| t.subsec_nanos());
    let digits: String = created.chars().filter(|c| c.is_ascii_digit()).collect();
    let unique = sha256_hex(format!("{created} {moment} {}", std::process::id()).as_bytes());
    format!("{}-{}-{}", &digits[..8], &digits[8..], &unique[..4])
}

/// Keeps the report on disk current, so that a kill loses at most a second.
struct Recorder {
    display: Display,
    file: PathBuf,
    heading: Heading,
    clock: Monotonic,
    written_ns: u64,
    error: Option<Error>,
}

impl Recorder {
    fn report(&self, all: &[Measured]) -> Report {
        assemble::report(&self.heading, all, Load::read(), self.clock.now_ns() / 1_000_000)
    }

    fn write(&mut self, all: &[Measured]) -> Result<(), Error> {
        let report = self.report(all);
        let result = store::write_atomically(&self.file, &store::pretty(&report));
        self.written_ns = self.clock.now_ns();
        result.map_err(Error::write(&self.file))
    }
}

impl Observer for Recorder {
    fn progress(&mut self, index: usize, wanted: usize, all: &[Measured]) {
        self.display.show(index, wanted, all);
        if self.clock.now_ns() - self.written_ns > 1_000_000_000 && self.error.is_none() {
            // A full disk must not cost the measurement; it is reported when the final report is written.
            self.error = self.write(all).err();
        }
    }

    fn stop(&self) -> bool {
        interrupt::came()
    }
}

/// Prints the report in the asked form, and says how the command ends.
pub(super) fn conclude(
    report: &Report,
    folder: &Path,
    options: &Measuring,
    console: &mut Console<'_>,
) -> Result<Exit, Error> {
    conclude_as(&text::render(report, console.colour), report, folder, options, console)
}

/// The same, where the form for a terminal is `text`.
pub(super) fn conclude_as(
    text: &str,
    report: &Report,
    folder: &Path,
    options: &Measuring,
    console: &mut Console<'_>,
) -> Result<Exit, Error> {
    if options.json {
        console.out.write_all(store::pretty(report).as_bytes())?;
    } else {
        console.out.write_all(text.as_bytes())?;
        writeln!(console.out, "report {}", folder.join("report.html").display())?;
    }
    let skipped = |row: &Row| matches!(row.status, Status::Skipped(_));
    if report.is_valid() && report.rows.iter().all(skipped) {
        writeln!(std::io::stderr(), "nothing was measured: this machine lacks what the cases need")?;
        return Ok(Exit::Inconclusive);
    }
    Ok(exit_of(report, options.strict))
}

pub(super) fn exit_of(report: &Report, strict: bool) -> Exit {
    if !report.is_valid() {
        Exit::Invalid
    } else if report.state != State::Complete || strict && report.is_inconclusive() {
        Exit::Inconclusive
    } else {
        Exit::Ok
    }
}
