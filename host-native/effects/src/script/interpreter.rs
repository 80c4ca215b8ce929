//! The interpreter of this process: the module of the page, compiled once.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use convengine_script_runtime::ScriptRuntime;

use convengine_page as page;

/// The file of the page that holds the interpreter.
const MODULE: &str = "python.wasm";

/// The time between two looks for a module that is still being built.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// An interpreter that is compiled when it is first needed, or why it cannot be compiled.
pub type Compiled = OnceLock<Result<ScriptRuntime, String>>;

static INTERPRETER: Compiled = OnceLock::new();

/// Returns the interpreter; the first call compiles it, and others wait.
///
/// # Errors
/// Why there is none; a module that is missing may still come.
pub fn get() -> Result<&'static ScriptRuntime, String> {
    compile_once(&INTERPRETER, || page::read_file(MODULE))
}

/// Returns an interpreter; compiles it from the file if it is not compiled yet.
///
/// # Errors
/// See [`get`].
pub fn compile_once(compiled: &Compiled, read_file: impl FnOnce() -> Option<Cow<'static, [u8]>>) -> Result<&ScriptRuntime, String> {
    if let Some(known) = compiled.get() {
        return known.as_ref().map_err(Clone::clone);
    }
    let Some(module) = read_file() else { return Err(format!("the interpreter of scripts, '{MODULE}', is missing; {}", how_to_get_it())) };
    compiled.get_or_init(|| compile(&module)).as_ref().map_err(Clone::clone)
}

/// Compiles the interpreter as soon as its module is there, so that no turn waits for that.
pub async fn prepare() {
    while READS_FILES && page::read_file(MODULE).is_none() {
        tokio::time::sleep(LOOK_AGAIN).await;
    }
    drop(tokio::task::spawn_blocking(|| get().map(|_| ())).await);
}

/// Whether the page's files are read when they are requested; otherwise they are part of the program.
const READS_FILES: bool = cfg!(debug_assertions);

fn how_to_get_it() -> &'static str {
    if READS_FILES {
        "`cargo xtask python` builds it; `cargo xtask run` does so in the background"
    } else {
        "this program was built without it: run `cargo xtask page` before the build"
    }
}

fn compile(module: &[u8]) -> Result<ScriptRuntime, String> {
    let begin = Instant::now();
    let runtime = ScriptRuntime::compile(module, cache_folder().as_deref()).map_err(|it| it.to_string());
    match &runtime {
        Ok(_) => tracing::info!("the interpreter for scripts is ready after {} ms", begin.elapsed().as_millis()),
        Err(reason) => tracing::error!("{reason}"),
    }
    runtime
}

/// The user's cache folder, so that later starts take milliseconds; without a home, each start compiles.
fn cache_folder() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")))?;
    Some(cache.join("convengine").join("interpreter"))
}
