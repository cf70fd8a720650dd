//! `lab list`: lists the cases, and explains the timing classes.

use crate::cmd::context::error::Error;
use crate::cmd::context::exit::{Console, Exit};
use crate::cmd::context::setup::LabSetup;
use crate::model::class::Class;
use clap::Args;
use std::io::Write as _;

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Cases as workload/engine/class/size/tN[/kernel][/knob=value…], or the name of a suite. `*` matches any text, and trailing
    /// parts may be left out.
    pub(crate) patterns: Vec<String>,
    /// Show what each timing class times and what it leaves out.
    #[arg(long)]
    pub(crate) classes: bool,
}

pub(crate) fn main(lab: &LabSetup<'_>, args: &List, console: &mut Console<'_>) -> Result<Exit, Error> {
    if args.classes {
        for name in Class::names() {
            let full = if name == "file" { "file:<strategy>" } else { name };
            let Ok(class) = full.parse::<Class>() else { continue };
            writeln!(console.out, "{class}: {}", class.purpose())?;
            writeln!(console.out, "  timed      {}", class.includes().join("; "))?;
            writeln!(console.out, "  not timed  {}", class.excludes().join("; "))?;
        }
        return Ok(Exit::Ok);
    }
    if args.patterns.is_empty() {
        // Programs read the list of selected cases, so only the full list has headings.
        if !lab.registry.suites().is_empty() {
            writeln!(console.out, "suites, each run by its name")?;
        }
        for suite in lab.registry.suites() {
            writeln!(console.out, "{}: {}", suite.name, suite.about)?;
        }
        writeln!(
            console.out,
            "cases: workload/engine/class/size/threads; `list --classes` explains the classes"
        )?;
    }
    let keys = match args.patterns.is_empty() {
        true => lab.registry.cases(),
        false => lab.registry.select(&args.patterns)?,
    };
    for key in keys {
        writeln!(console.out, "{key}")?;
    }
    for (names, reason) in lab.registry.absences().iter().filter(|_| args.patterns.is_empty()) {
        writeln!(std::io::stderr(), "{}: no rows of {names} here: {reason}", lab.name)?;
    }
    Ok(Exit::Ok)
}
