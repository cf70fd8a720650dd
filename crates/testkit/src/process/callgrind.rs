//! Instruction counts of chosen functions of a test, by Valgrind in a child process of the test program.

use std::fs;
use std::path::Path;
use std::process::Command;

/// The environment variable that makes the second process call the counted functions.
const CHILD: &str = "HASHMILL_TEST_COUNTED";

/// Whether this process is the one under Valgrind: the test then calls its counted functions and returns.
#[must_use]
pub fn is_counting() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// Instructions of each call of a function called `counted_*` in the module of `test`, in the order of the calls.
/// They must be called by name: what takes one as an argument of its type has its name, too, and would be counted.
/// `test` is the path of the calling test with its crate, from `module_path!`, and `folder` an empty folder for the files of callgrind.
///
/// # Errors
/// The reason why nothing can be counted here, for [`skip`](crate::skip()).
///
/// # Panics
/// If the second process fails or has no such test, or a file of callgrind has no total.
pub fn counts(test: &str, folder: &Path) -> Result<Vec<u64>, &'static str> {
    if std::env::var_os("ASAN_OPTIONS").is_some() {
        return Err("what a sanitizer adds would be counted, too");
    }
    let program = std::env::current_exe().map_err(|_| "this program cannot be started again")?;
    let (_, test) = test.split_once("::").expect("a test in a crate");
    let (modules, _) = test.rsplit_once("::").expect("a test in a module");
    let module = modules.rsplit("::").next().unwrap_or(modules);
    let out = folder.join("out");
    let mut valgrind = Command::new("valgrind");
    // Equal patterns would undo each other.
    let patterns = ["--toggle-collect=*::counted_*", &format!("--dump-after=*{module}::counted_*")];
    valgrind.arg("--tool=callgrind").args(patterns);
    valgrind.arg(format!("--callgrind-out-file={}", out.display())).arg(program);
    let output = valgrind.args(["--exact", test]).env(CHILD, "1").output();
    let output = output.map_err(|_| "no valgrind: apt-get install valgrind")?;
    let words = String::from_utf8_lossy(&output.stdout);
    // Programs of other processors do not run under it.
    if !words.contains("\nrunning ") {
        return Err("this program does not run under valgrind");
    }
    assert!(words.contains("\nrunning 1 test"), "no test is called `{test}`: {words}");
    assert!(output.status.success() && words.contains("1 passed"), "{words}");
    // Callgrind numbers its files from one on; the one without a number is about the rest of the program.
    let files = (1..).map(|number: u32| out.with_extension(number.to_string()));
    let counts: Vec<u64> = files.take_while(|file| file.exists()).map(|file| total(&file)).collect();
    assert!(!counts.is_empty(), "no function was counted: {words}");
    Ok(counts)
}

/// Instructions of the call that a file of callgrind is about.
fn total(path: &Path) -> u64 {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let line = text.lines().find_map(|line| line.strip_prefix("totals: "));
    line.and_then(|number| number.trim().parse().ok()).expect("a total")
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    const NAME: &str = concat!(module_path!(), "::calls_are_counted_in_their_order");

    #[inline(never)]
    fn counted_sum(numbers: u64) -> u64 {
        let mut sum = 0;
        for number in 0..numbers {
            sum = black_box(sum + number);
        }
        sum
    }

    #[test]
    fn calls_are_counted_in_their_order() {
        let lengths = [1000_u64, 10, 1000, 3000];
        if super::is_counting() {
            for numbers in lengths {
                black_box(counted_sum(numbers));
            }
            return;
        }
        let folder = std::env::temp_dir().join(format!("testkit-callgrind-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let counts = super::counts(NAME, &folder);
        std::fs::remove_dir_all(&folder).expect("a folder");
        let counts = match counts {
            Ok(counts) => counts,
            Err(reason) => return crate::skip("counting instructions", reason),
        };
        assert_eq!(counts.len(), lengths.len(), "{counts:?}");
        assert_eq!(counts[0], counts[2], "{counts:?}");
        assert!(counts[1] < counts[0] && counts[0] < counts[3], "{counts:?}");
    }
}
