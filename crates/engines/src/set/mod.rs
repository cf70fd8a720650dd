//! Sets of open engines: batches of Argon2, subtrees of files, searches for nonces.

mod nonces;
#[cfg(all(test, feature = "gpu", target_os = "linux"))]
mod shim_tests;

pub use nonces::NonceMember;

use crate::budget::Budget;
#[cfg(feature = "gpu")]
use crate::device::OpenDevice;
use crate::event::{EngineEvent, EventSink};
use crate::failure::{EngineFailure, FailureCause};
use crate::spec::{EngineList, EngineListError, EngineName};
#[cfg(feature = "gpu")]
use crate::tags::{AutoEngine, DeviceEntry, DeviceTags};
use crate::tags::{CpuEngine, EngineFactory, RequestedEngine, RequestedGroup, TagEngine};
use crate::tune_file::TunedChoices;
use hashmill_hash::argon2::Plan;
use hashmill_hash::argon2::pow::Pow;
use hashmill_hash::blake3::hazmat::Mode;
use hashmill_hash::engine::SubtreeEngine;
use nonces::NonceOpener;
use std::fmt;
use std::num::NonZero;
use std::sync::Arc;

/// Engines that were requested by name, with their devices open.
pub struct EngineSet {
    label: String,
    members: Vec<SetMember>,
    #[cfg_attr(not(feature = "gpu"), expect(dead_code, reason = "only devices need it"))]
    choices: TunedChoices,
    /// The tuned plan for the CPU.
    plan: Plan,
    budget: Budget,
}

/// One engine of a set, and its name in messages.
struct SetMember {
    label: String,
    engine: OpenEngine,
}

enum OpenEngine {
    /// The CPU, or a device that was measured to be faster.
    Auto,
    Cpu,
    #[cfg(feature = "gpu")]
    Device(OpenDevice),
}

impl OpenEngine {
    fn is_cpu(&self) -> bool {
        matches!(self, OpenEngine::Auto | OpenEngine::Cpu)
    }
}

/// Error of opening engines.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// Caller: not a list of engines.
    List(EngineListError),
    /// Caller: two names of the same device.
    SameDevice {
        /// The second of both.
        engine: String,
    },
    /// Caller: this build has no devices.
    WithoutDevices {
        /// The name of the engine.
        engine: String,
    },
    /// Caller: files are hashed by one engine.
    SeveralForFiles {
        /// The name of the set.
        engine: String,
    },
    /// Caller: the function of the files takes its input strictly in order, which a device cannot divide.
    SerialFunction {
        /// The name of the engine.
        engine: String,
    },
    /// Machine or device: the device cannot be found, opened or used.
    Unavailable {
        /// The name of the engine.
        engine: String,
        /// The error of the device.
        error: hashmill_gpu::Error,
    },
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::List(error) => error.fmt(f),
            OpenError::SameDevice { engine } => write!(f, "{engine}: the same device twice"),
            OpenError::WithoutDevices { engine } => {
                write!(f, "{engine}: this build has no devices: build it with the feature gpu")
            }
            OpenError::SeveralForFiles { engine } => write!(f, "{engine}: files are hashed by one engine"),
            OpenError::SerialFunction { engine } => {
                write!(
                    f,
                    "{engine}: this function takes its input strictly in order: only the processor computes it"
                )
            }
            OpenError::Unavailable { engine, error } => write!(f, "{engine}: {error}"),
        }
    }
}

impl std::error::Error for OpenError {}

impl From<EngineListError> for OpenError {
    fn from(error: EngineListError) -> OpenError {
        OpenError::List(error)
    }
}

impl EngineSet {
    /// Opens engines by name, as `cpu,cuda:1`, with built-in choices.
    ///
    /// # Errors
    /// Not a list of engines; a device that is not available.
    pub fn open(list: &str, budget: Budget) -> Result<EngineSet, OpenError> {
        EngineSet::open_list(&list.parse()?, TunedChoices::default(), budget)
    }

