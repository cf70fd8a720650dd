//! Who keeps passwords: the processor, or a device that was asked for or is known to be faster.
//!
//! What a device gives is believed where a mistake would show. A tag that matches a stored one is right, since no wrong one does
//! by chance. A new string is checked before anybody has it, as it could lock its owner out; so is every answer that a password does
//! not match. Where it is one, the processor computes it. Of many of the same costs the processor computes one, and the device all
//! of them a second time, in the reverse order: what is wrong with one place of it then meets another hash. The processor's one is
//! that which the reverse order leaves in its place, if there is one. Of several engines one may have a hash the first time and another
//! the second. The processor has the functions that are not Argon2, too, and
//! whatever a device has no answer for that nobody asked for.

use super::input::Secret;
use super::stored;
use super::watch::watched;
use crate::engine::{Computer, Share};
use anyhow::{Result, bail};
use hashmill_hash::argon2::{Input, Job, Params};
use hashmill_hash::password::foreign::StoredHash;
use hashmill_hash::password::{CreateError, NewPassword, PasswordHash, Passwords, Policy, VerifyError};
use zeroize::Zeroizing;

/// So many hashes go to a device together: more than any has room for side by side.
const TOGETHER: usize = 4096;

/// Makes and checks password hashes.
pub(super) struct Keeper {
    passwords: Passwords,
    /// What the processor's passwords are bound to, once more.
    secret: Secret,
    device: Option<Box<dyn Computer>>,
    /// KiB that are free now, if the system tells.
    free: fn() -> Option<u64>,
}

/// Why a password was not accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Refusal {
    /// It is another one.
    Mismatch,
    /// Nothing is known about the password, and why.
    Unknown(String),
}

impl From<VerifyError> for Refusal {
    fn from(error: VerifyError) -> Refusal {
        match error {
            VerifyError::Mismatch => Refusal::Mismatch,
            error => Refusal::Unknown(stored::words(&error)),
        }
    }
}

/// Tags in memory that is wiped.
type Computed = Vec<Zeroizing<Vec<u8>>>;

impl Keeper {
    /// Passwords bound to this secret, on the device if there is one.
    pub(super) fn new(passwords: Passwords, secret: Secret, device: Option<Box<dyn Computer>>) -> Keeper {
        let passwords = passwords.secret(secret.to_vec());
        Keeper { passwords, secret, device, free: hashmill_machine::free_kib }
    }

    /// Bounds what the processor takes.
    pub(super) fn memory_budget(self, kib: u64) -> Keeper {
        Keeper { passwords: self.passwords.memory_budget(kib), ..self }
    }

    pub(super) fn policy(&self) -> &Policy {
        self.passwords.policy()
    }

    pub(super) fn wants_upgrade(&self, stored: &StoredHash) -> bool {
        self.passwords.wants_upgrade(stored)
    }

    /// How many are worth being handed over together: enough to stay busy while others finish, few enough for answers to come
    /// steadily.
    pub(super) fn at_once(&self) -> usize {
        if self.device.is_some() { TOGETHER } else { 8 * hashmill_machine::threads() }
    }

    /// What each of several engines has computed so far.
    pub(super) fn shares(&self) -> Vec<Share> {
        self.device.as_ref().map_or(Vec::new(), |device| device.shares())
    }

    /// Who has so many of these hashes, if not the processor.
    fn device(&self, params: Params, count: usize) -> Option<&dyn Computer> {
        self.device.as_deref().filter(|device| device.takes(params, count))
    }

    /// The string to store for a password, beside a bar where that can be seen.
    pub(super) fn hash(&self, password: &[u8], salt: &[u8], hidden: bool) -> Result<PasswordHash> {
        let params = self.policy().params();
        if let Some(device) = self.device(params, 1) {
            match self.hash_on(device, password, salt, hidden) {
                Err(error) if device.yields(&error.to_string()) => {}
                made => return made,
            }
        }
        let hash = |tell: super::watch::Tell<'_>| self.passwords.hash_watched(password, salt, tell);
        Ok(watched(params, hidden, hash)?)
    }

