//! Long tests with real servers: mixed load, crashes, database outages, a cluster whose processes are killed, storage size and open streams.

pub mod background;
pub mod client;
pub mod cluster;
pub mod crash;
pub mod crash_run;
pub mod database;
pub mod doubt;
pub mod final_state;
pub mod load;
pub mod outage;
pub mod process_stats;
pub mod restate;
pub mod runs;
pub mod size;
pub mod stomp;
pub mod stored_turns;
pub mod storm;
pub mod streams;
pub mod talk;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};
use convengine_host_base::pack_file;
use convengine_player::{PackServer, ServerOptions};

use crate::root;
use database::{Database, DatabaseKind};
use talk::Talk;

/// The header with the number of the turn within its conversation, from 0. Only the ceiling reads it; the server ignores it.
pub const TURN_HEADER: &str = "x-turn";

/// The number of turns of a long conversation.
pub const LONG_TURNS: usize = 32;

/// The packs of the mix: mostly fixed texts, models in every turn, values collected by a model with tools, a task that needs a
/// confirmation, and services called over HTTP.
pub const PACKS: [&str; 5] = ["demo/help_desk", "demo/model_acts", "demo/loan", "demo/card_replacement", "tools/workflow_and_notification"];

/// A running server with a pack, and the pack's conversations.
pub struct ServedPack {
    /// The pack's name.
    pub name: String,
    /// A short conversation and a long one.
    pub talks: [Talk; 2],
    server: Process,
    /// The database. It is declared after the server so that it is dropped after it.
    pub database: Database,
}

/// The process of a server.
enum Process {
    Engine(Box<PackServer>),
    Ceiling(Ceiling),
}

/// The servers of the mixed packs, each with its own database.
pub struct Mix {
    /// The servers.
    pub servers: Vec<ServedPack>,
}

impl Mix {
    /// Starts ceiling servers, which store the same rows and return the same answers without an engine.
    ///
    /// # Errors
    /// If a pack cannot be repeated, or a server does not start.
    pub fn start_ceiling(binary: &Path, kind: &DatabaseKind) -> Result<Mix> {
        let served = PACKS.iter().map(|it| ServedPack::start_ceiling(binary, kind, it));
        Ok(Mix { servers: served.collect::<Result<_>>()? })
    }

    /// Starts the servers with these settings.
    ///
    /// # Errors
    /// If a pack cannot be repeated, or a server does not start.
    pub fn start(binary: &Path, kind: &DatabaseKind, set: &[String]) -> Result<Mix> {
        let served = PACKS.iter().map(|it| ServedPack::start(binary, kind, it, LONG_TURNS, set));
        Ok(Mix { servers: served.collect::<Result<_>>()? })
    }

    /// Returns the server's index and the talk of a conversation: the packs rotate, and every second round is long.
    #[must_use]
    pub fn conversation(&self, number: usize) -> (usize, &Talk) {
        let pack = number % self.servers.len();
        let [short, long] = &self.servers[pack].talks;
        (pack, if (number / self.servers.len()).is_multiple_of(2) { short } else { long })
    }
}

impl ServedPack {
    /// Starts the server of a pack.
    ///
    /// # Errors
    /// If the pack cannot be repeated, or the server does not start.
    pub fn start(binary: &Path, kind: &DatabaseKind, name: &str, long: usize, set: &[String]) -> Result<ServedPack> {
        let path = pack_path(name);
        let pack = pack_file::read(&path)?;
        let talks = [Talk::from_pack(&pack, 0)?, Talk::from_pack(&pack, long)?];
        let database = kind.create_database()?;
        let (program, settings) = (Some(binary.to_owned()), set.to_vec());
        let options = ServerOptions { database: Some(database.url().to_owned()), settings, program, ..ServerOptions::default() };
        let server = Process::Engine(Box::new(PackServer::start(&pack, &path, &options)?));
        Ok(ServedPack { name: name.to_owned(), talks, server, database })
    }

    fn start_ceiling(binary: &Path, kind: &DatabaseKind, name: &str) -> Result<ServedPack> {
        let path = pack_path(name);
        let pack = pack_file::read(&path)?;
        let talks = [Talk::from_pack(&pack, 0)?, Talk::from_pack(&pack, LONG_TURNS)?];
        let database = kind.create_database()?;
        let server = Process::Ceiling(Ceiling::start(binary, database.url(), &path)?);
        Ok(ServedPack { name: name.to_owned(), talks, server, database })
    }

    /// Returns the address of the server.
    #[must_use]
    pub fn address(&self) -> &str {
        match &self.server {
            Process::Engine(it) => it.address(),
            Process::Ceiling(it) => &it.address,
        }
    }

    /// Returns the id of the server's process.
    #[must_use]
    pub fn process_id(&self) -> u32 {
        match &self.server {
            Process::Engine(it) => it.process_id(),
            Process::Ceiling(it) => it.process.id(),
        }
    }
}

/// A server without an engine; it is stopped when dropped.
struct Ceiling {
    process: Child,
    address: String,
}

impl Ceiling {
    fn start(binary: &Path, database: &str, pack: &Path) -> Result<Ceiling> {
        let mut command = Command::new(binary);
        command.arg(database).arg(pack).arg(LONG_TURNS.to_string()).stdout(Stdio::piped());
        let mut ceiling = Ceiling { process: command.spawn().context("cannot start the ceiling")?, address: String::new() };
        let mut line = String::new();
        BufReader::new(ceiling.process.stdout.take().context("the ceiling has no output")?).read_line(&mut line)?;
        let address = line.trim().strip_prefix("convengine listening on ");
        ceiling.address = address.with_context(|| format!("the ceiling did not start: '{}'", line.trim()))?.to_owned();
        Ok(ceiling)
    }
}

impl Drop for Ceiling {
    fn drop(&mut self) {
        // Best effort: a process that did not start has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn pack_path(pack: &str) -> PathBuf {
    root().join(format!("tests/packs/{pack}.json"))
}
