//! Crash points: where tests can kill the process. They compile to nothing without the feature `crash-points`.

/// Does nothing without the feature `crash-points`.
#[cfg(not(feature = "crash-points"))]
pub fn point(_name: &str) {}

/// Kills the process at the Nth crossing of any crash point (from 1) if `CONVENGINE_CRASH_AT=N`. With `CONVENGINE_CRASH_LOG`, each
/// crossing is a line on standard error.
#[cfg(feature = "crash-points")]
pub fn point(name: &str) {
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicU32, Ordering};
    static CROSSED: AtomicU32 = AtomicU32::new(0);
    static AT: LazyLock<Option<u32>> = LazyLock::new(|| std::env::var("CONVENGINE_CRASH_AT").ok()?.parse().ok());
    static LOGS: LazyLock<bool> = LazyLock::new(|| std::env::var_os("CONVENGINE_CRASH_LOG").is_some());
    if AT.is_none() && !*LOGS {
        return;
    }
    let number = CROSSED.fetch_add(1, Ordering::SeqCst) + 1;
    if *LOGS {
        eprintln!("crash point {number} {name}");
    }
    if *AT == Some(number) {
        // Like kill -9: nothing is closed or flushed.
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    }
}
