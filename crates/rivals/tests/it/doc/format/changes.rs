//! Changes of the official crate: Hashmill's codec reads them, writes the same bytes, and refuses what that crate refuses.

use std::panic::catch_unwind;

use hashmill_doc::Change;
use hashmill_rivals::doc::official::Official;
use hashmill_rivals::doc::runner::changes;
use hashmill_rivals::doc::script::Script;
use hashmill_testkit::Rng;
use sha2::{Digest as _, Sha256};

fn scripts() -> impl Iterator<Item = Vec<u8>> {
    (0..60).flat_map(|seed| changes::<Official>(&Script::random(seed, 60)))
}

#[test]
fn a_change_is_read_and_written_byte_by_byte() {
    let mut count = 0;
    for bytes in scripts() {
        let official = automerge::Change::from_bytes(bytes.clone()).expect("a change of the official crate");
        let change = Change::from_bytes(&bytes).unwrap_or_else(|error| panic!("{error}: {bytes:02x?}"));
        assert_eq!(change.raw_bytes(), bytes);
        assert_eq!(change.hash().to_string(), official.hash().to_string());
        assert_eq!(
            (change.len(), change.seq(), change.start_op()),
            (official.len(), official.seq(), official.start_op().get())
        );
        assert_eq!((change.timestamp(), change.message()), (official.timestamp(), official.message()));
        let packed = automerge::Change::from_bytes(change.bytes()).expect("the packed form of Hashmill");
        assert_eq!(packed.raw_bytes(), bytes);
        let mut official = official;
        assert_eq!(
            Change::from_bytes(&official.bytes()).expect("the packed form of the official crate").raw_bytes(),
            bytes
        );
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

/// The checksum is correct, so the content must be refused.
#[test]
fn changes_that_the_official_crate_refuses_are_refused() {
    let mut rng = Rng::new(1);
    let (mut refused, mut accepted) = (0, 0);
    for bytes in scripts() {
        assert_eq!(chunk(body(&bytes)), bytes);
        for _ in 0..20 {
            let mut body = body(&bytes).to_vec();
            (0..1 + rng.below(2)).for_each(|_| damage(&mut rng, &mut body));
            let damaged = chunk(&body);
            // The official crate panics on some of them, which counts as a refusal.
            let official = catch_unwind(|| automerge::Change::from_bytes(damaged.clone()));
            let official = official.ok().and_then(Result::ok);
            match Change::from_bytes(&damaged) {
                Err(error) => {
                    assert!(!error.to_string().is_empty());
                    refused += 1;
                }
                Ok(change) => {
                    assert_eq!(change.raw_bytes(), damaged);
                    let official =
                        official.unwrap_or_else(|| panic!("the official crate refuses {damaged:02x?}"));
                    assert_eq!(change.hash().to_string(), official.hash().to_string());
                    accepted += 1;
                }
            }
        }
    }
    assert!(refused > 3000 && accepted > 100, "{refused} refused, {accepted} accepted");
}
