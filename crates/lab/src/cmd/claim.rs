//! `lab claim`: numbers in documents, tied to reports, and measured again by whoever doubts them.

use super::args::Measuring;
use super::contests::duel;
use super::error::Error;
use super::github::{Annotation, Page, of_banner};
use super::measure::{Job, exit_of, measure, own_program};
use super::{Console, Exit, Mount};
use crate::claim::document::{marks, render};
use crate::claim::{Circumstances, Claim, ClaimError, Claims, Here, Proven, Sources};
use crate::plan::Control;
use crate::report::schema::{Kind, Report, Verdict};
use crate::report::store;
use crate::report::view::View;
use crate::stats::ratio::{MEANS, range};
use clap::{Args, Subcommand};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(super) struct ClaimArgs {
    #[command(subcommand)]
    what: What,
    /// File of claims.
    #[arg(long, global = true, value_name = "FILE", default_value = "bench/claims.toml")]
    file: PathBuf,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Check every claim against its report, and every number in the documents against its claim.
    Check,
    /// Write the numbers into the documents.
    Render,
    /// Print the lines that claim a comparison of a report.
    New {
        /// Name of the claim.
        id: String,
        /// Report that proves it.
        #[arg(long, value_name = "FILE")]
        report: PathBuf,
        /// Case of ours.
        #[arg(long)]
        case: String,
        /// Engine that it is compared with.
        #[arg(long, value_name = "ENGINE")]
        vs: String,
        /// Last day on which it may be shown.
        #[arg(long, value_name = "DATE")]
        expires: String,
        /// Also where the report proves no difference: the number is shown with its interval.
        #[arg(long)]
        unproven: bool,
    },
    /// Measure a claim again, on this machine: holds, weaker, or does not hold here.
    Prove(Prove),
}

#[derive(Debug, Args)]
struct Prove {
    /// Name of the claim.
    id: String,
    #[command(flatten)]
    measuring: Measuring,
}

pub(super) fn main(mount: &Mount<'_>, args: &ClaimArgs, console: &mut Console<'_>) -> Result<Exit, Error> {
    match &args.what {
        What::Check => check(mount, &args.file, console),
        What::Render => write(mount, &args.file, console),
        What::Prove(wish) => prove(mount, wish, &args.file, console),
        What::New { id, report, case, vs, expires, unproven } => {
            let bytes = store::read_bytes(report).map_err(Error::read(report))?;
            let claim = Claim {
                id: id.clone(),
                case: case.clone(),
                vs: vs.clone(),
                program: mount.name.to_owned(),
                report: report.clone(),
                report_sha256: crate::fingerprint::sha256_hex(&bytes),
                expires: expires.clone(),
                unproven: *unproven,
                sources: Sources::default(),
            };
            let proven = claim.prove(Path::new("")).map_err(|error| Error::Refused(error.to_string()))?;
            let quoted = |text: &str| toml_edit::Value::from(text).to_string();
            writeln!(console.out, "# {}; {MEANS}", show(&proven))?;
            writeln!(console.out, "[[claim]]")?;
            for (key, value) in [
                ("id", &claim.id),
                ("case", &claim.case),
                ("vs", &claim.vs),
                ("program", &claim.program),
                ("report", &claim.report.display().to_string()),
                ("report_sha256", &claim.report_sha256),
                ("expires", &claim.expires),
            ] {
                writeln!(console.out, "{key} = {}", quoted(value))?;
            }
            if claim.unproven {
                writeln!(console.out, "unproven = true")?;
            }
            Ok(Exit::Ok)
        }
    }
}

/// The claims, and the folder where their paths start.
fn read(file: &Path) -> Result<(Claims, PathBuf), Error> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Error::Usage(format!("cannot read {}: {error}", file.display())))?;
    let claims =
        Claims::parse(&text).map_err(|error| Error::Usage(format!("{}: {error}", file.display())))?;
    let root = file.parent().unwrap_or(Path::new("")).join(&claims.root);
    Ok((claims, root))
}

