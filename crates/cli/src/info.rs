//! `hashmill info`: what will be used on this machine, and why.

#[cfg(feature = "gpu")]
mod devices;

use crate::flags::InfoArgs;
use crate::kept::{self, Found, Kept};
use crate::out::{self, shown};
use anyhow::Result;
use hashmill_hash::argon2;
use hashmill_hash::blake3::{Kernel, Plan};
use hashmill_hash::isa::Cpu;
use hashmill_machine as machine;
use serde::Serialize;
use std::path::Path;

/// One input size of each class, and of the sizes at which many-chunk kernels change.
const SIZES: [usize; 10] = [1, 64, 65, 1024, 1025, 4096, 8192, 16384, 131_072, 1 << 20];

/// What there is to say. The names of the fields are those of the JSON.
#[derive(Serialize)]
struct Facts {
    version: &'static str,
    cpu: String,
    threads: usize,
    features: Vec<&'static str>,
    tune_kind: &'static str,
    tune_basis: &'static str,
    choice: Choice,
    sizes: Vec<Size>,
    argon2: Argon2,
    kernels: Vec<Runs>,
    unavailable_kernels: Vec<Lacks>,
    page_size: Option<usize>,
    huge_pages: Vec<Huge>,
    transparent_huge_pages: Option<String>,
    #[cfg(feature = "gpu")]
    devices: devices::Devices,
}

/// Where the plans of BLAKE3 and Argon2 come from.
#[derive(Serialize)]
struct Choice {
    /// Whether `hashmill tune` made it, else it is built in.
    tuned: bool,
    /// Whether both were measured on this kind of processor.
    measured: bool,
    /// When `hashmill tune` measured.
    date: Option<String>,
    /// What it kept, and why that is not used, if it is not.
    file: Option<String>,
    ignored: Option<String>,
    /// Parts of it that are not used, and why.
    faults: Vec<String>,
}

#[derive(Serialize)]
struct Argon2 {
    kernel: &'static str,
    tune_kind: &'static str,
    tune_basis: &'static str,
    /// The processors for the threads of a search, best first.
    cores: Vec<usize>,
}

#[derive(Serialize)]
struct Size {
    bytes: usize,
    class: &'static str,
    kernel: &'static str,
    lanes: usize,
    parallel: bool,
    why: &'static str,
}

#[derive(Serialize)]
struct Runs {
    name: &'static str,
    lanes: usize,
}

#[derive(Serialize)]
struct Lacks {
    name: &'static str,
    lacks: Vec<&'static str>,
}

#[derive(Serialize)]
struct Huge {
    bytes: u64,
    reserved: u64,
}

/// Prints it.
pub(crate) fn run(low: &InfoArgs) -> Result<()> {
    let facts = gather();
    let text = if low.json { serde_json::to_string(&facts)? + "\n" } else { words(&facts) };
    out::print(&text)
}

fn gather() -> Facts {
    let cpu = Cpu::detect();
    let found = kept::find();
    let (plan, argon2_plan) = match &found {
        Found::Kept(_, Kept { choice: Some(choice), .. }) => (choice.blake3(), choice.argon2()),
        _ => (Plan::host(), argon2::Plan::host()),
    };
    let choice = choice(&found, plan.is_measured() && argon2_plan.is_measured());
    let size = |bytes| {
        let choice = plan.explain(bytes);
        let kernel = choice.kernel.name();
        Size {
            bytes,
            class: choice.class,
            kernel,
            lanes: choice.lanes,
            parallel: choice.parallel,
            why: choice.why,
        }
    };
    Facts {
        version: env!("CARGO_PKG_VERSION"),
        cpu: cpu.brand().to_owned(),
        threads: machine::threads(),
        features: cpu.features.iter().map(|feature| feature.name()).collect(),
        tune_kind: plan.kind(),
        tune_basis: plan.basis(),
        choice,
        sizes: SIZES.map(size).into(),
        argon2: argon2(argon2_plan),
        kernels: Kernel::all().map(|kernel| Runs { name: kernel.name(), lanes: kernel.lanes() }).collect(),
        unavailable_kernels: Kernel::unavailable()
            .map(|(name, needs)| Lacks {
                name,
                lacks: cpu.features.missing(needs).map(|feature| feature.name()).collect(),
            })
            .collect(),
        page_size: machine::page_size(),
        huge_pages: machine::huge_page_sizes()
            .into_iter()
            .map(|(bytes, reserved)| Huge { bytes, reserved })
            .collect(),
        transparent_huge_pages: machine::transparent_huge_pages(),
        #[cfg(feature = "gpu")]
        devices: devices::Devices::find(&found.kept()),
    }
}

fn choice(found: &Found, measured: bool) -> Choice {
    let built_in =
        Choice { tuned: false, measured, date: None, file: None, ignored: None, faults: Vec::new() };
    let name = |path: &Path| Some(shown(path).into_owned());
    match found {
        Found::Nothing => built_in,
        Found::Off => Choice { ignored: Some("HASHMILL_TUNE is off".to_owned()), ..built_in },
        Found::Ignored(path, why) => Choice { file: name(path), ignored: Some(why.clone()), ..built_in },
        Found::Kept(path, Kept { choice, faults, .. }) => {
            let (date, faults) = (choice.as_ref().map(|choice| choice.date().to_owned()), faults.clone());
            // Perhaps devices alone were measured.
            let file = name(path).filter(|_| date.is_some() || !faults.is_empty());
            Choice { tuned: date.is_some(), date, file, faults, ..built_in }
        }
    }
}

