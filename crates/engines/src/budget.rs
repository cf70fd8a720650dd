//! Account of memory that the processor and all devices share.

use hashmill_gpu::{Info, Kind};
use hashmill_hash::argon2::{Params, Variant};
use hashmill_machine as machine;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};

/// Memory for the hashes of several engines: that of the host, which the processor and devices without memory of their own
/// share, and that of each card, whichever interface reaches it. Clones are the same account.
///
/// Engines keep the memory of their last batch, and its reservation, for the next batch. If another engine lacks memory, those that
/// are idle release theirs.
///
/// The sum of all reservations never exceeds the limit of a memory, with one exception: an engine that has a memory for itself. It may
/// take more of a card than the limit, and a batch on a device gets the memory of one hash even if the limit is smaller. Not in the
/// account: tiles of files, the hashes by which the CPU checks results of batches, the hash by which the CPU goes on when no engine of a
/// group has memory for one, and what the last large page of a hash has beyond it, less than 2 MiB.
#[derive(Clone)]
pub struct Budget(Arc<Shared>);

struct Shared {
    account: Mutex<Account>,
    /// Memory that engines keep for their next batches.
    idle_memory: Mutex<Vec<Weak<dyn KeptMemory>>>,
}

/// Memory that an engine keeps for its next batch.
trait KeptMemory: Send + Sync {
    /// Releases it if it is in this pool and no batch uses it. Returns whether it did.
    fn release_if_idle(&self, pool: PoolIndex) -> bool;
}

/// Part of an engine that has reserved memory.
pub(crate) trait Reserved: Send {
    /// Its reservations.
    fn reservations(&self) -> Vec<&Reservation>;
}

/// A batch holds the lock while it uses the memory.
impl<T: Reserved> KeptMemory for Mutex<Option<T>> {
    fn release_if_idle(&self, pool: PoolIndex) -> bool {
        let mut memory = match self.try_lock() {
            Ok(memory) => memory,
            Err(TryLockError::Poisoned(memory)) => memory.into_inner(),
            Err(TryLockError::WouldBlock) => return false,
        };
        let is_in_pool =
            |memory: &T| memory.reservations().iter().any(|reservation| reservation.pool == pool);
        memory.take_if(|memory| is_in_pool(memory)).is_some()
    }
}

#[derive(Debug)]
struct Account {
    host: Pool,
    /// Whether the limit of the host is renewed from its free memory while none of it is reserved.
    follows_free_memory: bool,
    cards: Vec<(Card, Pool)>,
}

/// Identity of a card: two interfaces may reach the same one.
#[derive(Clone, Debug)]
struct Card {
    id: Option<String>,
    bus: Option<String>,
}

/// Bytes of one memory.
#[derive(Clone, Copy, Debug)]
struct Pool {
    limit: u64,
    reserved: u64,
    /// The largest sum of reservations since the account was made.
    #[cfg(test)]
    peak: u64,
}

/// The memory that a reservation is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PoolIndex {
    Host,
    Card(usize),
    /// The driver does not say how much memory the device has.
    Unknown,
}

/// Memory for hashes of one engine. It returns to the account on drop.
#[derive(Debug)]
pub struct Reservation {
    budget: Budget,
    pool: PoolIndex,
    bytes: u64,
    hashes: usize,
    /// Whether nothing else of the memory was reserved at that time.
    #[cfg_attr(not(feature = "gpu"), expect(dead_code, reason = "only devices need it"))]
    is_alone: bool,
    /// Bytes of the memory that were not reserved then.
    left: u64,
}

/// What happens if a memory has not even room for one hash.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WithoutRoom {
    /// Nothing is reserved.
    Nothing,
    /// One hash is reserved beyond the limit, if nothing else of the memory is reserved.
    OneHashAlone,
}

impl Budget {
    /// An account with `host` bytes of the host's memory for all engines together.
    pub fn new(host: u64) -> Budget {
        Budget::with_host(host, false)
    }

