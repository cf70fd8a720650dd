//! Sizes of memory as text.

/// A size of memory, rounded: whole mebibytes below a gibibyte, and tenths of gibibytes. Sizes that drivers and kernels report
/// seldom are round.
///
/// ```
/// assert_eq!(hashmill_machine::memory_size(2_147_483_644), "2.0 GiB");
/// ```
#[must_use]
pub fn memory_size(bytes: u64) -> String {
    let mib = bytes as f64 / f64::from(1 << 20);
    if mib < 1024.0 { format!("{mib:.0} MiB") } else { format!("{:.1} GiB", mib / 1024.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_sizes() {
        for (bytes, text) in [
            (0, "0 MiB"),
            (134_217_728, "128 MiB"),
            (2_147_483_644, "2.0 GiB"),
            (150_754_820_096, "140.4 GiB"),
        ] {
            assert_eq!(memory_size(bytes), text);
        }
    }
}