    /// Opens engines with what was measured on this machine.
    ///
    /// # Errors
    /// As for [`open`](EngineSet::open).
    pub fn open_list(
        list: &EngineList,
        choices: TunedChoices,
        budget: Budget,
    ) -> Result<EngineSet, OpenError> {
        let mut members: Vec<SetMember> = Vec::new();
        for spec in &list.engines {
            let label = spec.label.clone();
            let engine = match spec.engine {
                EngineName::Auto => OpenEngine::Auto,
                EngineName::Cpu => OpenEngine::Cpu,
                #[cfg(feature = "gpu")]
                name => OpenEngine::Device(open_device(name, spec.device.as_deref(), &label, &members)?),
                #[cfg(not(feature = "gpu"))]
                _ => return Err(OpenError::WithoutDevices { engine: label }),
            };
            members.push(SetMember { label, engine });
        }
        let plan = choices.argon2();
        Ok(EngineSet { label: list.label.clone(), members, choices, plan, budget })
    }

    /// The engine that computes Argon2 tags in place of the CPU; `None` for the CPU alone. Of `auto`, a device that was measured
    /// to be faster.
    pub fn tags(&self, events: EventSink) -> Option<Box<dyn TagEngine>> {
        match &self.members[..] {
            [SetMember { engine: OpenEngine::Cpu, .. }] => None,
            #[cfg(feature = "gpu")]
            [SetMember { engine: OpenEngine::Auto, label }] => {
                let auto = AutoEngine::new(&self.choices.devices, label.clone(), self.budget.clone(), events);
                auto.map(|auto| Box::new(auto) as Box<dyn TagEngine>)
            }
            #[cfg(not(feature = "gpu"))]
            [SetMember { engine: OpenEngine::Auto, .. }] => None,
            _ => Some(self.batches(events)),
        }
    }

    /// The engines as one that computes batches of Argon2 tags. Of `auto`, the CPU.
    pub fn batches(&self, events: EventSink) -> Box<dyn RequestedEngine> {
        #[cfg(feature = "gpu")]
        if let [SetMember { engine: OpenEngine::Device(device), label }] = &self.members[..] {
            let tuned = device.tuned_entries(&self.choices.devices);
            let tags = DeviceTags::new(device.clone(), tuned, label.clone(), self.budget.clone(), events);
            return Box::new(tags);
        }
        let mut factories: Vec<(String, Box<dyn EngineFactory>)> = Vec::new();
        for SetMember { label, engine } in &self.members {
            match engine {
                // The CPU comes first: it needs the least memory, and the budget is given out in order.
                OpenEngine::Cpu | OpenEngine::Auto => {
                    factories.insert(0, (label.clone(), Box::new(CpuEngine { plan: self.plan })));
                }
                #[cfg(feature = "gpu")]
                OpenEngine::Device(device) => {
                    let tuned = device.tuned_entries(&self.choices.devices);
                    factories.push((label.clone(), Box::new(DeviceEntry { device: device.clone(), tuned })));
                }
            }
        }
        Box::new(RequestedGroup::new(self.label.clone(), factories, self.budget.clone(), events))
    }

    /// An engine for each member that searches nonces by this function, with its memory in the account of the set. The CPU has
    /// `in_flight` hashes on each thread; a device, as many as its memory allows. `auto` is the CPU.
    ///
    /// A device comes with a check of its hits on the CPU, in the memory of one more hash of the host, which all devices share. That is
    /// reserved first: a device without it is of no use, because an unchecked hit may be wrong. A check that allocated its memory when a
    /// hit comes would fail when other engines have taken it. Then devices reserve memory, and the CPU gets what is left of the host's.
    ///
    /// A member that cannot be opened has no part: an event says why.
    ///
    /// # Errors
    /// No member can be opened: the failure of the first.
    pub fn nonces(
        &self,
        pow: Pow,
        in_flight: NonZero<usize>,
        events: &EventSink,
    ) -> Result<Vec<NonceMember>, EngineFailure> {
        let opener = NonceOpener::new(pow, self.plan, in_flight, &self.budget);
        let mut order: Vec<usize> = (0..self.members.len()).collect();
        order.sort_by_key(|index| self.members[*index].engine.is_cpu());
        let mut results: Vec<(usize, Result<NonceMember, FailureCause>)> = Vec::new();
        for index in order {
            let result = match &self.members[index].engine {
                OpenEngine::Cpu | OpenEngine::Auto => opener.open_cpu(),
                #[cfg(feature = "gpu")]
                OpenEngine::Device(device) => {
                    let tuned = device.tuned_entries(&self.choices.devices);
                    opener.open_device(device, &tuned)
                }
            };
            results.push((index, result));
        }
        results.sort_by_key(|(index, _)| *index);
        let (mut opened, mut failures) = (Vec::new(), Vec::new());
        for (index, result) in results {
            match result {
                Ok(member) => opened.push(member),
                Err(cause) => failures.push(EngineFailure::new(&*self.members[index].label, cause)),
            }
        }
        if opened.is_empty() {
            return Err(failures.swap_remove(0));
        }
        for failure in failures {
            events(&EngineEvent::MemberLeft { member: failure.engine, reason: failure.cause.to_string() });
        }
        Ok(opened)
    }