    /// An account with half of the host's free memory: the other half is left to other programs. The amount is taken anew whenever
    /// nothing is reserved. All of the memory, where the system does not report it.
    pub fn of_free_memory() -> Budget {
        Budget::with_host(0, true)
    }

    fn with_host(limit: u64, follows_free_memory: bool) -> Budget {
        let host = Pool::new(limit);
        let account = Mutex::new(Account { host, follows_free_memory, cards: Vec::new() });
        Budget(Arc::new(Shared { account, idle_memory: Mutex::default() }))
    }

    /// Adds memory that an engine keeps for its next batch, to be released if another engine lacks memory.
    pub(crate) fn add_kept_memory<T: Reserved + 'static>(&self, memory: &Arc<Mutex<Option<T>>>) {
        let memory: Weak<Mutex<Option<T>>> = Arc::downgrade(memory);
        let mut idle_memory = self.idle_memory();
        idle_memory.retain(|memory| memory.strong_count() > 0);
        idle_memory.push(memory);
    }

    /// Reserves memory for up to `wanted` hashes on the processor.
    pub fn reserve_on_cpu(&self, params: Params, wanted: usize) -> Reservation {
        self.reserve(PoolIndex::Host, params, wanted, WithoutRoom::Nothing)
    }

    /// As [`reserve_on_cpu`](Budget::reserve_on_cpu), on a device. A device of unknown memory gets all that is wanted: it reports
    /// an error of its own if that is too much.
    pub fn reserve_on_device(&self, device: &Info, params: Params, wanted: usize) -> Reservation {
        self.reserve(self.pool_of(device), params, wanted, WithoutRoom::Nothing)
    }

    /// As [`reserve_on_device`](Budget::reserve_on_device), but of a memory that no other engine uses at least for one hash, whatever
    /// the limit.
    #[cfg(feature = "gpu")]
    pub(crate) fn reserve_on_requested_device(
        &self,
        device: &Info,
        params: Params,
        wanted: usize,
    ) -> Reservation {
        self.reserve(self.pool_of(device), params, wanted, WithoutRoom::OneHashAlone)
    }

    fn pool_of(&self, device: &Info) -> PoolIndex {
        let card = Card { id: device.id.clone(), bus: device.bus.clone() };
        self.pool_index(device.kind, device.memory, card)
    }

    fn pool_index(&self, kind: Kind, memory: Option<u64>, card: Card) -> PoolIndex {
        match (kind, memory) {
            (Kind::Integrated | Kind::Software, _) => PoolIndex::Host,
            (_, None) => PoolIndex::Unknown,
            (_, Some(memory)) => {
                let cards = &mut self.account().cards;
                let known = cards.iter().position(|(other, _)| card.is_same(other));
                PoolIndex::Card(known.unwrap_or_else(|| {
                    // Other programs use some of it.
                    cards.push((card, Pool::new(memory - memory / 20)));
                    cards.len() - 1
                }))
            }
        }
    }

    fn reserve(
        &self,
        index: PoolIndex,
        params: Params,
        wanted: usize,
        without_room: WithoutRoom,
    ) -> Reservation {
        let mut reserved = self.reserve_free(index, params, wanted, without_room);
        if reserved.hashes < wanted {
            // Without the locks of the account: memory that is released returns to it.
            let idle_memory: Vec<_> = self.idle_memory().iter().filter_map(Weak::upgrade).collect();
            for memory in idle_memory {
                if reserved.hashes < wanted && memory.release_if_idle(index) {
                    drop(reserved);
                    reserved = self.reserve_free(index, params, wanted, without_room);
                }
            }
        }
        reserved
    }

    fn reserve_free(
        &self,
        index: PoolIndex,
        params: Params,
        wanted: usize,
        without_room: WithoutRoom,
    ) -> Reservation {
        let mut account = self.account();
        if account.follows_free_memory && account.host.reserved == 0 {
            account.host.limit = machine::free_kib().map_or(u64::MAX, |free| free / 2 * 1024);
        }
        let each = bytes_per_hash(params);
        let (hashes, bytes, is_alone, left) = match account.pool(index) {
            None => (wanted, 0, false, 0),
            Some(pool) => {
                let is_alone = pool.reserved == 0;
                let left = pool.left().saturating_sub(ENGINE_BYTES);
                let mut hashes = usize::try_from(left / each).unwrap_or(usize::MAX).min(wanted);
                if hashes == 0 && is_alone && without_room == WithoutRoom::OneHashAlone {
                    hashes = wanted.min(1);
                }
                let bytes = if hashes == 0 { 0 } else { hashes as u64 * each + ENGINE_BYTES };
                pool.replace(0, bytes);
                (hashes, bytes, is_alone, pool.left())
            }
        };
        Reservation { budget: self.clone(), pool: index, bytes, hashes, is_alone, left }
    }

    fn account(&self) -> MutexGuard<'_, Account> {
        self.0.account.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn idle_memory(&self) -> MutexGuard<'_, Vec<Weak<dyn KeptMemory>>> {
        self.0.idle_memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserved bytes of the host.
    #[cfg(test)]
    pub(crate) fn reserved_on_host(&self) -> u64 {
        self.account().host.reserved
    }

    /// The largest sums of reservations so far: of the host, and of each card.
    #[cfg(all(test, feature = "gpu"))]
    pub(crate) fn peaks(&self) -> (u64, Vec<u64>) {
        let account = self.account();
        (account.host.peak, account.cards.iter().map(|(_, pool)| pool.peak).collect())
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Budget").field(&*self.account()).finish()
    }
}

