//! Random jobs on every kernel and interleave against RustCrypto's crate and the reference in C.

use std::fmt;
use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;

use hashmill_hash::argon2::{Block, Hasher, Input, Kernel, Params, Plan, Threads, Variant, Version};
use hashmill_rivals::reference;
use hashmill_testkit::{Rng, hex, skip};

/// One random job.
struct Job {
    params: Params,
    password: Vec<u8>,
    salt: Vec<u8>,
    secret: Vec<u8>,
    associated_data: Vec<u8>,
    tag_len: usize,
}

/// All parameters, to reproduce a failure.
impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lens = [&self.password, &self.salt, &self.secret, &self.associated_data].map(Vec::len);
        write!(f, "{:?}, inputs of {lens:?} bytes, a tag of {}", self.params, self.tag_len)
    }
}

impl Job {
    fn input(&self) -> Input<'_> {
        let input = Input::new(&self.password, &self.salt);
        input.with_secret(&self.secret).with_associated_data(&self.associated_data)
    }

    fn reference_tag(&self) -> Vec<u8> {
        let variant = Variant::ALL.iter().position(|variant| *variant == self.params.variant());
        let job = reference::Job {
            variant: variant.expect("one of three") as u32,
            version: self.params.version().number(),
            memory_kib: self.params.memory_kib(),
            passes: self.params.passes(),
            lanes: self.params.lanes(),
            password: &self.password,
            salt: &self.salt,
            secret: &self.secret,
            associated_data: &self.associated_data,
        };
        let mut tag = vec![0; self.tag_len];
        reference::hash(&job, &mut tag).expect("the reference accepts all of these");
        tag
    }

    fn rustcrypto_tag(&self) -> Vec<u8> {
        let algorithm = match self.params.variant() {
            Variant::D => argon2::Algorithm::Argon2d,
            Variant::I => argon2::Algorithm::Argon2i,
            Variant::Id => argon2::Algorithm::Argon2id,
        };
        let version = match self.params.version() {
            Version::V10 => argon2::Version::V0x10,
            Version::V13 => argon2::Version::V0x13,
        };
        let params = argon2::ParamsBuilder::new()
            .m_cost(self.params.memory_kib())
            .t_cost(self.params.passes())
            .p_cost(self.params.lanes())
            .output_len(self.tag_len)
            .data(argon2::AssociatedData::new(&self.associated_data).expect("at most 32 bytes"))
            .build()
            .expect("RustCrypto accepts all of these");
        let hasher = argon2::Argon2::new_with_secret(&self.secret, algorithm, version, params);
        let mut tag = vec![0; self.tag_len];
        hasher
            .and_then(|hasher| hasher.hash_password_into(&self.password, &self.salt, &mut tag))
            .expect("RustCrypto accepts all of these");
        tag
    }

    fn hashmill_tag(&self, plan: Plan, threads: Threads) -> Vec<u8> {
        let mut tag = vec![0; self.tag_len];
        let mut hasher = Hasher::with_plan(self.params, plan).threads(threads);
        hasher.hash_into(&self.input(), &mut tag).expect("memory for a small hash");
        tag
    }
}

/// Every kernel of this CPU in every interleave. Half of the plans use the code path for memory that is far larger than the caches; for
/// the next job, it is the other half.
fn plans(job: usize) -> impl Iterator<Item = Plan> {
    for (name, _) in Kernel::unavailable() {
        skip(&format!("Argon2 kernel {name} against others"), "this CPU lacks its instructions");
    }
    let widths = |kernel| (1..=4).map(move |width| (width, Plan::for_kernel(kernel).with_width(width)));
    let far_from = move |width: usize| if (job + width).is_multiple_of(2) { 0 } else { u32::MAX };
    Kernel::all().flat_map(widths).map(move |(width, plan)| plan.with_far_from(far_from(width)))
}

/// A random job: lanes that do not divide the memory, memory that is no multiple of four lanes, segments from two blocks to longer than
/// one call of a kernel computes, tags of all lengths up to 200 bytes, empty inputs and inputs of several blocks.
fn random(rng: &mut Rng) -> Job {
    let lanes = 1 + rng.below(9);
    let min_blocks = 8 * lanes;
    let memory = match rng.below(8) {
        0 => min_blocks,
        1 => 8300 + rng.below(300),
        _ => min_blocks + rng.below(700),
    };
    let params = Params::new(memory as u32, 1 + rng.below(3) as u32, lanes as u32).expect("enough memory");
    let len = |rng: &mut Rng, min: usize| match rng.below(4) {
        0 => min,
        // Around the blocks of BLAKE2b.
        1 => 128 * (1 + rng.below(4)) - 45 + rng.below(45),
        2 => 1000 + rng.below(2000),
        _ => min + rng.below(40),
    };
    let lens = [len(rng, 0), len(rng, 8), len(rng, 0).min(500), rng.below(33)];
    let [password, salt, secret, associated_data] = lens.map(|len| rng.bytes(len));
    Job {
        params: params
            .with_variant(Variant::ALL[rng.below(3)])
            .with_version([Version::V10, Version::V13][rng.below(2)]),
        password,
        salt,
        secret,
        associated_data,
        tag_len: 4 + rng.below(197),
    }
}

