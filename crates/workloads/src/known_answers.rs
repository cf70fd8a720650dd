//! Known-answer tests of every kernel with published vectors, before timing.

use crate::temp_file::TempFile;
use hashmill_doc::{ActorId, CommitOptions, Document, EditError, ObjType, ROOT, Transactable as _};
use hashmill_files::{Files, Function, Options, Strategy};
use hashmill_hash::argon2;
use hashmill_hash::blake3::hazmat::Mode;
use hashmill_hash::blake3::{BufferedHasher, Hash, Hasher, Kernel, Plan, batch};
use hashmill_hash::hex;
use hashmill_lab::model::registry::Registry;
use std::fmt::Display;

pub(crate) fn register(registry: &mut Registry) {
    registry.known_answers("BLAKE3", blake3);
    registry.known_answers("files", files);
    registry.known_answers("SHA-256", sha256);
    registry.known_answers("Argon2", argon2);
    registry.known_answers("documents", documents);
}

const BLAKE3: &str = include_str!("../data/blake3_answers.txt");
pub(crate) const KEY: &[u8; 32] = b"whats the Elvish word for friend";
pub(crate) const CONTEXT: &str = "BLAKE3 2019-12-27 16:29:52 test vectors context";

/// One published vector.
pub(crate) struct Vector {
    pub(crate) input: Vec<u8>,
    pub(crate) hash: &'static str,
    pub(crate) keyed: &'static str,
    pub(crate) derived: &'static str,
}

pub(crate) fn vectors() -> Result<Vec<Vector>, String> {
    let lines = BLAKE3.lines().filter(|line| !line.starts_with('#'));
    let vector = |line: &'static str| {
        let mut words = line.split(' ');
        let mut next = || words.next().ok_or("the table of answers is damaged");
        let len: usize = next()?.parse().map_err(|_| "the table of answers is damaged")?;
        let input = (0..len).map(|i| (i % 251) as u8).collect();
        Ok(Vector { input, hash: next()?, keyed: next()?, derived: next()? })
    };
    lines.map(vector).collect()
}

/// Counter of correct answers.
#[derive(Default)]
pub(crate) struct Tally(usize);

impl Tally {
    pub(crate) fn expect(&mut self, who: impl Display, found: &[u8], answer: &str) -> Result<(), String> {
        let found = hex::encode(found);
        if found != answer {
            return Err(format!("{who} gives {found}, and {answer} is right"));
        }
        self.0 += 1;
        Ok(())
    }

    /// Number of correct answers.
    pub(crate) fn count(&self) -> usize {
        self.0
    }
}

fn blake3() -> Result<usize, String> {
    let vectors = vectors()?;
    let mut tally = Tally::default();
    for plan in Kernel::all().map(Plan::for_kernel).chain([Plan::host()]) {
        let name = format!("{} ({})", plan.explain(1 << 20).kernel.name(), plan.kind());
        for Vector { input, hash, keyed, derived } in &vectors {
            let who = |what: &str| format!("{name}, {what} of {} bytes", input.len());
            tally.expect(who("hash"), plan.hash(input).as_bytes(), hash)?;
            tally.expect(who("keyed hash"), plan.keyed_hash(KEY, input).as_bytes(), keyed)?;
            tally.expect(who("derived key"), &plan.derive_key(CONTEXT, input), derived)?;
            let mut buffered = BufferedHasher::new(Hasher::new().with_plan(plan));
            for piece in input.chunks(100) {
                buffered.update(piece);
            }
            tally.expect(who("stream"), buffered.finalize().as_bytes(), hash)?;
            let mut parallel = Hasher::new().with_plan(plan);
            tally.expect(
                who("parallel hash"),
                parallel.update_parallel(input).finalize().as_bytes(),
                hash,
            )?;
        }
        let messages: Vec<&[u8]> = vectors.iter().map(|vector| &vector.input[..]).collect();
        let mut digests = vec![Hash::from_bytes([0; 32]); messages.len()];
        batch::hash_all_with(plan, &Mode::Hash, &messages, &mut digests);
        for (digest, vector) in digests.iter().zip(&vectors) {
            tally.expect(format!("{name}, batch"), digest.as_bytes(), vector.hash)?;
        }
    }
    Ok(tally.count())
}

fn files() -> Result<usize, String> {
    let vectors = vectors()?;
    let mut tally = Tally::default();
    for vector in &vectors {
        let file = TempFile::with_content(&vector.input).map_err(|error| error.to_string())?;
        for strategy in Strategy::ALL {
            let mut options = Options::default();
            options.strategy = strategy;
            let files = Files::new(Function::blake3(), options);
            let output = files.hash_file(file.path()).map_err(|error| error.to_string())?.output;
            let who = format!("{strategy}, file of {} bytes", vector.input.len());
            let digest = output.bytes_at(0).ok_or_else(|| format!("{who}: no digest of 32 bytes"))?;
            tally.expect(who, &digest, vector.hash)?;
        }
    }
    Ok(tally.count())
}

