//! Servers that share one PostgreSQL database, and clients that send a message again to another one when theirs is gone.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::thread;

use anyhow::{Context, Result, anyhow};
use convengine_core::pack::Pack;
use convengine_player::{PackServer, ServerOptions};
use hyper::body::Bytes;

use super::client::Client;
use super::database::{Database, DatabaseKind};

/// Servers with one configuration on one database.
pub struct Cluster {
    pack: Pack,
    path: PathBuf,
    binary: PathBuf,
    /// Absent between the kill of a server and its restart.
    servers: RefCell<Vec<Option<PackServer>>>,
    /// The addresses of the servers, also of killed ones.
    addresses: RefCell<Vec<String>>,
    /// Messages that were sent more than once.
    pub repeated: Cell<usize>,
    /// The database. It is declared after the servers so that it is dropped after them.
    pub database: Database,
}

impl Cluster {
    /// Starts servers with the pack in a file.
    ///
    /// # Errors
    /// If the database cannot be created, or a server does not start.
    pub fn start(binary: &Path, kind: &DatabaseKind, pack: Pack, path: &Path, count: usize) -> Result<Rc<Cluster>> {
        let cluster = Cluster {
            pack,
            path: path.to_owned(),
            binary: binary.to_owned(),
            servers: RefCell::default(),
            addresses: RefCell::default(),
            repeated: Cell::default(),
            database: kind.create_database()?,
        };
        for index in 0..count {
            cluster.servers.borrow_mut().push(None);
            cluster.addresses.borrow_mut().push(String::new());
            cluster.restart(index)?;
        }
        Ok(Rc::new(cluster))
    }

    /// The base URL of a server.
    #[must_use]
    pub fn address(&self, index: usize) -> String {
        self.addresses.borrow()[index].clone()
    }

    /// The process id of a running server.
    #[must_use]
    pub fn process_id(&self, index: usize) -> Option<u32> {
        self.servers.borrow()[index].as_ref().map(PackServer::process_id)
    }

    /// Kills a server, as `kill -9` does.
    pub fn kill(&self, index: usize) {
        let server = self.servers.borrow_mut()[index].take();
        // It is killed when it is dropped, which waits and must not do so in a task.
        thread::scope(|scope| {
            scope.spawn(move || drop(server));
        });
    }

    /// Starts a killed server again, at another address.
    ///
    /// # Errors
    /// If it does not start.
    pub fn restart(&self, index: usize) -> Result<()> {
        let (database, program) = (Some(self.database.url().to_owned()), Some(self.binary.clone()));
        let options = ServerOptions { database, program, ..ServerOptions::default() };
        let (pack, path) = (&self.pack, &self.path);
        let start = || PackServer::start(pack, path, &options);
        let server = thread::scope(|scope| scope.spawn(start).join()).map_err(|_| anyhow!("cannot start a server"))??;
        server.address().clone_into(&mut self.addresses.borrow_mut()[index]);
        self.servers.borrow_mut()[index] = Some(server);
        Ok(())
    }
}

/// A client of a cluster. It stays with a server until that one fails.
pub struct ClusterClient {
    cluster: Rc<Cluster>,
    server: usize,
    client: Client,
}

impl ClusterClient {
    /// Creates a client that begins with a server.
    #[must_use]
    pub fn new(cluster: &Rc<Cluster>, server: usize) -> ClusterClient {
        ClusterClient { cluster: Rc::clone(cluster), server, client: Client::new(&cluster.address(server)) }
    }

    /// Sends a message, with one idempotency key, until a server acknowledges it with 200.
    ///
    /// # Errors
    /// If none does in time.
    pub async fn send(&mut self, body: &str) -> Result<Bytes> {
        let (cluster, server) = (&self.cluster, &mut self.server);
        let switch = |attempt, client: &mut Client| {
            if attempt == 1 {
                cluster.repeated.set(cluster.repeated.get() + 1);
            }
            if attempt > 0 {
                *server = (*server + 1) % cluster.addresses.borrow().len();
                *client = Client::new(&cluster.address(*server));
            }
        };
        self.client.send_until_acknowledged(body, switch).await
    }
}

/// Reads a counter from the metrics of a server, summed over its labels.
///
/// # Errors
/// If the server cannot be reached.
pub async fn read_counter(address: &str, name: &str) -> Result<u64> {
    let (_, body) = Client::new(address).get("/metrics").await?;
    let text = String::from_utf8_lossy(&body);
    let values = text.lines().filter(|it| it.starts_with(name));
    values
        .map(|line| line.rsplit(' ').next().and_then(|number| number.parse::<f64>().ok()).map(|number| number as u64).context("no number"))
        .sum()
}