fn document(root: &Path, name: &Path) -> Result<String, Error> {
    let path = root.join(name);
    std::fs::read_to_string(&path)
        .map_err(|error| Error::Usage(format!("cannot read {}: {error}", path.display())))
}

/// What should stand in documents, by the names of claims and tables. No text is what only another program can say.
type Texts<'a> = Vec<(&'a str, Result<Option<String>, ClaimError>)>;

fn texts<'a>(mount: &Mount<'_>, claims: &'a Claims, root: &Path) -> Texts<'a> {
    let numbers = claims.claim.iter();
    let numbers =
        numbers.map(|claim| (claim.id.as_str(), claim.prove(root).map(|proven| Some(claim.text(&proven)))));
    let tables = claims.table.iter().map(|table| {
        let text = match table.program == mount.name {
            true => table.prove(root, mount.registry).map(Some),
            false => Ok(None),
        };
        (table.id.as_str(), text)
    });
    numbers.chain(tables).collect()
}

fn unclosed(name: &Path, line: usize) -> String {
    format!("{}:{line}: a claim begins, and no `<!-- /lab -->` ends it", name.display())
}

fn check(mount: &Mount<'_>, file: &Path, console: &mut Console<'_>) -> Result<Exit, Error> {
    let (claims, root) = read(file)?;
    let texts = texts(mount, &claims, &root);
    let failed = texts.iter().filter_map(|(_, text)| text.as_ref().err());
    let mut problems: Vec<String> = failed.map(ToString::to_string).collect();
    let good = texts.iter().filter(|(_, text)| matches!(text, Ok(Some(_)))).count();
    let elsewhere = texts.len() - good - problems.len();
    let mut numbers = 0;
    for name in &claims.documents {
        let text = document(&root, name)?;
        let marks = match marks(&text) {
            Ok(marks) => marks,
            Err(line) => {
                problems.push(unclosed(name, line));
                continue;
            }
        };
        for mark in marks {
            let place = format!("{}:{}", name.display(), mark.line);
            match texts.iter().find(|(id, _)| *id == mark.id) {
                None => problems.push(format!("{place}: {}", claims.unknown(mark.id))),
                // Said above, with the claim.
                Some((_, Err(_) | Ok(None))) => {}
                Some((_, Ok(Some(text)))) if text == mark.text => numbers += 1,
                Some((id, Ok(Some(text)))) => problems.push(match text.contains('\n') {
                    true => format!("{place}: table `{id}` is stale: run `claim render`"),
                    false => format!(
                        "{place}: it says `{}`, and claim `{id}` is {text}: run `claim render`",
                        mark.text
                    ),
                }),
            }
        }
    }
    for problem in &problems {
        writeln!(console.out, "{problem}")?;
    }
    // A number of older sources is no mistake, but its reader should know.
    for claim in claims.claim.iter().filter(|claim| !claim.sources.paths.is_empty()) {
        let stale =
            claim.evidence(&root).ok().and_then(|report| claim.sources.stale(&root, &report).ok().flatten());
        if let Some(says) = stale {
            writeln!(console.out, "claim `{}`: {says}", claim.id)?;
        }
    }
    let all = texts.len() - elsewhere;
    writeln!(console.out, "{good} of {all} claims are proven, {numbers} numbers in documents are theirs")?;
    if elsewhere > 0 {
        writeln!(console.out, "{elsewhere} tables are of another program, which checks them")?;
    }
    Ok(if problems.is_empty() { Exit::Ok } else { Exit::Failed })
}

