//! Fuzzing: whatever reads a text from outside is given texts that nobody would write.
//!
//! A target reads an input and says what it took it for, or what should not have been. Inputs come from a generator with a printed
//! seed. What ends a process (no stack left, no memory left, no end) is seen from outside of it: see [`supervise`].

pub mod mutate;
pub mod seeds;
pub mod supervise;
pub mod targets;

use std::collections::BTreeSet;
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

/// What came of an input: how it was taken, in words that differ where the reader does; or what must not be.
pub type Verdict = Result<String, String>;

/// Something that reads.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// Inputs to begin with.
    pub seeds: fn() -> Result<Vec<Vec<u8>>>,
    /// Reads an input.
    pub read: fn(&[u8]) -> Verdict,
}

impl Target {
    /// The target of this name.
    ///
    /// # Errors
    /// Which names there are.
    pub fn named(name: &str) -> Result<&'static Target> {
        let known = || TARGETS.iter().map(|it| it.name).collect::<Vec<_>>().join(", ");
        TARGETS.iter().find(|it| it.name == name).with_context(|| format!("there is no target '{name}', but {}", known()))
    }

    /// Reads an input as a thread of the server would; answers what should not have been.
    ///
    /// # Errors
    /// A panic, a breach, or a time above [`LONGEST_RUN`].
    pub fn hold(&self, input: &[u8]) -> Verdict {
        let start = Instant::now();
        let verdict = catch_unwind(AssertUnwindSafe(|| (self.read)(input))).unwrap_or_else(|_| Err(format!("it panics: {}", told())))?;
        // A machine with other work takes time from anybody, but not the processor's.
        if start.elapsed() > LONGEST_RUN {
            let before = of_processor();
            let _ = (self.read)(input);
            let took = of_processor().saturating_sub(before);
            if took > LONGEST_RUN {
                return Err(format!("it takes {took:?}"));
            }
        }
        Ok(verdict)
    }
}

/// The time that the processor has given to this thread; where nobody counts it, all time.
fn of_processor() -> Duration {
    let counted = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = counted.and_then(|it| it.split_whitespace().next()?.parse().ok());
    nanoseconds.map_or_else(|| SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default(), Duration::from_nanos)
}

/// Longest inputs.
pub const LONGEST: usize = 64 * 1024;

/// Longest time for one of them.
pub const LONGEST_RUN: Duration = Duration::from_secs(1);

/// After so long an input is given up, with its process.
const NEVER: Duration = Duration::from_secs(20);

/// The stack of the threads that run turns.
const STACK: usize = 2 * 1024 * 1024;

/// Inputs that are kept to go on from.
const MOST_KEPT: usize = 4_000;

/// What was done.
#[derive(Debug, Clone, Copy, Default)]
pub struct Figures {
    /// Inputs.
    pub inputs: usize,
    /// Those that were taken in another way than all before them.
    pub kinds: usize,
}

/// What is known of a panic where it happens.
static PANIC: Mutex<String> = Mutex::new(String::new());

fn told() -> String {
    PANIC.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Keeps what a panic says, in the place of printing it.
pub fn listen_to_panics() {
    std::panic::set_hook(Box::new(|it| {
        *PANIC.lock().unwrap_or_else(PoisonError::into_inner) = it.to_string().replace('\n', ": ");
    }));
}

/// Runs something on a thread with the stack of the server's.
///
/// # Errors
/// As it.
pub fn on_a_small_stack<T: Send>(run: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, run)?;
        thread.join().map_err(|_| anyhow!("the thread ended: {}", told()))?
    })
}

/// Gives a target inputs for a time. Each is written to `note` before it is read, so that it is known when the process ends with it.
///
/// # Errors
/// What an input did that it must not, in one line.
pub fn run(target: &Target, seed: u64, time: Duration, note: &Path) -> Result<Figures> {
    let begun = Instant::now();
    let since = AtomicU64::new(u64::MAX);
    let mut note = Note(File::create(note).with_context(|| note.display().to_string())?);
    thread::scope(|scope| {
        let (clock, since) = (begun, &since);
        scope.spawn(move || watch(clock, since));
        let done = on_a_small_stack(move || inputs(target, seed, time, &mut note, &|| since.store(millis(begun), Ordering::Relaxed)));
        since.store(0, Ordering::Relaxed);
        done
    })
}

fn millis(begun: Instant) -> u64 {
    u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX).max(1)
}

/// Ends the process when an input has no end. Time 0 says that all inputs have been read.
fn watch(begun: Instant, since: &AtomicU64) {
    loop {
        thread::sleep(Duration::from_millis(50));
        match since.load(Ordering::Relaxed) {
            0 => return,
            u64::MAX => {}
            start if millis(begun).saturating_sub(start) > NEVER.as_millis() as u64 => {
                eprintln!("it has no end");
                std::process::abort();
            }
            _ => {}
        }
    }
}

fn inputs(target: &Target, seed: u64, time: Duration, note: &mut Note, begins: &dyn Fn()) -> Result<Figures> {
    let mut kept = (target.seeds)()?;
    let mut mutator = Mutator::new(seed, &kept);
    let mut figures = Figures::default();
    let mut kinds = BTreeSet::new();
    let mut hold = |input: &[u8], note: &mut Note| -> Result<bool> {
        note.take(input)?;
        begins();
        let kind = target.hold(input).map_err(|breach| anyhow!("{breach}"))?;
        Ok(kinds.insert(kind.replace(|c: char| c.is_ascii_digit(), "")))
    };
    let start = Instant::now();
    for input in &kept {
        figures.inputs += 1;
        figures.kinds += usize::from(hold(input, note)?);
    }
    while start.elapsed() < time {
        let input = mutator.next(&kept);
        figures.inputs += 1;
        if hold(&input, note)? {
            figures.kinds += 1;
            if kept.len() < MOST_KEPT {
                kept.push(input);
            }
        }
    }
    Ok(figures)
}

/// The input that is read now.
struct Note(File);

impl Note {
    fn take(&mut self, input: &[u8]) -> Result<()> {
        if input.len() > LONGEST {
            bail!("an input has {} bytes", input.len());
        }
        self.0.seek(SeekFrom::Start(0))?;
        self.0.write_all(input)?;
        Ok(self.0.set_len(input.len() as u64)?)
    }
}
