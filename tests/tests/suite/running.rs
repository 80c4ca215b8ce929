//! Where a test runs. The attribute `test` of `tests/macros` generates the calls of [`run`].

use std::cell::Cell;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

use convengine_test_macros::test;
use convengine_tests::durations::time_test;

/// Whether the tests that have a long version run it: with `CONVENGINE_TEST_LONG`, as `cargo xtask soak` sets it.
pub fn is_long_run() -> bool {
    std::env::var_os("CONVENGINE_TEST_LONG").is_some()
}

/// What a test runs in: one generated test each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Environment {
    Sqlite,
    Postgres,
    /// A PostgreSQL that has the extension `vector`.
    Pgvector,
    /// The page in Chromium, served by a server on SQLite.
    Browser,
    NoDatabase,
}

thread_local! {
    static ENVIRONMENT: Cell<Option<Environment>> = const { Cell::new(None) };
}

/// A Chromium keeps a processor busy, and its scripts give up what does not appear in time, so there are no more of them than processors.
static BROWSERS: Permits = Permits { taken: Mutex::new(0), returned: Condvar::new() };

/// Runs a test and records how long it takes. `module` is the generated one, which has the name of the test.
pub fn run(environment: Environment, module: &str, test: fn()) {
    let _browser = (environment == Environment::Browser).then(|| BROWSERS.take());
    time_test(&environment.test_name(module), || within(environment, test));
}

/// Runs a part of a test on another thread than its own, which knows no environment.
pub fn within<T>(environment: Environment, part: impl FnOnce() -> T) -> T {
    let _previous = Previous(ENVIRONMENT.replace(Some(environment)));
    part()
}

/// The environment of the test that runs on this thread.
#[track_caller]
pub fn environment() -> Environment {
    ENVIRONMENT.get().expect(
        "no environment on this thread: the module of the test needs `use convengine_test_macros::test`, \
         and a thread of the test needs `running::within`",
    )
}

impl Environment {
    /// The name of a generated test, as the test runner lists it.
    fn test_name(self, module: &str) -> String {
        let last = match self {
            Environment::Sqlite => "sqlite",
            Environment::Postgres => "postgres",
            Environment::Pgvector => "pgvector",
            Environment::Browser => "browser",
            Environment::NoDatabase => "no_database",
        };
        format!("{}::{last}", module.split_once("::").map_or(module, |it| it.1))
    }
}

/// Restores the environment that a thread had before, also when the test panics.
struct Previous(Option<Environment>);

impl Drop for Previous {
    fn drop(&mut self) {
        ENVIRONMENT.set(self.0);
    }
}

/// A semaphore with as many permits as there are processors.
struct Permits {
    taken: Mutex<usize>,
    returned: Condvar,
}

struct Permit<'p>(&'p Permits);

impl Permits {
    fn take(&self) -> Permit<'_> {
        let limit = thread::available_parallelism().map_or(1, usize::from);
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let mut taken = self.returned.wait_while(taken, |it| *it >= limit).unwrap_or_else(PoisonError::into_inner);
        *taken += 1;
        Permit(self)
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        *self.0.taken.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.returned.notify_one();
    }
}

/// The name that the test runner gave the running test.
fn listed_name() -> String {
    // With one thread, tests run on the main thread, whose name is not theirs.
    thread::current().name().filter(|it| *it != "main").map_or_else(String::new, str::to_owned)
}

#[test]
fn an_ordinary_test_runs_on_each_database() {
    let own = environment().test_name(&format!("suite::{}", "running::an_ordinary_test_runs_on_each_database"));
    assert!([Environment::Sqlite, Environment::Postgres].contains(&environment()));
    assert!(["", &own].contains(&listed_name().as_str()), "{own} is listed as {}", listed_name());
    let url = crate::harness::TestEnv::with_tables().database_url();
    assert_eq!(url.starts_with("postgres:"), environment() == Environment::Postgres, "{url}");
}

#[test]
#[on(postgres)]
fn a_test_runs_where_it_is_declared() {
    assert_eq!(environment(), Environment::Postgres);
    let other = thread::scope(|scope| scope.spawn(|| within(Environment::Sqlite, environment)).join().unwrap());
    assert_eq!((other, environment()), (Environment::Sqlite, Environment::Postgres));
}

#[test]
#[on(no_database)]
#[should_panic(expected = "this test is declared to use no database")]
fn a_test_without_a_database_gets_none() {
    drop(crate::harness::TestEnv::new());
}
