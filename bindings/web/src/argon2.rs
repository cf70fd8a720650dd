//! Argon2: a hash computed in steps, for a new password or a check.

use hashmill_hash::argon2::{Hasher, Input, Params, Steps, Threads, Variant, Version};
use hashmill_hash::password::{Limits, PasswordHash, Syntax};

/// The current computation, if any.
pub(crate) struct Argon2(Option<Work>);

struct Work {
    steps: Steps,
    /// The stored hash to compare with; for a new hash, the same without a tag.
    stored: PasswordHash,
    tag_len: usize,
}

/// Limits of the costs and lengths of stored hashes, which are untrusted.
const LIMITS: Limits = {
    let mut limits = Limits::RECOMMENDED;
    (limits.max_salt, limits.min_tag, limits.max_tag) = (1024, Params::MIN_TAG_LEN, 1024);
    limits
};

pub(crate) struct Costs {
    pub(crate) variant: u32,
    pub(crate) version: u32,
    pub(crate) memory: u32,
    pub(crate) passes: u32,
    pub(crate) lanes: u32,
}

impl Costs {
    fn params(&self) -> Result<Params, String> {
        let variant = Variant::ALL.into_iter().find(|variant| variant.number() == self.variant);
        let variant = variant.ok_or_else(|| format!("type {}: 0, 1 or 2", self.variant))?;
        let version = Version::from_number(self.version).map_err(|error| error.to_string())?;
        let params = Params::new(self.memory, self.passes, self.lanes).map_err(|error| error.to_string())?;
        Ok(params.with_variant(variant).with_version(version))
    }
}

/// Limits of a string that is only decoded.
const ANY_COSTS: Limits = {
    let mut limits = Limits::NONE;
    (limits.min_salt, limits.max_salt) = (LIMITS.min_salt, LIMITS.max_salt);
    (limits.min_tag, limits.max_tag) = (LIMITS.min_tag, LIMITS.max_tag);
    limits
};

/// The version, memory, passes and lanes of a stored hash.
pub(crate) fn costs(text: &[u8]) -> Result<[u32; 4], String> {
    let params = decode(text, &ANY_COSTS)?.params();
    Ok([params.version().number(), params.memory_kib(), params.passes(), params.lanes()])
}

/// Accepts strings of npm's package and of other implementations.
fn decode(text: &[u8], limits: &Limits) -> Result<PasswordHash, String> {
    PasswordHash::decode(text, Syntax::Lenient, limits).map_err(|error| error.to_string())
}

impl Argon2 {
    pub(crate) fn new() -> Argon2 {
        Argon2(None)
    }

    pub(crate) fn start(
        &mut self,
        costs: &Costs,
        tag_len: usize,
        buffer: &[u8],
        lens: [usize; 4],
    ) -> Result<(), String> {
        let [password, salt, secret, data] = parts(buffer, lens);
        let input = Input::new(password, salt).with_secret(secret).with_associated_data(data);
        let stored = PasswordHash::new(costs.params()?, salt.to_vec(), Vec::new());
        self.begin(stored.with_draft_parts(Vec::new(), data.to_vec()), &input, tag_len)
    }

    pub(crate) fn verify(&mut self, buffer: &[u8], lens: [usize; 3]) -> Result<(), String> {
        let [text, password, secret] = parts(buffer, lens);
        let stored = decode(text, &LIMITS)?;
        let (salt, data) = (stored.salt().to_vec(), stored.associated_data().to_vec());
        let input = Input::new(password, &salt).with_secret(secret).with_associated_data(&data);
        let tag_len = stored.tag_len();
        self.begin(stored, &input, tag_len)
    }

    fn begin(&mut self, stored: PasswordHash, input: &Input<'_>, tag_len: usize) -> Result<(), String> {
        let hasher = Hasher::new(stored.params()).threads(Threads::Serial);
        let steps = hasher.steps(input, tag_len).map_err(|error| error.to_string())?;
        self.0 = Some(Work { steps, stored, tag_len });
        Ok(())
    }

    /// Computes a step; returns whether more are left.
    pub(crate) fn step(&mut self) -> bool {
        let work = self.0.as_mut().expect(HAS_STARTED);
        let step = work.steps.step().expect(NO_FORK);
        step.is_some_and(|step| step.done < step.of)
    }

    pub(crate) fn finish(&mut self, encoded: bool) -> Vec<u8> {
        let Work { steps, stored, tag_len } = self.0.take().expect(HAS_STARTED);
        let tag = finish(steps, tag_len);
        if !encoded {
            return tag;
        }
        let whole = PasswordHash::new(stored.params(), stored.salt().to_vec(), tag);
        whole.with_draft_parts(Vec::new(), stored.associated_data().to_vec()).to_string().into_bytes()
    }

    pub(crate) fn matches(&mut self) -> bool {
        let Work { steps, stored, tag_len } = self.0.take().expect(HAS_STARTED);
        stored.matches(&finish(steps, tag_len))
    }
}

const HAS_STARTED: &str = "a hash was started";
const NO_FORK: &str = "nothing forks here";

fn finish(steps: Steps, tag_len: usize) -> Vec<u8> {
    let mut tag = vec![0; tag_len];
    steps.finish(&mut tag).expect(NO_FORK);
    tag
}

/// The arguments of JavaScript in the buffer.
fn parts<const N: usize>(buffer: &[u8], lens: [usize; N]) -> [&[u8]; N] {
    let mut rest = buffer;
    lens.map(|len| {
        let (part, later) = rest.split_at(len);
        rest = later;
        part
    })
}
