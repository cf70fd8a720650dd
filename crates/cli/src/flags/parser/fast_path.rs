//! Fast path for command lines without flags, which bypasses clap.
//!
//! Defining some fifty flags and finding none takes longer than hashing a small file: half of all instructions of
//! `hashmill sum FILE`, and a fifth of its page faults. Tests compare the result with that of clap.

use crate::flags::commands::SumArgs;
use crate::personality::Personality;
use std::ffi::OsString;
use std::path::PathBuf;

/// The words behind the command, if that is `sum`: behind its name under that of another personality.
pub(super) fn words_of_sum(args: &[OsString], personality: Personality) -> Option<&[OsString]> {
    match personality {
        Personality::Hashmill if args.get(1)? != "sum" => None,
        Personality::Hashmill => args.get(2..),
        Personality::B3sum | Personality::Gnu(_) => args.get(1..),
    }
}

/// Parses words that are all operands or `--recursive`. `None` leaves them to clap.
pub(super) fn read(words: &[OsString]) -> Option<SumArgs> {
    let mut flags = SumArgs::default();
    for word in words {
        match word.as_encoded_bytes() {
            // A repeated flag and an empty operand are usage errors, which clap reports.
            b"-r" | b"--recursive" if !flags.recursive => flags.recursive = true,
            b"" => return None,
            bytes if bytes.starts_with(b"-") && bytes != b"-" => return None,
            _ => flags.files.push(PathBuf::from(word)),
        }
    }
    Some(flags)
}

#[cfg(test)]
mod tests {
    use super::super::parse_link;
    use super::*;
    use crate::flags::Command;
    use hashmill_files::checksum_list::Algorithm;

    fn typed(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn only_sum_has_a_fast_path() {
        let count = |line: &str, personality| words_of_sum(&typed(line), personality).map(<[OsString]>::len);
        assert_eq!(count("hashmill sum a b", Personality::Hashmill), Some(2));
        assert_eq!(count("hashmill sum", Personality::Hashmill), Some(0));
        assert_eq!(count("hashmill info a", Personality::Hashmill), None);
        assert_eq!(count("hashmill", Personality::Hashmill), None);
        assert_eq!(count("b3sum sum", Personality::B3sum), Some(1));
        assert_eq!(words_of_sum(&[], Personality::B3sum), None);
    }

    /// Lines of `hashmill sum` are compared in `operands`.
    #[test]
    fn other_personalities_parse_as_clap_does() {
        let words = ["a", "-", "", "--", "-r", "--recursive", "-z", "--recursive=1"];
        let lines = words.iter().flat_map(|one| words.map(|two| format!("name {one} {two}")));
        let mut fast = 0;
        for line in lines.chain(words.map(|word| format!("name {word}"))).chain(["name".to_owned()]) {
            for personality in [Personality::B3sum, Personality::Gnu(Algorithm::Sha256)] {
                let args = typed(&line);
                let Some(flags) = words_of_sum(&args, personality).and_then(read) else { continue };
                let parsed = parse_link(args.clone(), personality).expect("no usage error").command;
                assert_eq!(format!("{:?}", Command::Sum(Box::new(flags))), format!("{parsed:?}"), "{line}");
                fast += 1;
            }
        }
        assert_eq!(fast, 2 * (1 + 4 + 4 * 4 - 4), "each of two programs");
    }
}