    /// The engine that hashes files in tiles, read by `threads` threads, by default one per processor; `None` for the CPU. `auto` is the
    /// CPU here: a device hashes files no faster than its bus. Only the CPU computes a function without a mode.
    ///
    /// # Errors
    /// Errors of the device; several engines; a device for a function without a mode.
    pub fn subtrees(
        &self,
        mode: Option<&Mode<'_>>,
        threads: Option<NonZero<usize>>,
    ) -> Result<Option<Arc<dyn SubtreeEngine>>, OpenError> {
        match &self.members[..] {
            [SetMember { engine: OpenEngine::Cpu | OpenEngine::Auto, .. }] => Ok(None),
            #[cfg(feature = "gpu")]
            [SetMember { engine: OpenEngine::Device(device), label }] => {
                let Some(mode) = mode else {
                    return Err(OpenError::SerialFunction { engine: label.clone() });
                };
                let threads = threads.map_or_else(hashmill_machine::threads, NonZero::get);
                let engine = device.subtrees(mode, device.tiles(threads, &self.choices));
                engine.map(Some).map_err(|error| OpenError::Unavailable { engine: label.clone(), error })
            }
            _ => {
                #[cfg(not(feature = "gpu"))]
                let _ = (mode, threads);
                Err(OpenError::SeveralForFiles { engine: self.label.clone() })
            }
        }
    }
}

#[cfg(all(test, feature = "gpu"))]
impl EngineSet {
    /// Engines on open devices, each called by its number, behind the CPU if that is wanted.
    pub(crate) fn of_devices(with_cpu: bool, devices: Vec<OpenDevice>, budget: Budget) -> EngineSet {
        let cpu = with_cpu.then(|| SetMember { label: "cpu".to_owned(), engine: OpenEngine::Cpu });
        let devices = (0..).zip(devices).map(|(number, device)| SetMember {
            label: format!("cuda:{number}"),
            engine: OpenEngine::Device(device),
        });
        let choices = TunedChoices::default();
        let (members, plan) = (cpu.into_iter().chain(devices).collect(), choices.argon2());
        EngineSet { label: "a group".to_owned(), members, choices, plan, budget }
    }
}

