//! Command lines without flags go around the parser.
//!
//! To define some fifty flags and find none of them takes longer than to hash a small file: half of all instructions of
//! `hashmill sum FILE`, and a fifth of its page faults. Tests hold what is read here to what the parser makes of it.

use super::sum::SumArgs;
use crate::program::Program;
use std::ffi::OsString;
use std::path::PathBuf;

/// The words behind the command, if that is `sum`: behind its name under that of another program.
pub(super) fn words_of_sum(args: &[OsString], program: Program) -> Option<&[OsString]> {
    match program {
        Program::Hashmill if args.get(1)? != "sum" => None,
        Program::Hashmill => args.get(2..),
        Program::B3sum | Program::Gnu(_) => args.get(1..),
    }
}

/// What the words mean if all of them are operands, or one of them says to walk. `None` leaves them to the parser.
pub(super) fn read(words: &[OsString]) -> Option<SumArgs> {
    let mut low = SumArgs::default();
    for word in words {
        match word.as_encoded_bytes() {
            // Said twice it is a mistake, as an empty operand is, and mistakes are the parser's to report.
            b"-r" | b"--recursive" if !low.recursive => low.recursive = true,
            b"" => return None,
            bytes if bytes.starts_with(b"-") && bytes != b"-" => return None,
            _ => low.files.push(PathBuf::from(word)),
        }
    }
    Some(low)
}

#[cfg(test)]
mod tests {
    use super::super::{Command, parse_link};
    use super::*;
    use hashmill_files::checkfile::Algorithm;

    fn typed(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn only_sum_has_words() {
        let count = |line: &str, program| words_of_sum(&typed(line), program).map(<[OsString]>::len);
        assert_eq!(count("hashmill sum a b", Program::Hashmill), Some(2));
        assert_eq!(count("hashmill sum", Program::Hashmill), Some(0));
        assert_eq!(count("hashmill info a", Program::Hashmill), None);
        assert_eq!(count("hashmill", Program::Hashmill), None);
        assert_eq!(count("b3sum sum", Program::B3sum), Some(1));
        assert_eq!(words_of_sum(&[], Program::B3sum), None);
    }

    /// `operands` compares lines of `hashmill sum`.
    #[test]
    fn lines_of_other_programs_mean_what_they_mean_to_the_parser() {
        let words = ["a", "-", "", "--", "-r", "--recursive", "-z", "--recursive=1"];
        let lines = words.iter().flat_map(|one| words.map(|two| format!("name {one} {two}")));
        let mut plain = 0;
        for line in lines.chain(words.map(|word| format!("name {word}"))).chain(["name".to_owned()]) {
            for program in [Program::B3sum, Program::Gnu(Algorithm::Sha256)] {
                let args = typed(&line);
                let Some(low) = words_of_sum(&args, program).and_then(read) else { continue };
                let parsed = parse_link(args.clone(), program).expect("no mistake").command;
                assert_eq!(format!("{:?}", Command::Sum(Box::new(low))), format!("{parsed:?}"), "{line}");
                plain += 1;
            }
        }
        assert_eq!(plain, 2 * (1 + 4 + 4 * 4 - 4), "each of two programs");
    }
}
