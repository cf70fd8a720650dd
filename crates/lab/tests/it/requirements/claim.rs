//! `lab claim`: from a report to a number in a document, and back.

use crate::program::{CommandResult, Folder, lab, result_of};
use hashmill_lab::model::summary::Recorded;
use hashmill_testkit::Rng;
use sha2::{Digest as _, Sha256};
use std::fs;
use std::path::Path;

/// Short sessions: one side does twice the work, which the shortest can detect.
const SHORT: [&str; 8] = ["--rounds", "5", "--sample-ms", "0.05", "--warm-ups", "1", "--control", "off"];

fn in_folder(folder: &Folder, args: &[&str]) -> CommandResult {
    result_of(lab().current_dir(folder.join("")).args(args))
}

/// A folder with a comparison, its claim, and a document with a mark for the number.
fn world() -> Folder {
    let folder = Folder::new("claim");
    let compared = [
        &["compare", "chain/*/kernel/10000/t1", "--engines", "twice,plain", "--no-count", "--out", "r"],
        &SHORT[..],
    ];
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

fn claim(folder: &Folder, what: &str) -> CommandResult {
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
    assert_eq!(checked.out, "1 of 1 claims are proven, 1 numbers in documents agree with them\n");
    let proven = in_folder(
        &folder,
        &[&["claim", "prove", "one", "--file", "claims.toml", "--out", "p"], &SHORT[..]].concat(),
    );
    let is_answer =
        |line: &&str| !line.contains(' ') || line.starts_with("does not") || line.starts_with("cannot");
    let answer = proven.out.lines().find(is_answer).unwrap_or_default();
    for line in ["claimed", "here"] {
        let line = proven.out.lines().find(|text| text.starts_with(line)).unwrap_or_default();
        assert!(line.contains("×") && line.contains("kernels scalar and scalar"), "{proven:?}");
    }
    assert!(!proven.out.contains("differs"), "the same machine a moment later: {proven:?}");
    // Noise may reduce the ratio, but cannot make twice the work equally fast.
    assert!(matches!((answer, proven.code), ("holds", Some(0)) | ("weaker", Some(1))), "{proven:?}");
}

#[test]
fn changes_to_the_evidence_of_a_claim_are_errors() {
    let folder = world();
    assert_eq!(claim(&folder, "render").code, Some(0));
    for (file, from, to, message) in [
        (
            "page.md",
            "so much: ",
            "so much: <!-- lab:claim two -->1×<!-- /lab --> ",
            "page.md:1: there is no claim `two`",
        ),
        (
            "page.md",
            "<!-- /lab -->",
            "",
            "page.md:1: a claim begins here without a `<!-- /lab -->` at its end",
        ),
        (
            "claims.toml",
            "2999-12-31",
            "2001-12-31",
            "claim `one`: it expired on 2001-12-31: measure it again",
        ),
        ("claims.toml", "vs = \"twice\"", "vs = \"slow5\"", "claim `one`: its report does not compare"),
        ("r/report.json", "\"rounds\"", " \"rounds\"", "is not the claimed file"),
    ] {
        let before = fs::read(folder.join(file)).expect("a file");
        edit(&folder.join(file), from, to);
        let checked = claim(&folder, "check");
        assert_eq!(checked.code, Some(1), "{file}: {checked:?}");
        assert!(checked.out.contains(message), "{file}: {}", checked.out);
        fs::write(folder.join(file), before).expect("a file");
        assert_eq!(claim(&folder, "check").code, Some(0), "{file} is what it was");
    }
}

#[test]
fn errors_of_claims_are_one_line() {
    let folder = world();
    let same = ["--case", "chain/slow5/kernel/10000/t1", "--vs", "twice", "--expires", "2999-12-31"];
    let new = [&["claim", "new", "x", "--report", "r/report.json"], &same[..]].concat();
    let prove = |id: &'static str, file: &'static str| vec!["claim", "prove", id, "--file", file];
    edit(&folder.join("claims.toml"), "program = \"lab\"", "program = \"other lab\"");
    for (args, code, message) in [
        (new, 4, "claim `x`: its report does not compare"),
        (prove("on", "claims.toml"), 2, "there is no claim `on` (did you mean `one`?)"),
        (prove("one", "claims.toml"), 2, "claim `one` is measured with `other lab claim prove one`"),
        (prove("one", "none.toml"), 2, "cannot read none.toml"),
        (prove("one", "page.md"), 2, "page.md: TOML parse error"),
    ] {
        let refused = in_folder(&folder, &args);
        assert_eq!(refused.code, Some(code), "{refused:?}");
        assert!(refused.err.contains(message), "{}", refused.err);
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

    // Another program does not know the cases, and reports that.
    edit(&folder.join("claims.toml"), "gates.toml\"\nprogram = \"lab\"", "gates.toml\"\nprogram = \"other\"");
    let elsewhere = claim(&folder, "check");
    assert!(elsewhere.out.contains("1 tables belong to another program"), "{elsewhere:?}");
}

/// An event that can happen to a claim later.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Untouched,
    SourceChanged,
    SourceGone,
    SourceFolderGone,
    ReportGone,
    ReportIsAFolder,
    ReportCut,
    ReportEdited,
    Expired,
}

impl Fate {
    const ALL: [Fate; 9] = [
        Fate::Untouched,
        Fate::SourceChanged,
        Fate::SourceGone,
        Fate::SourceFolderGone,
        Fate::ReportGone,
        Fate::ReportIsAFolder,
        Fate::ReportCut,
        Fate::ReportEdited,
        Fate::Expired,
    ];

    /// Output of `claim check`; none if there is nothing to report.
    fn words(self) -> Option<&'static str> {
        match self {
            Fate::Untouched => None,
            Fate::SourceChanged => Some("sources changed since: `one.rs`, `more`."),
            Fate::SourceGone => Some("cannot read its source"),
            Fate::SourceFolderGone => Some("cannot read its source"),
            Fate::ReportGone | Fate::ReportIsAFolder => Some("cannot read"),
            Fate::ReportCut => Some("it is not JSON, or it is truncated"),
            Fate::ReportEdited => Some("is not the claimed file"),
            Fate::Expired => Some("it expired on 2001-12-31"),
        }
    }

    fn is_error(self) -> bool {
        !matches!(self, Fate::Untouched | Fate::SourceChanged)
    }
}

