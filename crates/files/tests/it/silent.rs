//! No `Debug` output shows a key: every public type is either shown with one inside, or named here with the reason why
//! none can be.

use hashmill_files::{Digest, Files, Function, Options};
use hashmill_testkit::secret::{leak, public_types};
use std::collections::BTreeSet;
use std::path::Path;
use zeroize::Zeroizing;

const SECRET: &[u8; 32] = b"Tell nobody: \xf1\x00\x07 the cellar key!";

/// What cannot hold a key, or is made to be shown.
const PLAIN: &[(&str, &str)] = &[
    ("checkfile::Algorithm", "a choice"),
    ("checkfile::Entry", "a line of a list"),
    ("checkfile::Foreign", "names of functions and programs"),
    ("checkfile::Frame", "a choice"),
    ("checkfile::Line", "a line of a list"),
    ("checkfile::LineError", "a line of a list"),
    ("checkfile::Lines", "lines of a list"),
    ("checkfile::List", "lines of a list"),
    ("checkfile::Mode", "a choice"),
    ("checkfile::Note", "a line of a list"),
    ("checkfile::Parsed", "a line of a list"),
    ("checkfile::Style", "a choice"),
    ("engine::Otherwise", "a choice"),
    ("error::Error", "sizes, and what the system says"),
    ("filter::Filter", "patterns"),
    ("filter::PatternError", "a pattern"),
    ("manifest::Audit", "names and digests of files"),
    ("manifest::File", "a name and a digest"),
    ("manifest::Finding", "names of files"),
    ("manifest::ForeignJournal", "the name of a list"),
    ("manifest::Manifest", "names and digests of files"),
    ("manifest::ReadError", "a line of a list"),
    ("manifest::Rest", "numbers of rows"),
    ("manifest::Scope", "paths"),
    ("manifest::Shut", "names of files"),
    ("manifest::TooMany", "nothing"),
    ("manifest::Update", "names and digests of files"),
    ("manifest::UpdateError", "what the system says"),
    ("names::Names", "names of files"),
    ("os::FileId", "numbers of a file"),
    ("rescue::Gap", "a place in a file"),
    ("rescue::Unreadable", "places in a file; its digest is looked at by itself"),
    ("tag::Facts", "numbers of a file"),
    ("tag::Tag", "a digest and a time"),
    ("tag::TagError", "what the system says"),
    ("time::Time", "a number"),
    ("verdict::Stored", "a digest and a time"),
    ("verdict::Verdict", "a choice"),
    ("work::Options", "choices"),
    ("work::Progress", "counts"),
    ("many::Input", "where bytes come from"),
    ("many::Item", "a path and the caller's tag"),
    ("plan::Mapping", "a choice"),
    ("plan::Strategy", "a choice"),
    ("plan::UnknownStrategy", "nothing"),
    ("walk::Rules", "choices"),
    ("walk::Visit", "a path"),
    ("walk::Walk", "paths"),
];

/// What can hold one, with one inside.
fn shown() -> Vec<(&'static str, String)> {
    let functions = [
        Function::keyed(Zeroizing::new(*SECRET)),
        Function::keyed(Zeroizing::new(*SECRET)).extended(),
        Function::derive_key(std::str::from_utf8(&SECRET[17..]).expect("letters")),
    ];
    let shown = functions.into_iter().flat_map(|function| {
        let name = format!("{function:?} {function:#?}");
        let files = Files::new(function, Options::default());
        // Of a message of one block, the reader holds key and message as they are.
        let digest: Digest = files.hash_reader(&SECRET[..]).expect("bytes");
        [
            ("function::Function", name),
            ("files::Files", format!("{files:?} {files:#?}")),
            ("function::Output", format!("{:?} {:#?}", digest.output, digest.output)),
            ("function::Digest", format!("{digest:?} {digest:#?}")),
        ]
    });
    shown.collect()
}

#[test]
fn no_debug_output_shows_a_key() {
    for (name, text) in shown() {
        if let Some(shape) = leak(&text, SECRET) {
            panic!("{name} shows {shape:?}: {text}");
        }
    }
}

#[test]
fn every_public_type_is_looked_at() {
    let all = public_types(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let plain: Vec<_> = PLAIN.iter().map(|(name, _)| (*name).to_owned()).collect();
    let seen: BTreeSet<String> = shown().iter().map(|(name, _)| (*name).to_owned()).collect();
    assert!(plain.iter().all(|name| !seen.contains(name)), "of two minds");
    let named: BTreeSet<String> = seen.into_iter().chain(plain).collect();
    let missing: Vec<_> = all.difference(&named).collect();
    assert!(missing.is_empty(), "show each with a key inside, or say why it holds none: {missing:?}");
    let gone: Vec<_> = named.difference(&all).collect();
    assert!(gone.is_empty(), "no such types: {gone:?}");
}
