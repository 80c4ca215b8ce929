//! A temporary PostgreSQL server: on loopback, on a free port, in a temporary folder.

mod memory;
mod pgvector;
mod server;
mod test_servers;

use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::{install, sh};
use server::create_folder;
pub use server::{Programs, is_root};
pub use test_servers::TestServers;

/// The variable with the server's URL, without a database, for the tests.
pub const URL_VARIABLE: &str = "CONVENGINE_TEST_POSTGRES";

/// The prefix of the cluster folders; the id of the process that created it follows, and a suffix if it has several.
const FOLDER_PREFIX: &str = "convengine-postgres-";

/// The timeout of a start, including recovery after a crash.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// The durability of commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Commits do not wait for the disk: for tests.
    Relaxed,
    /// As in production: for measurements and crash tests.
    Durable,
}

/// A running cluster; it is stopped and deleted when dropped.
pub struct Postgres {
    programs: Programs,
    folder: PathBuf,
    port: u16,
    durability: Durability,
    process: Option<Child>,
}

impl Postgres {
    /// Creates and starts a cluster; installs PostgreSQL if there is none.
    pub fn start(disk: Durability) -> Result<Self> {
        let programs = install::ensure_postgres()?;
        remove_leftovers(&programs);
        let folder = cluster_folder(disk, "");
        create_folder(&folder)?;
        Self::start_in(folder, programs, disk)
    }

    /// Creates and starts a cluster with the programs of a package, beside the other cluster of this process.
    fn start_from_package(archive: &Path, disk: Durability) -> Result<Self> {
        let folder = cluster_folder(disk, "-package");
        create_folder(&folder)?;
        let programs = Programs::from_package(&pgvector::extract(archive, &folder.join("package"))?)?;
        Self::start_in(folder, programs, disk)
    }

    fn start_in(folder: PathBuf, programs: Programs, disk: Durability) -> Result<Self> {
        sh::print_progress(&format!("starting PostgreSQL {} in {}", programs.version, folder.display()));
        let mut cluster = Self { programs, folder, port: 0, durability: disk, process: None };
        cluster.initialise()?;
        cluster.port = free_port()?;
        cluster.start_server()?;
        Ok(cluster)
    }

    /// Returns the server's URL, to which a slash and a database's name may be appended.
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}", self.port)
    }

    /// Returns the port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the id of the server's first process, the parent of all others.
    pub fn process_id(&self) -> Result<u32> {
        Ok(self.process.as_ref().context("PostgreSQL is not running")?.id())
    }

    /// Returns the path of a client program, such as pg_dump.
    pub fn program(&self, name: &str) -> PathBuf {
        self.programs.path(name)
    }

    /// Runs a statement with psql and returns the first value of its result.
    pub fn query(&self, database: &str, sql: &str) -> Result<String> {
        let mut command = self.programs.client("psql");
        command.args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-U", "postgres", "-d", database, "-XAtq", "-c", sql]);
        sh::output(&mut command).with_context(|| format!("psql failed: {sql}"))
    }

    /// Passes the server's URL to a command.
    pub fn pass_url_to<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.env(URL_VARIABLE, self.url())
    }

    /// Starts a stopped server on the same port and data.
    pub fn start_server(&mut self) -> Result<()> {
        ensure!(self.process.is_none(), "PostgreSQL is already running");
        let log = fs::OpenOptions::new().create(true).append(true).open(self.log_file())?;
        let durable = if self.durability == Durability::Durable { "on" } else { "off" };
        let mut command = self.programs.command("postgres", &self.data_folder());
        for setting in [
            "listen_addresses=127.0.0.1",
            &format!("port={}", self.port),
            "unix_socket_directories=",
            "max_connections=1000",
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

    /// Stops the server like a crash, without waiting for transactions.
    pub fn crash(&mut self) -> Result<()> {
        self.stop("immediate")
    }

    fn stop(&mut self, mode: &str) -> Result<()> {
        let Some(mut process) = self.process.take() else { return Ok(()) };
        let mut command = self.programs.command("pg_ctl", &self.data_folder());
        let stopped = sh::run_quietly(command.args(["stop", "-w", "-m", mode]));
        if stopped.is_err() {
            process.kill()?;
        }
        process.wait()?;
        stopped
    }

    fn initialise(&self) -> Result<()> {
        let mut command = self.programs.command("initdb", &self.data_folder());
        command.args(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C.UTF-8"]);
        if self.programs.has_icu {
            // Texts are sorted by a language, as in most installations, which reveals statements that rely on byte order.
            command.args(["--locale-provider=icu", "--icu-locale=en-US"]);
        }
        sh::run_quietly(&mut command)
    }

    /// Waits until the server's PID file says that it accepts connections.
    fn wait_until_ready(&mut self) -> Result<()> {
        let end = Instant::now() + START_TIMEOUT;
        let state = self.data_folder().join("postmaster.pid");
        while Instant::now() < end {
            let process = self.process.as_mut().context("PostgreSQL was not started")?;
            if let Some(status) = process.try_wait()? {
                bail!("PostgreSQL ended with {status}:\n{}", fs::read_to_string(self.log_file())?);
            }
            let own = |text: String| text.lines().next() == Some(&process.id().to_string()) && text.trim_end().ends_with("ready");
            if fs::read_to_string(&state).is_ok_and(own) {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(10));
        }
        bail!("PostgreSQL did not become ready:\n{}", fs::read_to_string(self.log_file())?)
    }

    fn data_folder(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn log_file(&self) -> PathBuf {
        self.folder.join("log")
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // The data is deleted, so a clean shutdown is unnecessary.
        if let Err(error) = self.stop("immediate").and_then(|()| remove(&self.folder)) {
            eprintln!("warning: {error:#}");
        }
    }
}

/// Returns the folder of a cluster of this process.
fn cluster_folder(durability: Durability, suffix: &str) -> PathBuf {
    let parent = match durability {
        Durability::Relaxed => memory::folder(),
        Durability::Durable => std::env::temp_dir(),
    };
    parent.join(format!("{FOLDER_PREFIX}{}{suffix}", std::process::id()))
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// Removes the clusters of aborted runs, whose process no longer exists.
fn remove_leftovers(programs: &Programs) {
    for folder in memory::all_folders().into_iter().flat_map(fs::read_dir).flatten().flatten().map(|it| it.path()) {
        let id = folder.file_name().and_then(|it| it.to_str()).and_then(|it| it.strip_prefix(FOLDER_PREFIX));
        let id = id.map(|name| name.split('-').next().unwrap_or(name));
        if id.is_some_and(|id| id.parse::<u32>().is_ok() && !Path::new("/proc").join(id).exists()) {
            // Best effort: the server has usually stopped with the run that started it.
            let _ = programs.command("pg_ctl", &folder.join("data")).args(["stop", "-w", "-m", "immediate"]).output();
            if let Err(error) = remove(&folder) {
                eprintln!("warning: {error:#}");
            }
        }
    }
}

fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error).with_context(|| format!("cannot remove '{}'", folder.display())),
        _ => Ok(()),
    }
}
