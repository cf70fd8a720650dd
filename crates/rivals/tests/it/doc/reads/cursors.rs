//! Cases in which the official crate resolves a cursor differently in the current state and at equal heads. Random scripts ignore them;
//! these tests check Hashmill's results.

use hashmill_rivals::doc::hashmill::Hashmill;
use hashmill_rivals::doc::official::Official;
use hashmill_rivals::doc::peer::{Hash, Peer, Pointer, PropRef};
use hashmill_rivals::doc::script::{Encoding, Kind, Scalar};

/// A document with a list of three numbers, and the id of the list.
fn numbers<P: Peer>() -> (P, String) {
    let mut peer = P::blank(&[0x60], Encoding::Scalars);
    let list = peer.put_object("_root", PropRef::Key("a"), Kind::List).expect("a new key");
    for index in 0..3 {
        peer.insert(&list, index, &Scalar::Int(index as i64)).expect("the end");
    }
    peer.commit(None, 0);
    (peer, list)
}

/// Positions of a cursor in the current state, and at the same heads after a further change.
fn positions_now_and_later<P: Peer>(peer: &mut P, list: &str, cursor: &Pointer) -> [Option<usize>; 2] {
    let now = peer.position(list, cursor, None).ok();
    let heads: Vec<Hash> = peer.heads();
    peer.put("_root", PropRef::Key("key"), &Scalar::Null).expect("a key");
    peer.commit(None, 0);
    [now, peer.position(list, cursor, Some(&heads)).ok()]
}

/// A cursor at the last element, which is then deleted.
fn deleted_last_element<P: Peer>() -> [Option<usize>; 2] {
    let (mut peer, list) = numbers::<P>();
    let cursor = peer.cursor(&list, 2, false, None).expect("an index of the list");
    peer.delete(&list, PropRef::Index(2)).expect("an index of the list");
    peer.commit(None, 0);
    positions_now_and_later(&mut peer, &list, &cursor)
}

/// Two replicas put concurrent values at the second index. Returns the cursors of the loser and of the winner.
fn conflict<P: Peer>() -> (P, P, String, [Pointer; 2]) {
    let (mut peer, list) = numbers::<P>();
    let heads = peer.heads();
    let mut other = peer.fork_at(&heads, &[0xff]).expect("its own heads");
    let put = |peer: &mut P, value| {
        peer.put(&list, PropRef::Index(1), &Scalar::Int(value)).expect("an index of the list");
        peer.commit(None, 0);
        peer.cursor(&list, 1, true, None).expect("an index of the list")
    };
    let cursors = [put(&mut peer, 10), put(&mut other, 20)];
    (peer, other, list, cursors)
}

/// A cursor at a value that lost a conflict.
fn conflict_loser<P: Peer>() -> [Option<usize>; 2] {
    let (mut peer, mut other, list, [loser, _]) = conflict::<P>();
    peer.merge(&mut other).expect("documents of one family");
    positions_now_and_later(&mut peer, &list, &loser)
}

/// A cursor at a winner that is deleted by a replica without the older loser.
fn deleted_winner<P: Peer>() -> [Option<usize>; 2] {
    let (mut peer, mut other, list, [_, winner]) = conflict::<P>();
    other.delete(&list, PropRef::Index(1)).expect("an index of the list");
    other.commit(None, 0);
    peer.merge(&mut other).expect("documents of one family");
    positions_now_and_later(&mut peer, &list, &winner.after())
}

#[test]
fn hashmill_resolves_cursors_consistently_and_the_official_crate_does_not() {
    assert_eq!(deleted_last_element::<Official>(), [Some(2), None]);
    assert_eq!(deleted_last_element::<Hashmill>(), [Some(2), Some(2)]);
    assert_eq!(conflict_loser::<Official>(), [Some(0), Some(1)]);
    assert_eq!(conflict_loser::<Hashmill>(), [Some(1), Some(1)]);
    assert_eq!(deleted_winner::<Official>(), [Some(2), Some(1)]);
    assert_eq!(deleted_winner::<Hashmill>(), [Some(1), Some(1)]);
}
