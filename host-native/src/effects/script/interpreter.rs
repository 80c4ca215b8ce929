//! The interpreter of this process: the module of the page, compiled once.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Instant;

use convengine_script_runtime::ScriptRuntime;

use crate::api::page;

/// The file of the page that holds the interpreter.
const MODULE: &str = "python.wasm";

/// Returns the interpreter; the first call compiles it, and others wait.
///
/// # Errors
/// Why there is none.
pub fn get() -> Result<&'static ScriptRuntime, &'static str> {
    static INTERPRETER: OnceLock<Result<ScriptRuntime, String>> = OnceLock::new();
    INTERPRETER.get_or_init(compile).as_ref().map_err(String::as_str)
}

fn compile() -> Result<ScriptRuntime, String> {
    let Some(module) = page::read_file(MODULE) else {
        return Err(format!("'{MODULE}' is not part of this build; run `cargo xtask run`"));
    };
    let begin = Instant::now();
    let runtime = ScriptRuntime::compile(&module, cache_folder().as_deref()).map_err(|it| it.to_string());
    match &runtime {
        Ok(_) => tracing::info!("the interpreter for scripts is ready after {} ms", begin.elapsed().as_millis()),
        Err(reason) => tracing::error!("{reason}"),
    }
    runtime
}

/// The user's cache folder, so that later starts take milliseconds; without a home, each start compiles.
fn cache_folder() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|it| it.is_absolute());
    let cache = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")))?;
    Some(cache.join("convengine").join("interpreter"))
}
