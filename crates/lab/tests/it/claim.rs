//! `lab claim`: from a report to a number in a document, and back.

use crate::program::{Folder, Said, lab, said};
use std::fs;
use std::path::Path;

/// Short sessions: one side does twice the work, which the shortest can see.
const SHORT: [&str; 8] = ["--rounds", "5", "--sample-ms", "0.05", "--warm-ups", "1", "--control", "off"];

fn in_folder(folder: &Folder, args: &[&str]) -> Said {
    said(lab().current_dir(folder.join("")).args(args))
}

/// A folder with a comparison, its claim, and a document that waits for the number.
fn world() -> Folder {
    let folder = Folder::new("claim");
    let compared =
        [&["compare", "chain/*/kernel/10000/t1", "--engines", "twice,plain", "--out", "r"], &SHORT[..]];
    let compared = in_folder(&folder, &compared.concat());
    assert_eq!(compared.code, Some(0), "{compared:?}");
    let case = ["--case", "chain/plain/kernel/10000/t1", "--vs", "twice", "--expires", "2999-12-31"];
    let new =
        in_folder(&folder, &[&["claim", "new", "one", "--report", "r/report.json"], &case[..]].concat());
    assert_eq!(new.code, Some(0), "{new:?}");
    fs::write(folder.join("claims.toml"), format!("documents = [\"page.md\"]\n{}", new.out)).expect("a file");
    fs::write(folder.join("page.md"), "so much: <!-- lab:claim one --><!-- /lab --> as fast\n")
        .expect("a file");
    folder
}

fn claim(folder: &Folder, what: &str) -> Said {
    in_folder(folder, &["claim", what, "--file", "claims.toml"])
}

fn edit(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).expect("a file");
    assert!(text.contains(from), "{from} in {text}");
    fs::write(path, text.replacen(from, to, 1)).expect("a file");
}

#[test]
fn a_number_is_rendered_checked_and_proven_again() {
    let folder = world();
    let stale = claim(&folder, "check");
    assert_eq!(stale.code, Some(1), "{stale:?}");
    assert!(stale.out.contains("page.md:1: it says ``, and claim `one` is "), "{}", stale.out);
    let rendered = claim(&folder, "render");
    assert_eq!(rendered.code, Some(0), "{rendered:?}");
    let page = fs::read_to_string(folder.join("page.md")).expect("a page");
    let number = page.split("-->").nth(1).and_then(|rest| rest.split('×').next()).expect("a number");
    let number: f64 = number.parse().expect("a ratio");
    assert!(number > 1.3, "twice the work: {page}");
    let checked = claim(&folder, "check");
    assert_eq!((checked.code, checked.err.as_str()), (Some(0), ""), "{checked:?}");
    assert_eq!(checked.out, "1 of 1 claims are proven, 1 numbers in documents are theirs\n");
    let proven = in_folder(
        &folder,
        &[&["claim", "prove", "one", "--file", "claims.toml", "--out", "p"], &SHORT[..]].concat(),
    );
    let is_answer =
        |line: &&str| !line.contains(' ') || line.starts_with("does not") || line.starts_with("cannot");
    let answer = proven.out.lines().find(is_answer).unwrap_or_default();
    for line in ["claimed", "here"] {
        let line = proven.out.lines().find(|said| said.starts_with(line)).unwrap_or_default();
        assert!(line.contains("×") && line.contains("kernels scalar and scalar"), "{proven:?}");
    }
    assert!(!proven.out.contains("differs"), "the same machine a moment later: {proven:?}");
    // Noise may make it less than it was a moment ago; it cannot make twice the work no slower.
    assert!(matches!((answer, proven.code), ("holds", Some(0)) | ("weaker", Some(1))), "{proven:?}");
}

