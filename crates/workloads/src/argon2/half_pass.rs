//! The two halves of one Argon2id pass as separate workloads: the first has data-independent addresses, in the second each block
//! gives the address of the next.

use crate::argon2::{SALT, failed, number, plan, room};
use crate::lower_bounds;
use hashmill_hash::argon2::{Hasher, Input, Kernel, Params, Plan, Steps, Threads};
use hashmill_lab::model::engine::{CaseError, Digest, Engine, Spec, Workload};
use hashmill_lab::model::lower_bound::MinimalWork;
use hashmill_lab::model::registry::{EngineOffer, Registry};
use hashmill_lab::model::units::Units;
use std::cell::RefCell;
use std::rc::Rc;

/// Slices of a pass, and those of the first half.
const PIECES: u64 = 4;
const FIRST: u64 = 2;

pub(crate) fn register(registry: &mut Registry) {
    let sizes = [1 << 20, 64 << 20];
    let offer = || {
        EngineOffer::classes(&["kernel"]).kernels(Kernel::all().map(Kernel::name)).knob("lanes", ["1", "4"])
    };
    registry.workload(Half, &sizes).engine("independent", Part { is_first: true }, offer()).engine(
        "dependent",
        Part { is_first: false },
        offer(),
    );
}

fn params(spec: &Spec) -> Result<Params, CaseError> {
    if !spec.size.is_multiple_of(1024) {
        return Err(CaseError::failed("the memory must be a whole number of KiB"));
    }
    let kib = u32::try_from(spec.size / 1024).map_err(CaseError::failed)?;
    Params::new(kib, 1, number(spec, "lanes", 1)?).map_err(CaseError::failed)
}

/// Half of a pass over the memory of a case's size. Counted in bytes written.
struct Half;

impl Workload for Half {
    type Input = [u8; 8];

    fn name(&self) -> &str {
        "argon2id-half"
    }

    fn units(&self, spec: &Spec) -> Units {
        Units::Bytes(spec.size / 2)
    }

    fn work(&self, spec: &Spec) -> Option<MinimalWork> {
        let params = params(spec).ok()?;
        Some(lower_bounds::argon2(params.blocks() / 2, 1, params.lanes().into()))
    }

    fn prepare(&self, _: &Spec, seed: u64) -> Result<[u8; 8], CaseError> {
        Ok(seed.to_le_bytes())
    }

    /// The tag of the whole pass: the half that is not timed is computed too.
    fn reference(&self, spec: &Spec, password: &[u8; 8]) -> Result<Digest, CaseError> {
        let plan = Plan::for_kernel(Kernel::portable());
        let mut hasher = Hasher::with_plan(params(spec)?, plan).threads(Threads::Serial);
        Ok(Digest::new(&hasher.hash::<32>(&Input::new(password, SALT)).map_err(failed)?))
    }
}

struct Part {
    is_first: bool,
}

struct Setting {
    plan: Plan,
    params: Params,
}

/// A running hash, or the idle hasher.
enum State {
    Idle(Hasher),
    AtWork(Steps),
    /// Placeholder during a transition.
    Gone,
}

type Shared = Rc<RefCell<State>>;

fn advance(steps: &mut Steps, pieces: u64) -> Result<(), CaseError> {
    for _ in 0..pieces {
        steps.step().map_err(failed)?;
    }
    Ok(())
}

impl Engine for Part {
    type Input = [u8; 8];
    type Context = Setting;
    type Buffer = Shared;
    /// The same memory: reading the result computes the rest of the hash.
    type Output = Shared;

    fn init(&self, spec: &Spec) -> Result<Setting, CaseError> {
        Ok(Setting { plan: plan(spec)?, params: params(spec)? })
    }

    fn kernel(&self, setting: &Setting) -> String {
        setting.plan.kernel().name().to_owned()
    }

    fn reserve(&self, setting: &mut Setting, _: &[u8; 8]) -> Result<Shared, CaseError> {
        room(setting.params.blocks())?;
        let mut hasher = Hasher::with_plan(setting.params, setting.plan).threads(Threads::Serial);
        hasher.reserve().map_err(failed)?;
        hasher.arena().prefault();
        Ok(Rc::new(RefCell::new(State::Idle(hasher))))
    }

    fn stage(&self, setting: &mut Setting, state: &mut Shared, password: &[u8; 8]) -> Result<(), CaseError> {
        let mut state = state.borrow_mut();
        let hasher = match std::mem::replace(&mut *state, State::Gone) {
            State::Idle(hasher) => hasher,
            State::AtWork(steps) => steps.finish(&mut [0; 32]).map_err(failed)?,
            State::Gone => Hasher::with_plan(setting.params, setting.plan).threads(Threads::Serial),
        };
        let mut steps = hasher.steps(&Input::new(password, SALT), 32).map_err(failed)?;
        if !self.is_first {
            advance(&mut steps, FIRST)?;
        }
        *state = State::AtWork(steps);
        Ok(())
    }

    fn run(&self, _: &mut Setting, state: &mut Shared, _: &[u8; 8]) -> Result<Shared, CaseError> {
        match &mut *state.borrow_mut() {
            State::AtWork(steps) if self.is_first => advance(steps, FIRST)?,
            State::AtWork(steps) => advance(steps, PIECES - FIRST)?,
            _ => return Err(CaseError::failed("no hash was begun")),
        }
        Ok(Rc::clone(state))
    }

    fn digest(&self, state: &Shared) -> Digest {
        let mut state = state.borrow_mut();
        let mut tag = [0; 32];
        if let State::AtWork(steps) = std::mem::replace(&mut *state, State::Gone) {
            let hasher = steps.finish(&mut tag).expect("the lab does not fork within a call");
            *state = State::Idle(hasher);
        }
        Digest::new(&tag)
    }

    fn consumes(&self) -> bool {
        true
    }
}
