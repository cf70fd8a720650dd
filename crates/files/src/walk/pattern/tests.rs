//! Tests of patterns, some beside another implementation.

use super::*;
use hashmill_testkit::{Rng, size};
use ignore::gitignore::GitignoreBuilder;

fn list(lines: &[&str]) -> PatternList {
    let mut list = PatternList::new(Path::new("root"));
    lines.iter().for_each(|line| list.add_line(line).expect(line));
    list
}

fn is_skipped(lines: &[&str], path: &str, is_dir: bool) -> bool {
    list(lines).decide(&Path::new("root").join(path), is_dir) == Some(Decision::Skip)
}

#[test]
fn each_wildcard_matches_what_git_documents() {
    for (pattern, matching, others) in [
        ("a", &["a", "d/a"][..], &["ab", "a/b"][..]),
        ("/a", &["a"], &["d/a"]),
        ("d/a", &["d/a"], &["a", "e/d/a"]),
        ("*.o", &[".o", "x.o", "d/x.o"], &["x.oo", "o"]),
        ("d/*", &["d/a"], &["d", "d/a/b"]),
        ("a*b*c", &["abc", "aXbXbc", "abcbc"], &["acb", "abcd"]),
        ("?", &["a", "d/b"], &["ab", ""]),
        ("**", &["a", "d/a"], &[]),
        ("**/a", &["a", "d/a", "d/e/a"], &["a/b"]),
        ("d/**", &["d/a", "d/e/a"], &["d", "a"]),
        ("d/**/a", &["d/a", "d/e/a", "d/e/f/a"], &["a", "d/e/b"]),
        ("d/***/a", &["d/a", "d/e/f/a"], &["a"]),
        ("d/a**b", &["d/ab", "d/aXb"], &["d/a/b"]),
        ("[a-c-]", &["a", "b", "c", "-"], &["d"]),
        ("[]a]", &["]", "a"], &["b"]),
        ("[!]a]", &["b", "["], &["]", "a"]),
        (r"[\]\\]", &["]", r"\"], &["a"]),
        ("[[:digit:][:upper:]x]", &["7", "A", "x"], &["a", ":", "["]),
        ("[[x]", &["[", "x"], &["a"]),
        ("[a/b]", &["a", "b"], &["d/a"]),
        (r"\*\[\\", &[r"*[\"], &[r"a[\"]),
        (r"\#a", &["#a"], &["a"]),
        (r"\!a", &["!a"], &["a"]),
        ("a  ", &["a"], &["a  "]),
        (r"a\  ", &["a "], &["a", "a  "]),
        ("{a,b}", &["{a,b}"], &["a", "b"]),
        ("é?", &["éa"], &["é"]),
        ("a//b", &[], &["a/b"]),
        (r"a\/b", &["a/b"], &["d/a/b", "b"]),
        (r"**\/a", &["d/a", "d/e/a"], &["a"]),
        (r"d\/**", &["d/a", "d/e/a"], &["d"]),
        ("d/a**/b", &["d/ab", "d/aX/b", "d/aX/Y/b"], &["d/b", "a/b"]),
        ("d/a**", &["d/a", "d/aX", "d/aX/b"], &["d/b"]),
        ("d/?**/b", &["d/aX/b"], &["d/ab", "d/aX/Y/b"]),
        ("[b-ac]", &["b", "c"], &["a"]),
        ("[!b-a]x", &["ax", "cx"], &["bx"]),
        ("/", &[], &["a"]),
    ] {
        // On Windows a backslash separates names.
        let can_exist = |path: &&&str| !cfg!(windows) || !path.contains('\\');
        for path in matching.iter().filter(can_exist) {
            assert!(is_skipped(&[pattern], path, false), "{pattern} {path}");
        }
        for path in others.iter().filter(can_exist) {
            assert!(!is_skipped(&[pattern], path, false), "{pattern} {path}");
        }
    }
}

#[test]
fn the_last_pattern_that_matches_decides() {
    // Of names, extensions and others, in each order.
    let lines = ["a.o", "*.o", "a*o"];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let [first, second, last] = order.map(|index| lines[index]);
        let negated = format!("!{last}");
        assert!(is_skipped(&[first, second, last], "d/a.o", false), "{order:?}");
        assert!(!is_skipped(&[first, second, &negated], "d/a.o", false), "{order:?}");
        // A last pattern for directories alone leaves a file to the second.
        let negated = format!("!{last}/");
        assert!(is_skipped(&[first, second, &negated], "d/a.o", false), "{order:?}");
    }
    assert!(is_skipped(&["*", "!a"], "b", false));
    assert!(!is_skipped(&["*", "!a"], "a", false));
    assert!(is_skipped(&["!a", "*"], "a", false));
    assert!(is_skipped(&["d/"], "d", true) && !is_skipped(&["d/"], "d", false));
    let list = list(&["d/"]);
    assert_eq!(list.decide_with_parents(Path::new("root/d/e/a")), Some(Decision::Skip));
    assert_eq!(list.decide_with_parents(Path::new("root/e/a")), None);
    assert!(PatternList::new(Path::new("root")).is_empty());
}

#[test]
fn invalid_patterns_are_refused_with_the_reason() {
    for (pattern, reason) in [
        ("[a", "closing bracket"),
        ("[", "closing bracket"),
        ("[]", "closing bracket"),
        (r"[\", "closing bracket"),
        ("[[:alpha:", "closing bracket"),
        ("[[:letters:]]", "unknown name"),
        (r"a\", "escapes nothing"),
        ("{a", "no closing one"),
        ("a}", "no opening one"),
        (&"{".repeat(1000), "too deeply"),
        (&"{a,b}".repeat(64), "more than 1 MiB"),
        // Alternatives of which each is below the limit.
        (
            &format!("{{{}a}}", "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b},".repeat(100)),
            "more than 1 MiB",
        ),
        // Many short ones.
        (&format!("{{{}a}}", "a,".repeat(100_000)), "more than 1 MiB"),
    ] {
        let refused = PatternList::new(Path::new("")).add_alternatives(pattern).expect_err(pattern);
        assert!(refused.contains(reason), "{pattern}: {refused}");
    }
}

#[test]
fn alternatives_stand_for_every_combination() {
    for (pattern, expected) in [
        ("a{b,c{d,e}}f", &["abf", "acdf", "acef"][..]),
        ("{a,b}{c,d}", &["ac", "ad", "bc", "bd"]),
        ("a{,b}", &["ab"]),
        ("a{}b", &["ab"]),
        ("a,b", &["a,b"]),
        (r"\{a,b\}", &[r"\{a,b\}"]),
        ("[{,}]", &["[{,}]"]),
        ("{[,],a}", &["[,]", "a"]),
    ] {
        assert_eq!(expand_braces(pattern).expect(pattern), expected, "{pattern}");
    }
}

/// The patterns of a list share the limit, however they are divided.
#[test]
fn alternatives_of_a_list_are_bounded_together() {
    let mut list = PatternList::new(Path::new(""));
    let pattern = "{a,b}".repeat(10);
    let added = (0..1000).take_while(|_| list.add_alternatives(&pattern).is_ok()).count();
    assert!((10..100).contains(&added), "{added}");
    assert!(list.patterns.len() * (10 + ALTERNATIVE_OVERHEAD) <= ALTERNATIVES_LIMIT);
    // Patterns without alternatives are not counted.
    (0..1000).for_each(|_| list.add_alternatives(&"a".repeat(10_000)).expect("a long name"));
}

/// Time that grows with a power of the number of stars would never end here.
#[test]
fn many_stars_take_little_time() {
    let pattern = format!("{}b", "*a".repeat(500));
    assert!(!is_skipped(&[&pattern], &"a".repeat(5000), false));
    let pattern = format!("{}b", "**/a/".repeat(200));
    assert!(!is_skipped(&[&pattern], &"a/".repeat(2000), false));
}

/// Pieces of patterns, and of names that they match.
const PIECES: [&str; 22] = [
    "a",
    "b",
    "a",
    "b",
    "*",
    "*",
    "?",
    "[ab]",
    "[!a]",
    "[^b-z]",
    "{a,b}",
    "{a*,b/a}",
    "{,a}",
    "{a,{b,ab}}",
    "/",
    "/",
    "**/",
    "/**",
    "/**/",
    ".o",
    "ä",
    "\\*",
];
const NAMES: [&str; 8] = ["a", "b", "ab", "ba", "*", "a.o", "ä", ".o"];

#[test]
fn patterns_mean_what_they_mean_to_the_crate_ignore() {
    let mut rng = Rng::new(12);
    let mut matched = 0;
    // On Windows the crate takes the backslash of an escaped star for a slash.
    let pieces = PIECES.len() - usize::from(cfg!(windows));
    for _ in 0..size::of(3_000, 60_000) {
        let mut pattern: String = (0..=rng.below(5)).map(|_| PIECES[rng.below(pieces)]).collect();
        if rng.below(4) == 0 {
            pattern.push('/');
        }
        // For git, an empty segment matches no name, and three stars are as good as two.
        if pattern.contains("//") || pattern.contains("***") {
            continue;
        }
        let mut other = GitignoreBuilder::new("");
        other.add_line(None, &pattern).expect(&pattern);
        let other = other.build().expect(&pattern);
        let mut list = PatternList::new(Path::new(""));
        list.add_alternatives(&pattern).expect(&pattern);
        // Stars after the literal start mean more to git, beside which they are tested.
        if list.patterns.iter().any(|pattern| !pattern.prefix.is_empty()) {
            continue;
        }
        for _ in 0..8 {
            let path: PathBuf = (0..=rng.below(4)).map(|_| NAMES[rng.below(NAMES.len())]).collect();
            let is_dir = rng.below(2) == 0;
            let expected = other.matched(&path, is_dir).is_ignore();
            let decision = list.decide(&path, is_dir);
            assert_eq!(decision == Some(Decision::Skip), expected, "{pattern} {path:?} {is_dir}");
            matched += usize::from(expected);
        }
    }
    assert!(matched > 1000, "{matched}");
}
