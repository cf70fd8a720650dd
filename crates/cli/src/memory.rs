//! Too much memory is refused with a reason instead of ending the program.

use crate::flags::Misuse;
use anyhow::{Result, bail};
use hashmill_machine::free_kib;

/// Refuses costs that do not fit into the memory that is free.
pub(crate) fn check(needed_kib: u64) -> Result<()> {
    match lacking(needed_kib, free_kib()) {
        Some(words) => bail!(Misuse(format!("{words}: choose a smaller memory cost"))),
        None => Ok(()),
    }
}

/// Why a stored hash, whose costs nobody can choose any more, is not computed here.
pub(crate) fn refusal(needed_kib: u64, free_kib: Option<u64>) -> Option<String> {
    lacking(needed_kib, free_kib).map(|words| words + ": end other programs, or check it on a larger machine")
}

fn lacking(needed_kib: u64, free_kib: Option<u64>) -> Option<String> {
    let free = free_kib.filter(|free| *free < needed_kib)?;
    Some(format!("{needed_kib} KiB of memory are needed, and about {free} KiB are free here"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_how_much_and_what_helps() {
        assert_eq!(refusal(64, Some(64)), None);
        assert_eq!(refusal(64, None), None, "nobody tells");
        let words = refusal(64, Some(63)).expect("too little");
        assert!(words.starts_with("64 KiB of memory are needed, and about 63 KiB"), "{words}");
        assert!(words.ends_with("check it on a larger machine"), "{words}");
    }
}
