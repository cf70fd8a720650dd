//! Stop latency of a nonce search: from the request, at a random moment inside a hash, until the threads are free.

use crate::argon2::plan;
use crate::argon2::pow::{Setting, header, refused, start};
use crate::thread_counts;
use hashmill_hash::argon2::pow::ThreadPool;
use hashmill_hash::argon2::{Kernel, Plan};
use hashmill_hash::engine::{EngineError, NonceJob, SearchMonitor, SearchProgress, search};
use hashmill_lab::model::engine::{CaseError, Digest, Engine, Spec, Workload};
use hashmill_lab::model::registry::{EngineOffer, Registry};
use hashmill_lab::model::units::Units;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

pub(crate) fn register(registry: &mut Registry) {
    // 2 GiB is available by name only, and in no suite: reaching the inside of a hash takes a thousand times as long as stopping.
    let sizes = [64 << 20];
    registry.workload(Stops, &sizes).engine(
        "workers",
        Stopping,
        EngineOffer::classes(&["kernel"])
            .kernels(Kernel::all().map(Kernel::name))
            .threads(thread_counts())
            .knob("in-flight", ["1", "2"]),
    );
}

/// Expected outcome: the range was not finished, and no hash was lost or counted twice.
const STOPPED: &[u8] = b"stopped";

/// One request to stop. The size of a case is the memory of one hash.
struct Stops;

impl Workload for Stops {
    type Input = ();

    fn name(&self) -> &str {
        "pow-stop"
    }

    fn units(&self, _: &Spec) -> Units {
        Units::Operations(1)
    }

    /// Memory of the blocks that the threads compute before they see the request.
    fn working_set(&self, spec: &Spec) -> u64 {
        spec.size
    }

    fn prepare(&self, _: &Spec, _: u64) -> Result<(), CaseError> {
        Ok(())
    }

    fn reference(&self, _: &Spec, (): &()) -> Result<Digest, CaseError> {
        Ok(Digest::new(STOPPED))
    }
}

struct Stopping;

/// Idle threads, or a running search.
enum State {
    Idle(ThreadPool),
    Searching {
        thread: JoinHandle<(ThreadPool, Result<SearchProgress, EngineError>)>,
        watch: Arc<SearchMonitor>,
    },
    /// Placeholder during a transition.
    Gone,
}

struct Seat {
    setting: Setting,
    plan: Plan,
    state: State,
    /// Number of stops so far, each at another point of a hash.
    moments: u32,
}

impl Seat {
    /// Starts an endless search and waits until it is inside a hash.
    fn search(&mut self) -> Result<(), CaseError> {
        let State::Idle(mut workers) = std::mem::replace(&mut self.state, State::Gone) else {
            return Err(CaseError::failed("a search is under way"));
        };
        let watch = Arc::new(SearchMonitor::new());
        let shared = Arc::clone(&watch);
        let thread = thread::spawn(move || {
            let header = header();
            let job = NonceJob::new(&header, [0; 32]);
            let searched = search(&mut workers, &job, 0..u64::MAX, &shared, &|_| {});
            (workers, searched)
        });
        self.state = State::Searching { thread, watch };
        // A block takes about 300 ns: sixteen moments within a hash, in shuffled order.
        let hash = Duration::from_nanos(self.setting.pow().params().work() * 300);
        self.moments += 1;
        thread::sleep(hash / 16 * (self.moments * 7 % 16) + Duration::from_millis(1));
        Ok(())
    }

    fn stop(&mut self) -> Result<(), CaseError> {
        let State::Searching { thread, watch } = std::mem::replace(&mut self.state, State::Gone) else {
            return Err(CaseError::failed("nothing is searched"));
        };
        watch.stop().set();
        let (workers, searched) = thread.join().map_err(|_| CaseError::failed("the search panicked"))?;
        self.state = State::Idle(workers);
        let SearchProgress { hashes, next, .. } = searched.map_err(refused)?;
        if next == u64::MAX || hashes != watch.hashes() || next > hashes {
            return Err(CaseError::failed(format!(
                "{hashes} hashes, {} counted, next is {next}",
                watch.hashes()
            )));
        }
        Ok(())
    }
}

impl Engine for Stopping {
    type Input = ();
    type Context = Seat;
    type Buffer = ();
    type Output = ();

    fn init(&self, spec: &Spec) -> Result<Seat, CaseError> {
        let plan = plan(spec)?;
        let setting = Setting::from_spec(spec, plan)?;
        Ok(Seat { setting, plan, state: State::Idle(start(&setting, plan)?), moments: 0 })
    }

    fn kernel(&self, seat: &Seat) -> String {
        seat.plan.kernel().name().to_owned()
    }

    fn reserve(&self, _: &mut Seat, (): &()) -> Result<(), CaseError> {
        Ok(())
    }

    fn stage(&self, seat: &mut Seat, (): &mut (), (): &()) -> Result<(), CaseError> {
        seat.search()
    }

    fn run(&self, seat: &mut Seat, (): &mut (), (): &()) -> Result<(), CaseError> {
        seat.stop()
    }

    fn digest(&self, (): &()) -> Digest {
        Digest::new(STOPPED)
    }

    fn consumes(&self) -> bool {
        true
    }
}