#[test]
fn whatever_a_claim_rests_on_may_not_change() {
    for (file, from, to, says) in [
        (
            "page.md",
            "so much: ",
            "so much: <!-- lab:claim two -->1×<!-- /lab --> ",
            "page.md:1: there is no claim `two`",
        ),
        ("page.md", "<!-- /lab -->", "", "page.md:1: a claim begins, and no `<!-- /lab -->` ends it"),
        (
            "claims.toml",
            "2999-12-31",
            "2001-12-31",
            "claim `one`: it expired on 2001-12-31: measure it again",
        ),
        ("claims.toml", "vs = \"twice\"", "vs = \"slow5\"", "claim `one`: its report does not compare"),
        ("r/report.json", "\"rounds\"", " \"rounds\"", "is not the file that was claimed from"),
    ] {
        let folder = world();
        assert_eq!(claim(&folder, "render").code, Some(0));
        edit(&folder.join(file), from, to);
        let checked = claim(&folder, "check");
        assert_eq!(checked.code, Some(1), "{file}: {checked:?}");
        assert!(checked.out.contains(says), "{file}: {}", checked.out);
    }
}

#[test]
fn what_cannot_be_claimed_or_proven_is_one_line() {
    let folder = world();
    let same = ["--case", "chain/slow5/kernel/10000/t1", "--vs", "twice", "--expires", "2999-12-31"];
    let new = [&["claim", "new", "x", "--report", "r/report.json"], &same[..]].concat();
    let prove = |id: &'static str, file: &'static str| vec!["claim", "prove", id, "--file", file];
    edit(&folder.join("claims.toml"), "program = \"lab\"", "program = \"other lab\"");
    for (args, code, says) in [
        (new, 4, "claim `x`: its report does not compare"),
        (prove("on", "claims.toml"), 2, "there is no claim `on` (did you mean `one`?)"),
        (prove("one", "claims.toml"), 2, "claim `one` is measured with `other lab claim prove one`"),
        (prove("one", "none.toml"), 2, "cannot read none.toml"),
        (prove("one", "page.md"), 2, "page.md: TOML parse error"),
    ] {
        let refused = in_folder(&folder, &args);
        assert_eq!(refused.code, Some(code), "{refused:?}");
        assert!(refused.err.contains(says), "{}", refused.err);
        assert_eq!(refused.err.lines().count(), 1, "{}", refused.err);
    }
}

#[test]
fn a_table_of_verdicts_is_rendered_and_checked() {
    let folder = world();
    let gates = "[[gate]]\nname = \"faster\"\ncases = [\"chain/plain/kernel/10000/t1\"]\nrival = \"twice\"\nmust = 1.05\n\
                 [[gate]]\nname = \"elsewhere\"\ncases = [\"chain/plain/kernel/10000/t1\"]\nrival = \"twice\"\nmust = 9\n\
                 machines = [\"no processor\"]\n[[gate]]\nname = \"not measured\"\ncases = [\"chain/plain/kernel/100/t1\"]\nrival = \"twice\"\nmust = 1\n";
    fs::write(folder.join("gates.toml"), gates).expect("a file");
    let claims = fs::read_to_string(folder.join("claims.toml")).expect("claims");
    let sha = claims.lines().find(|line| line.starts_with("report_sha256")).expect("a fingerprint");
    let table = format!(
        "\n[[table]]\nid = \"all\"\ngates = \"gates.toml\"\nprogram = \"lab\"\nreport = \"r/report.json\"\n{sha}\n\
         expires = \"2999-12-31\"\n"
    );
    fs::write(folder.join("claims.toml"), claims + &table).expect("a file");
    fs::write(folder.join("page.md"), "<!-- lab:claim all --><!-- /lab -->\n").expect("a file");
    let stale = claim(&folder, "check");
    assert!(stale.out.contains("page.md:1: table `all` is stale"), "{stale:?}");
    assert_eq!(claim(&folder, "render").code, Some(0));
    let page = fs::read_to_string(folder.join("page.md")).expect("a page");
    assert!(page.contains("\n| faster | ") && page.contains(" | 1.05 | reached |\n"), "{page}");
    let elsewhere =
        page.lines().find(|line| line.starts_with("| elsewhere | ")).expect("measured all the same");
    assert!(elsewhere.ends_with(" |  |  |"), "a bar for other machines: {page}");
    assert!(!page.contains("not measured"), "{page}");
    assert_eq!(claim(&folder, "check").code, Some(0), "{:?}", claim(&folder, "check"));

    // Another program cannot say what the cases are, and says so.
    edit(&folder.join("claims.toml"), "gates.toml\"\nprogram = \"lab\"", "gates.toml\"\nprogram = \"other\"");
    let elsewhere = claim(&folder, "check");
    assert!(elsewhere.out.contains("1 tables are of another program"), "{elsewhere:?}");
}
