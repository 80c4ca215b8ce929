//! The WebAssembly engine, configured so that results depend on messages alone.

use std::time::Instant;

use wasmtime::{Config, Engine, Store, StoreLimits, StoreLimitsBuilder, UpdateDeadline};

use super::ticker::{CallGuard, Ticker};

/// Maximum stack size of a call in bytes.
const MAX_STACK_BYTES: usize = 512 << 10;

/// Maximum number of elements of a table.
const MAX_TABLE_ELEMENTS: usize = 100_000;

/// The engine, with the ticker that interrupts runaway modules.
pub struct Runtime {
    engine: Engine,
    ticker: Ticker,
}

/// Creates an engine without a ticker.
///
/// # Errors
/// If there is no code generator for this machine.
pub fn create_engine() -> wasmtime::Result<Engine> {
    let mut config = Config::new();
    config
        .epoch_interruption(true)
        .max_wasm_stack(MAX_STACK_BYTES)
        // Features that differ between processors are disabled or made deterministic.
        .cranelift_nan_canonicalization(true)
        .wasm_relaxed_simd(false)
        .wasm_multi_memory(false)
        .wasm_memory64(false)
        .wasm_backtrace_max_frames(None)
        .generate_address_map(false);
    Engine::new(&config)
}

/// The module exceeded its time limit.
#[derive(Debug, thiserror::Error)]
#[error("out of time")]
pub struct OutOfTime;

impl Runtime {
    /// Creates the engine and its ticker.
    ///
    /// Time is limited by epochs, not by fuel: a guest runs at full speed, and its limit is in milliseconds.
    ///
    /// # Errors
    /// If there is no code generator for this machine, or the ticker's thread cannot be started.
    pub fn new() -> wasmtime::Result<Runtime> {
        let engine = create_engine()?;
        let ticker = Ticker::start(engine.weak())?;
        Ok(Runtime { engine, ticker })
    }

    /// The engine, for compiling modules.
    pub fn create_engine(&self) -> &Engine {
        &self.engine
    }

    /// Keeps the ticker running until the returned guard is dropped.
    pub fn begin_call(&self) -> CallGuard<'_> {
        self.ticker.begin_call()
    }

    /// Creates the store of one instance, with its memory limit and deadline.
    pub fn create_store(&self, memory_bytes: u32, end: Instant) -> Store<StoreLimits> {
        let bytes = usize::try_from(memory_bytes).unwrap_or(usize::MAX);
        let limits = StoreLimitsBuilder::new().memory_size(bytes).memories(1).tables(4).table_elements(MAX_TABLE_ELEMENTS).instances(1);
        let mut store = Store::new(&self.engine, limits.build());
        store.limiter(|it| it);
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(move |_| if Instant::now() < end { Ok(UpdateDeadline::Continue(1)) } else { Err(OutOfTime.into()) });
        store
    }
}