#[test]
fn random_jobs_equal_rustcrypto_and_the_reference() {
    let mut rng = Rng::new(2026);
    let mut tested_lengths = [false; 197];
    for number in 0..120_usize {
        let mut job = random(&mut rng);
        // Every length of tags around the edges of the stretching hash, and then random ones.
        if number < 70 {
            job.tag_len = 4 + number;
        }
        tested_lengths[job.tag_len - 4] = true;
        let expected = job.reference_tag();
        assert_eq!(job.rustcrypto_tag(), expected, "the other implementations disagree about {job:?}");
        for plan in plans(number) {
            assert_eq!(
                job.hashmill_tag(plan, Threads::Serial),
                expected,
                "{plan:?} on job {number}: {job:?}"
            );
        }
        let far = Plan::host().with_far_from(0);
        assert_eq!(job.hashmill_tag(far, Threads::AtMost(3)), expected, "threads on job {number}: {job:?}");
    }
    assert!(tested_lengths[..70].iter().all(|is_tested| *is_tested));
}

/// Long inputs, with more associated data than RustCrypto accepts.
#[test]
fn long_inputs_give_the_tags_of_the_reference() {
    let mut rng = Rng::new(7);
    for len in [64 << 10, (1 << 20) + 1] {
        let job = Job {
            params: Params::new(64, 1, 2).expect("enough memory"),
            password: rng.bytes(len),
            salt: rng.bytes(len / 2),
            secret: rng.bytes(len / 3),
            associated_data: rng.bytes(len),
            tag_len: 1000 + len % 100,
        };
        assert_eq!(job.hashmill_tag(Plan::host(), Threads::Serial), job.reference_tag(), "{job:?}");
    }
}

/// Hashes in memory of the caller, without threads.
#[test]
fn caller_provided_memory_gives_the_same_tags() {
    let mut rng = Rng::new(11);
    for _ in 0..10 {
        let job = random(&mut rng);
        let mut memory = vec![Block::ZERO; job.params.blocks() as usize];
        let mut tag = vec![0; job.tag_len];
        let plan = Plan::host();
        hashmill_hash::argon2::hash_into_with_memory(plan, job.params, &job.input(), &mut memory, &mut tag)
            .expect("enough memory");
        assert_eq!(tag, job.reference_tag(), "{job:?}");
    }
}

/// Python program that calls two common builds of the reference: Debian's library, and the one of argon2-cffi. Each input line has
/// variant, version, passes, memory, lanes, length, password and salt.
const PACKAGES: &str = "
import ctypes, sys
def debian():
    hash = ctypes.CDLL('libargon2.so.1').argon2_hash
    u, s, p = ctypes.c_uint32, ctypes.c_size_t, ctypes.c_char_p
    hash.argtypes = [u, u, u, p, s, p, s, p, s, p, s, ctypes.c_int, u]
    def one(variant, version, t, m, lanes, size, password, salt):
        tag = ctypes.create_string_buffer(size)
        code = hash(t, m, lanes, password, len(password), salt, len(salt), tag, size, None, 0, variant, version)
        assert code == 0, code
        return tag.raw
    return one
def cffi():
    from argon2.low_level import hash_secret_raw, Type
    def one(variant, version, t, m, lanes, size, password, salt):
        return hash_secret_raw(password, salt, t, m, lanes, size, Type(variant), version)
    return one
try:
    one = {'debian': debian, 'cffi': cffi}[sys.argv[1]]()
except (OSError, ImportError):
    sys.exit(77)
for line in sys.stdin:
    *numbers, password, salt = line.rstrip('\\n').split(' ')
    print(one(*map(int, numbers), bytes.fromhex(password), bytes.fromhex(salt)).hex())
";

/// Tags of an installed build, or `None` if it is missing.
fn package_tags(package: &str, jobs: &[Job]) -> Option<Vec<String>> {
    let line = |job: &Job| {
        let Job { params, password, salt, tag_len, .. } = job;
        let variant = Variant::ALL.iter().position(|variant| *variant == params.variant())?;
        let costs = [params.passes(), params.memory_kib(), params.lanes()];
        let numbers = [variant as u32, params.version().number()].into_iter().chain(costs);
        let fields: Vec<String> = numbers.chain([*tag_len as u32]).map(|number| number.to_string()).collect();
        Some(format!("{} {} {}\n", fields.join(" "), hex::encode(password), hex::encode(salt)))
    };
    let input: String = jobs.iter().filter_map(line).collect();
    let mut python = Command::new("python3");
    python.args(["-c", PACKAGES, package]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = python.spawn().ok()?;
    let mut pipe = child.stdin.take().expect("a pipe");
    // A program without its library exits before it reads its input.
    let writer = thread::spawn(move || pipe.write_all(input.as_bytes()).ok());
    let output = child.wait_with_output().expect("an end");
    writer.join().expect("no panic");
    if output.status.code() == Some(77) {
        return None;
    }
    assert!(output.status.success(), "{package}: {}", output.status);
    Some(String::from_utf8(output.stdout).expect("text").lines().map(str::to_owned).collect())
}

/// Random jobs without secret and data, which these interfaces lack.
#[test]
fn random_jobs_give_the_tags_of_installed_packages() {
    let mut rng = Rng::new(9106);
    let bare = |job: Job| Job { secret: Vec::new(), associated_data: Vec::new(), ..job };
    let jobs: Vec<Job> = (0..60).map(|_| bare(random(&mut rng))).collect();
    for (package, test, help) in [
        (
            "debian",
            "Argon2 against Debian's libargon2",
            "no python3 or no libargon2: apt-get install libargon2-1",
        ),
        ("cffi", "Argon2 against argon2-cffi", "no argon2-cffi: pip install argon2-cffi"),
    ] {
        let Some(tags) = package_tags(package, &jobs) else {
            skip(test, help);
            continue;
        };
        assert_eq!(tags.len(), jobs.len(), "{package}");
        for (number, (job, tag)) in jobs.iter().zip(&tags).enumerate() {
            for plan in plans(number) {
                assert_eq!(
                    hex::encode(&job.hashmill_tag(plan, Threads::Serial)),
                    *tag,
                    "{package}, {plan:?}: {job:?}"
                );
            }
        }
    }
}
