//! Changes of the official crate: Hashmill's codec reads them, writes the same bytes, and refuses what that crate refuses.

use std::panic::catch_unwind;

use hashmill_doc::Change;
use hashmill_rivals::doc::official::Official;
use hashmill_rivals::doc::runner::changes;
use hashmill_rivals::doc::script::Script;
use hashmill_testkit::Rng;
use sha2::{Digest as _, Sha256};

fn scripts() -> impl Iterator<Item = Vec<u8>> {
    (0..60).flat_map(|seed| changes::<Official>(&Script::invent(seed, 60)))
}

#[test]
fn a_change_is_read_and_written_byte_by_byte() {
    let mut count = 0;
    for bytes in scripts() {
        let theirs = automerge::Change::from_bytes(bytes.clone()).expect("their own change");
        let ours = Change::from_bytes(&bytes).unwrap_or_else(|error| panic!("{error}: {bytes:02x?}"));
        assert_eq!(ours.raw_bytes(), bytes);
        assert_eq!(ours.hash().to_string(), theirs.hash().to_string());
        assert_eq!(
            (ours.len(), ours.seq(), ours.start_op()),
            (theirs.len(), theirs.seq(), theirs.start_op().get())
        );
        assert_eq!((ours.timestamp(), ours.message()), (theirs.timestamp(), theirs.message()));
        let packed = automerge::Change::from_bytes(ours.bytes()).expect("our packed form");
        assert_eq!(packed.raw_bytes(), bytes);
        let mut theirs = theirs;
        assert_eq!(Change::from_bytes(&theirs.bytes()).expect("their packed form").raw_bytes(), bytes);
        count += 1;
    }
    assert!(count > 300, "{count} changes");
}

/// The chunk of a change with this body.
fn chunk(body: &[u8]) -> Vec<u8> {
    let mut framed = vec![1];
    let mut length = body.len();
    while length >= 0x80 {
        framed.push(length as u8 | 0x80);
        length >>= 7;
    }
    framed.push(length as u8);
    framed.extend_from_slice(body);
    let checksum = Sha256::digest(&framed);
    [&[0x85, 0x6f, 0x4a, 0x83], &checksum[..4], &framed].concat()
}

/// The body of a change's chunk.
fn body(bytes: &[u8]) -> &[u8] {
    let length = bytes[9..].iter().position(|byte| byte & 0x80 == 0).expect("the end of the length") + 1;
    &bytes[9 + length..]
}

fn damage(rng: &mut Rng, body: &mut Vec<u8>) {
    let at = rng.below(body.len());
    match rng.below(5) {
        0 => drop(body.remove(at)),
        1 => body.insert(at, rng.next_u64() as u8),
        2 => body[at] ^= 1 << rng.below(8),
        3 => body[at] = [0, 1, 0x7f, 0x80, 0xff][rng.below(5)],
        _ => body.truncate(at.max(1)),
    }
}

/// The checksum is right: it is the content that must be refused.
#[test]
fn what_the_official_crate_refuses_is_refused() {
    let mut rng = Rng::new(1);
    let (mut refused, mut accepted) = (0, 0);
    for bytes in scripts() {
        assert_eq!(chunk(body(&bytes)), bytes);
        for _ in 0..20 {
            let mut body = body(&bytes).to_vec();
            (0..1 + rng.below(2)).for_each(|_| damage(&mut rng, &mut body));
            let damaged = chunk(&body);
            // The official crate panics on some; that is no acceptance.
            let theirs = catch_unwind(|| automerge::Change::from_bytes(damaged.clone()));
            let theirs = theirs.ok().and_then(Result::ok);
            match Change::from_bytes(&damaged) {
                Err(error) => {
                    assert!(!error.to_string().is_empty());
                    refused += 1;
                }
                Ok(ours) => {
                    assert_eq!(ours.raw_bytes(), damaged);
                    let theirs = theirs.unwrap_or_else(|| panic!("they refuse {damaged:02x?}"));
                    assert_eq!(ours.hash().to_string(), theirs.hash().to_string());
                    accepted += 1;
                }
            }
        }
    }
    assert!(refused > 3000 && accepted > 100, "{refused} refused, {accepted} accepted");
}
