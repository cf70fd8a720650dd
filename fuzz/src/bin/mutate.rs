//! `mutate`: a mutation fuzzer for the document targets. It counts inputs and saves findings.
//!
//! The main process supervises. Each job is a separate process, so that hangs, exhausted memory and crashes become
//! findings. `cargo xtask mutate` builds and calls it.
#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;

use cap::Cap;
use hashmill_fuzz::hunt::child::{self, Part};
use hashmill_fuzz::hunt::parent::{self, Request};
use hashmill_fuzz::hunt::{TARGETS, Target};
use lexopt::prelude::*;

/// Memory limit of one job. An input inflates to at most 1 MiB. Beyond the limit allocations fail and the process ends,
/// which is a finding.
const ROOM: usize = 512 << 20;

#[global_allocator]
static LIMITED: Cap<mimalloc::MiMalloc> = Cap::new(mimalloc::MiMalloc, ROOM);

const HELP: &str = "\
mutate [TARGET…] [--seconds N] [--jobs N] [--seed N] [--out FOLDER] [--record FILE]
    looks for inputs that break the property of documents; all targets if none is named, N seconds each (60)
mutate --replay TARGET FILE…
    runs inputs once more
";

enum Command {
    Help,
    Search(Request),
    Replay(&'static Target, Vec<PathBuf>),
    Part(Part),
}

fn main() -> ExitCode {
    match parse(lexopt::Parser::from_env()) {
        Ok(Command::Help) => {
            print!("{HELP}");
            ExitCode::SUCCESS
        }
        Ok(Command::Search(request)) => outcome(parent::search(&request)),
        Ok(Command::Replay(target, files)) => outcome(child::replay(target, &files)),
        Ok(Command::Part(part)) => outcome(child::work(&part).map(|()| true)),
        Err(error) => {
            eprintln!("mutate: {error}");
            ExitCode::from(2)
        }
    }
}

fn outcome(clean: std::io::Result<bool>) -> ExitCode {
    match clean {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("mutate: {error}");
            ExitCode::from(2)
        }
    }
}

fn parse(mut parser: lexopt::Parser) -> Result<Command, lexopt::Error> {
    let mut request = Request {
        targets: vec![],
        seconds: 60,
        jobs: 1,
        seed: 1,
        out: concat!(env!("CARGO_MANIFEST_DIR"), "/artifacts/mutation").into(),
        record: None,
    };
    let (mut words, mut replay, mut part) = (vec![], false, None);
    while let Some(arg) = parser.next()? {
        match arg {
            Short('h') | Long("help") => return Ok(Command::Help),
            Long("seconds") => request.seconds = parser.value()?.parse()?,
            Long("jobs") => request.jobs = parser.value()?.parse()?,
            Long("seed") => request.seed = parser.value()?.parse()?,
            Long("out") => request.out = parser.value()?.into(),
            Long("record") => request.record = Some(parser.value()?.into()),
            Long("replay") => replay = true,
            // Arguments of a job: this program starts itself.
            Long("part") => part = Some(parser.value()?.string()?),
            Value(word) => words.push(word.string()?),
            _ => return Err(arg.unexpected()),
        }
    }
    if let Some(text) = part {
        return Part::parse(&text)
            .map(Command::Part)
            .ok_or_else(|| format!("no part of a search: {text}").into());
    }
    if replay {
        let Some((name, files)) = words.split_first() else { return Err("a target is missing".into()) };
        return Ok(Command::Replay(target(name)?, files.iter().map(PathBuf::from).collect()));
    }
    request.targets = match words.as_slice() {
        [] => TARGETS.iter().collect(),
        names => names.iter().map(|name| target(name)).collect::<Result<_, _>>()?,
    };
    Ok(Command::Search(request))
}

fn target(name: &str) -> Result<&'static Target, lexopt::Error> {
    let names = || TARGETS.iter().map(|target| target.name).collect::<Vec<_>>().join(", ");
    TARGETS
        .iter()
        .find(|target| target.name == name)
        .ok_or_else(|| format!("no such target; there are: {}", names()).into())
}