impl Choice {
    fn lines(&self) -> Vec<String> {
        let Choice { tuned, measured, date, file, ignored, faults } = self;
        let file = file.as_deref();
        let first = match (tuned, measured) {
            (true, _) => format!(
                "measured here on {}: {}",
                date.as_deref().unwrap_or_default(),
                file.unwrap_or_default()
            ),
            (false, true) => "built in, measured on this kind of processor".to_owned(),
            (false, false) => {
                "built in, not measured on this kind of processor: 'hashmill tune' measures it".to_owned()
            }
        };
        let ignored = ignored.as_ref().map(|why| {
            format!("           {} is ignored: {why}", file.unwrap_or("what 'hashmill tune' kept"))
        });
        let faults = faults
            .iter()
            .map(|fault| format!("           {}, {fault}: this is ignored", file.unwrap_or_default()));
        [format!("choice     {first}")].into_iter().chain(ignored).chain(faults).collect()
    }
}

fn argon2(plan: argon2::Plan) -> Argon2 {
    let cores = machine::processors();
    Argon2 {
        kernel: plan.kernel().name(),
        tune_kind: plan.kind(),
        tune_basis: plan.basis(),
        cores: machine::places(&cores, cores.len()),
    }
}

fn words(facts: &Facts) -> String {
    let mut lines = vec![
        format!("hashmill {}", facts.version),
        format!(
            "cpu        {}, {} threads",
            if facts.cpu.is_empty() { "unknown" } else { &facts.cpu },
            facts.threads
        ),
        format!("features   {}", list(&facts.features)),
        format!("tuned for  {} ({})", facts.tune_kind, facts.tune_basis),
    ];
    lines.extend(facts.choice.lines());
    lines.extend([
        String::new(),
        "BLAKE3, by size of the input:".to_owned(),
        format!("{:>9}  {:<12} {:<12} {:>5}  second thread  why", "bytes", "class", "kernel", "lanes"),
    ]);
    for Size { bytes, class, kernel, lanes, parallel, why } in &facts.sizes {
        let parallel = if *parallel { "yes" } else { "no" };
        lines.push(format!("{bytes:>9}  {class:<12} {kernel:<12} {lanes:>5}  {parallel:<13}  {why}"));
    }
    lines.push(String::new());
    let kernels: Vec<_> = facts.kernels.iter().map(|kernel| kernel.name).collect();
    lines.push(format!("kernels that run here, for --kernel: {}", list(&kernels)));
    for Lacks { name, lacks } in &facts.unavailable_kernels {
        lines.push(format!("kernel {name} does not run here: the processor lacks {}", list(lacks)));
    }
    let Argon2 { kernel, tune_kind, tune_basis, cores } = &facts.argon2;
    lines.push(String::new());
    lines.push(format!("Argon2     kernel {kernel}, tuned for {tune_kind} ({tune_basis})"));
    let cores: Vec<String> = cores.iter().map(usize::to_string).collect();
    lines.push(format!("           processors for a search, best first: {}", cores.join(" ")));
    lines.push(String::new());
    lines.push(match facts.page_size {
        Some(size) => format!("pages      {}", bytes(size as u64)),
        None => "pages      unknown".to_owned(),
    });
    for Huge { bytes: size, reserved } in &facts.huge_pages {
        lines.push(format!("           {} huge, {reserved} reserved", bytes(*size)));
    }
    if let Some(setting) = &facts.transparent_huge_pages {
        lines.push(format!("           transparent huge pages: {setting}"));
    }
    #[cfg(feature = "gpu")]
    lines.extend(facts.devices.lines());
    lines.join("\n") + "\n"
}

fn list(names: &[&str]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn bytes(count: u64) -> String {
    match count {
        _ if count >= 1 << 30 && count.is_multiple_of(1 << 30) => format!("{} GiB", count >> 30),
        _ if count >= 1 << 20 && count.is_multiple_of(1 << 20) => format!("{} MiB", count >> 20),
        _ => format!("{} KiB", count >> 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choice_says_where_it_comes_from() {
        let built_in = |measured| choice(&Found::Nothing, measured);
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(built_in(true).lines(), ["choice     built in, measured on this kind of processor"]);
        let unknown = built_in(false).lines();
        assert!(unknown[0].ends_with("not measured on this kind of processor: 'hashmill tune' measures it"));
        let kept = Choice { tuned: true, date: some("2026-11-26"), file: some("/f"), ..built_in(true) };
        assert_eq!(kept.lines(), ["choice     measured here on 2026-11-26: /f"]);
        let ignored = Choice { file: some("/f"), ignored: some("it is damaged"), ..built_in(true) };
        assert_eq!(ignored.lines()[1], "           /f is ignored: it is damaged");
        let faults = vec!["entry 2 of devices: its date is none".to_owned()];
        let kept = Found::Kept("/f".into(), Kept { faults, ..Kept::default() });
        let lines = choice(&kept, true).lines();
        assert_eq!(lines[1], "           /f, entry 2 of devices: its date is none: this is ignored");
        let off = choice(&Found::Off, true).lines();
        assert_eq!(off[1], "           what 'hashmill tune' kept is ignored: HASHMILL_TUNE is off");
    }
}
