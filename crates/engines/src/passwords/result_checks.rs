//! Checks of the results that an engine computed in place of the CPU.
//!
//! The rule: a tag that equals the stored tag is right, because a wrong tag does not match by chance. Every other result is checked
//! before it is used, because a wrong new hash would lock the user out, and a false mismatch would refuse the user:
//!
//! | result | check |
//! |---|---|
//! | one new hash, one mismatch | the CPU repeats it |
//! | a batch of new hashes, the mismatches of a batch | the engine repeats them in reverse order, so a faulty slot meets another hash; the CPU repeats the tag of the entry that kept its slot |
//!
//! The CPU repeats tags of a batch, not verdicts: an engine that is wrong for every tag gives the right verdict for a wrong password.
//! After a wrong result nothing of its batch is used, not even a match, which may be left over from an earlier batch. Every engine that
//! may have computed it passes a self-test before further work. In a group of engines, the two runs of an entry may be on different
//! engines.

use super::failure::PasswordFailure;
use super::progress::{OnProgress, unwatched, watched};
use crate::failure::EngineFailure;
use crate::tags::TagEngine;
use hashmill_hash::argon2::{Input, Job, Params, Stop};
use hashmill_hash::password::{NewPassword, PasswordHash, Passwords, Policy, VerifyError};
use zeroize::Zeroizing;

/// A login against an Argon2 hash. `index` is its position in the caller's list.
pub(super) struct Argon2Login<'a> {
    pub(super) index: usize,
    pub(super) password: &'a [u8],
    pub(super) hash: &'a PasswordHash,
}

/// Tags in memory that is wiped on drop.
type WipedTags = Vec<Zeroizing<Vec<u8>>>;

/// An engine whose results are checked.
pub(super) struct CheckedEngine<'a> {
    pub(super) engine: &'a dyn TagEngine,
    pub(super) passwords: &'a Passwords,
    /// The secret that all hashes are bound to.
    pub(super) secret: &'a [u8],
    /// KiB of free host memory, if the system reports it.
    pub(super) free_kib: fn() -> Option<u64>,
    pub(super) stop: &'a Stop,
}

