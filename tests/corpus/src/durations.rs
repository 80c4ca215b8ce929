//! How long tests take, for those who look for the slow ones.

use std::fs::OpenOptions;
use std::io::Write;
use std::time::Instant;

/// The file to which each test appends its duration and name, if it is set. `cargo xtask test` reads it.
const FILE: &str = "CONVENGINE_TEST_DURATIONS";

/// Runs a test and records how long it takes, also when it panics.
pub fn time_test<T>(name: &str, test: impl FnOnce() -> T) -> T {
    let _timer = Timer { name, start: Instant::now() };
    test()
}

struct Timer<'n> {
    name: &'n str,
    start: Instant,
}

impl Drop for Timer<'_> {
    fn drop(&mut self) {
        let Some(file) = std::env::var_os(FILE) else { return };
        let line = format!("{}\t{}\n", self.start.elapsed().as_millis(), self.name);
        let written = OpenOptions::new().create(true).append(true).open(file).and_then(|mut log| log.write_all(line.as_bytes()));
        if let Err(error) = written {
            eprintln!("cannot record the duration of {}: {error}", self.name);
        }
    }
}
