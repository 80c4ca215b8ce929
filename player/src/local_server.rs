//! A server on loopback in this process, which starts in a fraction of the time of a process.

use std::future::pending;
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use clap::Parser;
use convengine_host::app::{self, Server};
use convengine_host::arguments::{Arguments, Command};
use convengine_host_base::clock;
use convengine_settings::Settings;
use tokio::runtime::{Builder, Runtime};

use super::mcp_play::play_in_core;

/// The number of threads that run its tasks.
const WORKERS: usize = 2;

/// How long work that cannot be interrupted may keep a server that is dropped.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// A running server with a runtime and a clock of its own. Dropping it ends its tasks wherever they wait; a writer to SQLite writes what it
/// has begun.
#[derive(Debug)]
pub struct LocalServer {
    address: String,
    /// Absent once it is dropped.
    runtime: Option<Runtime>,
}

impl LocalServer {
    /// Starts a server with the arguments of `convengine serve`, beginning with `serve`, and waits until it listens.
    ///
    /// # Errors
    /// Returns an error when an argument or a setting is invalid, or the server does not start.
    pub fn start(arguments: &[String]) -> Result<LocalServer> {
        let program = ["convengine".to_owned()];
        let Arguments { command, options } = Arguments::try_parse_from(program.iter().chain(arguments))?;
        let Command::Serve { runtime: place } = command else { bail!("expected `serve`, got {arguments:?}") };
        let settings = Settings::load(&options)?.with_runtime(place);
        let runtime = Builder::new_multi_thread().worker_threads(WORKERS).enable_all().on_thread_start(clock::new_for_threads()).build()?;
        let (sender, started) = mpsc::channel();
        runtime.spawn(async move {
            let listening = sender.clone();
            // Who waits for the address has gone, or gets it before the reason of a failure.
            let ended = app::serve(&settings, Server::new(play_in_core), move |address| _ = listening.send(Ok(address)), pending()).await;
            let _ = sender.send(ended.and_then(|()| Err(convengine_host_base::exit::Failure::service_unavailable("the server has ended"))));
        });
        let address = started.recv().context("the server panicked while it started")?.map_err(|failure| anyhow!("{failure}"))?;
        Ok(LocalServer { address: format!("http://{address}"), runtime: Some(runtime) })
    }

    /// The base URL.
    pub fn address(&self) -> &str {
        &self.address
    }
}

impl Drop for LocalServer {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(STOP_TIMEOUT);
        }
    }
}
