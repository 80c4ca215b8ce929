//! The protocol with one instance: passes messages in and reads records out.

use std::time::{Duration, Instant};

use convengine_core::turn::{EffectErrorKind, ExtensionRequest};
use wasmtime::{Memory, Store, StoreLimits, Trap, TypedFunc};

use super::module::{Module, ModuleProblem};
use super::runtime::{OutOfTime, Runtime};

/// Maximum size of an answer in bytes.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// Sends all messages of a request to a fresh instance; returns its last answer.
pub fn exchange(runtime: &Runtime, module: &Module, request: &ExtensionRequest) -> Result<Vec<u8>, ModuleProblem> {
    if module.memory_bytes > request.memory_bytes.into() {
        let reason = format!("begins with more memory than its {} bytes: allow it more", request.memory_bytes);
        return Err(ModuleProblem::new(EffectErrorKind::Limited, reason));
    }
    let _ticker = runtime.begin_call();
    let end = Instant::now() + Duration::from_millis(request.timeout_ms.into());
    let mut guest = Guest::new(runtime.create_store(request.memory_bytes, end), module, request)?;
    let mut record = None;
    for message in &request.messages {
        let first = record.is_none();
        record = Some(guest.send(first, message.to_string().as_bytes())?);
    }
    guest.read(record.ok_or_else(|| ModuleProblem::new(EffectErrorKind::Invalid, "got no message"))?)
}

struct Guest<'r> {
    store: Store<StoreLimits>,
    request: &'r ExtensionRequest,
    memory: Memory,
    alloc: TypedFunc<u32, u32>,
    start: TypedFunc<(u32, u32), u32>,
    resume: TypedFunc<(u32, u32), u32>,
}

impl<'r> Guest<'r> {
    fn new(mut store: Store<StoreLimits>, module: &Module, request: &'r ExtensionRequest) -> Result<Guest<'r>, ModuleProblem> {
        let instance = module.instance_pre.instantiate(&mut store).map_err(|it| problem_of_trap(&it, request, 0))?;
        let gone = |_| ModuleProblem::new(EffectErrorKind::Denied, "no longer exports its functions");
        let memory = instance.get_memory(&mut store, "memory").ok_or(()).map_err(gone)?;
        let alloc = instance.get_typed_func(&mut store, "conv_alloc").map_err(|_| gone(()))?;
        let start = instance.get_typed_func(&mut store, "conv_start").map_err(|_| gone(()))?;
        let resume = instance.get_typed_func(&mut store, "conv_resume").map_err(|_| gone(()))?;
        Ok(Guest { store, request, memory, alloc, start, resume })
    }

    /// Passes a message in; returns the address of the answer's record.
    fn send(&mut self, first: bool, message: &[u8]) -> Result<u32, ModuleProblem> {
        let length = u32::try_from(message.len()).map_err(|_| invalid("got a message longer than a module can hold"))?;
        let place = self.alloc.call(&mut self.store, length).map_err(|it| self.trap_problem(&it))?;
        let outside = |_| invalid("gave a buffer outside of its memory");
        self.memory.write(&mut self.store, usize::try_from(place).unwrap_or(usize::MAX), message).map_err(outside)?;
        let function = if first { &self.start } else { &self.resume };
        function.call(&mut self.store, (place, length)).map_err(|it| self.trap_problem(&it))
    }

    /// Copies an answer out. The memory is accessed anew, because it may have grown.
    fn read(&self, record: u32) -> Result<Vec<u8>, ModuleProblem> {
        let memory = self.memory.data(&self.store);
        let number = |at: u64| Some(u64::from(u32::from_le_bytes(slice(memory, at, 4)?.try_into().ok()?)));
        let place = u64::from(record);
        let outside = || invalid("returned a pointer outside its memory");
        let (start, length) = number(place).zip(number(place + 4)).ok_or_else(outside)?;
        let answer = slice(memory, start, length).ok_or_else(outside)?;
        if answer.len() > MAX_ANSWER_BYTES {
            return Err(ModuleProblem::new(EffectErrorKind::Limited, format!("answered with more than {MAX_ANSWER_BYTES} bytes")));
        }
        Ok(answer.to_vec())
    }

    fn trap_problem(&self, error: &wasmtime::Error) -> ModuleProblem {
        problem_of_trap(error, self.request, self.memory.data_size(&self.store))
    }
}

fn slice(memory: &[u8], start: u64, length: u64) -> Option<&[u8]> {
    memory.get(usize::try_from(start).ok()?..usize::try_from(start + length).ok()?)
}

fn invalid(reason: &str) -> ModuleProblem {
    ModuleProblem::new(EffectErrorKind::Invalid, reason)
}

/// Converts a trap to a failure. The browser host has the same messages.
fn problem_of_trap(error: &wasmtime::Error, request: &ExtensionRequest, used: usize) -> ModuleProblem {
    if error.is::<OutOfTime>() {
        return ModuleProblem::new(EffectErrorKind::Timeout, format!("took longer than {} ms", request.timeout_ms));
    }
    let trap = error.downcast_ref::<Trap>().map_or("unknown reason", |it| describe_trap(*it));
    // A module that runs out of memory just traps. No host can tell that trap from another one, but both know the memory size.
    let limit = usize::try_from(request.memory_bytes).unwrap_or(usize::MAX);
    if used > limit / 2 {
        let reason = format!("trapped ({trap}) with {used} of its {limit} bytes of memory in use: allow it more");
        return ModuleProblem::new(EffectErrorKind::Limited, reason);
    }
    ModuleProblem::new(EffectErrorKind::Invalid, format!("trapped ({trap})"))
}

fn describe_trap(trap: Trap) -> &'static str {
    match trap {
        Trap::UnreachableCodeReached => "unreachable code",
        Trap::StackOverflow => "call stack exhausted",
        Trap::MemoryOutOfBounds => "memory access out of bounds",
        Trap::TableOutOfBounds => "table access out of bounds",
        Trap::IndirectCallToNull | Trap::BadSignature => "indirect call with another signature",
        Trap::IntegerOverflow => "integer overflow",
        Trap::IntegerDivisionByZero => "integer division by zero",
        Trap::BadConversionToInteger => "conversion to integer",
        _ => "unknown reason",
    }
}