/// Examples of NIST for FIPS 180-4: a text, how often it is repeated, and its digest.
const SHA256: [(&str, usize, &str); 4] = [
    ("", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
        "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
        1,
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
    ),
    ("a", 1_000_000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
];

fn sha256() -> Result<usize, String> {
    let mut tally = Tally::default();
    let files = Files::new(Function::sha256(), Options::default());
    for (text, times, answer) in SHA256 {
        let content = text.repeat(times);
        let who = |how: &str| format!("{how}, {} bytes", content.len());
        tally.expect(who("message"), &crate::digests::sha256::digest(content.as_bytes()), answer)?;
        let file = TempFile::with_content(content.as_bytes()).map_err(|error| error.to_string())?;
        let output = files.hash_file(file.path()).map_err(|error| error.to_string())?.output;
        let who = who("file");
        let digest = output.bytes_at(0).ok_or_else(|| format!("{who}: no digest of 32 bytes"))?;
        tally.expect(who, &digest, answer)?;
    }
    Ok(tally.count())
}

/// RFC 9106, sections 5.1 to 5.3.
pub(crate) const ARGON2: [(argon2::Variant, &str); 3] = [
    (argon2::Variant::D, "512b391b6f1162975371d30919734294f868e3be3984f3c1a13a4db9fabe4acb"),
    (argon2::Variant::I, "c814d9d1dc7f37aa13f0d77f2494bda1c8de6b016dd388d29952a4c4672b6ce8"),
    (argon2::Variant::Id, "0d640df58d78766c08c037a34a8b53c9d01ef0452d75b65eb52520e96b01e659"),
];

/// Inputs of these tags.
pub(crate) fn argon2_inputs() -> Result<(argon2::Params, argon2::Input<'static>), String> {
    let input = argon2::Input::new(&[1; 32], &[2; 16]).with_secret(&[3; 8]).with_associated_data(&[4; 12]);
    Ok((argon2::Params::new(32, 3, 4).map_err(|error| error.to_string())?, input))
}

fn argon2() -> Result<usize, String> {
    let (params, input) = argon2_inputs()?;
    let mut tally = Tally::default();
    for kernel in argon2::Kernel::all() {
        for (variant, answer) in ARGON2 {
            let plan = argon2::Plan::for_kernel(kernel);
            let mut hasher = argon2::Hasher::with_plan(params.with_variant(variant), plan);
            let tag = hasher.hash::<32>(&input).map_err(|error| error.to_string())?;
            tally.expect(format!("{}, {}", kernel.name(), variant.name()), &tag, answer)?;
        }
    }
    Ok(tally.count())
}

/// Change hashes computed by the official engine, automerge 0.12.
const DOCUMENTS: [(&str, &str); 2] = [
    ("a put", "a26dbfd182c54a7fe9452ff4c6a053a6e600a222392e76ac5928694654f6927a"),
    ("a text", "c1c13ae3d94bc339c59bd28271174f3282b947542a7f9344a7a04eb4c2a443bd"),
];

fn documents() -> Result<usize, String> {
    let actor: ActorId =
        "00112233445566778899aabbccddeeff".parse().map_err(|_| "an actor of hexadecimal digits")?;
    let [mut put, mut text] = [(); 2].map(|()| Document::new().with_actor(actor.clone()));
    let edited = |edit: Result<(), EditError>| edit.map_err(|error| error.to_string());

    let mut tx = put.transaction();
    edited(tx.put(ROOT, "k", 1))?;
    tx.commit();

    let mut tx = text.transaction();
    let id = tx.put_object(ROOT, "text", ObjType::Text).map_err(|error| error.to_string())?;
    edited(tx.splice_text(&id, 0, 0, "héllo"))?;
    tx.commit_with(&CommitOptions::default().with_message("m").with_time(1_700_000_000));

    let mut tally = Tally::default();
    for (mut doc, (who, answer)) in [put, text].into_iter().zip(DOCUMENTS) {
        let saved = doc.save();
        let loaded = Document::load(&saved).map_err(|error| error.to_string())?;
        for (doc, how) in [(doc, "made"), (loaded, "saved and loaded")] {
            let heads = doc.get_heads();
            tally.expect(format!("{who}, {how}"), heads.first().map_or(&[][..], |head| &head.0), answer)?;
        }
    }
    Ok(tally.count())
}
