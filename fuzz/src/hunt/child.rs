//! One job: runs blocks of one target and reports to the parent line by line.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use hashmill_testkit::hex;

use super::{Finding, Target, catch, run_block, shrink};

/// Parameters of one job.
#[derive(Clone, Debug)]
pub struct Part {
    /// The target.
    pub target: &'static Target,
    /// The seed of the search.
    pub seed: u64,
    /// Its first block.
    pub first: u64,
    /// Distance from one of its blocks to the next.
    pub step: u64,
    /// Duration. `None`: a single block, and each input is written to a file before it runs.
    pub time: Option<Duration>,
    /// Folder for findings.
    pub out: PathBuf,
}

impl Part {
    /// As an argument of this program.
    pub fn argument(&self) -> String {
        let Self { target, seed, first, step, time, out } = self;
        let millis = time.map_or_else(|| "-".to_owned(), |time| time.as_millis().to_string());
        format!("{}:{seed}:{first}:{step}:{millis}:{}", target.name, out.display())
    }

    /// From such an argument.
    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.splitn(6, ':');
        let name = words.next()?;
        let target = super::TARGETS.iter().find(|target| target.name == name)?;
        let mut number = || words.next()?.parse::<u64>().ok();
        let (seed, first, step) = (number()?, number()?, number()?);
        let time = match words.next()? {
            "-" => None,
            millis => Some(Duration::from_millis(millis.parse().ok()?)),
        };
        Some(Self { target, seed, first, step, time, out: words.next()?.into() })
    }

    /// File of the running input, if inputs are written.
    pub fn last(&self) -> PathBuf {
        self.out.join(format!("{}-last-{}", self.target.name, self.first))
    }
}

/// Runs the job. Each block prints two lines: `block NUMBER` before it, `done EXECUTIONS ACCEPTED REFUSED FINDINGS` after it.
/// `finding COUNT FILE` comes at the end for each kind of finding.
pub fn work(part: &Part) -> io::Result<()> {
    catch::quietly();
    let (start, mut number) = (Instant::now(), part.first);
    let mut kinds: HashMap<String, (u64, PathBuf)> = HashMap::new();
    let mut lines = io::stdout().lock();
    loop {
        writeln!(lines, "block {number}")?;
        lines.flush()?;
        let mut failed = Ok(());
        let mut before = |input: &[u8]| {
            if part.time.is_none() {
                failed = fs::write(part.last(), input);
            }
        };
        let mut found = vec![];
        let tally = run_block(part.target, part.seed, number, &mut before, &mut |input, finding| match kinds
            .get_mut(&finding.kind())
        {
            Some((count, _)) => *count += 1,
            None => {
                kinds.insert(finding.kind(), (1, PathBuf::new()));
                found.push((input.to_vec(), finding));
            }
        });
        failed?;
        for (input, finding) in found {
            let smaller = shrink(part.target, &input, &finding);
            let file = keep(
                &part.out,
                part.target,
                &smaller,
                &finding,
                &format!("seed {}, block {number}", part.seed),
            )?;
            if let Some((_, recorded_file)) = kinds.get_mut(&finding.kind()) {
                *recorded_file = file;
            }
        }
        let super::Tally { executions, accepted, refused, findings } = tally;
        writeln!(lines, "done {executions} {accepted} {refused} {findings}")?;
        number += part.step;
        if part.time.is_none_or(|time| start.elapsed() >= time) {
            break;
        }
    }
    for (count, file) in kinds.values() {
        writeln!(lines, "finding {count} {}", file.display())?;
    }
    writeln!(lines, "end")
}

/// Writes a finding: its input, and a file with the message. An earlier finding of the kind stays if it is smaller.
pub(super) fn keep(
    out: &Path,
    target: &Target,
    input: &[u8],
    finding: &Finding,
    origin: &str,
) -> io::Result<PathBuf> {
    fs::create_dir_all(out)?;
    // FNV-1a: a name for a kind that stays the same from run to run.
    let name = finding
        .kind()
        .bytes()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let file = out.join(format!("{}-{name:08x}", target.name));
    if fs::metadata(&file).is_ok_and(|known| known.len() <= input.len() as u64) {
        return Ok(file);
    }
    fs::write(&file, input)?;
    let digits = hex::encode(input);
    let Finding { location, message } = finding;
    fs::write(file.with_extension("txt"), format!("{location}\n{message}\n\n{origin}\n{digits}\n"))?;
    Ok(file)
}

/// Runs inputs again. Does the property hold for all of them?
pub fn replay(target: &Target, files: &[PathBuf]) -> io::Result<bool> {
    catch::quietly();
    let mut clean = true;
    for file in files {
        let input = fs::read(file)?;
        match catch::run(|| (target.body)(&input)) {
            Ok(verdict) => println!("{}: {verdict:?}", file.display()),
            Err(Finding { location, message }) => {
                clean = false;
                println!("{}: {location}: {message}", file.display());
            }
        }
    }
    Ok(clean)
}
