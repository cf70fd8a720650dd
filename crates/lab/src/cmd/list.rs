//! `lab list`: what can be measured, and what the classes mean.

use super::args::List;
use super::error::Error;
use super::{Console, Exit, Mount};
use crate::model::class::Class;
use std::io::Write as _;

pub(super) fn main(mount: &Mount<'_>, args: &List, console: &mut Console<'_>) -> Result<Exit, Error> {
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
        // Other programs read what patterns select, so a heading is for all of it alone.
        if !mount.registry.suites().is_empty() {
            writeln!(console.out, "suites, each run by its name")?;
        }
        for suite in mount.registry.suites() {
            writeln!(console.out, "{}: {}", suite.name, suite.about)?;
        }
        writeln!(
            console.out,
            "cases: workload/engine/class/size/threads; `list --classes` explains the classes"
        )?;
    }
    let keys = match args.patterns.is_empty() {
        true => mount.registry.cases(),
        false => mount.registry.select(&args.patterns)?,
    };
    for key in keys {
        writeln!(console.out, "{key}")?;
    }
    for (names, why) in mount.registry.absences().iter().filter(|_| args.patterns.is_empty()) {
        writeln!(std::io::stderr(), "{}: no rows of {names} here: {why}", mount.name)?;
    }
    Ok(Exit::Ok)
}