impl CheckedEngine<'_> {
    /// Hashes one new password.
    pub(super) fn hash(
        &self,
        password: &[u8],
        salt: &[u8],
        watch: OnProgress<'_>,
    ) -> Result<PasswordHash, PasswordFailure> {
        let new = NewPassword { password, salt };
        let hash = self.compute_hashes(&[new])?.remove(0);
        if !self.is_repeated_on_cpu(&new, &hash, watch)? {
            return Err(self.engine.report_wrong_result().into());
        }
        Ok(hash)
    }

    /// Hashes a batch of new passwords.
    pub(super) fn hash_many(&self, new: &[NewPassword<'_>]) -> Result<Vec<PasswordHash>, PasswordFailure> {
        let reversed: Vec<_> = new.iter().rev().copied().collect();
        let (first_run, second_run) = (self.compute_hashes(new)?, self.compute_hashes(&reversed)?);
        // The middle entry of an odd batch keeps its slot when the order is reversed.
        let middle = new.get(new.len() / 2).zip(first_run.get(new.len() / 2));
        let is_right = match middle {
            Some((new, hash)) => self.is_repeated_on_cpu(new, hash, &mut unwatched)?,
            None => true,
        };
        let is_same = |(first, second): (&PasswordHash, &PasswordHash)| first.matches(second.tag());
        if !is_right || !first_run.iter().zip(second_run.iter().rev()).all(is_same) {
            return Err(self.engine.report_wrong_result().into());
        }
        Ok(first_run)
    }

    /// Verifies one login.
    pub(super) fn verify(
        &self,
        password: &[u8],
        hash: &PasswordHash,
        watch: OnProgress<'_>,
    ) -> Result<(), PasswordFailure> {
        let tags = self.compute_tags(hash.params(), &[self.login_input(password, hash)])?;
        if hash.matches(&tags[0]) {
            return Ok(());
        }
        match self.verify_on_cpu(password, hash, watch) {
            Ok(()) => Err(self.engine.report_wrong_result().into()),
            Err(error) => Err(PasswordFailure::Verify(error)),
        }
    }

    /// Verifies logins with equal parameters. Returns one result per login, in order. All failures of the engine among them are the
    /// same one.
    pub(super) fn verify_group(&self, group: &[Argon2Login<'_>]) -> Vec<Result<(), PasswordFailure>> {
        let all_failed = |failure: EngineFailure| vec![Err(PasswordFailure::from(failure)); group.len()];
        let Some(first) = group.first() else { return Vec::new() };
        let params = first.hash.params();
        let inputs: Vec<_> = group.iter().map(|login| self.login_input(login.password, login.hash)).collect();
        let first_run = match self.compute_tags(params, &inputs) {
            Ok(tags) => tags,
            Err(failure) => return all_failed(failure),
        };
        let is_mismatch = |index: &usize| !group[*index].hash.matches(&first_run[*index]);
        let reversed: Vec<usize> = (0..group.len()).rev().filter(is_mismatch).collect();
        let mut results = vec![Ok(()); group.len()];
        let Some(first_mismatch) = reversed.last() else { return results };

        let inputs: Vec<_> = reversed.iter().map(|index| inputs[*index]).collect();
        let second_run = self.compute_tags(params, &inputs);
        // An entry with the same slot in both runs meets the same fault twice, so the CPU repeats that one.
        let fixed_slot = reversed.iter().enumerate().find(|(slot, index)| slot == *index);
        let witness = fixed_slot.map_or(*first_mismatch, |(_, index)| *index);
        let witness_check = self.verify_tag_on_cpu(&group[witness], &first_run[witness]);
        let is_changed =
            |tags: &WipedTags| reversed.iter().zip(tags).any(|(index, tag)| *tag != first_run[*index]);
        let refusal = match (witness_check, second_run) {
            (Err(VerifyError::Mismatch), _) => return all_failed(self.engine.report_wrong_result()),
            (_, Ok(tags)) if is_changed(&tags) => return all_failed(self.engine.report_wrong_result()),
            (_, Err(failure)) => PasswordFailure::from(failure),
            (Err(error), Ok(_)) => PasswordFailure::Verify(error),
            (Ok(()), Ok(_)) => PasswordFailure::Verify(VerifyError::Mismatch),
        };
        for index in reversed {
            results[index] = Err(refusal.clone());
        }
        results
    }

    /// New hashes, not yet checked.
    fn compute_hashes(&self, new: &[NewPassword<'_>]) -> Result<Vec<PasswordHash>, EngineFailure> {
        let policy: &Policy = self.passwords.policy();
        let (params, tag_len) = (policy.params(), policy.tag_len());
        let inputs: Vec<_> =
            new.iter().map(|new| (self.argon2_input(new.password, new.salt, &[]), tag_len)).collect();
        let tags = self.compute_tags(params, &inputs)?;
        let hash = |(new, mut tag): (&NewPassword<'_>, Zeroizing<Vec<u8>>)| {
            PasswordHash::new(params, new.salt.to_vec(), std::mem::take(&mut *tag))
        };
        Ok(new.iter().zip(tags).map(hash).collect())
    }

    /// Tags for these inputs, each with its length.
    fn compute_tags(
        &self,
        params: Params,
        inputs: &[(Input<'_>, usize)],
    ) -> Result<WipedTags, EngineFailure> {
        let mut tags: WipedTags = inputs.iter().map(|(_, len)| Zeroizing::new(vec![0; *len])).collect();
        let jobs = inputs.iter().zip(&mut tags).map(|((input, _), tag)| Job { input: *input, tag });
        self.engine.compute(params, &mut jobs.collect::<Vec<_>>(), self.stop)?;
        Ok(tags)
    }

    fn login_input<'a>(&'a self, password: &'a [u8], hash: &'a PasswordHash) -> (Input<'a>, usize) {
        (self.argon2_input(password, hash.salt(), hash.associated_data()), hash.tag_len())
    }

    fn argon2_input<'a>(&'a self, password: &'a [u8], salt: &'a [u8], associated: &'a [u8]) -> Input<'a> {
        Input::new(password, salt).with_secret(self.secret).with_associated_data(associated)
    }

    /// Whether the CPU computes the same new hash.
    fn is_repeated_on_cpu(
        &self,
        new: &NewPassword<'_>,
        hash: &PasswordHash,
        watch: OnProgress<'_>,
    ) -> Result<bool, PasswordFailure> {
        self.leave_memory_to_cpu(hash.params());
        let repeated = watched(hash.params(), watch, self.stop, |on_step| {
            self.passwords.hash_watched(new.password, new.salt, on_step)
        });
        Ok(repeated.map_err(PasswordFailure::Create)? == *hash)
    }

    /// Whether the CPU computes this tag for a login: [`VerifyError::Mismatch`] if not.
    fn verify_tag_on_cpu(&self, login: &Argon2Login<'_>, tag: &[u8]) -> Result<(), VerifyError> {
        let Argon2Login { password, hash, .. } = login;
        let computed = PasswordHash::new(hash.params(), hash.salt().to_vec(), tag.to_vec())
            .with_draft_parts(hash.key_id().to_vec(), hash.associated_data().to_vec());
        self.verify_on_cpu(password, &computed, &mut unwatched)
    }

    /// Verifies on the CPU.
    pub(super) fn verify_on_cpu(
        &self,
        password: &[u8],
        hash: &PasswordHash,
        watch: OnProgress<'_>,
    ) -> Result<(), VerifyError> {
        self.leave_memory_to_cpu(hash.params());
        verify_on_cpu(self.passwords, (password, hash), watch, self.stop)
    }

    /// Releases host memory of the engine if too little is free for a hash on the CPU.
    fn leave_memory_to_cpu(&self, params: Params) {
        if (self.free_kib)().is_some_and(|free| free < params.blocks()) {
            self.engine.release_host_memory();
        }
    }
}

/// Verifies on the CPU.
pub(super) fn verify_on_cpu(
    passwords: &Passwords,
    (password, hash): (&[u8], &PasswordHash),
    watch: OnProgress<'_>,
    stop: &Stop,
) -> Result<(), VerifyError> {
    watched(hash.params(), watch, stop, |on_step| passwords.verify_decoded_watched(password, hash, on_step))
}
