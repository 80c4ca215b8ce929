//! Fuzzing of every reader of outside text.
//!
//! A target reads an input and returns a description of the result, or of a violation. Inputs come from a generator with a printed seed.
//! Failures that end a process (stack overflow, out of memory, endless loop) are detected from outside; see [`supervise`].

pub mod mutate;
pub mod seeds;
pub mod supervise;
pub mod targets;

use std::collections::BTreeSet;
use std::fmt;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, anyhow, bail};

use mutate::Mutator;

pub use targets::TARGETS;

/// How long a target is fuzzed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FuzzLimit {
    /// For a time, from the first input on.
    Time(Duration),
    /// For a number of generated inputs, after the initial ones: the same inputs in every run with a seed.
    Inputs(usize),
}

impl FuzzLimit {
    /// Parses `seconds:S` or `inputs:N`.
    ///
    /// # Errors
    /// If the text is neither.
    pub fn parse(text: &str) -> Result<FuzzLimit> {
        match text.split_once(':') {
            Some(("seconds", number)) => Ok(FuzzLimit::Time(Duration::from_secs(number.parse()?))),
            Some(("inputs", number)) => Ok(FuzzLimit::Inputs(number.parse()?)),
            _ => bail!("expected seconds:S or inputs:N, not '{text}'"),
        }
    }

    fn is_reached(self, start: Instant, generated: usize) -> bool {
        match self {
            FuzzLimit::Time(time) => start.elapsed() >= time,
            FuzzLimit::Inputs(inputs) => generated >= inputs,
        }
    }
}

impl fmt::Display for FuzzLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FuzzLimit::Time(time) => write!(f, "seconds:{}", time.as_secs()),
            FuzzLimit::Inputs(inputs) => write!(f, "inputs:{inputs}"),
        }
    }
}

/// The result of an input: a description of how it was read, which differs where the reader's behaviour differs, or a violation.
pub type FuzzResult = Result<String, String>;

/// A reader under test.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// The initial inputs.
    pub seeds: fn() -> Result<Vec<Vec<u8>>>,
    /// Reads an input.
    pub read: fn(&[u8]) -> FuzzResult,
}

impl Target {
    /// Returns the target with this name.
    ///
    /// # Errors
    /// If there is none; the error lists the names.
    pub fn find(name: &str) -> Result<&'static Target> {
        let known = || TARGETS.iter().map(|target| target.name).collect::<Vec<_>>().join(", ");
        TARGETS.iter().find(|it| it.name == name).with_context(|| format!("unknown target '{name}': use one of {}", known()))
    }

    /// Reads an input and checks for violations.
    ///
    /// # Errors
    /// A panic, a violation, or a run longer than [`MAX_RUN_TIME`].
    pub fn check(&self, input: &[u8]) -> FuzzResult {
        let start = Instant::now();
        let verdict =
            catch_unwind(AssertUnwindSafe(|| (self.read)(input))).unwrap_or_else(|_| Err(format!("panic: {}", panic_message())))?;
        // On a busy machine wall-clock time says little, so processor time decides.
        if start.elapsed() > MAX_RUN_TIME {
            let before = processor_time();
            let _ = (self.read)(input);
            let elapsed = processor_time().saturating_sub(before);
            if elapsed > MAX_RUN_TIME {
                return Err(format!("takes {elapsed:?}"));
            }
        }
        Ok(verdict)
    }
}

/// Returns the processor time of this thread; where it is not available, the wall-clock time.
fn processor_time() -> Duration {
    let counted = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = counted.and_then(|text| text.split_whitespace().next()?.parse().ok());
    nanoseconds.map_or_else(|| SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default(), Duration::from_nanos)
}

/// The maximum length of an input, in bytes.
pub const MAX_INPUT_BYTES: usize = 64 * 1024;

/// The maximum processor time for an input.
pub const MAX_RUN_TIME: Duration = Duration::from_secs(1);

/// The timeout of an input, after which the process is aborted.
const INPUT_TIMEOUT: Duration = Duration::from_secs(20);

/// The stack size of the server's threads that run turns.
const STACK_BYTES: usize = 2 * 1024 * 1024;