    fn hash_on(
        &self,
        device: &dyn Computer,
        password: &[u8],
        salt: &[u8],
        hidden: bool,
    ) -> Result<PasswordHash> {
        let new = [NewPassword { password, salt }];
        let made = self.made(device, &new)?.remove(0);
        self.by_processor(password, &made, hidden).map_err(|error| match error {
            VerifyError::Mismatch => anyhow::Error::msg(device.wrong()),
            error => error.into(),
        })?;
        Ok(made)
    }

    /// The same for each of many.
    pub(super) fn hash_many(&self, new: &[NewPassword<'_>]) -> Result<Vec<PasswordHash>> {
        if let Some(device) = self.device(self.policy().params(), new.len()) {
            match self.hash_many_on(device, new) {
                Err(error) if device.yields(&error.to_string()) => {}
                made => return made,
            }
        }
        let made: Result<_, CreateError> = self.passwords.hash_many(new).into_iter().collect();
        Ok(made?)
    }

    fn hash_many_on(&self, device: &dyn Computer, new: &[NewPassword<'_>]) -> Result<Vec<PasswordHash>> {
        let reverse: Vec<_> = new.iter().rev().copied().collect();
        let (made, again) = (self.made(device, new)?, self.made(device, &reverse)?);
        // Of an odd number, this one has the same place twice.
        let middle = made.get(new.len() / 2).zip(new.get(new.len() / 2));
        let is_right = middle.is_none_or(|(hash, new)| self.by_processor(new.password, hash, true).is_ok());
        let same = |(one, other): (&PasswordHash, &PasswordHash)| one.matches(other.tag());
        if !is_right || !made.iter().zip(again.iter().rev()).all(same) {
            bail!(device.wrong());
        }
        Ok(made)
    }

    /// Whether the password belongs to the hash, beside a bar where that can be seen.
    pub(super) fn verify(&self, password: &[u8], stored: &StoredHash, hidden: bool) -> Result<(), Refusal> {
        let Some(hash) = stored.argon2() else {
            return Ok(self.passwords.verify_stored(password, stored)?);
        };
        if let Some(device) = self.device(hash.params(), 1) {
            match self.verify_on(device, password, hash, hidden) {
                Err(Refusal::Unknown(why)) if device.yields(&why) => {}
                verdict => return verdict,
            }
        }
        Ok(self.by_processor(password, hash, hidden)?)
    }

    fn verify_on(
        &self,
        device: &dyn Computer,
        password: &[u8],
        hash: &PasswordHash,
        hidden: bool,
    ) -> Result<(), Refusal> {
        let tag = self.tags(device, hash.params(), &[self.asked(password, hash)]);
        if hash.matches(&tag.map_err(Refusal::Unknown)?[0]) {
            return Ok(());
        }
        match self.by_processor(password, hash, hidden) {
            Ok(()) => Err(Refusal::Unknown(device.wrong())),
            Err(error) => Err(error.into()),
        }
    }

    /// The same for each of many.
    pub(super) fn verify_many(&self, logins: &[(&[u8], &StoredHash)]) -> Vec<Result<(), Refusal>> {
        let mut results: Vec<Option<Result<(), Refusal>>> = vec![None; logins.len()];
        let argon2 = logins.iter().enumerate();
        let argon2: Vec<_> =
            argon2.filter_map(|(at, (password, stored))| Some((at, *password, stored.argon2()?))).collect();
        for alike in by_costs(argon2, |(_, _, hash)| hash.params()) {
            let Some(device) = self.device(alike[0].2.params(), alike.len()) else { continue };
            let verdicts = self.verdicts(device, &alike);
            for ((at, ..), verdict) in alike.into_iter().zip(verdicts) {
                match verdict {
                    Err(Refusal::Unknown(why)) if device.yields(&why) => {}
                    verdict => results[at] = Some(verdict),
                }
            }
        }
        let left = |(_, (result, _)): &(usize, (&Option<_>, _))| result.is_none();
        let left = results.iter().zip(logins).enumerate().filter(left).map(|(at, (_, login))| (at, *login));
        let (places, left): (Vec<usize>, Vec<_>) = left.unzip();
        for (at, result) in places.into_iter().zip(self.passwords.verify_stored_many(&left)) {
            results[at] = Some(result.map_err(Refusal::from));
        }
        results.into_iter().map(|result| result.expect("the processor has what no device answered")).collect()
    }

    /// Of hashes of the same costs.
    fn verdicts(
        &self,
        device: &dyn Computer,
        alike: &[(usize, &[u8], &PasswordHash)],
    ) -> Vec<Result<(), Refusal>> {
        let Some((_, _, first)) = alike.first() else { return Vec::new() };
        let asked: Vec<_> = alike.iter().map(|(_, password, hash)| self.asked(password, hash)).collect();
        let computed = match self.tags(device, first.params(), &asked) {
            Ok(computed) => computed,
            Err(why) => return vec![Err(Refusal::Unknown(why)); alike.len()],
        };
        let mut verdicts = vec![Ok(()); alike.len()];
        let is_unmatched = |at: &usize| !alike[*at].2.matches(&computed[*at]);
        let reverse: Vec<usize> = (0..alike.len()).rev().filter(is_unmatched).collect();
        let Some(foremost) = reverse.last() else { return verdicts };
        let asked: Vec<_> = reverse.iter().map(|at| asked[*at]).collect();
        let again = self.tags(device, first.params(), &asked);
        let in_its_place = reverse.iter().enumerate().find(|(place, at)| place == *at);
        let (_, password, hash) = alike[in_its_place.map_or(*foremost, |(_, at)| *at)];
        let refusal = match (self.by_processor(password, hash, true), &again) {
            (Ok(()), _) => Refusal::Unknown(device.wrong()),
            (Err(_), Err(why)) => Refusal::Unknown(why.clone()),
            (Err(error), Ok(_)) => error.into(),
        };
        for at in &reverse {
            verdicts[*at] = Err(refusal.clone());
        }
        for (at, tag) in reverse.into_iter().zip(again.into_iter().flatten()) {
            if tag != computed[at] {
                verdicts[at] = Err(Refusal::Unknown(device.wrong()));
            }
        }
        verdicts
    }

    /// New hashes as the device makes them.
    fn made(&self, device: &dyn Computer, new: &[NewPassword<'_>]) -> Result<Vec<PasswordHash>> {
        let (params, tag_len) = (self.policy().params(), self.policy().tag_len());
        let asked: Vec<_> =
            new.iter().map(|new| (self.input(new.password, new.salt, &[]), tag_len)).collect();
        let computed = self.tags(device, params, &asked).map_err(anyhow::Error::msg)?;
        let hash = |(new, mut tag): (&NewPassword<'_>, Zeroizing<Vec<u8>>)| {
            PasswordHash::new(params, new.salt.to_vec(), std::mem::take(&mut *tag))
        };
        Ok(new.iter().zip(computed).map(hash).collect())
    }

    /// Tags of these lengths for these inputs.
    fn tags(
        &self,
        device: &dyn Computer,
        params: Params,
        asked: &[(Input<'_>, usize)],
    ) -> Result<Computed, String> {
        let mut computed: Computed = asked.iter().map(|(_, len)| Zeroizing::new(vec![0; *len])).collect();
        let jobs = asked.iter().zip(&mut computed).map(|((input, _), tag)| Job { input: *input, tag });
        device.compute(params, &mut jobs.collect::<Vec<_>>())?;
        Ok(computed)
    }

    fn asked<'a>(&'a self, password: &'a [u8], hash: &'a PasswordHash) -> (Input<'a>, usize) {
        (self.input(password, hash.salt(), hash.associated_data()), hash.tag_len())
    }

    fn input<'a>(&'a self, password: &'a [u8], salt: &'a [u8], associated: &'a [u8]) -> Input<'a> {
        Input::new(password, salt).with_secret(&self.secret).with_associated_data(associated)
    }

    fn by_processor(&self, password: &[u8], hash: &PasswordHash, hidden: bool) -> Result<(), VerifyError> {
        let is_too_little = |free: u64| free < hash.params().blocks();
        if let (Some(device), Some(true)) = (&self.device, (self.free)().map(is_too_little)) {
            device.give_back();
        }
        watched(hash.params(), hidden, |tell| self.passwords.verify_decoded_watched(password, hash, tell))
    }
}

/// What has the same costs together, each in its order.
fn by_costs<T>(all: Vec<T>, params: impl Fn(&T) -> Params) -> Vec<Vec<T>> {
    let mut groups: Vec<Vec<T>> = Vec::new();
    for one in all {
        match groups.iter_mut().find(|group| params(&group[0]) == params(&one)) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use hashmill_hash::argon2::Hasher;
    use hashmill_hash::password::{Limits, Syntax};
    use std::cell::{Cell, RefCell};
    use std::rc::Rc;

    const SALT: &[u8] = b"sixteen bytes ok";

    /// Right, but for a bit of one tag: that of this number, counted over all calls.
    struct Flips(Option<usize>, Cell<usize>);

    impl Computer for Flips {
        fn compute(&self, params: Params, jobs: &mut [Job<'_>]) -> Result<(), String> {
            for job in jobs {
                Hasher::new(params).hash_into(&job.input, job.tag).expect("good inputs");
                job.tag[7] ^= u8::from(self.0 == Some(self.1.get())) << 3;
                self.1.set(self.1.get() + 1);
            }
            Ok(())
        }

        fn wrong(&self) -> String {
            "wrong".to_owned()
        }

        fn takes(&self, _: Params, _: usize) -> bool {
            true
        }

        fn yields(&self, _: &str) -> bool {
            false
        }
    }

    /// Wrong in one place of whatever it is given together, and always in the same way.
    struct Sticks(usize);

    impl Computer for Sticks {
        fn compute(&self, params: Params, jobs: &mut [Job<'_>]) -> Result<(), String> {
            Flips(Some(self.0), Cell::new(0)).compute(params, jobs)
        }

        fn wrong(&self) -> String {
            "wrong".to_owned()
        }

        fn takes(&self, _: Params, _: usize) -> bool {
            true
        }

        fn yields(&self, _: &str) -> bool {
            false
        }
    }

    /// Gone.
    struct Lost;

    impl Computer for Lost {
        fn compute(&self, _: Params, _: &mut [Job<'_>]) -> Result<(), String> {
            Err("lost".to_owned())
        }

        fn wrong(&self) -> String {
            unreachable!("it says nothing")
        }

        fn takes(&self, _: Params, _: usize) -> bool {
            true
        }

        fn yields(&self, _: &str) -> bool {
            false
        }
    }

    /// Nobody asked for it, and what it does not get is the processor's.
    struct Unasked<C> {
        computer: C,
        least: usize,
        complaints: Rc<RefCell<Vec<String>>>,
    }

    impl<C: Computer> Computer for Unasked<C> {
        fn takes(&self, _: Params, count: usize) -> bool {
            count >= self.least && self.complaints.borrow().is_empty()
        }

        fn compute(&self, params: Params, jobs: &mut [Job<'_>]) -> Result<(), String> {
            self.computer.compute(params, jobs)
        }

        fn wrong(&self) -> String {
            self.computer.wrong()
        }

        fn yields(&self, why: &str) -> bool {
            self.complaints.borrow_mut().push(why.to_owned());
            true
        }
    }

    fn unasked<C: Computer + 'static>(computer: C, least: usize) -> (Keeper, Rc<RefCell<Vec<String>>>) {
        let complaints = Rc::default();
        let device = Unasked { computer, least, complaints: Rc::clone(&complaints) };
        (keeper(Some(Box::new(device))), complaints)
    }

    fn keeper(device: Option<Box<dyn Computer>>) -> Keeper {
        let policy = Policy::new(Params::new(16, 1, 1).expect("good costs"));
        let secret = Secret::copied(b"pepper").expect("memory");
        Keeper::new(Passwords::new(policy).limits(Limits::NONE), secret, device)
    }

    fn flips(number: Option<usize>) -> Keeper {
        keeper(Some(Box::new(Flips(number, Cell::new(0)))))
    }

    fn stored(hash: &PasswordHash) -> StoredHash {
        StoredHash::decode(hash.to_string(), Syntax::Strict, &Limits::NONE).expect("of here")
    }

    const NEW: [NewPassword<'_>; 3] = [
        NewPassword { password: b"a", salt: SALT },
        NewPassword { password: b"b", salt: SALT },
        NewPassword { password: b"c", salt: SALT },
    ];

    #[test]
    fn a_device_makes_and_checks_what_the_processor_does() {
        let (processor, device) = (keeper(None), flips(None));
        let made = processor.hash_many(&NEW).expect("hashes");
        assert_eq!(device.hash_many(&NEW).expect("hashes"), made);
        assert_eq!(device.hash(b"a", SALT, true).expect("a hash"), made[0]);
        let (own, mut others) = (made.iter().map(stored).collect::<Vec<_>>(), Vec::new());
        for cost in [8, 24] {
            let policy = Policy::new(Params::new(cost, 2, 1).expect("good costs"));
            others.push(stored(
                &Passwords::new(policy).secret(b"pepper".to_vec()).hash(b"x", SALT).expect("a hash"),
            ));
        }
        let foreign = StoredHash::decode(
            "$2b$04$k1M4ToNEG5D44.p8S0oAOu8g8bjYs4dDWw8ap7eclvCH0FYe0p.Ue",
            Syntax::Strict,
            &Limits::NONE,
        );
        let foreign = foreign.expect("bcrypt");
        let logins: Vec<(&[u8], &StoredHash)> = vec![
            (b"a", &own[0]),
            (b"x", &others[0]),
            (b"no", &foreign),
            (b"no", &own[1]),
            (b"x", &others[1]),
            (b"c", &own[2]),
        ];
        let right = processor.verify_many(&logins);
        let matches: Vec<bool> = right.iter().map(Result::is_ok).collect();
        assert_eq!(matches, [true, true, false, false, true, true]);
        assert_eq!(device.verify_many(&logins), right);
        for (login, right) in logins.iter().zip(right) {
            assert_eq!(device.verify(login.0, login.1, true), right);
        }
    }

    #[test]
    fn a_bit_that_flips_makes_no_string_and_no_answer() {
        let wrong =
            |made: Result<PasswordHash>| assert_eq!(made.expect_err("a wrong tag").to_string(), "wrong");
        wrong(flips(Some(0)).hash(b"a", SALT, true));
        // Of six tags any: the three strings, and each once more.
        for number in 0..6 {
            let made = flips(Some(number)).hash_many(&NEW);
            assert_eq!(made.expect_err("a wrong tag").to_string(), "wrong", "{number}");
        }
        let made = keeper(None).hash_many(&NEW).expect("hashes");
        let own: Vec<_> = made.iter().map(stored).collect();
        let unknown = || Err(Refusal::Unknown("wrong".to_owned()));
        assert_eq!(flips(Some(0)).verify(b"a", &own[0], true), unknown());
        let logins: Vec<(&[u8], &StoredHash)> = vec![(b"a", &own[0]), (b"b", &own[1]), (b"no", &own[2])];
        assert_eq!(flips(Some(1)).verify_many(&logins), [Ok(()), unknown(), unknown()]);
    }

    #[test]
    fn a_bit_that_flips_behind_a_real_mismatch_refuses_nobody() {
        let made = keeper(None).hash_many(&NEW).expect("hashes");
        let own: Vec<_> = made.iter().map(stored).collect();
        let logins: Vec<(&[u8], &StoredHash)> = vec![(b"no", &own[0]), (b"b", &own[1]), (b"c", &own[2])];
        for number in [1, 2] {
            let verdicts = flips(Some(number)).verify_many(&logins);
            let mut right = [Err(Refusal::Mismatch), Ok(()), Ok(())];
            right[number] = Err(Refusal::Unknown("wrong".to_owned()));
            assert_eq!(verdicts, right, "{number}");
        }
    }

    #[test]
    fn a_place_that_is_wrong_each_time_makes_no_string_and_refuses_nobody() {
        let made = keeper(None).hash_many(&NEW).expect("hashes");
        let own: Vec<_> = made.iter().map(stored).collect();
        for place in 0..NEW.len() {
            let sticks = || keeper(Some(Box::new(Sticks(place))));
            for count in place + 1..=NEW.len() {
                let made = sticks().hash_many(&NEW[..count]);
                assert_eq!(made.expect_err("a wrong tag").to_string(), "wrong", "{place} of {count}");
            }
            // Every way to have some passwords right.
            for knows in 0..1 << NEW.len() {
                let knows = |at: usize| knows >> at & 1 == 1;
                let login = |at: usize| (if knows(at) { NEW[at].password } else { &b"no"[..] }, &own[at]);
                let logins: Vec<_> = (0..NEW.len()).map(login).collect();
                for (at, verdict) in sticks().verify_many(&logins).into_iter().enumerate() {
                    let not = if knows(at) { Err(Refusal::Mismatch) } else { Ok(()) };
                    assert_ne!(verdict, not, "{at} with {place} wrong");
                }
            }
        }
    }

    #[test]
    fn a_device_that_is_gone_gives_no_answers() {
        let lost = keeper(Some(Box::new(Lost)));
        let made = stored(&keeper(None).hash(b"a", SALT, true).expect("a hash"));
        let unknown = || Err(Refusal::Unknown("lost".to_owned()));
        assert_eq!(lost.verify(b"a", &made, true), unknown());
        assert_eq!(lost.verify_many(&[(b"a", &made), (b"b", &made)]), [unknown(), unknown()]);
        assert_eq!(lost.hash_many(&NEW).expect_err("no device").to_string(), "lost");
        assert_eq!(lost.hash(b"a", SALT, true).expect_err("no device").to_string(), "lost");
    }

    #[test]
    fn the_processor_goes_on_where_a_device_that_nobody_asked_for_fails() {
        let processor = keeper(None);
        let made = processor.hash_many(&NEW).expect("hashes");
        let own: Vec<_> = made.iter().map(stored).collect();
        let logins: Vec<(&[u8], &StoredHash)> = vec![(b"a", &own[0]), (b"no", &own[1]), (b"c", &own[2])];
        let right = processor.verify_many(&logins);
        let all = |keeper: &dyn Fn() -> (Keeper, Rc<RefCell<Vec<String>>>), is_fine: bool| {
            let is_silent = |complaints: Rc<RefCell<Vec<String>>>| {
                assert!(!is_fine || complaints.borrow().is_empty(), "{complaints:?}");
                complaints.borrow().is_empty()
            };
            let (some, complaints) = keeper();
            assert_eq!(some.verify_many(&logins), right);
            let mut silent = vec![is_silent(complaints)];
            let (some, complaints) = keeper();
            assert_eq!(some.hash_many(&NEW).expect("hashes"), made);
            silent.push(is_silent(complaints));
            let (some, complaints) = keeper();
            assert_eq!(some.hash(b"a", SALT, true).expect("a hash"), made[0]);
            silent.push(is_silent(complaints));
            for (login, right) in logins.iter().zip(&right) {
                let (some, complaints) = keeper();
                assert_eq!(some.verify(login.0, login.1, true), *right);
                silent.push(is_silent(complaints));
            }
            silent
        };
        assert_eq!(all(&|| unasked(Flips(None, Cell::new(0)), 1), true), [true; 6]);
        assert_eq!(all(&|| unasked(Lost, 1), false), [false; 6]);
        assert_eq!(all(&|| unasked(Lost, 4), true), [true; 6], "it has nothing to do");
        for number in 0..3 {
            all(&|| unasked(Flips(Some(number), Cell::new(0)), 1), false);
            all(&|| unasked(Sticks(number), 1), false);
        }
    }

    /// Notes how often memory was asked back.
    struct Holds(Flips, Rc<Cell<usize>>);

    impl Computer for Holds {
        fn takes(&self, _: Params, _: usize) -> bool {
            true
        }

        fn compute(&self, params: Params, jobs: &mut [Job<'_>]) -> Result<(), String> {
            self.0.compute(params, jobs)
        }

        fn give_back(&self) {
            self.1.set(self.1.get() + 1);
        }

        fn wrong(&self) -> String {
            self.0.wrong()
        }

        fn yields(&self, _: &str) -> bool {
            false
        }
    }

    #[test]
    fn memory_that_the_processor_lacks_is_asked_back() {
        let kept: [fn() -> Option<u64>; 3] = [|| Some(15), || Some(16), || None];
        for (free, right) in kept.into_iter().zip([4, 0, 0]) {
            let asked = Rc::default();
            let device = Holds(Flips(None, Cell::new(0)), Rc::clone(&asked));
            let keeper = Keeper { free, ..keeper(Some(Box::new(device))) };
            let made = keeper.hash_many(&NEW).expect("hashes");
            assert_eq!(keeper.hash(b"a", SALT, true).expect("a hash"), made[0]);
            let own: Vec<_> = made.iter().map(stored).collect();
            assert!(keeper.verify(b"no", &own[0], true).is_err());
            assert!(keeper.verify_many(&[(b"no", &own[0]), (b"b", &own[1])])[0].is_err());
            // What matches the processor need not see.
            keeper.verify(b"a", &own[0], true).expect("it matches");
            assert_eq!(asked.get(), right);
        }
    }
}
