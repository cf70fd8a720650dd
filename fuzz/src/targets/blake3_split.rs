//! Fuzz target for updates: the digest equals the oracle's for every split of the input, with reads in between.

use hashmill_hash::blake3::{BufferedHasher, Hasher};

use crate::script::Script;
use crate::subject::Subject;

/// Maximum input between two resets: more than the lanes of every kernel, with a tail.
const INPUT_LIMIT: usize = 96 * 1024;
/// Maximum number of comparisons with the oracle, which is slow.
const ANSWERS: usize = 4;

/// Each step of the script updates, finishes, resets or clones a [`Hasher`] and a [`BufferedHasher`].
pub fn blake3_split(data: &[u8]) {
    let mut script = Script::new(data);
    let subject = Subject::choose(&mut script);
    let mut run = Run::new(&subject);
    let mut answers = ANSWERS;
    while let Some(step) = script.step() {
        match step % 8 {
            0..=2 => run.update(script.length(), |hasher, input| _ = hasher.update(input)),
            3 => run.update(script.length(), |hasher, input| _ = hasher.update_parallel(input)),
            4 => run.update(script.length(), |hasher, input| {
                hasher.update_reader(input).expect("memory does not fail");
            }),
            5 if answers > 0 => {
                run.check(script.short() % 200);
                answers -= 1;
            }
            6 => run.fork(),
            7 => run.reset(),
            _ => {}
        }
    }
    run.check(0);
}

struct Run<'a> {
    subject: &'a Subject,
    hasher: Hasher,
    buffered: BufferedHasher,
    /// Everything since the last reset.
    input: Vec<u8>,
}

impl<'a> Run<'a> {
    fn new(subject: &'a Subject) -> Self {
        let buffered = BufferedHasher::new(subject.hasher());
        Self { subject, hasher: subject.hasher(), buffered, input: Vec::new() }
    }

    fn update(&mut self, len: usize, update: impl FnOnce(&mut Hasher, &[u8])) {
        let len = len.min(INPUT_LIMIT - self.input.len());
        let piece = self.subject.paint(self.input.len(), len);
        update(&mut self.hasher, &piece);
        self.buffered.update(&piece);
        self.input.extend(piece);
    }

    fn check(&self, extra: usize) {
        let expected = self.subject.oracle.xof(&self.input, 0, 32 + extra);
        assert_eq!(*self.hasher.finalize().as_bytes(), expected[..32]);
        assert_eq!(*self.buffered.finalize().as_bytes(), expected[..32]);
        let mut output = vec![0; expected.len()];
        self.hasher.finalize_xof().fill(&mut output);
        assert_eq!(output, expected);
        self.buffered.finalize_xof().fill(&mut output);
        assert_eq!(output, expected);
        assert_eq!(self.hasher.count(), self.input.len() as u64);
        assert_eq!(self.buffered.count(), self.input.len() as u64);
    }

    /// Continues with a clone. Changes to the original must not affect it.
    fn fork(&mut self) {
        let copy = self.hasher.clone();
        self.hasher.update(b"another way").reset();
        self.hasher = copy;
    }

    fn reset(&mut self) {
        self.hasher.reset();
        self.buffered.reset();
        self.input.clear();
    }
}
