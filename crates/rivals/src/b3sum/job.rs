//! The name of a job is its meaning, as the name of a row is.
//!
//! | name | what both programs do |
//! |---|---|
//! | `file/LEN` | hash one file as they like |
//! | `file/LEN/one-thread`, `…/no-mmap` | the same with `--num-threads 1`, with `--no-mmap` |
//! | `stdin/LEN` | hash a file on standard input |
//! | `tree/COUNTxLEN` | hash COUNT files named on the command line |
//! | `tree/COUNTxLEN/recursive` | the same, but ours is given the folder and `--recursive` |

use std::fmt;
use std::str::FromStr;

use super::programs::Programs;
use super::{Data, Invocation};
use crate::size::{Size, parse_positive};

/// One job for both programs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Job {
    data: Data,
    how: How,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum How {
    Plain,
    Flag(&'static str),
    Stdin,
    Recursive,
}

/// Flags that both programs share: how a name says them, and how a command line does.
const FLAGS: [(&str, &str); 2] = [("one-thread", "--num-threads=1"), ("no-mmap", "--no-mmap")];

impl Job {
    /// What it works on.
    pub fn data(self) -> Data {
        self.data
    }

    /// The command lines of the rival and of ours.
    pub fn commands(self, programs: &Programs) -> [Invocation; 2] {
        let mut args = match self.how {
            How::Stdin => Vec::new(),
            How::Plain | How::Flag(_) | How::Recursive => self.data.paths(),
        };
        if let How::Flag(flag) = self.how {
            args.insert(0, flag.to_owned());
        }
        let stdin = (self.how == How::Stdin).then(|| self.data.name().into());
        let mut ours = vec!["sum".to_owned()];
        match self.how {
            How::Recursive => ours.extend(["--recursive".to_owned(), self.data.name()]),
            _ => ours.extend(args.iter().cloned()),
        }
        [
            Invocation { program: programs.b3sum.clone(), args, stdin: stdin.clone() },
            Invocation { program: programs.hashmill.clone(), args: ours, stdin },
        ]
    }
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.data, self.how) {
            (Data::File(len), How::Stdin) => write!(f, "stdin/{}", Size(len))?,
            (Data::File(len), _) => write!(f, "file/{}", Size(len))?,
            (Data::Tree(count, len), _) => write!(f, "tree/{count}x{}", Size(len))?,
        }
        match self.how {
            How::Plain | How::Stdin => Ok(()),
            How::Recursive => f.write_str("/recursive"),
            How::Flag(flag) => {
                let name = FLAGS.iter().find(|(_, known)| *known == flag).map_or(flag, |(name, _)| name);
                write!(f, "/{name}")
            }
        }
    }
}

/// A job name that means nothing.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("no such job: {0:?} (jobs look like file/1GiB, stdin/1GiB or tree/20000x4KiB/recursive)")]
pub struct UnknownJob(String);

impl FromStr for Job {
    type Err = UnknownJob;

    fn from_str(name: &str) -> Result<Self, UnknownJob> {
        parse(name).ok_or_else(|| UnknownJob(name.to_owned()))
    }
}

fn parse(name: &str) -> Option<Job> {
    let parts: Vec<&str> = name.split('/').collect();
    let flag = |word: &str| FLAGS.iter().find(|(name, _)| *name == word).map(|(_, flag)| How::Flag(flag));
    let tree = |shape: &str| {
        let (count, len) = shape.split_once('x')?;
        Some(Data::Tree(parse_positive(count)?, parse_positive(len)?))
    };
    Some(match parts[..] {
        ["file", len] => Job { data: Data::File(parse_positive(len)?), how: How::Plain },
        ["file", len, word] => Job { data: Data::File(parse_positive(len)?), how: flag(word)? },
        ["stdin", len] => Job { data: Data::File(parse_positive(len)?), how: How::Stdin },
        ["tree", shape] => Job { data: tree(shape)?, how: How::Plain },
        ["tree", shape, "recursive"] => Job { data: tree(shape)?, how: How::Recursive },
        ["tree", shape, word] => Job { data: tree(shape)?, how: flag(word)? },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back_and_make_command_lines() {
        let programs = Programs { b3sum: "b3sum".into(), hashmill: "hashmill".into() };
        let lines = |name: &str| {
            let job: Job = name.parse().expect(name);
            assert_eq!(job.to_string(), name);
            job.commands(&programs).map(|command| {
                let stdin = command.stdin.map(|path| format!(" < {}", path.display())).unwrap_or_default();
                command.args.join(" ") + stdin.as_str()
            })
        };
        assert_eq!(lines("file/1KiB"), ["file-1024", "sum file-1024"]);
        assert_eq!(lines("file/5/one-thread"), ["--num-threads=1 file-5", "sum --num-threads=1 file-5"]);
        assert_eq!(lines("stdin/5"), [" < file-5", "sum < file-5"]);
        let files = "tree-2x7/00000/0000000 tree-2x7/00000/0000001";
        assert_eq!(lines("tree/2x7"), [files.to_owned(), format!("sum {files}")]);
        assert_eq!(lines("tree/2x7/recursive"), [files, "sum --recursive tree-2x7"]);
        assert_eq!(lines("tree/2x7/no-mmap")[0], format!("--no-mmap {files}"));
        for name in ["", "file", "file/0", "file/1/fast", "tree/5", "stdin/1/one-thread"] {
            assert!(name.parse::<Job>().is_err(), "{name}");
        }
    }
}
