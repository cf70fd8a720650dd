//! Fuzz target for password strings: they parse as in the oracle, and have one written form.

use hashmill_hash::argon2::{Params, Version};
use hashmill_hash::password::{Limits, PasswordHash, Syntax};
use hashmill_testkit::oracle::phc as oracle;

/// The first byte chooses syntax and limits, the rest is the string.
pub fn phc(data: &[u8]) {
    let Some((&first, text)) = data.split_first() else { return };
    let syntax = if first & 1 == 0 { Syntax::Strict } else { Syntax::Lenient };
    let limits = if first & 2 == 0 { Limits::RECOMMENDED } else { Limits::NONE };
    let read = PasswordHash::decode(text, syntax, &limits);
    if let Err(error) = read {
        assert!(error.offset() <= text.len());
        assert!(!error.to_string().is_empty());
    }
    assert_eq!(read.ok(), expected(text, syntax, &limits), "{syntax:?} {}", text.escape_ascii());

    let Ok(hash) = PasswordHash::decode(text, syntax, &limits) else { return };
    let written = hash.to_string();
    let only_parts_of_today = hash.key_id().is_empty() && hash.associated_data().is_empty();
    let reader = if only_parts_of_today { Syntax::Strict } else { Syntax::Lenient };
    assert_eq!(PasswordHash::decode(&written, reader, &limits).as_ref(), Ok(&hash), "{written}");
    let phc = oracle::read(text, false);
    if phc.is_some_and(|phc| phc.has_version) {
        assert_eq!(written.as_bytes(), text, "a strict string with a version is the canonical one");
    }
    // Shorter tags may equal one of the numbers.
    let (_, tag) = written.rsplit_once('$').expect("a tag");
    assert!(tag.len() <= 10 || !format!("{hash:?}").contains(tag));
}

/// The result of the oracle, if the string is valid and within the limits.
fn expected(text: &[u8], syntax: Syntax, limits: &Limits) -> Option<PasswordHash> {
    let phc = oracle::read(text, syntax == Syntax::Lenient)?;
    let [m, t, p] = phc.costs;
    let version = Version::from_number(phc.version).ok()?;
    let params = Params::new(m, t, p).ok()?.with_version(version);
    let params = params.with_variant(phc.variant.parse().expect("the oracle knows three"));
    let fits = limits.check(params).is_ok()
        && (limits.min_salt..=limits.max_salt).contains(&phc.salt.len())
        && (limits.min_tag..=limits.max_tag).contains(&phc.tag.len());
    let hash = PasswordHash::new(params, phc.salt, phc.tag);
    fits.then(|| hash.with_draft_parts(phc.key_id, phc.data))
}
