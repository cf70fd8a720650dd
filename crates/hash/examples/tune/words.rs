//! What is printed: the tables, the row, and whether it is news.

use crate::decide::{Choice, Pair, Role, TIE, Timing};
use crate::{Found, InUse};

/// How the rows and columns of a role are called.
fn title(role: Role) -> &'static str {
    match role {
        Role::Block => "one block",
        Role::Chunk => "one chunk",
        Role::Many => "many chunks",
        Role::Xof => "extended output",
    }
}

/// The ratios of every kernel at every size.
pub(crate) fn table(in_use: &InUse, timings: &[Timing]) -> String {
    let mut out = format!("{:<16}{:>12}", "", "in use");
    out.extend(in_use.kernels.iter().map(|kernel| format!("{:>12}", kernel.name())));
    out.push('\n');
    for role in Role::ALL {
        out.push_str(&format!("{}\n", title(role)));
        for timing in timings.iter().filter(|timing| timing.role == role) {
            out.push_str(&format!("  {:<14}{:>12}", timing.label, time(timing.in_use)));
            let ratios = (0..timing.kernels.len()).map(|kernel| format!("{:>12.3}", timing.ratio(kernel)));
            out.extend(ratios);
            out.push('\n');
        }
    }
    out
}

/// One thread beside two.
pub(crate) fn threads(pairs: &[Pair]) -> String {
    let mut out = format!("{:<16}{:>12}{:>12}{:>12}\n", "two threads", "one", "two", "one / two");
    for &Pair { len, one, two } in pairs {
        out.push_str(&format!("  {:<14}{:>12}{:>12}{:>12.3}\n", size(len), time(one), time(two), one / two));
    }
    out
}

/// What was chosen for a role, and what else would do.
pub(crate) fn choice(in_use: &InUse, role: Role, choice: &Choice) -> String {
    let name = |kernel: usize| in_use.kernels[kernel].name();
    let before = in_use.kernel(role);
    let mut line = format!("{}: {}", title(role), name(choice.kernel));
    if choice.kernel == before {
        line.push_str(", as now");
    } else {
        line.push_str(&format!(" instead of {}, {:.3} times as fast", name(before), choice.gain));
    }
    if !choice.ties.is_empty() {
        let names: Vec<_> = choice.ties.iter().map(|&kernel| name(kernel)).collect();
        line.push_str(&format!("; within {} %: {}", TIE * 100.0, names.join(", ")));
    }
    line
}

/// The row as `plan.rs` would have it.
pub(crate) fn row(in_use: &InUse, found: &Found, cpu: &str, date: Option<&str>) -> String {
    let basis = match date {
        Some(date) => format!("measured on {cpu}, {date}"),
        None => "unmeasured".to_owned(),
    };
    let table = |role: Role| constant(in_use.kernels[found.kernel(role)].name());
    format!(
        "Row {{\n\
         \x20   kind: {:?},\n\
         \x20   basis: {basis:?},\n\
         \x20   block: &{},\n\
         \x20   chunk: &{},\n\
         \x20   xof: &{},\n\
         \x20   parallel_from: {},\n\
         \x20   ..Row::forced(&{})\n\
         }}\n",
        in_use.kind,
        table(Role::Block),
        table(Role::Chunk),
        table(Role::Xof),
        boundary(found.parallel_from),
        table(Role::Many),
    )
}

/// The last line.
pub(crate) fn verdict(in_use: &InUse, found: &Found) -> String {
    let kernels = Role::ALL.into_iter().filter(|&role| found.kernel(role) != in_use.kernel(role));
    let mut news: Vec<_> = kernels.map(|role| title(role).to_owned()).collect();
    if found.parallel_from != in_use.parallel_from {
        news.push(format!("second thread from {}", boundary(found.parallel_from)));
    }
    match news.is_empty() {
        true => format!("The row in use ({}) stays.", in_use.kind),
        false => format!("This differs from the row in use ({}): {}.", in_use.kind, news.join(", ")),
    }
}

/// The static that holds a kernel's table, as `plan.rs` names it.
fn constant(kernel: &str) -> String {
    match kernel {
        "portable" => "portable::TABLE".to_owned(),
        "neon" => "aarch64::NEON".to_owned(),
        x86 => x86.to_uppercase().replace('-', "_"),
    }
}

/// A number of bytes as code has it.
pub(crate) fn boundary(len: usize) -> String {
    match len {
        usize::MAX => "usize::MAX".to_owned(),
        _ if len.is_multiple_of(1024) => format!("{} * 1024", len / 1024),
        _ => len.to_string(),
    }
}

/// A number of bytes as people have it.
pub(crate) fn size(len: usize) -> String {
    match len {
        0..1024 => format!("{len} B"),
        _ if len.is_multiple_of(1 << 20) => format!("{} MiB", len >> 20),
        _ => format!("{} KiB", len as f64 / 1024.0),
    }
}

fn time(ns: f64) -> String {
    match ns {
        ..1e4 => format!("{ns:.1} ns"),
        ..1e7 => format!("{:.1} µs", ns / 1e3),
        _ => format!("{:.1} ms", ns / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hashmill_hash::blake3::Kernel;

    /// One kernel in use for everything, a second one known under the same name.
    fn in_use() -> InUse {
        let kernels = vec![Kernel::portable(), Kernel::portable()];
        InUse { kind: "some-kind", kernels, roles: [0; 4], parallel_from: 512 * 1024 }
    }

    #[test]
    fn a_row_that_stays_says_so_and_news_are_named() {
        let same = Found { roles: [0; 4], parallel_from: 512 * 1024 };
        assert_eq!(verdict(&in_use(), &same), "The row in use (some-kind) stays.");
        let other = Found { roles: [0, 1, 0, 0], parallel_from: usize::MAX };
        assert_eq!(
            verdict(&in_use(), &other),
            "This differs from the row in use (some-kind): one chunk, second thread from usize::MAX."
        );
    }

    #[test]
    fn a_row_without_a_date_is_not_measured() {
        let found = Found { roles: [0; 4], parallel_from: 256 * 1024 };
        let row = |date| row(&in_use(), &found, "A \"CPU\"", date);
        assert!(row(None).contains("    basis: \"unmeasured\",\n"));
        let dated = row(Some("2026-01-31"));
        assert!(dated.contains("    basis: \"measured on A \\\"CPU\\\", 2026-01-31\",\n"), "{dated}");
        assert!(dated.contains("    parallel_from: 256 * 1024,\n    ..Row::forced(&portable::TABLE)\n}"));
    }

    #[test]
    fn kernels_have_the_names_of_their_tables() {
        let names = ["avx512-ymm", "sse41", "neon"].map(constant);
        assert_eq!(names, ["AVX512_YMM", "SSE41", "aarch64::NEON"]);
    }

    #[test]
    fn what_else_would_do_is_said() {
        let kept = Choice { kernel: 0, gain: 1.0, ties: vec![1] };
        assert_eq!(
            choice(&in_use(), Role::Xof, &kept),
            "extended output: portable, as now; within 1 %: portable"
        );
        let new = Choice { kernel: 1, gain: 1.25, ties: vec![] };
        assert_eq!(
            choice(&in_use(), Role::Block, &new),
            "one block: portable instead of portable, 1.250 times as fast"
        );
    }

    #[test]
    fn sizes_are_readable() {
        let sizes = [0, 1000, 1024, 31 * 1024, 1 << 20].map(size);
        assert_eq!(sizes, ["0 B", "1000 B", "1 KiB", "31 KiB", "1 MiB"]);
    }
}
