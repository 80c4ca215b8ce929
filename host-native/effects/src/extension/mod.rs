//! Runs extensions: WebAssembly modules without imports that speak the turn protocol. (docs/spec/architecture.md#12)

mod abi;
mod module;
mod runtime;
mod ticker;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use convengine_core::turn::{EffectError, EffectErrorKind, EffectResult, ExtensionRequest};

use convengine_host_base::blocking_share::BlockingShare;
pub use module::find_problem;
use runtime::Runtime;

/// The extension modules of a configuration; each is compiled once, on first use or by [`Extensions::compile`].
///
/// Clones share the compiled modules.
#[derive(Clone, Default)]
pub struct Extensions(Arc<Shared>);

#[derive(Default)]
struct Shared {
    modules: BTreeMap<String, Vec<u8>>,
    compiled: Mutex<BTreeMap<String, Arc<Slot>>>,
    // Created on first use, so that a configuration without extensions needs no compiler.
    runtime: OnceLock<Result<Runtime, String>>,
}

type Slot = OnceLock<Result<module::Module, module::ModuleProblem>>;

impl std::fmt::Debug for Extensions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.modules.keys()).finish()
    }
}

impl Extensions {
    /// Creates the extensions from modules by SHA-256.
    pub fn from_modules(modules: BTreeMap<String, Vec<u8>>) -> Extensions {
        Extensions(Arc::new(Shared { modules, ..Shared::default() }))
    }

    /// Compiles all modules now, so that no turn has to wait.
    pub fn compile(&self) {
        for (module, bytes) in &self.0.modules {
            if let Ok(runtime) = self.0.runtime() {
                self.0.get_or_compile(runtime, module, bytes);
            }
        }
    }
}

/// Runs a call of an extension on a blocking thread.
pub async fn execute(blocking: &BlockingShare, extensions: &Extensions, request: &ExtensionRequest) -> EffectResult {
    let (extensions, request) = (extensions.clone(), request.clone());
    let answer = blocking.run(move || run(&extensions, &request)).await;
    answer.unwrap_or_else(|error| EffectResult::Error(EffectError::new(EffectErrorKind::Interrupted, error.to_string())))
}

/// Runs a call of an extension on this thread.
pub fn run(extensions: &Extensions, request: &ExtensionRequest) -> EffectResult {
    match extensions.0.call(request) {
        Ok(output) => request.parse_output(&output),
        Err(problem) => EffectResult::Error(problem.to_error(&request.extension)),
    }
}

impl Shared {
    fn call(&self, request: &ExtensionRequest) -> Result<Vec<u8>, module::ModuleProblem> {
        let Some(bytes) = self.modules.get(&request.module) else {
            let reason = format!("has no module {}: import it again", request.module);
            return Err(module::ModuleProblem::new(EffectErrorKind::NotFound, reason));
        };
        let runtime = self.runtime()?;
        let slot = self.get_or_compile(runtime, &request.module, bytes);
        let module = slot.get().and_then(|loaded| loaded.as_ref().ok());
        match (module, slot.get()) {
            (Some(module), _) => abi::exchange(runtime, module, request),
            (None, Some(Err(problem))) => Err(problem.clone()),
            (None, _) => Err(module::ModuleProblem::new(EffectErrorKind::Interrupted, "was not compiled")),
        }
    }

    fn runtime(&self) -> Result<&Runtime, module::ModuleProblem> {
        let runtime = self.runtime.get_or_init(|| Runtime::new().map_err(|error| error.to_string()));
        runtime.as_ref().map_err(|reason| module::ModuleProblem::new(EffectErrorKind::Unsupported, format!("cannot run here: {reason}")))
    }

    fn get_or_compile(&self, runtime: &Runtime, module: &str, bytes: &[u8]) -> Arc<Slot> {
        let slot = {
            let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(compiled.entry(module.to_owned()).or_default())
        };
        // Compile outside of the lock: only calls of this module wait.
        slot.get_or_init(|| module::Module::compile(runtime.create_engine(), bytes));
        slot
    }
}

#[cfg(test)]
mod tests;
