//! How soon a search stops: from the request, at some moment inside a hash, until its threads are free again.

use crate::argon2::plan;
use crate::pow::{Setting, header, refused, start};
use crate::thread_counts;
use hashmill_hash::argon2::pow::ThreadPool;
use hashmill_hash::argon2::{Kernel, Plan};
use hashmill_hash::engine::{EngineError, NonceEngine, NonceJob, Searched, Watch};
use hashmill_lab::model::engine::{Digest, Engine, Fault, Spec, Workload};
use hashmill_lab::model::registry::{Offer, Registry};
use hashmill_lab::model::units::Units;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

pub(crate) fn register(registry: &mut Registry) {
    // 2 GiB can be asked for by name. No suite has it: until a search is inside a hash, a thousand times as long passes as
    // until it has stopped.
    let sizes = [64 << 20];
    registry.workload(Stops, &sizes).engine(
        "workers",
        Stopping,
        Offer::classes(&["kernel"])
            .kernels(Kernel::all().map(Kernel::name))
            .threads(thread_counts())
            .knob("in-flight", ["1", "2"]),
    );
}

/// What is right: the range was not finished, and no hash was lost or counted twice.
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

    /// Where the blocks are that the threads compute until they look at the request.
    fn working_set(&self, spec: &Spec) -> u64 {
        spec.size
    }

    fn prepare(&self, _: &Spec, _: u64) -> Result<(), Fault> {
        Ok(())
    }

    fn reference(&self, _: &Spec, (): &()) -> Result<Digest, Fault> {
        Ok(Digest::new(STOPPED))
    }
}

struct Stopping;

/// Threads that wait, or what they are at.
enum State {
    Idle(ThreadPool),
    Searching {
        thread: JoinHandle<(ThreadPool, Result<Searched, EngineError>)>,
        watch: Arc<Watch>,
    },
    /// While it changes.
    Gone,
}

struct Seat {
    setting: Setting,
    plan: Plan,
    state: State,
    /// Moments so far, each at another place of a hash.
    moments: u32,
}

impl Seat {
    /// Starts a search that would never end, and gives it time to come somewhere inside a hash.
    fn search(&mut self) -> Result<(), Fault> {
        let State::Idle(mut workers) = std::mem::replace(&mut self.state, State::Gone) else {
            return Err(Fault::failed("a search is under way"));
        };
        let watch = Arc::new(Watch::new());
        let shared = Arc::clone(&watch);
        let thread = thread::spawn(move || {
            let header = header();
            let job = NonceJob::new(&header, [0; 32]);
            let searched = workers.search(&job, 0..u64::MAX, &shared, &|_| {});
            (workers, searched)
        });
        self.state = State::Searching { thread, watch };
        // A block takes about 300 ns: sixteen moments within a hash, in no order.
        let hash = Duration::from_nanos(self.setting.pow().params().work() * 300);
        self.moments += 1;
        thread::sleep(hash / 16 * (self.moments * 7 % 16) + Duration::from_millis(1));
        Ok(())
    }

    fn stop(&mut self) -> Result<(), Fault> {
        let State::Searching { thread, watch } = std::mem::replace(&mut self.state, State::Gone) else {
            return Err(Fault::failed("nothing is searched"));
        };
        watch.stop().set();
        let (workers, searched) = thread.join().map_err(|_| Fault::failed("the search panicked"))?;
        self.state = State::Idle(workers);
        let Searched { hashes, next, .. } = searched.map_err(refused)?;
        if next == u64::MAX || hashes != watch.hashes() || next > hashes {
            return Err(Fault::failed(format!(
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

    fn init(&self, spec: &Spec) -> Result<Seat, Fault> {
        let plan = plan(spec)?;
        let setting = Setting::of(spec, plan)?;
        Ok(Seat { setting, plan, state: State::Idle(start(&setting, plan)?), moments: 0 })
    }

    fn kernel(&self, seat: &Seat) -> String {
        seat.plan.kernel().name().to_owned()
    }

    fn reserve(&self, _: &mut Seat, (): &()) -> Result<(), Fault> {
        Ok(())
    }

    fn stage(&self, seat: &mut Seat, (): &mut (), (): &()) -> Result<(), Fault> {
        seat.search()
    }

    fn run(&self, seat: &mut Seat, (): &mut (), (): &()) -> Result<(), Fault> {
        seat.stop()
    }

    fn digest(&self, (): &()) -> Digest {
        Digest::new(STOPPED)
    }

    fn consumes(&self) -> bool {
        true
    }
}
