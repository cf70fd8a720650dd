//! `lab claim`: numbers in documents with a reference to their reports, which readers can measure again.

use super::github::{Annotation, StepSummary, of_banner};
use super::measuring::{Job, measure};
use crate::cmd::context::error::Error;
use crate::cmd::context::exit::{Console, Exit};
use crate::cmd::context::options::Measuring;
use crate::cmd::context::setup::LabSetup;
use crate::cmd::measuring::outcome::exit_of;
use crate::cmd::measuring::pairings::duel;
use crate::cmd::measuring::programs::own_program;
use crate::measure::plan::Control;
use crate::report::schema::{Kind, Report, Verdict};
use crate::report::store;
use crate::report::view::View;
use crate::requirements::claim::{
    Claim, ClaimError, Claims, Conditions, LocalClaim, Number, Proven, Sources,
};
use crate::requirements::claim_marks::{marks, render};
use crate::stats::ratio::{MEANS, range};
use clap::{Args, Subcommand};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(crate) struct ClaimArgs {
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
    /// Print the entry that claims a comparison of a report.
    New {
        /// Name of the claim.
        id: String,
        /// Report that proves it.
        #[arg(long, value_name = "FILE")]
        report: PathBuf,
        /// Our case.
        #[arg(long)]
        case: String,
        /// Engine to compare with.
        #[arg(long, value_name = "ENGINE")]
        vs: String,
        /// Last day on which it is valid.
        #[arg(long, value_name = "DATE")]
        expires: String,
        /// Allow a report that proves no difference: the number is shown with its interval.
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

pub(crate) fn main(lab: &LabSetup<'_>, args: &ClaimArgs, console: &mut Console<'_>) -> Result<Exit, Error> {
    match &args.what {
        What::Check => check(lab, &args.file, console),
        What::Render => write(lab, &args.file, console),
        What::Prove(requested) => prove(lab, requested, &args.file, console),
        What::New { id, report, case, vs, expires, unproven } => {
            let bytes = store::read_bytes(report).map_err(Error::read(report))?;
            let claim = Claim {
                id: id.clone(),
                case: case.clone(),
                vs: vs.clone(),
                program: lab.name.to_owned(),
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

/// The claims, and the root folder of their paths.
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

/// Text of each claim, table and list by name. `None` means that only another program can render it.
type Numbers<'a> = Vec<(&'a str, Result<Option<Number>, ClaimError>)>;

fn numbers<'a>(lab: &LabSetup<'_>, claims: &'a Claims, root: &Path) -> Numbers<'a> {
    let numbers = claims.claim.iter().map(|claim| (claim.id.as_str(), claim.number(root).map(Some)));
    let tables = claims.table.iter().map(|table| {
        let number = match table.program == lab.name {
            true => table.prove(root, lab.registry).map(|text| Some(Number { text, stale: None })),
            false => Ok(None),
        };
        (table.id.as_str(), number)
    });
    let lists = claims.list.iter().map(|list| {
        let text = list.prove(root, claims);
        (list.id.as_str(), text.map(|text| Some(Number { text, stale: None })))
    });
    numbers.chain(tables).chain(lists).collect()
}

fn unclosed(name: &Path, line: usize) -> String {
    format!("{}:{line}: a claim begins here without a `<!-- /lab -->` at its end", name.display())
}

fn check(lab: &LabSetup<'_>, file: &Path, console: &mut Console<'_>) -> Result<Exit, Error> {
    let (claims, root) = read(file)?;
    let numbers = numbers(lab, &claims, &root);
    let failed = numbers.iter().filter_map(|(_, number)| number.as_ref().err());
    let mut problems: Vec<String> = failed.map(ToString::to_string).collect();
    let good = numbers.iter().filter(|(_, number)| matches!(number, Ok(Some(_)))).count();
    let elsewhere = numbers.len() - good - problems.len();
    let mut in_documents = 0;
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
            let position = format!("{}:{}", name.display(), mark.line);
            match numbers.iter().find(|(id, _)| *id == mark.id) {
                None => problems.push(format!("{position}: {}", claims.unknown(mark.id))),
                // Reported above, with the claim.
                Some((_, Err(_) | Ok(None))) => {}
                Some((_, Ok(Some(number)))) if number.text == mark.text => in_documents += 1,
                Some((id, Ok(Some(Number { text, .. })))) => problems.push(match text.contains('\n') {
                    true => format!("{position}: table `{id}` is stale: run `claim render`"),
                    false => format!(
                        "{position}: it says `{}`, and claim `{id}` is {text}: run `claim render`",
                        mark.text
                    ),
                }),
            }
        }
    }
    for problem in &problems {
        writeln!(console.out, "{problem}")?;
    }
    // A number from older sources is not an error, but the reader should know.
    for (id, number) in &numbers {
        if let Ok(Some(Number { stale: Some(message), .. })) = number {
            writeln!(console.out, "claim `{id}`: {message}")?;
        }
    }
    let all = numbers.len() - elsewhere;
    writeln!(
        console.out,
        "{good} of {all} claims are proven, {in_documents} numbers in documents agree with them"
    )?;
    if elsewhere > 0 {
        writeln!(console.out, "{elsewhere} tables belong to another program, which checks them")?;
    }
    Ok(if problems.is_empty() { Exit::Ok } else { Exit::Failed })
}

fn write(lab: &LabSetup<'_>, file: &Path, console: &mut Console<'_>) -> Result<Exit, Error> {
    let (claims, root) = read(file)?;
    let refused = |error: &ClaimError| Error::Refused(error.to_string());
    let numbers = numbers(lab, &claims, &root);
    for name in &claims.documents {
        let text = document(&root, name)?;
        let marks = marks(&text).map_err(|line| Error::Refused(unclosed(name, line)))?;
        let mut texts = Vec::new();
        for mark in &marks {
            let known = numbers.iter().find(|(id, _)| *id == mark.id);
            let (_, number) = known.ok_or_else(|| refused(&claims.unknown(mark.id)))?;
            let number = number.as_ref().map_err(refused)?;
            texts.push((mark.id, number.as_ref().map(|number| number.text.clone())));
        }
        let text_of =
            |id: &str| texts.iter().find(|(known, _)| *known == id).and_then(|(_, text)| text.clone());
        let filled = render(&text, &marks, text_of);
        let path = root.join(name);
        store::write_atomically(&path, &filled).map_err(Error::write(&path))?;
        writeln!(console.out, "{}: {} numbers", name.display(), marks.len())?;
    }
    Ok(Exit::Ok)
}

/// Measures a claim again on this machine.
fn prove(lab: &LabSetup<'_>, args: &Prove, file: &Path, console: &mut Console<'_>) -> Result<Exit, Error> {
    let (claims, root) = read(file)?;
    let claim = claims.get(&args.id).map_err(|error| Error::Usage(error.to_string()))?;
    if claim.program != lab.name {
        return Err(Error::Usage(format!(
            "claim `{}` is measured with `{} claim prove {}`",
            claim.id, claim.program, claim.id
        )));
    }
    let step_summary = StepSummary::open(args.measuring.github)?;
    let refused = |error: ClaimError| Error::Refused(error.to_string());
    let evidence = claim.evidence(&root).map_err(refused)?;
    let claimed = claim.find(&evidence).map_err(refused)?;
    let [own, rival] = claim.keys().map_err(|error| Error::Usage(error.to_string()))?;
    lab.registry.select(&[own.to_string(), rival.to_string()])?;
    let plan = args.measuring.plan();
    let group = duel(&rival, &own, plan.control != Control::Off)?;
    let job = Job::new(Kind::Engines, own_program(lab)?, vec![group], plan);
    let (report, folder) = measure(lab, job, args.measuring.out.as_deref())?;
    let exit = exit_of(&report, false);
    let view = View::from_report(&report);
    let mut lines = of_banner(&view);
    if exit != Exit::Ok {
        writeln!(console.out, "{}: the run itself did not succeed, see {}", claim.id, folder.display())?;
        step_summary.show(&view, lines)?;
        return Ok(exit);
    }
    let here = claim.find(&report);
    let judged = LocalClaim::judge(&claimed, here.as_ref().ok(), verdict(&report));
    let shown = here.map_or_else(|error| format!("nothing proven: {error}"), |here| show(&here));
    writeln!(console.out, "claim    {}: {} against {}", claim.id, claim.case, claim.vs)?;
    let conditions = (claim.conditions(&evidence), claim.conditions(&report));
    let words = |known: &Option<Conditions>| known.as_ref().map_or_else(String::new, Conditions::words);
    writeln!(console.out, "claimed  {}; {}", show(&claimed), words(&conditions.0))?;
    writeln!(console.out, "here     {shown}; {}", words(&conditions.1))?;
    if let (Some(there), Some(here)) = &conditions {
        if let Some(words) = here.apart(there) {
            writeln!(console.out, "differs  {words}")?;
        }
        if here.is_busy() {
            writeln!(
                console.out,
                "busy     other processes are running here: measure again on a quiet machine"
            )?;
        }
    }
    writeln!(console.out, "{}\nreport {}", judged.words(), folder.join("report.html").display())?;
    if judged != LocalClaim::Holds {
        lines.push(Annotation { is_error: true, message: format!("claim {}: {}", claim.id, judged.words()) });
    }
    step_summary.show(&view, lines)?;
    Ok(match judged {
        LocalClaim::Holds => Exit::Ok,
        LocalClaim::Weaker | LocalClaim::Not => Exit::Failed,
        LocalClaim::Open => Exit::Inconclusive,
    })
}

fn show(proven: &Proven) -> String {
    format!("{} (99 %: {})", proven.text(), range(Some(proven.interval)))
}

fn verdict(report: &Report) -> Verdict {
    report.candidates().next().map_or(Verdict::Inconclusive, |(_, comparison)| comparison.verdict)
}