/// Opens a device that no earlier member uses by the same interface.
#[cfg(feature = "gpu")]
fn open_device(
    name: EngineName,
    device: Option<&str>,
    label: &str,
    members: &[SetMember],
) -> Result<OpenDevice, OpenError> {
    let opened = OpenDevice::open(name, device);
    let opened = opened.map_err(|error| OpenError::Unavailable { engine: label.to_owned(), error })?;
    let is_same = |member: &SetMember| match &member.engine {
        OpenEngine::Device(other) => other.engine() == opened.engine() && other.info().is_same(opened.info()),
        OpenEngine::Auto | OpenEngine::Cpu => false,
    };
    if members.iter().any(is_same) {
        return Err(OpenError::SameDevice { engine: label.to_owned() });
    }
    Ok(opened)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hashmill_hash::argon2::{Hasher, Input, Job, Params, Stop};

    fn cpu(budget: Budget) -> EngineSet {
        EngineSet::open("cpu", budget).expect("the CPU is there")
    }

    fn no_events() -> EventSink {
        Arc::new(|_: &_| {})
    }

    #[test]
    fn the_cpu_by_name_computes_batches_and_replaces_nothing() {
        let engines = cpu(Budget::of_free_memory());
        assert!(engines.tags(no_events()).is_none());
        assert!(EngineSet::open("auto", Budget::new(0)).expect("the CPU").tags(no_events()).is_none());
        let params = Params::new(64, 1, 1).expect("good costs");
        let mut tags = [[0; 32]; 5];
        let inputs: Vec<_> = (0..5_u8).map(|number| [number; 4]).collect();
        let jobs = inputs.iter().zip(&mut tags);
        let jobs = jobs.map(|(password, tag)| Job { input: Input::new(password, b"sixteen bytes ok"), tag });
        let batches = engines.batches(no_events());
        batches.compute(params, &mut jobs.collect::<Vec<_>>(), &Stop::new()).expect("tags");
        for (password, tag) in inputs.iter().zip(tags) {
            assert_eq!(Hasher::new(params).hash::<32>(&Input::new(password, b"sixteen bytes ok")), Ok(tag));
        }
        assert_eq!(batches.names(), ("cpu".to_owned(), String::new()));
        assert_eq!(batches.shares()[0].hashes, 5);
    }

    #[test]
    fn searches_for_nonces_fit_into_the_budget() {
        use hashmill_hash::argon2::pow::{Order, Recipe};
        use hashmill_hash::engine::NonceEngine as _;
        let recipe = Recipe::NonceIsPassword { header_len: None };
        let pow = Pow::new(Params::new(1024, 1, 1).expect("good costs"), recipe, Order::BigEndian);
        let threads = hashmill_machine::threads();
        let open = |budget: &Budget, in_flight| {
            let in_flight = NonZero::new(in_flight).expect("some");
            cpu(budget.clone()).nonces(pow, in_flight, &no_events())
        };
        let limits = |mib: u64, in_flight| {
            open(&Budget::new(mib << 20), in_flight).map(|members| members[0].limits().in_flight)
        };
        assert_eq!(limits(5, 1), Ok(threads.min(4)), "the overhead of each takes a part");
        assert_eq!(limits(5, 3), Ok(3), "one thread with three");
        assert_eq!(limits(3, 3), Ok(2), "one thread with what fits");
        let failure = limits(1, 3).expect_err("nothing fits");
        let cause = FailureCause::HashOutOfBudget { bytes: 1 << 20, left: 1 << 20 };
        assert_eq!(failure, EngineFailure::new("cpu", cause));
        let budget = Budget::new(5 << 20);
        let members = open(&budget, 3).expect("an engine");
        assert!(budget.reserved_on_host() >= 3 << 20, "{budget:?}");
        drop(members);
        assert_eq!(budget.reserved_on_host(), 0);
    }

    #[test]
    fn files_have_no_engine_on_the_cpu_and_no_group() {
        let subtrees = |list: &str| {
            let engines = EngineSet::open(list, Budget::new(0)).expect("the CPU");
            [Some(&Mode::Hash), None].map(|mode| engines.subtrees(mode, None).map(|engine| engine.is_some()))
        };
        assert_eq!([subtrees("cpu"), subtrees("auto")], [[Ok(false), Ok(false)], [Ok(false), Ok(false)]]);
    }

    #[test]
    fn errors_name_the_engine() {
        let error = |list: &str| match EngineSet::open(list, Budget::new(0)) {
            Ok(_) => panic!("{list} was opened"),
            Err(error) => error.to_string(),
        };
        assert_eq!(error("cpu,cuad"), "no engine is called \"cuad\": did you mean cuda?");
        let absent = error("cpu,cuda:no such device");
        assert!(absent.starts_with("cuda:no such device: "), "{absent}");
        #[cfg(not(feature = "gpu"))]
        assert!(absent.ends_with("build it with the feature gpu"), "{absent}");
    }
}

/// The same on the best device of wgpu, such as software Vulkan.
#[cfg(all(test, feature = "gpu"))]
mod device_tests {
    use super::*;
    use crate::passwords::EnginePasswords;
    use hashmill_gpu::Error;
    use hashmill_hash::argon2::{Params, Stop};
    use hashmill_hash::engine::subtrees;
    use hashmill_hash::password::{Limits, NewPassword, Passwords, Policy};
    use hashmill_machine::SecretBytes;

