//! Tests of passwords on faulty, lost, automatic and stopped engines.

use super::progress::unwatched;
use super::test_engines::{
    AlwaysWrongEngine, AutomaticEngine, BitFlipEngine, LostEngine, LostLaterEngine, MemoryHoldingEngine,
    RecordingEngine, StuckSlotEngine, lost, wrong,
};
use super::*;
use crate::failure::EngineFailure;
use hashmill_hash::argon2::{HashError, Hasher, Input};
use hashmill_hash::password::{OverLimit, Policy, Quantity, VerifyError};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

type Failures = Arc<Mutex<Vec<EngineFailure>>>;

const SALT: &[u8] = b"sixteen bytes ok";

/// A service with an automatically chosen engine, and the failures that engine reports.
fn with_automatic<E: TagEngine + 'static>(engine: E, min_batch: usize) -> (EnginePasswords, Failures) {
    let failures = Failures::default();
    let engine = AutomaticEngine { engine, min_batch, failures: Arc::clone(&failures) };
    (service(Some(Box::new(engine))), failures)
}

fn service(engine: Option<Box<dyn TagEngine>>) -> EnginePasswords {
    let policy = Policy::new(Params::new(16, 1, 1).expect("good costs"));
    let secret = SecretBytes::copied(b"pepper").expect("memory");
    EnginePasswords::new(Passwords::new(policy).limits(Limits::NONE), secret, engine)
}

fn with_bit_flip(faulty: Option<usize>) -> EnginePasswords {
    service(Some(Box::new(BitFlipEngine::new(faulty))))
}

type Verdict = Result<(), PasswordFailure>;

/// The engine verifies what it accepts, the CPU the rest.
fn verify_all(service: &EnginePasswords, logins: &[(&[u8], &PasswordHash)]) -> Vec<Verdict> {
    let results = service.verify_many_on_engine(logins, &Stop::new());
    let rest = |(result, (password, hash)): (Option<Verdict>, &(&[u8], &PasswordHash))| {
        let on_cpu = || service.on_cpu().verify_decoded(password, hash).map_err(PasswordFailure::Verify);
        result.unwrap_or_else(on_cpu)
    };
    results.into_iter().zip(logins).map(rest).collect()
}

fn verify(service: &EnginePasswords, password: &[u8], hash: &PasswordHash) -> Verdict {
    service.verify(password, hash, &mut unwatched, &Stop::new())
}

fn hash(service: &EnginePasswords) -> Result<PasswordHash, PasswordFailure> {
    service.hash(b"a", SALT, &mut unwatched, &Stop::new())
}