fn sha256(bytes: &[u8]) -> String {
    hashmill_testkit::hex::encode(&Sha256::digest(bytes))
}

/// Writes a claim with its report and sources into its own folder, in the state after `fate`; returns its lines.
fn claim_after(folder: &Path, name: &str, fate: Fate, template: &str, report: &[u8]) -> String {
    let own = folder.join(name);
    fs::create_dir_all(own.join("more")).expect("a folder");
    let sources = [("more/two.rs", "two"), ("one.rs", "one")];
    for (path, text) in sources {
        fs::write(own.join(path), text).expect("a file");
    }
    let listed: String =
        sources.map(|(path, text)| format!("{}  {name}/{path}\n", sha256(text.as_bytes()))).concat();
    let path = own.join("report.json");
    let mut stored = report.to_vec();
    if fate == Fate::ReportCut {
        stored.truncate(report.len() / 2);
    }
    fs::write(&path, &stored).expect("a file");
    let claimed = sha256(&stored);
    match fate {
        Fate::Untouched | Fate::ReportCut | Fate::Expired => {}
        Fate::SourceChanged => fs::write(own.join("more/two.rs"), "three").expect("a file"),
        Fate::SourceGone => fs::remove_file(own.join("one.rs")).expect("a file"),
        Fate::SourceFolderGone => fs::remove_dir_all(own.join("more")).expect("a folder"),
        Fate::ReportGone => fs::remove_file(&path).expect("a file"),
        Fate::ReportIsAFolder => {
            fs::remove_file(&path).expect("a file");
            fs::create_dir(&path).expect("a folder");
        }
        Fate::ReportEdited => edit(&path, "\"rounds\"", " \"rounds\""),
    }
    let mut lines: String = template
        .lines()
        .map(|line| match line.split_once(" = ") {
            Some(("id", _)) => format!("id = \"{name}\"\n"),
            Some(("report", _)) => format!("report = \"{name}/report.json\"\n"),
            Some(("report_sha256", _)) => format!("report_sha256 = \"{claimed}\"\n"),
            Some(("expires", _)) if fate == Fate::Expired => "expires = \"2001-12-31\"\n".to_owned(),
            _ => format!("{line}\n"),
        })
        .collect();
    lines += &format!(
        "sources = {{ paths = [\"{name}/one.rs\", \"{name}/more\"], sha256 = \"{}\" }}\n",
        sha256(listed.as_bytes())
    );
    lines
}

