//! One call: passes JSON in and reads JSON out, with an instance of its own.

use wasmtime::{Instance, Memory, Store, StoreLimits, StoreLimitsBuilder, TypedFunc};

use crate::deadline::{Deadline, OutOfTime};
use crate::{RunError, ScriptRuntime};

/// Maximum memory of an instance: the module's own maximum.
const MAX_MEMORY_BYTES: usize = 192 << 20;

/// Maximum number of elements of a table; the interpreter has some ten thousand functions.
const MAX_TABLE_ELEMENTS: usize = 100_000;

/// The output if the instance is unable to explain its trap, because its stack is exhausted. The page has the same text.
const STACK_EXHAUSTED: &str =
    r#"{"logs":[],"failure":{"code":"exception","message":"RecursionError: the script exhausted the stack","line":null}}"#;

/// Calls an exported function with an input, and returns its output.
pub fn call(runtime: &ScriptRuntime, function: &str, input: &str, deadline: Deadline) -> Result<String, RunError> {
    let mut store = create_store(runtime, deadline);
    let instance = runtime.instance_pre.instantiate(&mut store).map_err(|it| broken(&it))?;
    let mut guest = Guest { store, instance, deadline };
    match guest.exchange(function, input) {
        Err(CallError::Trap(error)) if error.is::<OutOfTime>() => Err(deadline.error()),
        // A check returns no failures, and needs too little to be stopped by accident.
        Err(CallError::Trap(_)) if function == "run" => guest.explain_trap(),
        Err(CallError::Trap(error) | CallError::Broken(error)) => Err(broken(&error)),
        Ok(output) => Ok(output),
    }
}

struct Guest {
    store: Store<StoreLimits>,
    instance: Instance,
    deadline: Deadline,
}

enum CallError {
    /// The module stopped.
    Trap(wasmtime::Error),
    /// The module is not the interpreter.
    Broken(wasmtime::Error),
}

impl Guest {
    fn exchange(&mut self, function: &str, input: &str) -> Result<String, CallError> {
        let memory = self.memory().map_err(CallError::Broken)?;
        let allocate: TypedFunc<u32, u32> = self.function("allocate").map_err(CallError::Broken)?;
        let function: TypedFunc<(u32, u32), u64> = self.function(function).map_err(CallError::Broken)?;
        let length = u32::try_from(input.len()).map_err(|error| CallError::Broken(error.into()))?;
        let place = allocate.call(&mut self.store, length).map_err(CallError::Trap)?;
        let offset = usize::try_from(place).unwrap_or(usize::MAX);
        memory.write(&mut self.store, offset, input.as_bytes()).map_err(|error| CallError::Broken(error.into()))?;
        let output = function.call(&mut self.store, (place, length)).map_err(CallError::Trap)?;
        self.read(memory, output).map_err(CallError::Broken)
    }

    /// Asks the instance why it trapped.
    fn explain_trap(&mut self) -> Result<String, RunError> {
        let memory = self.memory().map_err(|it| broken(&it))?;
        let explain: TypedFunc<(), u64> = self.function("explain_trap").map_err(|it| broken(&it))?;
        match explain.call(&mut self.store, ()) {
            Ok(output) => self.read(memory, output).map_err(|it| broken(&it)),
            Err(error) if error.is::<OutOfTime>() => Err(self.deadline.error()),
            Err(_) => Ok(STACK_EXHAUSTED.to_owned()),
        }
    }

    fn memory(&mut self) -> wasmtime::Result<Memory> {
        self.instance.get_memory(&mut self.store, "memory").ok_or_else(|| wasmtime::Error::msg("it has no memory"))
    }

    fn function<P: wasmtime::WasmParams, R: wasmtime::WasmResults>(&mut self, name: &str) -> wasmtime::Result<TypedFunc<P, R>> {
        self.instance.get_typed_func(&mut self.store, name)
    }

    /// Copies an output, whose address is in the upper half of `place` and whose length is in the lower one.
    fn read(&self, memory: Memory, place: u64) -> wasmtime::Result<String> {
        let (address, length) = (usize::try_from(place >> 32)?, usize::try_from(place & u64::from(u32::MAX))?);
        let bytes = memory.data(&self.store).get(address..address.saturating_add(length));
        let bytes = bytes.ok_or_else(|| wasmtime::Error::msg("its output is outside of its memory"))?;
        Ok(std::str::from_utf8(bytes)?.to_owned())
    }
}

fn create_store(runtime: &ScriptRuntime, deadline: Deadline) -> Store<StoreLimits> {
    let limits =
        StoreLimitsBuilder::new().memory_size(MAX_MEMORY_BYTES).memories(1).tables(4).table_elements(MAX_TABLE_ELEMENTS).instances(1);
    let mut store = Store::new(&runtime.engine, limits.build());
    store.limiter(|it| it);
    deadline.limit(&mut store);
    store
}

fn broken(error: &wasmtime::Error) -> RunError {
    RunError::Broken(format!("{error:#}"))
}
