//! Several packs talked at once, for as long as it takes to see what only many turns show.

pub mod client;
pub mod crash;
pub mod database;
pub mod left;
pub mod load;
pub mod outage;
pub mod size;
pub mod talk;
pub mod watch;

use std::path::Path;

use anyhow::Result;
use convengine_server::pack_file;
use convengine_server::play::{Around, PackServer};

use crate::root;
use database::{Database, Kind};
use talk::Talk;

/// Turns of a long conversation.
pub const LONG: usize = 32;

/// The packs that are mixed: one that is mostly words, models in every turn, values collected by a model with tools, a task that is
/// agreed to, and services called over HTTP.
pub const PACKS: [&str; 5] = ["demo/help_desk", "demo/model_acts", "demo/loan", "demo/card_replacement", "tools/workflow_and_notification"];

/// A server with a pack, and the conversations that are held with it.
pub struct Served {
    /// The pack's name.
    pub name: String,
    /// The server.
    pub server: PackServer,
    /// A short conversation and a long one.
    pub talks: [Talk; 2],
    /// Where it stores.
    pub database: Database,
}

/// The mixed packs, each on a server and a database of its own.
pub struct Mix {
    /// The servers.
    pub served: Vec<Served>,
}

impl Mix {
    /// Starts the servers with audit of everything.
    ///
    /// # Errors
    /// When a pack cannot be repeated, or a server does not start.
    pub fn start(binary: &Path, kind: &Kind) -> Result<Mix> {
        let served = PACKS.iter().map(|it| Served::start(binary, kind, it, LONG, &[]));
        Ok(Mix { served: served.collect::<Result<_>>()? })
    }

    /// The conversation with this number: the packs take turns, and every second round of them is long.
    #[must_use]
    pub fn conversation(&self, number: usize) -> (usize, &Talk) {
        let pack = number % self.served.len();
        let [short, long] = &self.served[pack].talks;
        (pack, if (number / self.served.len()).is_multiple_of(2) { short } else { long })
    }
}

impl Served {
    /// Starts the server of a pack.
    ///
    /// # Errors
    /// When the pack cannot be repeated, or the server does not start.
    pub fn start(binary: &Path, kind: &Kind, name: &str, long: usize, set: &[String]) -> Result<Served> {
        let path = root().join(format!("tests/packs/{name}.json"));
        let pack = pack_file::read(&path)?;
        let talks = [Talk::of(&pack, 0)?, Talk::of(&pack, long)?];
        let database = kind.database()?;
        let around = Around { database: Some(database.url().to_owned()), set: set.to_vec() };
        let server = PackServer::start(&pack, binary, &path, &around)?;
        Ok(Served { name: name.to_owned(), server, talks, database })
    }
}