/// After random events on several claims, `check` reports each event and fails on each error, and `render` writes no
/// document with an unproven claim.
#[test]
fn every_error_of_a_claim_is_reported() {
    let folder = world();
    let claims = fs::read_to_string(folder.join("claims.toml")).expect("claims");
    let template = claims.split_once("[[claim]]\n").expect("one claim").1;
    let report = fs::read(folder.join("r/report.json")).expect("a report");
    let mut rng = Rng::new(39);
    for (round, fate) in Fate::ALL.into_iter().cycle().take(27).enumerate() {
        let mut fates = vec![fate];
        fates.extend((0..rng.below(3)).map(|_| Fate::ALL[rng.below(Fate::ALL.len())]));
        let at = folder.join(&format!("round-{round}"));
        fs::create_dir(&at).expect("a folder");
        let mut file = "documents = [\"page.md\"]\n".to_owned();
        let mut page = String::new();
        for (index, fate) in fates.iter().enumerate() {
            let name = format!("c{index}");
            file += &format!("[[claim]]\n{}", claim_after(&at, &name, *fate, template, &report));
            page += &format!("<!-- lab:claim {name} -->?<!-- /lab -->\n");
        }
        fs::write(at.join("claims.toml"), file).expect("a file");
        fs::write(at.join("page.md"), &page).expect("a file");
        let run =
            |what: &str| result_of(lab().current_dir(&at).args(["claim", what, "--file", "claims.toml"]));
        let is_error = fates.iter().any(|fate| fate.is_error());

        let rendered = run("render");
        assert_eq!(rendered.code, Some(if is_error { 4 } else { 0 }), "{fates:?}: {rendered:?}");
        let written = fs::read_to_string(at.join("page.md")).expect("a page");
        assert_eq!(written == page, is_error, "{fates:?}: {written}");

        let checked = run("check");
        assert_eq!(checked.code, Some(i32::from(is_error)), "{fates:?}: {checked:?}");
        for (index, fate) in fates.iter().enumerate() {
            let start = format!("claim `c{index}`: ");
            let lines: Vec<&str> = checked.out.lines().filter(|line| line.starts_with(&start)).collect();
            match fate.words() {
                None => assert!(lines.is_empty(), "{fates:?}: {}", checked.out),
                Some(words) => {
                    let words =
                        words.replace("`one.rs`, `more`", &format!("`c{index}/one.rs`, `c{index}/more`"));
                    assert!(
                        matches!(lines[..], [line] if line.contains(&words)),
                        "{fates:?}: {}",
                        checked.out
                    );
                }
            }
        }
    }
}

#[test]
fn a_list_of_claims_is_a_table_that_programs_read() {
    let folder = world();
    let claims = fs::read_to_string(folder.join("claims.toml")).expect("claims");
    fs::write(folder.join("claims.toml"), claims + "\n[[list]]\nid = \"known\"\nclaims = [\"one\"]\n")
        .expect("a file");
    fs::write(folder.join("page.md"), "<!-- lab:claim known --><!-- /lab -->\n").expect("a file");
    let stale = claim(&folder, "check");
    assert!(stale.out.contains("page.md:1: table `known` is stale: run `claim render`"), "{stale:?}");
    assert_eq!(claim(&folder, "render").code, Some(0));
    let page = fs::read_to_string(folder.join("page.md")).expect("a page");
    let [recorded] = &Recorded::parse(&page).expect("a table")[..] else { panic!("{page}") };
    assert_eq!((&*recorded.case, &*recorded.engine), ("chain/plain/kernel/10000/t1", "twice"));
    assert!(recorded.ratio > 1.3 && recorded.interval[0] <= recorded.ratio, "{recorded:?}");
    assert_eq!((&*recorded.report, recorded.date.len()), ("r/report.json", "2026-01-31".len()));
    assert_eq!(claim(&folder, "check").code, Some(0), "{:?}", claim(&folder, "check"));
    edit(&folder.join("claims.toml"), "[\"one\"]", "[\"one\", \"two\"]");
    assert!(claim(&folder, "check").out.contains("there is no claim `two`"));
}
