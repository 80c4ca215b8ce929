//! A PostgreSQL of this run's own: on loopback, on a free port, in a temporary folder.

mod server;

use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::{install, sh};
pub use server::{Programs, is_root};

/// What names the server to the tests, without a database.
pub const VARIABLE: &str = "CONVENGINE_TEST_POSTGRES";

/// How the names of the folders begin; the id of the process that made it follows.
const FOLDER: &str = "convengine-postgres-";

/// How long a start may take, recovery after a crash included.
const PATIENCE: Duration = Duration::from_secs(60);

/// Whether what is committed survives a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disk {
    /// Nothing waits for the disk: for tests.
    Lazy,
    /// As in production: for what is measured, and for what is cut off.
    Durable,
}

/// A running cluster; it ends and its folder goes when it is dropped.
pub struct Postgres {
    programs: Programs,
    folder: PathBuf,
    port: u16,
    disk: Disk,
    process: Option<Child>,
}

impl Postgres {
    /// Makes a cluster and starts it, after installing PostgreSQL where there is none.
    pub fn start(disk: Disk) -> Result<Self> {
        let programs = install::postgres()?;
        remove_leftovers(&programs);
        let folder = std::env::temp_dir().join(format!("{FOLDER}{}", std::process::id()));
        sh::say(&format!("starting PostgreSQL {} in {}", programs.version, folder.display()));
        programs.make_folder(&folder)?;
        let mut cluster = Self { programs, folder, port: 0, disk, process: None };
        cluster.initialise()?;
        cluster.port = free_port()?;
        cluster.begin()?;
        Ok(cluster)
    }

    /// The server's address; a database's name may follow it after a slash.
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}", self.port)
    }

    /// Tells a command where the server is.
    pub fn known_to<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.env(VARIABLE, self.url())
    }

    /// Starts the server that was stopped, on the same port and data.
    pub fn begin(&mut self) -> Result<()> {
        ensure!(self.process.is_none(), "PostgreSQL runs already");
        let log = fs::OpenOptions::new().create(true).append(true).open(self.log())?;
        let durable = if self.disk == Disk::Durable { "on" } else { "off" };
        let mut command = self.programs.call("postgres", &self.data());
        for setting in [
            "listen_addresses=127.0.0.1",
            &format!("port={}", self.port),
            "unix_socket_directories=",
            "max_connections=200",
            &format!("fsync={durable}"),
            &format!("full_page_writes={durable}"),
            "synchronous_commit=on",
            "timezone=UTC",
        ] {
            command.args(["-c", setting]);
        }
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().context("cannot start PostgreSQL")?;
        self.process = Some(child);
        self.wait_until_ready()
    }

    /// Stops the server as a crash would: whatever it was doing is cut off.
    pub fn crash(&mut self) -> Result<()> {
        self.stop("immediate")
    }

    fn stop(&mut self, mode: &str) -> Result<()> {
        let Some(mut process) = self.process.take() else { return Ok(()) };
        let mut command = self.programs.call("pg_ctl", &self.data());
        let stopped = sh::run_quietly(command.args(["stop", "-w", "-m", mode]));
        if stopped.is_err() {
            process.kill()?;
        }
        process.wait()?;
        stopped
    }

    fn initialise(&self) -> Result<()> {
        let mut command = self.programs.call("initdb", &self.data());
        // The order of texts is a language's, as in most installations: a statement that counts on the order of bytes shows.
        command.args(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C.UTF-8"]);
        command.args(["--locale-provider=icu", "--icu-locale=en-US"]);
        sh::run_quietly(&mut command)
    }

    /// Waits for the word that the server writes into its own file when it takes connections.
    fn wait_until_ready(&mut self) -> Result<()> {
        let end = Instant::now() + PATIENCE;
        let state = self.data().join("postmaster.pid");
        while Instant::now() < end {
            let process = self.process.as_mut().context("PostgreSQL was not started")?;
            if let Some(status) = process.try_wait()? {
                bail!("PostgreSQL ended with {status}:\n{}", fs::read_to_string(self.log())?);
            }
            let own = |text: String| text.lines().next() == Some(&process.id().to_string()) && text.trim_end().ends_with("ready");
            if fs::read_to_string(&state).is_ok_and(own) {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(10));
        }
        bail!("PostgreSQL does not get ready:\n{}", fs::read_to_string(self.log())?)
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn log(&self) -> PathBuf {
        self.folder.join("log")
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // Its data are of no use to anyone, so it need not write them down.
        if let Err(error) = self.stop("immediate").and_then(|()| remove(&self.folder)) {
            eprintln!("warning: {error:#}");
        }
    }
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// Removes the clusters of runs that were aborted: those whose process is gone.
fn remove_leftovers(programs: &Programs) {
    for folder in fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten().map(|it| it.path()) {
        let id = folder.file_name().and_then(|it| it.to_str()).and_then(|it| it.strip_prefix(FOLDER));
        if id.is_some_and(|it| it.parse::<u32>().is_ok() && !Path::new("/proc").join(it).exists()) {
            // It stopped with the run that started it, as a rule, and then there is nobody to stop.
            let _ = programs.call("pg_ctl", &folder.join("data")).args(["stop", "-w", "-m", "immediate"]).output();
            if let Err(error) = remove(&folder) {
                eprintln!("warning: {error:#}");
            }
        }
    }
}

fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error).with_context(|| format!("cannot remove `{}`", folder.display())),
        _ => Ok(()),
    }
}
