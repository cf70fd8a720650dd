//! Check of free memory, so that a command is refused with a reason and not ended by the system.

use crate::flags::UsageError;
use anyhow::{Result, bail};
use hashmill_machine::free_kib;

/// Refuses costs that do not fit into free memory.
pub(crate) fn check(needed_kib: u64) -> Result<()> {
    match shortage(needed_kib, free_kib()) {
        Some(message) => bail!(UsageError(format!("{message}: choose a smaller memory cost"))),
        None => Ok(()),
    }
}

/// Why a stored hash, whose costs are given, is not computed here.
pub(crate) fn refusal(needed_kib: u64, free_kib: Option<u64>) -> Option<String> {
    shortage(needed_kib, free_kib)
        .map(|message| message + ": end other programs, or verify it on a larger machine")
}

fn shortage(needed_kib: u64, free_kib: Option<u64>) -> Option<String> {
    let free = free_kib.filter(|free| *free < needed_kib)?;
    Some(format!("{needed_kib} KiB of memory are needed, but only about {free} KiB are free"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusal_names_amounts_and_a_remedy() {
        assert_eq!(refusal(64, Some(64)), None);
        assert_eq!(refusal(64, None), None, "not reported by the system");
        let message = refusal(64, Some(63)).expect("too little");
        assert!(message.starts_with("64 KiB of memory are needed, but only about 63 KiB"), "{message}");
        assert!(message.ends_with("verify it on a larger machine"), "{message}");
    }
}
