//! Cases where the official crate resolves cursors differently now and at equal heads: the scripts ignore them, and Hashmill's
//! answers are tested here.

use hashmill_rivals::doc::official::Official;
use hashmill_rivals::doc::ours::Ours;
use hashmill_rivals::doc::peer::{Hash, Peer, Place, Pointer};
use hashmill_rivals::doc::script::{Encoding, Kind, Scalar};

/// A person's copy with a list of three numbers; gives the list.
fn numbers<P: Peer>() -> (P, String) {
    let mut peer = P::blank(&[0x60], Encoding::Scalars);
    let list = peer.put_object("_root", Place::Key("a"), Kind::List).expect("a new key");
    for index in 0..3 {
        peer.insert(&list, index, &Scalar::Int(index as i64)).expect("the end");
    }
    peer.commit(None, 0);
    (peer, list)
}

/// What a copy answers about a cursor now, and at the heads of now once something else has happened.
fn now_and_then<P: Peer>(peer: &mut P, list: &str, cursor: &Pointer) -> [Option<usize>; 2] {
    let now = peer.position(list, cursor, None).ok();
    let heads: Vec<Hash> = peer.heads();
    peer.put("_root", Place::Key("key"), &Scalar::Null).expect("a key");
    peer.commit(None, 0);
    [now, peer.position(list, cursor, Some(&heads)).ok()]
}

/// The last element is deleted.
fn nothing_behind<P: Peer>() -> [Option<usize>; 2] {
    let (mut peer, list) = numbers::<P>();
    let cursor = peer.cursor(&list, 2, false, None).expect("an index of the list");
    peer.delete(&list, Place::Index(2)).expect("an index of the list");
    peer.commit(None, 0);
    now_and_then(&mut peer, &list, &cursor)
}

/// Two people put something at the second index at once. Gives the cursors of the loser and of the winner.
fn conflict<P: Peer>() -> (P, P, String, [Pointer; 2]) {
    let (mut peer, list) = numbers::<P>();
    let heads = peer.heads();
    let mut other = peer.fork_at(&heads, &[0xff]).expect("its own heads");
    let put = |peer: &mut P, value| {
        peer.put(&list, Place::Index(1), &Scalar::Int(value)).expect("an index of the list");
        peer.commit(None, 0);
        peer.cursor(&list, 1, true, None).expect("an index of the list")
    };
    let cursors = [put(&mut peer, 10), put(&mut other, 20)];
    (peer, other, list, cursors)
}

/// A value that conflicts with the winner.
fn loser<P: Peer>() -> [Option<usize>; 2] {
    let (mut peer, mut other, list, [loser, _]) = conflict::<P>();
    peer.merge(&mut other).expect("documents of one family");
    now_and_then(&mut peer, &list, &loser)
}

/// A winner that is deleted by a replica without the older loser.
fn older<P: Peer>() -> [Option<usize>; 2] {
    let (mut peer, mut other, list, [_, winner]) = conflict::<P>();
    other.delete(&list, Place::Index(1)).expect("an index of the list");
    other.commit(None, 0);
    peer.merge(&mut other).expect("documents of one family");
    now_and_then(&mut peer, &list, &winner.after())
}

#[test]
fn the_official_crate_is_of_two_minds_and_ours_of_one() {
    assert_eq!(nothing_behind::<Official>(), [Some(2), None]);
    assert_eq!(nothing_behind::<Ours>(), [Some(2), Some(2)]);
    assert_eq!(loser::<Official>(), [Some(0), Some(1)]);
    assert_eq!(loser::<Ours>(), [Some(1), Some(1)]);
    assert_eq!(older::<Official>(), [Some(2), Some(1)]);
    assert_eq!(older::<Ours>(), [Some(1), Some(1)]);
}
