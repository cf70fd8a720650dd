//! Engines of a set that search for nonces, with all their memory in the account of the set.

use crate::budget::{Budget, Reservation};
#[cfg(feature = "gpu")]
use crate::device::OpenDevice;
use crate::failure::FailureCause;
#[cfg(feature = "gpu")]
use crate::tune_file::TunedArgon2;
#[cfg(feature = "gpu")]
use hashmill_hash::argon2::pow::HitChecker;
use hashmill_hash::argon2::pow::{Order, Pow, ThreadPool};
use hashmill_hash::argon2::{PagePolicy, Plan};
use hashmill_hash::engine::{EngineError, NonceEngine, NonceLimits, Stop, Supply};
use hashmill_machine as machine;
#[cfg(feature = "gpu")]
use std::cell::OnceCell;
use std::fmt;
use std::num::NonZero;
#[cfg(feature = "gpu")]
use std::sync::Arc;

/// An engine that searches nonces. Its memory returns to the account when it is dropped.
pub struct NonceMember {
    // Dropped first: memory is freed before it returns to the account.
    engine: Box<dyn NonceEngine>,
    _memory: Reservation,
    /// Memory of the check, which all devices of a set share.
    #[cfg(feature = "gpu")]
    _check_memory: Option<Arc<Reservation>>,
}

impl NonceEngine for NonceMember {
    fn name(&self) -> &str {
        self.engine.name()
    }

    fn limits(&self) -> NonceLimits {
        self.engine.limits()
    }

    fn order(&self) -> Order {
        self.engine.order()
    }

    fn run(&mut self, supply: &dyn Supply, stop: &Stop) -> Result<(), EngineError> {
        self.engine.run(supply, stop)
    }
}

impl fmt::Debug for NonceMember {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut output = f.debug_struct("NonceMember");
        output.field("name", &self.name()).field("limits", &self.limits()).finish_non_exhaustive()
    }
}

/// Opens the engines of a set for one function.
pub(crate) struct NonceOpener<'a> {
    pow: Pow,
    /// The plan for the CPU.
    plan: Plan,
    /// Hashes on each thread of the CPU.
    in_flight: usize,
    budget: &'a Budget,
    /// The check of hits, made for the first device.
    #[cfg(feature = "gpu")]
    check: OnceCell<Result<FundedCheck, FailureCause>>,
}

/// The check of hits, and its memory in the account.
#[cfg(feature = "gpu")]
#[derive(Clone)]
struct FundedCheck {
    checker: Arc<HitChecker>,
    memory: Arc<Reservation>,
}

impl<'a> NonceOpener<'a> {
    pub(crate) fn new(
        pow: Pow,
        plan: Plan,
        in_flight: NonZero<usize>,
        budget: &'a Budget,
    ) -> NonceOpener<'a> {
        NonceOpener {
            pow,
            plan,
            in_flight: in_flight.get(),
            budget,
            #[cfg(feature = "gpu")]
            check: OnceCell::new(),
        }
    }

    /// Threads of the CPU: one per processor, or fewer with as many hashes each, or one with what fits.
    pub(crate) fn open_cpu(&self) -> Result<NonceMember, FailureCause> {
        let params = self.pow.params();
        let wanted = machine::threads().saturating_mul(self.in_flight);
        let memory = self.budget.reserve_on_cpu(params, wanted);
        let in_flight = self.in_flight.min(memory.hashes());
        if in_flight == 0 {
            return Err(self.out_of_budget(&memory));
        }
        let threads = memory.hashes() / in_flight;
        let pool = ThreadPool::new(self.pow, self.plan, PagePolicy::default(), threads, in_flight, |_| {});
        Ok(NonceMember {
            engine: Box::new(pool.map_err(FailureCause::Engine)?),
            _memory: memory,
            #[cfg(feature = "gpu")]
            _check_memory: None,
        })
    }

    /// A device, with the check of its hits.
    #[cfg(feature = "gpu")]
    pub(crate) fn open_device(
        &self,
        device: &OpenDevice,
        tuned: &[TunedArgon2],
    ) -> Result<NonceMember, FailureCause> {
        let check = self.check.get_or_init(|| make_check(self.pow, self.budget)).clone();
        let FundedCheck { checker, memory: check_memory } = check?;
        let params = self.pow.params();
        let most = device.max_hashes(params);
        let mut memory = self.budget.reserve_on_device(device.info(), params, most);
        let max_hashes = match memory.hashes() {
            0 => return Err(self.out_of_budget(&memory)),
            // A card that no other engine uses: some of them start when others have ended.
            _ if memory.is_alone() && !device.uses_host_memory() => most,
            hashes => hashes,
        };
        let measured = tuned.iter().find(|tuned| tuned.has_costs(params));
        let nonces = device.nonces(checker, max_hashes, measured)?;
        memory.charge(nonces.limits().memory);
        Ok(NonceMember { engine: Box::new(nonces), _memory: memory, _check_memory: Some(check_memory) })
    }

    fn out_of_budget(&self, memory: &Reservation) -> FailureCause {
        FailureCause::HashOutOfBudget { bytes: self.pow.params().blocks() << 10, left: memory.left() }
    }
}

#[cfg(feature = "gpu")]
fn make_check(pow: Pow, budget: &Budget) -> Result<FundedCheck, FailureCause> {
    let memory = budget.reserve_on_cpu(pow.params(), 1);
    if memory.hashes() == 0 {
        let (bytes, left) = (HitChecker::memory_for(pow), memory.left());
        return Err(FailureCause::CheckOutOfBudget { bytes, left });
    }
    let checker = HitChecker::new(pow).map_err(FailureCause::Engine)?;
    Ok(FundedCheck { checker: Arc::new(checker), memory: Arc::new(memory) })
}
