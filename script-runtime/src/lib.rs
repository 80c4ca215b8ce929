//! Runs the Python interpreter of script nodes: a WebAssembly module without imports, which the page runs as well.
//!
//! Each call has an instance of its own, so scripts share nothing, and what they use is returned when they end. The module itself limits
//! fuel, memory, recursion and output, so that a script stops at the same point on every machine; this crate adds the deadline.

mod call;
mod deadline;

use std::path::Path;
use std::time::Duration;

use deadline::Deadline;
use wasmtime::{Cache, CacheConfig, Config, Engine, InstancePre, Linker, StoreLimits};

/// Maximum stack size of a call in bytes. The module's own stack, in its memory, overflows earlier.
const MAX_STACK_BYTES: usize = 1 << 20;

/// The compiled interpreter.
pub struct ScriptRuntime {
    engine: Engine,
    instance_pre: InstancePre<StoreLimits>,
}

/// The module cannot be compiled here.
#[derive(Debug, thiserror::Error)]
#[error("cannot compile the script interpreter: {0:#}")]
pub struct CompileError(wasmtime::Error);

/// Why a call has no output. A script that fails has one: its failure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The script took longer than its deadline.
    #[error("the script took longer than {} ms", .0.as_millis())]
    Timeout(Duration),
    /// The module does not behave as the interpreter.
    #[error("the script interpreter failed: {0}")]
    Broken(String),
}

impl ScriptRuntime {
    /// Compiles the interpreter, which takes seconds, or loads it from the cache folder, which takes milliseconds.
    ///
    /// # Errors
    /// If the bytes are not a module without imports, or there is no code generator for this machine.
    pub fn compile(wasm: &[u8], cache_folder: Option<&Path>) -> Result<ScriptRuntime, CompileError> {
        let engine = create_engine(cache_folder).map_err(CompileError)?;
        let module = wasmtime::Module::new(&engine, wasm).map_err(CompileError)?;
        // The linker stays empty: the module cannot access the host.
        let instance_pre = Linker::new(&engine).instantiate_pre(&module).map_err(CompileError)?;
        Ok(ScriptRuntime { engine, instance_pre })
    }

    /// Runs a script and returns the module's output, JSON; the input is JSON as well.
    ///
    /// # Errors
    /// [`RunError::Timeout`] at the deadline; [`RunError::Broken`] if the module is not the interpreter.
    pub fn run(&self, input: &str, timeout: Duration) -> Result<String, RunError> {
        self.call("run", input, timeout)
    }

    /// Checks a script without running it, and returns its issues as JSON: `{"issues": [{"line", "message"}]}`.
    ///
    /// # Errors
    /// As [`ScriptRuntime::run`].
    pub fn check(&self, code: &str, timeout: Duration) -> Result<String, RunError> {
        let input = serde_json::json!({ "code": code }).to_string();
        self.call("check", &input, timeout)
    }

    fn call(&self, function: &str, input: &str, timeout: Duration) -> Result<String, RunError> {
        let deadline = Deadline::after(timeout);
        deadline.watch(&self.engine, || call::call(self, function, input, deadline))?
    }
}

impl std::fmt::Debug for ScriptRuntime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScriptRuntime").finish_non_exhaustive()
    }
}

fn create_engine(cache_folder: Option<&Path>) -> wasmtime::Result<Engine> {
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
    if let Some(folder) = cache_folder {
        config.cache(create_cache(folder));
    }
    Engine::new(&config)
}

/// Opens the cache; without one, the module is compiled at each start.
fn create_cache(folder: &Path) -> Option<Cache> {
    let mut config = CacheConfig::new();
    config.with_directory(folder);
    Cache::new(config).inspect_err(|error| tracing::warn!("no cache for the script interpreter in '{}': {error:#}", folder.display())).ok()
}

#[cfg(test)]
mod tests;