fn write(mount: &Mount<'_>, file: &Path, console: &mut Console<'_>) -> Result<Exit, Error> {
    let (claims, root) = read(file)?;
    let refused = |error: &ClaimError| Error::Refused(error.to_string());
    let texts = texts(mount, &claims, &root);
    for name in &claims.documents {
        let text = document(&root, name)?;
        let marks = marks(&text).map_err(|line| Error::Refused(unclosed(name, line)))?;
        let mut numbers = Vec::new();
        for mark in &marks {
            let known = texts.iter().find(|(id, _)| *id == mark.id);
            let (_, number) = known.ok_or_else(|| refused(&claims.unknown(mark.id)))?;
            numbers.push((mark.id, number.as_ref().map_err(refused)?));
        }
        let number =
            |id: &str| numbers.iter().find(|(known, _)| *known == id).and_then(|(_, text)| (*text).clone());
        let filled = render(&text, &marks, number);
        let path = root.join(name);
        store::write_atomically(&path, &filled).map_err(Error::write(&path))?;
        writeln!(console.out, "{}: {} numbers", name.display(), marks.len())?;
    }
    Ok(Exit::Ok)
}

/// Measures a claim again, here.
fn prove(mount: &Mount<'_>, args: &Prove, file: &Path, console: &mut Console<'_>) -> Result<Exit, Error> {
    let (claims, root) = read(file)?;
    let claim = claims.get(&args.id).map_err(|error| Error::Usage(error.to_string()))?;
    if claim.program != mount.name {
        return Err(Error::Usage(format!(
            "claim `{}` is measured with `{} claim prove {}`",
            claim.id, claim.program, claim.id
        )));
    }
    let page = Page::open(args.measuring.github)?;
    let refused = |error: ClaimError| Error::Refused(error.to_string());
    let evidence = claim.evidence(&root).map_err(refused)?;
    let claimed = claim.find(&evidence).map_err(refused)?;
    let [ours, rival] = claim.keys().map_err(|error| Error::Usage(error.to_string()))?;
    mount.registry.select(&[ours.to_string(), rival.to_string()])?;
    let plan = args.measuring.plan();
    let contest = duel(&rival, &ours, plan.control != Control::Off)?;
    let job = Job::of(Kind::Engines, own_program(mount)?, vec![contest], plan);
    let (report, folder) = measure(mount, &args.measuring, job)?;
    let exit = exit_of(&report, false);
    let view = View::of(&report);
    let mut lines = of_banner(&view);
    if exit != Exit::Ok {
        writeln!(console.out, "{}: the run itself did not succeed, see {}", claim.id, folder.display())?;
        page.show(&view, lines)?;
        return Ok(exit);
    }
    let here = claim.find(&report).ok();
    let judged = Here::judge(&claimed, here.as_ref(), verdict(&report));
    let shown = here.map_or_else(|| "nothing proven".to_owned(), |here| show(&here));
    writeln!(console.out, "claim    {}: {} against {}", claim.id, claim.case, claim.vs)?;
    let circumstances = (claim.circumstances(&evidence), claim.circumstances(&report));
    let words = |known: &Option<Circumstances>| known.as_ref().map_or_else(String::new, Circumstances::words);
    writeln!(console.out, "claimed  {}; {}", show(&claimed), words(&circumstances.0))?;
    writeln!(console.out, "here     {shown}; {}", words(&circumstances.1))?;
    if let (Some(there), Some(here)) = &circumstances {
        if let Some(words) = here.apart(there) {
            writeln!(console.out, "differs  {words}")?;
        }
        if here.is_busy() {
            writeln!(console.out, "busy     others are at work here: measure again on a quiet machine")?;
        }
    }
    writeln!(console.out, "{}\nreport {}", judged.words(), folder.join("report.html").display())?;
    if judged != Here::Holds {
        lines.push(Annotation { is_error: true, says: format!("claim {}: {}", claim.id, judged.words()) });
    }
    page.show(&view, lines)?;
    Ok(match judged {
        Here::Holds => Exit::Ok,
        Here::Weaker | Here::Not => Exit::Failed,
        Here::Open => Exit::Inconclusive,
    })
}

fn show(proven: &Proven) -> String {
    format!("{} (99 %: {})", proven.text(), range(Some(proven.interval)))
}

fn verdict(report: &Report) -> Verdict {
    report.candidates().next().map_or(Verdict::Inconclusive, |(_, comparison)| comparison.verdict)
}
