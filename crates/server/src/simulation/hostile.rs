//! Frames of clients that break the protocol, from a list of inputs that ended or stopped other servers.

use hashmill_doc::sync;
use hashmill_repo::message::{PeerMetadata, SyncBody};
use hashmill_repo::{DocumentId, Message};
use hashmill_testkit::Rng;

/// The frames of one hostile socket. `sound_frames` are from other clients.
pub(super) fn frames(rng: &mut Rng, ids: &[DocumentId], sound_frames: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let peer = format!("hostile-{}", rng.below(2));
    let mut frames = Vec::new();
    if rng.below(3) > 0 {
        let versions = if rng.below(4) == 0 { None } else { Some(vec!["1".into()]) };
        let (sender, metadata) = (peer.as_str().into(), PeerMetadata::default());
        frames.push(Message::Join { sender, metadata, versions }.encode());
    }
    for _ in 0..1 + rng.below(6) {
        frames.push(frame(rng, &peer, ids, sound_frames));
    }
    frames
}

fn frame(rng: &mut Rng, peer: &str, ids: &[DocumentId], sound_frames: &[Vec<u8>]) -> Vec<u8> {
    let sync = |document: String, data: &[u8]| {
        let (sender, target) = (peer.into(), "srv".into());
        Message::Sync(SyncBody { sender, target, document: document.into(), data: data.into() }).encode()
    };
    let id = ids[rng.below(ids.len())].to_string();
    match rng.below(13) {
        0 => vec![0xf6],
        1 => vec![0xf7],
        2 => vec![0x01],
        3 => vec![],
        4 => vec![0xff, 0xff],
        // A join without its sender.
        5 => [&[0xa1, 0x64][..], b"type", &[0x64], b"join"].concat(),
        6 => sync("zzz".to_owned(), &[0x42, 0, 0, 0, 0]),
        7 => sync(id, &rng.bytes(20)),
        8 => sync(id, &[]),
        9 => Message::Leave { sender: peer.into() }.encode(),
        10 => {
            sync(DocumentId::from_random_bytes([rng.below(200) as u8; 16]).to_string(), &[0x42, 0, 0, 0, 0])
        }
        11 => {
            let mut message = sync::Message::decode(&[0x42, 0, 0, 0, 0]).expect("a sound message");
            // More than a document may have.
            message.changes.push(vec![0; 2 << 20]);
            sync(id, &message.encode())
        }
        _ => {
            // A sound frame of another client, with a changed byte.
            let mut frame =
                sound_frames.get(rng.below(sound_frames.len().max(1))).cloned().unwrap_or_default();
            if !frame.is_empty() {
                let offset = rng.below(frame.len());
                frame[offset] ^= 1 << rng.below(8);
            }
            frame
        }
    }
}