fn hash_all(
    service: &EnginePasswords,
    new: &[NewPassword<'_>],
) -> Result<Vec<PasswordHash>, PasswordFailure> {
    service.hash_many(new, &Stop::new())
}

/// The right hashes of `NEW`.
fn right_hashes() -> Vec<PasswordHash> {
    hash_all(&service(None), &NEW).expect("hashes")
}

fn mismatch() -> Verdict {
    Err(PasswordFailure::Verify(VerifyError::Mismatch))
}

fn unknown() -> Verdict {
    Err(wrong().into())
}

const NEW: [NewPassword<'_>; 3] = [
    NewPassword { password: b"a", salt: SALT },
    NewPassword { password: b"b", salt: SALT },
    NewPassword { password: b"c", salt: SALT },
];

#[test]
fn engine_and_cpu_give_equal_results() {
    let (cpu, engine) = (service(None), with_bit_flip(None));
    let own = right_hashes();
    assert_eq!(hash_all(&engine, &NEW), Ok(own.clone()));
    assert_eq!(hash(&engine), Ok(own[0].clone()));
    let others = [8, 24].map(|cost| {
        let policy = Policy::new(Params::new(cost, 2, 1).expect("good costs"));
        Passwords::new(policy).secret(b"pepper".to_vec()).hash(b"x", SALT).expect("a hash")
    });
    let logins: Vec<(&[u8], &PasswordHash)> =
        vec![(b"a", &own[0]), (b"x", &others[0]), (b"no", &own[1]), (b"x", &others[1]), (b"c", &own[2])];
    let right = verify_all(&cpu, &logins);
    let matches: Vec<bool> = right.iter().map(Result::is_ok).collect();
    assert_eq!(matches, [true, true, false, true, true]);
    assert_eq!(verify_all(&engine, &logins), right);
    for (login, right) in logins.iter().zip(right) {
        assert_eq!(verify(&engine, login.0, login.1), right);
    }
}

#[test]
fn bit_flip_gives_no_hash_and_no_answer() {
    assert_eq!(hash(&with_bit_flip(Some(0))), Err(wrong().into()));
    // Any of the six tags: each of the three hashes is computed twice.
    for faulty in 0..6 {
        assert_eq!(hash_all(&with_bit_flip(Some(faulty)), &NEW), Err(wrong().into()), "{faulty}");
    }
    let own = right_hashes();
    assert_eq!(verify(&with_bit_flip(Some(0)), b"a", &own[0]), unknown());
    let logins: Vec<(&[u8], &PasswordHash)> = vec![(b"a", &own[0]), (b"b", &own[1]), (b"no", &own[2])];
    // The match is not used, either.
    assert_eq!(verify_all(&with_bit_flip(Some(1)), &logins), [unknown(), unknown(), unknown()]);
}

#[test]
fn bit_flip_after_a_mismatch_reports_unknown() {
    let own = right_hashes();
    let logins: Vec<(&[u8], &PasswordHash)> = vec![(b"no", &own[0]), (b"b", &own[1]), (b"c", &own[2])];
    for faulty in [1, 2] {
        let verdicts = verify_all(&with_bit_flip(Some(faulty)), &logins);
        assert_eq!(verdicts, [unknown(), unknown(), unknown()], "{faulty}");
    }
}

#[test]
fn an_engine_that_is_always_wrong_refuses_no_user() {
    let own = right_hashes();
    for count in 1..=NEW.len() {
        // All combinations of right and wrong passwords.
        for right in 0..1 << count {
            let password = |index: usize| if right >> index & 1 == 1 { NEW[index].password } else { b"no" };
            let logins: Vec<_> = (0..count).map(|index| (password(index), &own[index])).collect();
            let by_cpu = verify_all(&service(None), &logins);
            let engine = AlwaysWrongEngine::default();
            let reports = Arc::clone(&engine.reports);
            let verdicts = verify_all(&service(Some(Box::new(engine))), &logins);
            assert_eq!(verdicts, vec![unknown(); count], "{right:b}");
            assert_eq!(reports.load(Ordering::Relaxed), 1, "one report for the group");
            // The CPU does all of the group where it takes over.
            let (automatic, failures) = with_automatic(AlwaysWrongEngine::default(), 1);
            assert_eq!(verify_all(&automatic, &logins), by_cpu, "{right:b}");
            assert_eq!(*failures.lock().expect("no panic"), [wrong()]);
        }
    }
}

#[test]
fn draft_parts_of_a_hash_are_part_of_the_check() {
    let params = Params::new(16, 1, 1).expect("good costs");
    let mut tag = [0; 24];
    let input = Input::new(b"a", SALT).with_secret(b"pepper").with_associated_data(b"data");
    Hasher::new(params).hash_into(&input, &mut tag).expect("good inputs");
    let draft = PasswordHash::new(params, SALT.to_vec(), tag.to_vec());
    let draft = draft.with_draft_parts(b"key".to_vec(), b"data".to_vec());
    let logins: Vec<(&[u8], &PasswordHash)> = vec![(b"no", &draft), (b"a", &draft), (b"b", &draft)];
    let right = [mismatch(), Ok(()), mismatch()];
    assert_eq!(verify_all(&service(None), &logins), right);
    assert_eq!(verify_all(&with_bit_flip(None), &logins), right);
}

#[test]
fn a_lost_engine_is_reported_before_errors_of_the_cpu() {
    let own = right_hashes();
    let logins: Vec<(&[u8], &PasswordHash)> = vec![(b"a", &own[0]), (b"no", &own[1]), (b"c", &own[2])];
    let lost_later = service(Some(Box::new(LostLaterEngine::default())));
    let verdicts = lost_later.verify_many_on_engine(&logins, &Stop::new());
    assert_eq!(verdicts, [Some(Ok(())), Some(Err(lost().into())), Some(Ok(()))]);
    // The engine stops the work, which is an error of the CPU.
    let stop = Stop::new();
    stop.set();
    let error = service(None).verify(b"no", &own[0], &mut unwatched, &stop);
    assert_eq!(error, Err(PasswordFailure::Verify(VerifyError::Hash(HashError::Stopped))));
}

fn memory_limit(memory_kib: u32) -> Limits {
    let mut limits = Limits::NONE;
    limits.memory_kib = memory_kib;
    limits
}

#[test]
fn limits_hold_on_every_route() {
    let limits = memory_limit(16);
    let service = |engine| {
        let policy = Policy::new(Params::new(16, 1, 1).expect("good costs"));
        let secret = SecretBytes::copied(b"pepper").expect("memory");
        EnginePasswords::new(Passwords::new(policy).limits(limits), secret, engine)
    };
    let dear = Passwords::new(Policy::new(Params::new(24, 1, 1).expect("good costs")));
    let dear = dear.secret(b"pepper".to_vec()).hash(b"a", SALT).expect("a hash");
    let own = &right_hashes()[0];
    let over = OverLimit { what: Quantity::Memory, given: 24, bound: 16, is_least: false };
    let refused = || Verdict::Err(PasswordFailure::Verify(VerifyError::OverLimit(over)));
    let logins: Vec<(&[u8], &PasswordHash)> = vec![(b"a", &dear), (b"a", own), (b"no", &dear)];
    let stored = [dear.to_string(), own.to_string()];
    let encoded = [0, 1].map(|index: usize| Login { stored: &stored[index], password: b"a" });
    let computed = |hashes: &Arc<Mutex<Vec<Params>>>| hashes.lock().expect("no panic").clone();
    for has_engine in [false, true] {
        let hashes = Arc::default();
        let engine = || Box::new(RecordingEngine(Arc::clone(&hashes))) as Box<dyn TagEngine>;
        let service = service(has_engine.then(engine));
        assert_eq!(verify(&service, b"a", &dear), refused());
        assert_eq!(verify(&service, b"no", &dear), refused());
        assert_eq!(verify(&service, b"a", own), Ok(()));
        assert_eq!(verify_all(&service, &logins), [refused(), Ok(()), refused()]);
        let [first, second] = &service.verify_many(&encoded, &Stop::new())[..] else { panic!("two results") };
        assert!(matches!(first, Err(PasswordFailure::Verify(VerifyError::Phc(_)))), "{first:?}");
        assert_eq!(second, &Ok(()));
        assert_eq!(computed(&hashes), vec![own.params(); if has_engine { 3 } else { 0 }]);
    }
}

#[test]
fn salts_of_new_hashes_are_checked_on_every_route() {
    let bad = [&b"short"[..], &[7; 65]];
    for service in [service(None), with_bit_flip(None)] {
        for salt in bad {
            let refused = PasswordFailure::Create(CreateError::SaltLen { given: salt.len() });
            let hash = service.hash(b"a", salt, &mut unwatched, &Stop::new());
            assert_eq!(hash, Err(refused.clone()));
            let new = [NEW[0], NewPassword { password: b"b", salt }, NEW[2]];
            assert_eq!(hash_all(&service, &new), Err(refused));
        }
    }
    // The limits are those of stored strings: new hashes may cost more, on every route.
    let policy = Policy::new(Params::new(16, 1, 1).expect("good costs"));
    let secret = || SecretBytes::copied(b"pepper").expect("memory");
    let passwords = || Passwords::new(policy).limits(memory_limit(8));
    let engine: Box<dyn TagEngine> = Box::new(BitFlipEngine::new(None));
    for engine in [None, Some(engine)] {
        let service = EnginePasswords::new(passwords(), secret(), engine);
        assert_eq!(
            (hash(&service).as_ref(), hash_all(&service, &NEW)),
            (Ok(&right_hashes()[0]), Ok(right_hashes()))
        );
    }
}

#[test]
fn stuck_slot_is_detected_for_hash_and_verify() {
    let own = right_hashes();
    for slot in 0..NEW.len() {
        let stuck = || service(Some(Box::new(StuckSlotEngine(slot))));
        for count in slot + 1..=NEW.len() {
            assert_eq!(hash_all(&stuck(), &NEW[..count]), Err(wrong().into()), "{slot} of {count}");
        }
        // All combinations of right and wrong passwords.
        for right in 0..1 << NEW.len() {
            let is_right = |index: usize| right >> index & 1 == 1;
            let login =
                |index: usize| (if is_right(index) { NEW[index].password } else { &b"no"[..] }, &own[index]);
            let logins: Vec<_> = (0..NEW.len()).map(login).collect();
            for (index, verdict) in verify_all(&stuck(), &logins).into_iter().enumerate() {
                let false_answer = if is_right(index) { mismatch() } else { Ok(()) };
                assert_ne!(verdict, false_answer, "{index} with slot {slot} wrong");
            }
        }
    }
}

#[test]
fn lost_engine_gives_no_answer() {
    let service = service(Some(Box::new(LostEngine)));
    let own = &right_hashes()[0];
    let unknown = || Verdict::Err(lost().into());
    assert_eq!(verify(&service, b"a", own), unknown());
    assert_eq!(verify_all(&service, &[(b"a", own), (b"b", own)]), [unknown(), unknown()]);
    assert_eq!(hash_all(&service, &NEW), Err(lost().into()));
    assert_eq!(hash(&service), Err(lost().into()));
}

#[test]
fn cpu_takes_over_when_an_automatic_engine_fails() {
    let own = right_hashes();
    let logins: Vec<(&[u8], &PasswordHash)> = vec![(b"a", &own[0]), (b"no", &own[1]), (b"c", &own[2])];
    let right = verify_all(&service(None), &logins);
    // Whether each of six calls passed without a failure of the engine.
    let all = |service: &dyn Fn() -> (EnginePasswords, Failures), is_fine: bool| {
        let is_silent = |failures: Failures| {
            let failures = failures.lock().expect("no panic");
            assert!(!is_fine || failures.is_empty(), "{failures:?}");
            failures.is_empty()
        };
        let (some, failures) = service();
        assert_eq!(verify_all(&some, &logins), right);
        let mut silent = vec![is_silent(failures)];
        let (some, failures) = service();
        assert_eq!(hash_all(&some, &NEW), Ok(own.clone()));
        silent.push(is_silent(failures));
        let (some, failures) = service();
        assert_eq!(hash(&some), Ok(own[0].clone()));
        silent.push(is_silent(failures));
        for (login, right) in logins.iter().zip(&right) {
            let (some, failures) = service();
            assert_eq!(verify(&some, login.0, login.1), *right);
            silent.push(is_silent(failures));
        }
        silent
    };
    assert_eq!(all(&|| with_automatic(BitFlipEngine::new(None), 1), true), [true; 6]);
    assert_eq!(all(&|| with_automatic(LostEngine, 1), false), [false; 6]);
    assert_eq!(all(&|| with_automatic(LostEngine, 4), true), [true; 6], "it accepts no batch");
    for slot in 0..3 {
        all(&|| with_automatic(BitFlipEngine::new(Some(slot)), 1), false);
        all(&|| with_automatic(StuckSlotEngine(slot), 1), false);
    }
}

#[test]
fn low_memory_releases_engine_memory() {
    let free: [fn() -> Option<u64>; 3] = [|| Some(15), || Some(16), || None];
    for (free_kib, right) in free.into_iter().zip([4, 0, 0]) {
        let releases: Arc<AtomicUsize> = Arc::default();
        let engine =
            MemoryHoldingEngine { engine: BitFlipEngine::new(None), releases: Arc::clone(&releases) };
        let service = EnginePasswords { free_kib, ..service(Some(Box::new(engine))) };
        let own = hash_all(&service, &NEW).expect("hashes");
        assert_eq!(hash(&service).expect("a hash"), own[0]);
        assert!(verify(&service, b"no", &own[0]).is_err());
        assert!(verify_all(&service, &[(b"no", &own[0]), (b"b", &own[1])])[0].is_err());
        // The CPU does not verify a match.
        verify(&service, b"a", &own[0]).expect("it matches");
        assert_eq!(releases.load(Ordering::Relaxed), right);
    }
}

#[test]
fn encoded_hashes_are_verified_by_engine_or_cpu() {
    let own = right_hashes().iter().map(ToString::to_string).collect::<Vec<_>>();
    let login = |stored, password| Login { stored, password };
    let logins: [Login<'_>; 4] =
        [login(&own[0], b"a"), login("no hash", b"a"), login(&own[1], b"no"), login(&own[2], b"c")];
    let verify = |service: &EnginePasswords| service.verify_many(&logins, &Stop::new());
    let right = verify(&service(None));
    assert_eq!(right.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, false, true]);
    assert!(matches!(right[1], Err(PasswordFailure::Verify(VerifyError::Phc(_)))));
    assert_eq!(verify(&with_bit_flip(None)), right);
    assert_eq!(verify(&with_automatic(LostEngine, 1).0), right);
    let lost = verify(&service(Some(Box::new(LostEngine))));
    assert_eq!(lost[1], right[1]);
    assert!([0, 2, 3].iter().all(|index| matches!(lost[*index], Err(PasswordFailure::Engine(_)))));
}

#[test]
fn a_stop_gives_no_answer() {
    let own = right_hashes();
    let stop = Stop::new();
    stop.set();
    for service in [service(None), with_bit_flip(None), with_automatic(BitFlipEngine::new(None), 1).0] {
        let failure = service.hash_many(&NEW, &stop).expect_err("stopped");
        assert!(failure.is_stop(), "{failure}");
        let verdict = service.verify(b"no", &own[0], &mut unwatched, &stop).expect_err("stopped");
        assert!(verdict.is_stop(), "{verdict}");
    }
    let verdicts = with_bit_flip(None).verify_many_on_engine(&[(b"no", &own[0])], &stop);
    assert!(matches!(&verdicts[..], [Some(Err(failure))] if failure.is_stop()));
}

#[test]
fn progress_covers_the_work_of_the_cpu_alone() {
    let own = right_hashes();
    let verify = |service: &EnginePasswords, password: &[u8]| {
        let mut reported = Vec::new();
        let verdict =
            service.verify(password, &own[0], &mut |progress| reported.push(progress), &Stop::new());
        (verdict.is_ok(), reported)
    };
    let params = own[0].params();
    let (matches, on_cpu) = verify(&service(None), b"a");
    assert!(matches && on_cpu.len() == 2 + 4, "{on_cpu:?}");
    assert_eq!((on_cpu[0], on_cpu[5]), (HashProgress::Started { params }, HashProgress::Finished));
    assert_eq!(verify(&with_bit_flip(None), b"a"), (true, Vec::new()));
    let (matches, repeated) = verify(&with_bit_flip(None), b"no");
    assert!(!matches && repeated == on_cpu, "the CPU repeats a mismatch");
}
