//! The engine that runs modules, set up so that they depend on their messages alone.

use std::time::Instant;

use wasmtime::{Config, Engine, Store, StoreLimits, StoreLimitsBuilder, UpdateDeadline};

use super::ticker::{Call, Ticker};

/// Bytes of the stack of a call.
const STACK: usize = 512 << 10;

/// Elements that each table of a module may have.
const TABLE_ELEMENTS: usize = 100_000;

/// The engine with what stops modules that run away.
pub struct Runtime {
    engine: Engine,
    ticker: Ticker,
}

/// The engine without anything that runs.
///
/// # Errors
/// When there is no code generator for this machine.
pub fn engine() -> wasmtime::Result<Engine> {
    let mut config = Config::new();
    config
        .epoch_interruption(true)
        .max_wasm_stack(STACK)
        // What differs between processors is left out, or made equal.
        .cranelift_nan_canonicalization(true)
        .wasm_relaxed_simd(false)
        .wasm_multi_memory(false)
        .wasm_memory64(false)
        .wasm_backtrace_max_frames(None)
        .generate_address_map(false);
    Engine::new(&config)
}

/// The module took longer than it may.
#[derive(Debug, thiserror::Error)]
#[error("out of time")]
pub struct OutOfTime;

impl Runtime {
    /// Sets the engine up.
    ///
    /// Time is limited by epochs, not by fuel: a guest runs at full speed, and what it may take is what people know, milliseconds.
    ///
    /// # Errors
    /// When there is no code generator for this machine, or no thread.
    pub fn new() -> wasmtime::Result<Runtime> {
        let engine = engine()?;
        let ticker = Ticker::start(engine.weak())?;
        Ok(Runtime { engine, ticker })
    }

    /// The compiler's half.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Begins to count time; it is counted until what is returned is dropped.
    pub fn call(&self) -> Call<'_> {
        self.ticker.call()
    }

    /// A place for one instance, which has so much memory and so much time.
    pub fn store(&self, memory_bytes: u32, end: Instant) -> Store<StoreLimits> {
        let bytes = usize::try_from(memory_bytes).unwrap_or(usize::MAX);
        let limits = StoreLimitsBuilder::new().memory_size(bytes).memories(1).tables(4).table_elements(TABLE_ELEMENTS).instances(1);
        let mut store = Store::new(&self.engine, limits.build());
        store.limiter(|it| it);
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(move |_| if Instant::now() < end { Ok(UpdateDeadline::Continue(1)) } else { Err(OutOfTime.into()) });
        store
    }
}