impl Card {
    /// As `Info::is_same`: `false` if neither id nor bus address is known of both. Each then has an account of its own, as two cards of
    /// the same model have.
    fn is_same(&self, other: &Card) -> bool {
        let both = |own: &Option<String>, other: &Option<String>| Some(own.as_ref()? == other.as_ref()?);
        both(&self.id, &other.id).or_else(|| both(&self.bus, &other.bus)).unwrap_or(false)
    }
}

impl Account {
    fn pool(&mut self, index: PoolIndex) -> Option<&mut Pool> {
        match index {
            PoolIndex::Host => Some(&mut self.host),
            PoolIndex::Card(card) => Some(&mut self.cards[card].1),
            PoolIndex::Unknown => None,
        }
    }
}

impl Pool {
    fn new(limit: u64) -> Pool {
        Pool {
            limit,
            reserved: 0,
            #[cfg(test)]
            peak: 0,
        }
    }

    fn left(&self) -> u64 {
        self.limit.saturating_sub(self.reserved)
    }

    /// Replaces a reservation of `before` bytes by one of `bytes`.
    fn replace(&mut self, before: u64, bytes: u64) {
        self.reserved = self.reserved - before + bytes;
        #[cfg(test)]
        {
            self.peak = self.peak.max(self.reserved);
        }
    }
}

impl Reservation {
    /// The number of hashes that it has memory for; at most the wanted number.
    pub fn hashes(&self) -> usize {
        self.hashes
    }

    /// Bytes of the memory that neither this nor another reservation had when this was made; 0 if it is unknown.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    /// Whether nothing else of this memory was reserved when this was. `false` for a device of unknown memory.
    #[cfg(feature = "gpu")]
    pub(crate) fn is_alone(&self) -> bool {
        self.is_alone
    }