    /// The engines of this list, unless there is no device.
    fn opened(list: &str, budget: Budget) -> Option<EngineSet> {
        match EngineSet::open(list, budget) {
            Ok(engines) => Some(engines),
            Err(
                error @ OpenError::Unavailable {
                    error: Error::NoDriver { .. } | Error::NoDevice { .. }, ..
                },
            ) => {
                hashmill_testkit::skip(&format!("engines {list}"), &error.to_string());
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn passwords_on_a_device_are_those_of_the_cpu() {
        for list in ["wgpu", "cpu,wgpu"] {
            let Some(engines) = opened(list, Budget::of_free_memory()) else { return };
            let passwords = || {
                let policy = Policy::new(Params::new(64, 2, 1).expect("good costs"));
                Passwords::new(policy).limits(Limits::NONE)
            };
            let secret = SecretBytes::copied(b"pepper").expect("memory");
            let on_engine = EnginePasswords::new(passwords(), secret, engines.tags(Arc::new(|_: &_| {})));
            let names: Vec<_> = (0..11_u8).map(|number| [number; 3]).collect();
            let new: Vec<_> =
                names.iter().map(|password| NewPassword { password, salt: b"sixteen bytes ok" }).collect();
            let hashes = on_engine.hash_many(&new, &Stop::new()).expect("hashes");
            let on_cpu = passwords().secret(b"pepper".to_vec());
            let right: Vec<_> =
                new.iter().map(|new| on_cpu.hash(new.password, new.salt).expect("a hash")).collect();
            assert_eq!(hashes, right, "{list}");
            let logins: Vec<(&[u8], _)> = names
                .iter()
                .zip(&hashes)
                .map(|(name, hash)| if name[0] % 3 == 0 { (&b"no"[..], hash) } else { (&name[..], hash) })
                .collect();
            let verdicts = on_engine.verify_many_on_engine(&logins, &Stop::new());
            for (name, verdict) in names.iter().zip(verdicts) {
                let is_right = verdict.map(|verdict| verdict.is_ok());
                assert_eq!(is_right, Some(name[0] % 3 != 0), "{list}: {name:?}");
            }
        }
    }

    #[test]
    fn tiles_of_a_device_are_right() {
        let Some(engines) = opened("wgpu", Budget::of_free_memory()) else { return };
        let tiles =
            engines.subtrees(Some(&Mode::Hash), NonZero::new(2)).expect("an engine").expect("a device");
        subtrees::self_test(&*tiles, &Mode::Hash).expect("right values");
        let error = engines.subtrees(None, None).err().expect("a function that a device cannot divide");
        assert_eq!(error, OpenError::SerialFunction { engine: "wgpu".to_owned() });
    }

    #[test]
    fn a_lone_device_is_charged_what_it_takes() {
        let budget = Budget::of_free_memory();
        let Some(engines) = opened("wgpu", budget.clone()) else { return };
        let OpenEngine::Device(device) = &engines.members[0].engine else { panic!("a device") };
        let batches = engines.batches(Arc::new(|_: &_| {}));
        let params = Params::new(64, 1, 1).expect("good costs");
        let is_alone = || budget.reserve_on_device(device.info(), params, 1).is_alone();
        let width = batches.batch_width(params, 3).expect("a width") as u64;
        assert!(!is_alone(), "{budget:?}");
        if device.uses_host_memory() {
            assert!(budget.reserved_on_host() >= width * (64 << 10), "{budget:?}");
        }
        drop(batches);
        let is_known = device.uses_host_memory() || device.info().memory.is_some();
        assert_eq!(is_alone(), is_known, "{budget:?}");
        assert_eq!(budget.reserved_on_host(), 0);
    }

    #[test]
    fn a_budget_of_nothing_leaves_the_work_to_the_cpu() {
        let Some(engines) = opened("cpu,wgpu", Budget::new(0)) else { return };
        let batches = engines.batches(Arc::new(|_: &_| {}));
        let params = Params::new(64, 1, 1).expect("good costs");
        assert_eq!(batches.batch_width(params, 100).map(|width| width > 0), Ok(true));
        let shares = batches.shares();
        let uses_host = engines.members.iter().any(|member| match &member.engine {
            OpenEngine::Device(device) => device.uses_host_memory(),
            OpenEngine::Auto | OpenEngine::Cpu => false,
        });
        assert_eq!(shares[1].failed.is_some(), uses_host, "{shares:?}");
    }

    #[test]
    fn the_same_device_twice_is_refused() {
        let Some(_) = opened("wgpu", Budget::new(0)) else { return };
        // Without an id or bus address two names of a device cannot be told to be the same.
        let engines = EngineSet::open("wgpu,wgpu:0", Budget::new(0));
        let devices = hashmill_gpu::BackEnd::Wgpu.devices().expect("a list");
        let is_best = hashmill_gpu::best(&devices) == Some(0);
        let first = devices.into_iter().next().expect("a device");
        let is_refused = matches!(engines, Err(OpenError::SameDevice { .. }));
        assert_eq!(is_refused, is_best && first.is_same(&first));
    }
}
