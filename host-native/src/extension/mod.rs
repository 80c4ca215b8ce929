//! Extensions: WebAssembly modules without imports that speak the turn protocol. (`architecture.md` 12)

mod abi;
mod module;
mod runtime;
mod ticker;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use convengine_core::turn::{Answer, EffectError, EffectErrorKind, ExtensionRequest};

pub use module::problem;
use runtime::Runtime;

/// The modules of a configuration; each is compiled once, when it is first used or by [`Extensions::compile`].
///
/// Clones share what is compiled.
#[derive(Clone, Default)]
pub struct Extensions(Arc<Shared>);

#[derive(Default)]
struct Shared {
    modules: BTreeMap<String, Vec<u8>>,
    compiled: Mutex<BTreeMap<String, Arc<Slot>>>,
    // A configuration without extensions pays for no compiler.
    runtime: OnceLock<Result<Runtime, String>>,
}

type Slot = OnceLock<Result<module::Module, module::Problem>>;

impl std::fmt::Debug for Extensions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.modules.keys()).finish()
    }
}

impl Extensions {
    /// The modules by their SHA-256.
    pub fn of(modules: BTreeMap<String, Vec<u8>>) -> Extensions {
        Extensions(Arc::new(Shared { modules, ..Shared::default() }))
    }

    /// Compiles everything now, so that no turn waits for it.
    pub fn compile(&self) {
        for (module, bytes) in &self.0.modules {
            if let Ok(runtime) = self.0.runtime() {
                self.0.compiled(runtime, module, bytes);
            }
        }
    }
}

/// Answers a call of an extension, on a thread where it may take its time.
pub async fn answer(extensions: &Extensions, request: &ExtensionRequest) -> Answer {
    let (extensions, request) = (extensions.clone(), request.clone());
    let ran = tokio::task::spawn_blocking(move || run(&extensions, &request)).await;
    ran.unwrap_or_else(|error| Answer::Error(EffectError::new(EffectErrorKind::Interrupted, error.to_string())))
}

/// Answers a call of an extension on this thread.
pub fn run(extensions: &Extensions, request: &ExtensionRequest) -> Answer {
    match extensions.0.said(request) {
        Ok(said) => request.heard(&said),
        Err(problem) => Answer::Error(problem.of(&request.extension)),
    }
}

impl Shared {
    fn said(&self, request: &ExtensionRequest) -> Result<Vec<u8>, module::Problem> {
        let Some(bytes) = self.modules.get(&request.module) else {
            let reason = format!("has no module {}: import it again", request.module);
            return Err(module::Problem::new(EffectErrorKind::NotFound, reason));
        };
        let runtime = self.runtime()?;
        let slot = self.compiled(runtime, &request.module, bytes);
        let module = slot.get().and_then(|it| it.as_ref().ok());
        match (module, slot.get()) {
            (Some(module), _) => abi::talk(runtime, module, request),
            (None, Some(Err(problem))) => Err(problem.clone()),
            (None, _) => Err(module::Problem::new(EffectErrorKind::Interrupted, "was not compiled")),
        }
    }

    fn runtime(&self) -> Result<&Runtime, module::Problem> {
        let runtime = self.runtime.get_or_init(|| Runtime::new().map_err(|it| it.to_string()));
        runtime.as_ref().map_err(|it| module::Problem::new(EffectErrorKind::Unsupported, format!("cannot run here: {it}")))
    }

    fn compiled(&self, runtime: &Runtime, module: &str, bytes: &[u8]) -> Arc<Slot> {
        let slot = {
            let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(compiled.entry(module.to_owned()).or_default())
        };
        // Outside of the lock: others wait for this module alone.
        slot.get_or_init(|| module::Module::compile(runtime.engine(), bytes));
        slot
    }
}

#[cfg(test)]
mod tests;