    /// Charges the bytes that the engine has taken, in place of the estimate.
    #[cfg(feature = "gpu")]
    pub(crate) fn charge(&mut self, bytes: u64) {
        if let Some(pool) = self.budget.account().pool(self.pool) {
            pool.replace(self.bytes, bytes);
            self.bytes = bytes;
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let Some(pool) = self.budget.account().pool(self.pool) {
            pool.replace(self.bytes, 0);
        }
    }
}

/// Memory of an engine beside its hashes, such as the parameters of its kernels. A driver's own memory is not in the account.
const ENGINE_BYTES: u64 = 64 << 10;

/// Memory of one hash: its blocks, the references of its blocks that depend on no data, and the first and last blocks of its lanes in
/// transfer. Not less than an engine takes: devices keep the references of at most 16 passes, of which several hashes share one table.
fn bytes_per_hash(params: Params) -> u64 {
    let passes = if params.variant() == Variant::I { params.passes().clamp(2, 16) } else { 2 };
    let references = params.blocks() * u64::from(passes) * 4;
    params.blocks() * 1024 + references + u64::from(params.lanes()) * 4096
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn params(kib: u32) -> Params {
        Params::new(kib, 1, 1).expect("good costs")
    }

    #[test]
    fn memory_returns_to_the_account() {
        let budget = Budget::new(16 * GIB);
        let most = |budget: &Budget| budget.reserve_on_cpu(params(1 << 20), 100).hashes();
        assert_eq!(most(&budget), 15, "16 less the overhead of each");
        let first = budget.reserve_on_cpu(params(1 << 20), 4);
        let clone = budget.clone();
        assert_eq!((first.hashes(), most(&clone)), (4, 11));
        // Less memory per hash still fits.
        let rest = clone.reserve_on_cpu(params(1 << 20), 100);
        assert_eq!(budget.reserve_on_cpu(params(1 << 20), 1).hashes(), 0);
        assert_eq!(budget.reserve_on_cpu(params(1 << 10), 7).hashes(), 7);
        drop((first, rest));
        assert_eq!(most(&budget), 15);
        assert_eq!(Budget::new(0).reserve_on_cpu(params(8), 1).hashes(), 0);
    }

    #[test]
    fn free_memory_is_read_when_nothing_is_reserved() {
        let budget = Budget::of_free_memory();
        let first = budget.reserve_on_cpu(params(8), 1);
        assert_eq!(first.hashes(), 1);
        budget.account().host.limit = 0;
        assert_eq!(budget.reserve_on_cpu(params(8), 1).hashes(), 0, "the limit stays");
        drop(first);
        assert_eq!(budget.reserve_on_cpu(params(8), 1).hashes(), 1);
    }

    #[test]
    fn a_card_is_one_account_by_every_interface() {
        let params = Params::new(1 << 20, 3, 4).expect("good costs");
        let budget = Budget::new(0);
        let reserve = |bus: Option<&str>, memory, wanted| {
            let card = Card { id: None, bus: bus.map(str::to_owned) };
            budget.reserve(
                budget.pool_index(Kind::Discrete, memory, card),
                params,
                wanted,
                WithoutRoom::Nothing,
            )
        };
        let memory = Some(40 * GIB);
        let first = reserve(Some("1"), memory, 30);
        assert_eq!((first.hashes(), reserve(Some("1"), memory, 30).hashes()), (30, 7), "38 less 30");
        assert_eq!(reserve(Some("2"), memory, 100).hashes(), 37);
        // Without a bus address these cannot be told to be one card.
        let unknown = [(); 2].map(|()| reserve(None, memory, 37));
        assert_eq!(unknown.map(|reservation| reservation.hashes()), [37; 2]);
        assert_eq!(reserve(None, None, 99).hashes(), 99, "the device reports its own errors");
        // Devices without memory of their own share that of the host.
        let none = Card { id: None, bus: None };
        assert_eq!(budget.pool_index(Kind::Integrated, memory, none.clone()), PoolIndex::Host);
        assert_eq!(budget.pool_index(Kind::Software, None, none), PoolIndex::Host);
    }

    #[cfg(feature = "gpu")]
    #[test]
    fn a_card_is_charged_what_its_engine_takes() {
        let budget = Budget::new(0);
        let reserve = || {
            let card = Card { id: None, bus: Some("3".to_owned()) };
            let pool = budget.pool_index(Kind::Discrete, Some(40 * GIB), card);
            budget.reserve(pool, params(1 << 20), 100, WithoutRoom::Nothing)
        };
        let mut alone = reserve();
        assert!(alone.hashes() == 37 && alone.is_alone());
        alone.charge(20 * GIB);
        let second = reserve();
        assert!(second.hashes() == 17 && !second.is_alone());
        alone.charge(39 * GIB);
        assert_eq!(reserve().hashes(), 0, "more than its limit");
        drop((alone, second));
        assert_eq!(reserve().hashes(), 37);
    }

    #[cfg(feature = "gpu")]
    #[test]
    fn one_hash_beyond_the_limit_is_reserved_alone() {
        let budget = Budget::new(GIB);
        let reserve = |without_room| budget.reserve(PoolIndex::Host, params(1 << 20), 3, without_room);
        assert_eq!(reserve(WithoutRoom::Nothing).hashes(), 0);
        let alone = reserve(WithoutRoom::OneHashAlone);
        assert!(alone.hashes() == 1 && alone.is_alone());
        assert_eq!(reserve(WithoutRoom::OneHashAlone).hashes(), 0, "another engine has the memory");
        drop(alone);
        let small = budget.reserve_on_cpu(params(8), 1);
        assert_eq!(reserve(WithoutRoom::OneHashAlone).hashes(), 0, "also a small one");
        drop(small);
        assert_eq!(reserve(WithoutRoom::OneHashAlone).hashes(), 1);
    }

    /// Memory of an engine.
    struct EngineMemory(Vec<Reservation>);

    impl Reserved for EngineMemory {
        fn reservations(&self) -> Vec<&Reservation> {
            self.0.iter().collect()
        }
    }

    #[test]
    fn idle_engines_release_memory_that_another_engine_lacks() {
        let budget = Budget::new(8 * GIB);
        let card = |number: &str| {
            let card = Card { id: Some(number.to_owned()), bus: None };
            budget.pool_index(Kind::Discrete, Some(8 * GIB), card)
        };
        let keep = |pool, wanted| {
            let reserved = budget.reserve(pool, params(1 << 20), wanted, WithoutRoom::Nothing);
            let memory = Arc::new(Mutex::new(Some(EngineMemory(vec![reserved]))));
            budget.add_kept_memory(&memory);
            memory
        };
        let is_kept = |memory: &Arc<Mutex<Option<EngineMemory>>>| memory.lock().expect("no panic").is_some();
        let (busy, idle, late) =
            (keep(PoolIndex::Host, 2), keep(PoolIndex::Host, 2), keep(PoolIndex::Host, 2));
        let (own, other) = (keep(card("own"), 5), keep(card("other"), 5));
        let batch = busy.lock().expect("no panic");
        let reserve = |pool, wanted| budget.reserve(pool, params(1 << 20), wanted, WithoutRoom::Nothing);
        assert_eq!(reserve(PoolIndex::Host, 1).hashes(), 1);
        assert!(is_kept(&idle), "there was enough memory");
        assert_eq!(reserve(PoolIndex::Host, 3).hashes(), 3);
        assert!(!is_kept(&idle) && is_kept(&late), "no more than is needed");
        assert_eq!(reserve(PoolIndex::Host, 7).hashes(), 5, "a batch uses the rest");
        assert!(!is_kept(&late) && is_kept(&own) && is_kept(&other), "memory of another pool is no help");
        drop(batch);
        assert_eq!(reserve(PoolIndex::Host, 7).hashes(), 7);
        assert_eq!(reserve(card("own"), 7).hashes(), 7);
        assert!(!is_kept(&busy) && !is_kept(&own) && is_kept(&other));
        drop(other);
        assert_eq!(reserve(card("other"), 7).hashes(), 7, "the engine is gone");
    }
}