/// The maximum number of inputs that are kept as a base for others.
const MAX_KEPT_INPUTS: usize = 4_000;

/// The statistics of a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct FuzzStats {
    /// The number of inputs.
    pub inputs: usize,
    /// The number of different results.
    pub kinds: usize,
}

/// The message of the last panic, set by the panic hook.
static LAST_PANIC: Mutex<String> = Mutex::new(String::new());

fn panic_message() -> String {
    LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Installs a panic hook that stores the message instead of printing it.
pub fn capture_panics() {
    std::panic::set_hook(Box::new(|panic| {
        *LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner) = panic.to_string().replace('\n', ": ");
    }));
}

/// Runs a function on a thread with the stack size of the server's threads.
///
/// # Errors
/// If the function fails or panics.
pub fn with_server_stack<T: Send>(run: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, run)?;
        thread.join().map_err(|_| anyhow!("the thread panicked: {}", panic_message()))?
    })
}

/// Fuzzes a target up to a limit. Each input is written to the file `note` before it is read, so that it is known if the process ends.
///
/// # Errors
/// The first violation, in one line.
pub fn run(target: &Target, seed: u64, limit: FuzzLimit, note: &Path) -> Result<FuzzStats> {
    let current = AtomicU64::new(0);
    let mut note = InputFile(File::create(note).with_context(|| note.display().to_string())?);
    thread::scope(|scope| {
        let current = &current;
        scope.spawn(move || abort_on_timeout(current));
        let figures = with_server_stack(move || {
            run_inputs(target, seed, limit, &mut note, &|| {
                current.fetch_add(1, Ordering::Relaxed);
            })
        });
        current.store(ALL_READ, Ordering::Relaxed);
        figures
    })
}

/// The number in place of the current input's when all have been read.
const ALL_READ: u64 = u64::MAX;

/// Aborts the process if the current input, which is known by its number, takes too long.
///
/// Its own turns are counted and not the time that passed, so that a machine that stood still is no endless loop.
fn abort_on_timeout(current: &AtomicU64) {
    let turn = Duration::from_millis(50);
    let (mut last, mut waited) = (0, Duration::ZERO);
    loop {
        thread::sleep(turn);
        let number = current.load(Ordering::Relaxed);
        if number == ALL_READ {
            return;
        }
        waited = if number == last { waited + turn } else { Duration::ZERO };
        last = number;
        if waited > INPUT_TIMEOUT {
            eprintln!("endless loop");
            std::process::abort();
        }
    }
}

fn run_inputs(target: &Target, seed: u64, limit: FuzzLimit, note: &mut InputFile, begins: &dyn Fn()) -> Result<FuzzStats> {
    let mut kept = (target.seeds)()?;
    let mut mutator = Mutator::new(seed, &kept);
    let mut figures = FuzzStats::default();
    let mut kinds = BTreeSet::new();
    let mut hold = |input: &[u8], note: &mut InputFile| -> Result<bool> {
        note.write(input)?;
        begins();
        let kind = target.check(input).map_err(|violation| anyhow!("{violation}"))?;
        Ok(kinds.insert(kind.replace(|c: char| c.is_ascii_digit(), "")))
    };
    let start = Instant::now();
    for input in &kept {
        figures.inputs += 1;
        figures.kinds += usize::from(hold(input, note)?);
    }
    let seeds = figures.inputs;
    while !limit.is_reached(start, figures.inputs - seeds) {
        let input = mutator.next_input(&kept);
        figures.inputs += 1;
        if hold(&input, note)? {
            figures.kinds += 1;
            if kept.len() < MAX_KEPT_INPUTS {
                kept.push(input);
            }
        }
    }
    Ok(figures)
}

/// The file with the current input.
struct InputFile(File);

impl InputFile {
    fn write(&mut self, input: &[u8]) -> Result<()> {
        if input.len() > MAX_INPUT_BYTES {
            bail!("input of {} bytes is too long", input.len());
        }
        self.0.seek(SeekFrom::Start(0))?;
        self.0.write_all(input)?;
        Ok(self.0.set_len(input.len() as u64)?)
    }
}
