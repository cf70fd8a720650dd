//! `Debug` output without keys: every public type is either shown with a key inside, or listed here with the
//! reason why it holds none.

use hashmill_files::{Digest, Files, Function, Options};
use hashmill_testkit::secret_scan::{leak, public_types};
use std::collections::BTreeSet;
use std::path::Path;
use zeroize::Zeroizing;

const SECRET: &[u8; 32] = b"Tell nobody: \xf1\x00\x07 the cellar key!";

/// Types that cannot hold a key, or that are meant to be shown.
const PLAIN: &[(&str, &str)] = &[
    ("checksum_list::Algorithm", "a choice"),
    ("checksum_list::Entry", "a line of a list"),
    ("checksum_list::UnsupportedAlgorithm", "names of functions and programs"),
    ("checksum_list::LineTemplate", "a choice"),
    ("checksum_list::NumberedLine", "a line of a list"),
    ("checksum_list::LineError", "a line of a list"),
    ("checksum_list::LineReader", "lines of a list"),
    ("checksum_list::ListReader", "lines of a list"),
    ("checksum_list::Mode", "a choice"),
    ("checksum_list::LineWarning", "a line of a list"),
    ("checksum_list::ParsedLine", "a line of a list"),
    ("checksum_list::ListFormat", "a choice"),
    ("context::OnEngineFailure", "a choice"),
    ("error::Error", "sizes, and what the system says"),
    ("walk::Filter", "patterns"),
    ("walk::PatternError", "a pattern"),
    ("checksum_list::Audit", "names and digests of files"),
    ("checksum_list::TableEntry", "a name and a digest"),
    ("checksum_list::AuditEntry", "names of files"),
    ("checksum_list::ForeignJournal", "the name of a list"),
    ("checksum_list::ChecksumTable", "names and digests of files"),
    ("checksum_list::ReadError", "a line of a list"),
    ("checksum_list::AuditOutcome", "numbers of rows"),
    ("checksum_list::Scope", "paths"),
    ("checksum_list::UnreadableDirs", "names of files"),
    ("checksum_list::TooMany", "nothing"),
    ("checksum_list::ListUpdate", "names and digests of files"),
    ("checksum_list::UpdateError", "what the system says"),
    ("walk::NameList", "names of files"),
    ("os::FileId", "numbers of a file"),
    ("error::Gap", "a place in a file"),
    ("error::Unreadable", "places in a file; its digest is looked at by itself"),
    ("stored::FileState", "numbers of a file"),
    ("stored::StoredDigest", "a digest and a time"),
    ("stored::XattrError", "what the system says"),
    ("stored::Time", "a number"),
    ("stored::ExpectedDigest", "a digest and a time"),
    ("stored::DigestVerdict", "a choice"),
    ("context::Options", "choices"),
    ("context::Progress", "counts"),
    ("hashing::Input", "where bytes come from"),
    ("hashing::HashJob", "a path and the caller's tag"),
    ("read::Mapping", "a choice"),
    ("read::Strategy", "a choice"),
    ("read::UnknownStrategy", "nothing"),
    ("walk::Rules", "choices"),
    ("walk::Visit", "a path"),
    ("walk::Walk", "paths"),
];

/// Types that can hold a key, each with one.
fn shown() -> Vec<(&'static str, String)> {
    let functions = [
        Function::keyed(Zeroizing::new(*SECRET)),
        Function::keyed(Zeroizing::new(*SECRET)).extended(),
        Function::derive_key(std::str::from_utf8(&SECRET[17..]).expect("letters")),
    ];
    let shown = functions.into_iter().flat_map(|function| {
        let name = format!("{function:?} {function:#?}");
        let files = Files::new(function, Options::default());
        // For a message of one block, the reader holds key and message unhashed.
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
fn every_public_type_is_covered() {
    let all = public_types(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let plain: Vec<_> = PLAIN.iter().map(|(name, _)| (*name).to_owned()).collect();
    let secret: BTreeSet<String> = shown().iter().map(|(name, _)| (*name).to_owned()).collect();
    assert!(plain.iter().all(|name| !secret.contains(name)), "of two minds");
    let named: BTreeSet<String> = secret.into_iter().chain(plain).collect();
    let missing: Vec<_> = all.difference(&named).collect();
    assert!(missing.is_empty(), "show each with a key inside, or say why it holds none: {missing:?}");
    let gone: Vec<_> = named.difference(&all).collect();
    assert!(gone.is_empty(), "no such types: {gone:?}");
}
