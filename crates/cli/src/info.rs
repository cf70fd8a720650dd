//! `hashmill info`: what will be used on this machine, and why.

#[cfg(feature = "gpu")]
mod devices;

use crate::flags::InfoArgs;
use crate::out;
use anyhow::Result;
use hashmill_hash::argon2;
use hashmill_hash::blake3::{Kernel, Plan};
use hashmill_hash::isa::Cpu;
use hashmill_machine as machine;
use serde::Serialize;

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
    let plan = Plan::host();
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
        sizes: SIZES.map(size).into(),
        argon2: argon2(),
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
        devices: devices::Devices::find(),
    }
}

fn argon2() -> Argon2 {
    let plan = argon2::Plan::host();
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
        String::new(),
        "BLAKE3, by size of the input:".to_owned(),
        format!("{:>9}  {:<12} {:<12} {:>5}  second thread  why", "bytes", "class", "kernel", "lanes"),
    ];
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
