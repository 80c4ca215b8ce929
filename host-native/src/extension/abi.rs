//! The protocol with one instance: passes messages in and reads records out.

use std::time::{Duration, Instant};

use convengine_core::turn::{EffectErrorKind, ExtensionRequest};
use wasmtime::{Memory, Store, StoreLimits, Trap, TypedFunc};

use super::module::{Module, Problem};
use super::runtime::{OutOfTime, Runtime};

/// Maximum size of an answer in bytes.
const LONGEST: usize = 1 << 20;

/// Sends all messages of a request to a fresh instance; returns its last answer.
pub fn talk(runtime: &Runtime, module: &Module, request: &ExtensionRequest) -> Result<Vec<u8>, Problem> {
    if module.memory_bytes > request.memory_bytes.into() {
        let reason = format!("begins with more memory than its {} bytes: allow it more", request.memory_bytes);
        return Err(Problem::new(EffectErrorKind::Limited, reason));
    }
    let _ticker = runtime.call();
    let end = Instant::now() + Duration::from_millis(request.timeout_ms.into());
    let mut guest = Guest::new(runtime.store(request.memory_bytes, end), module, request)?;
    let mut record = None;
    for message in &request.messages {
        let first = record.is_none();
        record = Some(guest.tell(first, message.to_string().as_bytes())?);
    }
    guest.read(record.ok_or_else(|| Problem::new(EffectErrorKind::Invalid, "got no message"))?)
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
    fn new(mut store: Store<StoreLimits>, module: &Module, request: &'r ExtensionRequest) -> Result<Guest<'r>, Problem> {
        let instance = module.instances.instantiate(&mut store).map_err(|it| failed(&it, request, 0))?;
        let gone = |_| Problem::new(EffectErrorKind::Denied, "has lost its exports");
        let memory = instance.get_memory(&mut store, "memory").ok_or(()).map_err(gone)?;
        let alloc = instance.get_typed_func(&mut store, "conv_alloc").map_err(|_| gone(()))?;
        let start = instance.get_typed_func(&mut store, "conv_start").map_err(|_| gone(()))?;
        let resume = instance.get_typed_func(&mut store, "conv_resume").map_err(|_| gone(()))?;
        Ok(Guest { store, request, memory, alloc, start, resume })
    }

    /// Passes a message in; returns the address of the answer's record.
    fn tell(&mut self, first: bool, message: &[u8]) -> Result<u32, Problem> {
        let length = u32::try_from(message.len()).map_err(|_| invalid("got a message that no module has room for"))?;
        let place = self.alloc.call(&mut self.store, length).map_err(|it| self.failed(&it))?;
        let outside = |_| invalid("gave a buffer outside of its memory");
        self.memory.write(&mut self.store, usize::try_from(place).unwrap_or(usize::MAX), message).map_err(outside)?;
        let function = if first { &self.start } else { &self.resume };
        function.call(&mut self.store, (place, length)).map_err(|it| self.failed(&it))
    }

    /// Copies an answer out. The memory is accessed anew, because it may have grown.
    fn read(&self, record: u32) -> Result<Vec<u8>, Problem> {
        let memory = self.memory.data(&self.store);
        let number = |at: u64| Some(u64::from(u32::from_le_bytes(slice(memory, at, 4)?.try_into().ok()?)));
        let place = u64::from(record);
        let outside = || invalid("answered outside of its memory");
        let (start, length) = number(place).zip(number(place + 4)).ok_or_else(outside)?;
        let answer = slice(memory, start, length).ok_or_else(outside)?;
        if answer.len() > LONGEST {
            return Err(Problem::new(EffectErrorKind::Limited, format!("answered with more than {LONGEST} bytes")));
        }
        Ok(answer.to_vec())
    }

    fn failed(&self, error: &wasmtime::Error) -> Problem {
        failed(error, self.request, self.memory.data_size(&self.store))
    }
}

fn slice(memory: &[u8], start: u64, length: u64) -> Option<&[u8]> {
    memory.get(usize::try_from(start).ok()?..usize::try_from(start + length).ok()?)
}

fn invalid(reason: &str) -> Problem {
    Problem::new(EffectErrorKind::Invalid, reason)
}

/// Converts a trap to a failure. The browser host has the same messages.
fn failed(error: &wasmtime::Error, request: &ExtensionRequest, used: usize) -> Problem {
    if error.is::<OutOfTime>() {
        return Problem::new(EffectErrorKind::Timeout, format!("took longer than {} ms", request.timeout_ms));
    }
    let trap = error.downcast_ref::<Trap>().map_or("another reason", |it| words(*it));
    // A module that runs out of memory just traps. No host can tell that trap from another one, but both know the memory size.
    let limit = usize::try_from(request.memory_bytes).unwrap_or(usize::MAX);
    if used > limit / 2 {
        let reason = format!("trapped ({trap}) with {used} of its {limit} bytes of memory in use: allow it more");
        return Problem::new(EffectErrorKind::Limited, reason);
    }
    Problem::new(EffectErrorKind::Invalid, format!("trapped ({trap})"))
}

fn words(trap: Trap) -> &'static str {
    match trap {
        Trap::UnreachableCodeReached => "unreachable code",
        Trap::StackOverflow => "call stack exhausted",
        Trap::MemoryOutOfBounds => "memory access out of bounds",
        Trap::TableOutOfBounds => "table access out of bounds",
        Trap::IndirectCallToNull | Trap::BadSignature => "indirect call of another form",
        Trap::IntegerOverflow => "integer overflow",
        Trap::IntegerDivisionByZero => "integer division by zero",
        Trap::BadConversionToInteger => "conversion to integer",
        _ => "another reason",
    }
}
