//! Validates and compiles modules.

use convengine_core::turn::{EffectError, EffectErrorKind};
use wasmtime::{Engine, ExternType, InstancePre, Linker, StoreLimits};

use super::runtime;

/// Required function exports with their number of parameters; the memory is required as well.
const FUNCTIONS: [(&str, usize); 3] = [("conv_alloc", 1), ("conv_start", 2), ("conv_resume", 2)];

/// The header of a core module, version 1.
const MAGIC: &[u8] = b"\0asm\x01\0\0\0";

/// The size of a memory page in bytes.
const PAGE: u64 = 65_536;

/// A compiled module.
pub struct Module {
    /// Creates instances.
    pub instance_pre: InstancePre<StoreLimits>,
    /// Initial size of the memory in bytes.
    pub memory_bytes: u64,
}

/// Why a module cannot be used, or did not answer.
#[derive(Debug, Clone)]
pub struct ModuleProblem {
    kind: EffectErrorKind,
    reason: String,
}

impl ModuleProblem {
    /// Creates a problem; `reason` follows the name of the extension in the message.
    pub fn new(kind: EffectErrorKind, reason: impl Into<String>) -> ModuleProblem {
        ModuleProblem { kind, reason: reason.into() }
    }

    fn denied(reason: impl Into<String>) -> ModuleProblem {
        ModuleProblem::new(EffectErrorKind::Denied, reason)
    }

    /// Converts the problem to the error of an extension.
    pub fn to_error(&self, extension: &str) -> EffectError {
        EffectError::new(self.kind, format!("the extension '{extension}' {}", self.reason))
    }
}

/// Returns why bytes are not a usable module, or `None`; the reason follows the name of the extension in the message.
pub fn find_problem(bytes: &[u8]) -> Option<String> {
    let engine = runtime::create_engine().map_err(|error| ModuleProblem::denied(format!("cannot be inspected here: {error}")));
    engine.and_then(|it| Module::compile(&it, bytes)).err().map(|it| it.reason)
}

impl Module {
    /// Validates and compiles a module.
    pub fn compile(engine: &Engine, bytes: &[u8]) -> Result<Module, ModuleProblem> {
        if !bytes.starts_with(MAGIC) {
            return Err(ModuleProblem::denied("is not a WebAssembly module: build it for wasm32-unknown-unknown"));
        }
        let module = wasmtime::Module::new(engine, bytes).map_err(|error| {
            tracing::debug!("invalid module: {error:?}");
            ModuleProblem::denied("is not a valid WebAssembly module: build it again")
        })?;
        if let Some(import) = module.imports().next() {
            let reason = format!("imports '{}.{}': build it without imports", import.module(), import.name());
            return Err(ModuleProblem::denied(reason));
        }
        let Some(ExternType::Memory(memory)) = module.get_export("memory") else {
            return Err(ModuleProblem::denied("does not export its memory: export it as 'memory'"));
        };
        for (name, parameters) in FUNCTIONS {
            let Some(ExternType::Func(function)) = module.get_export(name) else {
                return Err(ModuleProblem::denied(format!(
                    "does not export '{name}': export all of conv_alloc, conv_start and conv_resume"
                )));
            };
            let numbers = function.params().chain(function.results()).all(|it| it.is_i32());
            if !numbers || function.params().len() != parameters || function.results().len() != 1 {
                return Err(ModuleProblem::denied(format!(
                    "exports '{name}' with another signature: it must take {parameters} and return one i32"
                )));
            }
        }
        let memory_bytes = memory.minimum().saturating_mul(PAGE);
        // The linker stays empty: a module cannot access the host.
        let instances = Linker::new(engine).instantiate_pre(&module).map_err(|error| ModuleProblem::denied(error.to_string()))?;
        Ok(Module { instance_pre: instances, memory_bytes })
    }
}
